"""Networks that run, so that they can be timed: open_workload(recipe, file or module, runtime=...).

A row of RUNTIMES is all that a runtime needs: what it takes, and a function that opens it.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Sequence
from typing import Any

from latpred.checks import check_text
from latpred.workloads.workload import (
    CPU,
    DEFAULT_PRECISION,
    KernelTime,
    KernelTimes,
    MemoryUse,
    NodeOfKernel,
    Setting,
    Workload,
    check_choice,
)


@dataclasses.dataclass(frozen=True)
class RuntimeRow:
    """One runtime."""

    opens: str  # "module:function" from a Setting to a Workload; imported when it is asked for
    description: str
    devices: Sequence[str]  # before a colon: "cuda" takes "cuda:1"
    precisions: Sequence[str]


_TORCH_PRECISIONS = (DEFAULT_PRECISION, "fp32", "tf32", "amp", "fp16", "bf16")

# Rows may be added: a campaign's imports= names modules that do.
RUNTIMES: dict[str, RuntimeRow] = {
    "libtorch": RuntimeRow(
        "latpred.workloads.plain_nets:PlainNetWorkload",
        "fnn: and cnn: recipes as LibTorch calls, weights from one shared pool: for many nets after each other",
        (CPU,),
        (DEFAULT_PRECISION, "fp32"),
    ),
    "eager": RuntimeRow(
        "latpred.workloads.modules:ModuleWorkload",
        "PyTorch modules and recipes of them, operator by operator",
        (CPU, "cuda"),
        _TORCH_PRECISIONS,
    ),
    "compiled": RuntimeRow(
        "latpred.workloads.modules:CompiledWorkload",
        "the same, compiled by torch.compile",
        (CPU, "cuda"),
        _TORCH_PRECISIONS,
    ),
    "openvino": RuntimeRow(
        "latpred.workloads.openvino:OpenVinoWorkload",
        "ONNX files and recipes that ONNX has operators for under OpenVINO; times of kernels in nanoseconds",
        (CPU,),
        (DEFAULT_PRECISION, "fp32", "bf16", "fp16"),
    ),
    "onnxruntime": RuntimeRow(
        "latpred.workloads.onnxruntime:OnnxRuntimeWorkload",
        "ONNX files and recipes that ONNX has operators for under ONNX Runtime; times of kernels in whole microseconds",
        (CPU,),
        (DEFAULT_PRECISION, "fp32"),
    ),
}


def open_workload(
    source: Any,
    *,
    runtime: str,
    device: str = CPU,
    batch: int = 1,
    input: Any = None,
    precision: str = DEFAULT_PRECISION,
    threads: int = 1,
) -> Workload:
    """`source`, a recipe ("fnn:16-128-1"), the path of an ONNX file or a torch.nn.Module, ready to run.

    input: sizes of one item where a file or module leaves them open, as latpred.predict takes them.
    """
    check_runtime(runtime, device, precision)
    setting = Setting(source, device, batch, input, precision, threads)
    module, _, name = RUNTIMES[runtime].opens.partition(":")
    opened: Workload = getattr(importlib.import_module(module), name)(setting)
    return opened


def check_runtime(runtime: Any, device: Any, precision: Any) -> None:
    """Refuses a runtime that is not in the table, and what it does not run on or in."""
    check_choice("runtime", runtime, list(RUNTIMES))
    row = RUNTIMES[runtime]
    check_choice(f"device for runtime '{runtime}'", check_text("device", device).partition(":")[0], list(row.devices))
    check_choice(f"precision for runtime '{runtime}'", precision, list(row.precisions))


__all__ = [
    "RUNTIMES",
    "KernelTime",
    "KernelTimes",
    "MemoryUse",
    "NodeOfKernel",
    "RuntimeRow",
    "Workload",
    "check_runtime",
    "open_workload",
]

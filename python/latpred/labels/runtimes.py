"""Asks a runtime how it fuses a network. A row of LABELLERS is all that a runtime needs."""

from __future__ import annotations

import dataclasses
import os
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from latpred.api import load
from latpred.checks import check_count
from latpred.errors import InvalidArgumentError
from latpred.labels.inductor import PRECISIONS, label_module
from latpred.labels.labelled import Labels, from_kernel_times
from latpred.labels.neighbour import beside
from latpred.loading import refuse_with_graph
from latpred.workloads import RUNTIMES, child, itt, onnx_files, standard_onnx
from latpred.workloads.fused_groups import close_groups
from latpred.workloads.kernel_times import kernel_times
from latpred.workloads.sources import onnx_path, recipe_of
from latpred.workloads.workload import Setting, check_choice


@dataclasses.dataclass(frozen=True)
class _Report:
    """What a runtime says of a prepared file."""

    kernels: dict[str, Any]  # as kernel_times takes it
    direct: dict[str, int]  # unique name of a node -> index of its kernel
    version: str


@dataclasses.dataclass(frozen=True)
class Labeller:
    """One runtime; it is asked for a prepared file, or fuses a module itself."""

    description: str  # as latpred label --help says it
    clock: str  # of the times; empty: it has none
    precisions: Sequence[str]
    ask: Callable[[Setting, onnx_files.PreparedFile, int, bool], _Report] | None = None
    of_module: Callable[[Setting], Labels] | None = None


def label(
    source: Any,
    *,
    runtime: str,
    batch: int = 1,
    input: Any = None,
    precision: str = "fp32",
    runs: int = 0,
    neighbour: int = 0,
    is_alone: bool = True,
) -> Labels:
    """How `runtime` fuses `source`: the path of an ONNX file, a recipe ("timm:resnet50@224") or a Graph.

    "inductor" takes a recipe that PyTorch builds or a live module.

    input: sizes of one item where a file or module leaves them open.
    runs: timed calls; 0: kernels without times. One thread.
    neighbour: the percentage of its time in which a process on another core reads memory meanwhile.
    is_alone: whatever else runs is a disturbance, and of OpenVINO's kernels the least median of several rounds counts;
    otherwise, as beside a neighbour, it is part of what is measured, and all runs are one round.
    """
    check_precision(runtime, precision)
    runs, neighbour = check_count("runs", runs, least=0), check_count("neighbour", neighbour, least=0)
    with beside(neighbour):
        setting = Setting(source, batch=batch, input=input, precision=precision)
        return _label(source, setting, runtime, runs, is_alone and not neighbour)


def check_precision(runtime: str, precision: str) -> None:
    """Refuses what the runtime does not run in, or would not be asked to."""
    check_choice("runtime", runtime, list(LABELLERS))
    check_choice(f"precision for runtime '{runtime}'", precision, list(LABELLERS[runtime].precisions))


def _label(source: Any, setting: Setting, runtime: str, runs: int, is_alone: bool) -> Labels:
    labeller = LABELLERS[runtime]
    if runs and not labeller.clock:
        raise InvalidArgumentError(f"runtime '{runtime}' is asked what it fuses, not for times: leave runs= out")
    if labeller.of_module is not None:
        return labeller.of_module(setting)
    assert labeller.ask is not None
    model = None
    with tempfile.TemporaryDirectory(prefix="latpred-") as folder:
        if onnx_path_or_none(source) is None:
            from latpred.datasets.graph_cache import graph_of  # the command line reads the table above all else

            if hasattr(source, "nodes"):
                refuse_with_graph(input=setting.input)
                graph = source
            else:
                graph = graph_of(recipe_of(source, setting.input), setting.batch)
            model = standard_onnx.model_of(graph)
            setting = dataclasses.replace(setting, batch=graph.batch, input=None)
        file = onnx_files.prepare(setting, Path(folder), model)
        prepared = dataclasses.replace(setting, source=str(file.path), input=None)
        report = labeller.ask(prepared, file, max(1, runs), is_alone)
        graph = load(str(file.path), batch=setting.batch)
    times = kernel_times(report.kernels, file, close_groups(file.nodes, report.direct))
    reads = {kernel["name"]: kernel["reads"] for kernel in report.kernels["kernels"] if "reads" in kernel}
    return from_kernel_times(times, file.nodes, graph, runtime, report.version, is_timed=runs > 0, reads=reads)


def onnx_path_or_none(source: Any) -> Path | None:
    """The file, where the source is the path of one."""
    return None if hasattr(source, "nodes") else onnx_path(source)


def collect_here() -> None:
    """Lets this process time OpenVINO's nodes itself, not a new one for each network. To be called before it loads
    OpenVINO."""
    os.environ[itt.ENVIRONMENT_VARIABLE] = itt.library_path()


def _openvino(setting: Setting, file: onnx_files.PreparedFile, runs: int, is_alone: bool) -> _Report:
    from latpred.workloads import openvino, openvino_kernels

    request = {"setting": dataclasses.asdict(setting), "runs": runs, "in_rounds": runs > 1 and is_alone}
    library = itt.library_path()
    if os.environ.get(itt.ENVIRONMENT_VARIABLE) == library:
        answer = openvino_kernels.time_here(request)
    else:
        answer = child.ask("openvino_kernels", request, {itt.ENVIRONMENT_VARIABLE: library})
    version = str(openvino.Network.imports().__version__).partition("-")[0]
    return _Report(answer, openvino.direct_groups(answer["kernels"], file), version)


def _onnxruntime(setting: Setting, file: onnx_files.PreparedFile, runs: int, is_alone: bool) -> _Report:
    from latpred.workloads import onnxruntime

    with tempfile.TemporaryDirectory(prefix="latpred-") as folder:
        report, optimized = onnxruntime.profile(setting, Path(folder), runs, level=onnxruntime.EXTENDED)
    version = str(onnxruntime.Network.imports().__version__)
    return _Report(report, onnxruntime.direct_groups(report["kernels"], optimized, file), version)


LABELLERS: dict[str, Labeller] = {
    "openvino": Labeller(
        "OpenVINO on this processor; times of kernels in nanoseconds of the thread's CPU time",
        "thread CPU time, ns",
        RUNTIMES["openvino"].precisions,
        ask=_openvino,
    ),
    "onnxruntime": Labeller(
        "ONNX Runtime on this processor, without blocked layouts",
        "wall clock, whole microseconds",
        RUNTIMES["onnxruntime"].precisions,
        ask=_onnxruntime,
    ),
    "inductor": Labeller(
        "torch.compile's Inductor for this processor; nothing is compiled or timed",
        "",
        PRECISIONS,
        of_module=label_module,
    ),
}

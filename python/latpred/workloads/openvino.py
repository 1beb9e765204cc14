"""ONNX files under OpenVINO's CPU plugin."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from latpred.errors import ProfilerError
from latpred.optional import need
from latpred.workloads import child, itt, onnx_files
from latpred.workloads.fused_groups import close_groups
from latpred.workloads.kernel_times import kernel_times
from latpred.workloads.onnx_workload import OnnxWorkload, quoted
from latpred.workloads.workload import DEFAULT_PRECISION, KernelTimes, Setting

# Our names and the plugin's; "default" is bf16 on processors that have it.
_PRECISIONS = {DEFAULT_PRECISION: None, "fp32": "f32", "bf16": "bf16", "fp16": "f16"}
_NOT_NAMED = {"Constant", "Parameter", "Result"}
ORIGINAL_NAMES = "originalLayersNames"
_SEED = 0


def _openvino() -> Any:
    # Reading a file would report usage over the network, from a thread beside the one that is timed. Where the user has
    # imported OpenVINO already, its settings stay.
    if "openvino" not in sys.modules:
        sys.modules.setdefault("openvino_telemetry", None)  # type: ignore[arg-type]
    return need("openvino", "openvino", "runtime 'openvino'")


@cache
def _core() -> Any:
    return _openvino().Core()


class Network:
    """A prepared file (the setting's source), compiled, with its inputs filled. Latency mode, one stream."""

    imports = staticmethod(_openvino)

    def __init__(self, setting: Setting, *, keeps_names: bool = False) -> None:
        openvino = _openvino()
        try:
            model = _core().read_model(str(setting.source))
            if keeps_names:
                _name_operators(model)
            self.compiled = _core().compile_model(model, "CPU", _properties(setting))
        except RuntimeError as error:
            raise ProfilerError(f"OpenVINO cannot compile the network: {quoted(error)}") from error
        self._request = self.compiled.create_infer_request()
        random = np.random.default_rng(_SEED)
        for index, port in enumerate(self.compiled.inputs):
            values = onnx_files.example(random, port.get_element_type().to_dtype(), tuple(port.shape))
            self._request.set_input_tensor(index, openvino.Tensor(values))

    def run_once(self) -> None:
        """One call on this thread."""
        self._request.infer(share_outputs=True)  # else they are copied

    def run_many(self, runs: int) -> None:
        """That many."""
        for _ in range(runs):
            self.run_once()

    def close(self) -> None:
        """Frees the compiled network."""
        self._request = self.compiled = None


class OpenVinoWorkload(OnnxWorkload):
    """A file, or the file of a recipe's Graph."""

    opens = Network
    package = "openvino"

    def kernels(self, runs: int = 30) -> KernelTimes:
        """Nanoseconds of each node that the plugin executes, in a process of its own that collects them."""
        request = {"setting": dataclasses.asdict(self.prepared), "runs": runs}
        answer = child.ask("openvino_kernels", request, {itt.ENVIRONMENT_VARIABLE: itt.library_path()})
        direct = direct_groups(answer["kernels"], self.file)
        return kernel_times(answer, self.file, close_groups(self.file.nodes, direct))


def _properties(setting: Setting) -> dict[str, Any]:
    properties: dict[str, Any] = {"INFERENCE_NUM_THREADS": setting.threads, "NUM_STREAMS": 1}
    if setting.threads == 1:
        # It would move this thread to the first core in every call, and back; we keep it in place ourselves.
        properties["ENABLE_CPU_PINNING"] = False
    precision = _PRECISIONS[setting.precision]
    return properties if precision is None else {**properties, "INFERENCE_PRECISION_HINT": precision}


def _name_operators(model: Any) -> None:
    """Without this a convolution whose batch norm is folded into it loses both names."""
    for operator in model.get_ops():
        if operator.get_type_name() not in _NOT_NAMED:
            operator.rt_info[ORIGINAL_NAMES] = operator.get_friendly_name()


def direct_groups(kernels: list[Mapping[str, Any]], file: onnx_files.PreparedFile) -> dict[str, int]:
    """unique name -> index in `kernels`, as the plugin says. What two kernels name belongs to the executed one."""
    known = {node.unique_name for node in file.nodes}
    # The last operator is named after the output of the network.
    producers = {output: node.unique_name for node in file.nodes for output in node.outputs}
    aliases = {output: producers[output] for output in file.outputs if output in producers}
    found: dict[str, int] = {}
    for index in sorted(range(len(kernels)), key=lambda index: bool(kernels[index]["times_ns"])):
        for word in kernels[index]["original_names"]:
            name = aliases.get(word) or aliases.get(os.path.dirname(word)) or word.partition("/")[0]
            if name in known:
                found[name] = index
    return found

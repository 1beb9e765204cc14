"""ONNX files under ONNX Runtime on the processor."""

from __future__ import annotations

import json
import tempfile
import time
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from latpred.errors import ProfilerError
from latpred.optional import need
from latpred.workloads import onnx_files
from latpred.workloads.fused_groups import close_groups
from latpred.workloads.kernel_times import kernel_times
from latpred.workloads.onnx_workload import OnnxWorkload, quoted
from latpred.workloads.workload import KernelTimes, Setting, pinned

_SEED = 0
_WARM_UP = 5
_ERRORS_ONLY = 3  # of its logger
_NODE, _TIME = "Node", "_kernel_time"  # category, and the end of the name, of a kernel's event
_BLOCKED = "_nchwc"  # the end of the name of a node whose layout was changed: before it stands its first output
_BLOCKED_DOMAIN = "com.microsoft.nchwc"
_SUM_INPUT = 3  # of a blocked convolution: what it adds
_FUSED = "fused "  # the begin of the name of a node with a function behind it
_FOLDED = {"BatchNormalization"}  # into the weights of a convolution
_REORDERS = {"ReorderInput", "ReorderOutput"}  # they write a tensor of the file, and another node computes it
_NS_PER_US = 1000
EXTENDED = "ORT_ENABLE_EXTENDED"  # all optimizations but blocked layouts, which rename what they fuse


def _onnxruntime() -> Any:
    return need("onnxruntime", "onnxruntime", "runtime 'onnxruntime'")


class Network:
    """A prepared file (the setting's source) in a session with its inputs filled. level: all optimizations if empty."""

    imports = staticmethod(_onnxruntime)

    def __init__(self, setting: Setting, *, profile: Path | None = None, level: str = "") -> None:
        runtime = _onnxruntime()
        options = runtime.SessionOptions()
        options.intra_op_num_threads = setting.threads
        options.inter_op_num_threads = 1
        options.log_severity_level = _ERRORS_ONLY
        if level:
            options.graph_optimization_level = getattr(runtime.GraphOptimizationLevel, level)
        if profile is not None:
            options.enable_profiling = True
            options.profile_file_prefix = str(profile / "profile")
            options.optimized_model_filepath = str(profile / "optimized.onnx")
        try:
            self.session = runtime.InferenceSession(str(setting.source), options, ["CPUExecutionProvider"])
        except Exception as error:
            raise ProfilerError(f"ONNX Runtime cannot open the network: {quoted(error)}") from error
        random = np.random.default_rng(_SEED)
        inputs = self.session.get_inputs()
        self._feed = {port.name: onnx_files.example(random, _TYPES[port.type], tuple(port.shape)) for port in inputs}

    def run_once(self) -> None:
        """One call on this thread."""
        self.session.run(None, self._feed)

    def run_many(self, runs: int) -> None:
        """That many."""
        for _ in range(runs):
            self.run_once()

    def close(self) -> None:
        """Frees the session."""
        self.session = None


# Its words for element types.
_TYPES = {
    "tensor(float)": "float32",
    "tensor(float16)": "float16",
    "tensor(double)": "float64",
    **{
        f"tensor({name})": name
        for name in ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
    },
}


class OnnxRuntimeWorkload(OnnxWorkload):
    """A file, or the file of a recipe's Graph."""

    opens = Network
    package = "onnxruntime"

    def kernels(self, runs: int = 30) -> KernelTimes:
        """Whole microseconds of each node of the optimized graph; profiling adds a few to each."""
        with tempfile.TemporaryDirectory(prefix="latpred-") as folder:
            report, optimized = profile(self.prepared, Path(folder), runs)
        direct = direct_groups(report["kernels"], optimized, self.file)
        return kernel_times(report, self.file, close_groups(self.file.nodes, direct))


def profile(setting: Setting, folder: Path, runs: int, level: str = "") -> tuple[dict[str, Any], Any]:
    """What was executed, and the graph that it was."""
    onnx = need("onnx", "onnx", "runtime 'onnxruntime'")
    network = Network(setting, profile=folder, level=level)
    calls_s = []
    with pinned(setting):
        network.run_many(_WARM_UP)
        for _ in range(runs):
            start = time.perf_counter()
            network.run_once()
            calls_s.append(time.perf_counter() - start)
    events = json.loads(Path(network.session.end_profiling()).read_text())
    network.close()
    optimized = onnx.load(folder / "optimized.onnx", load_external_data=False)
    times: dict[str, list[int]] = defaultdict(list)
    facts: dict[str, Mapping[str, Any]] = {}
    for event in sorted(
        (event for event in events if event.get("cat") == _NODE and event["name"].endswith(_TIME)),
        key=lambda event: event["ts"],
    ):
        name = event["name"].removesuffix(_TIME)
        times[name].append(int(event["dur"]) * _NS_PER_US)
        facts[name] = event["args"]
    kernels = [
        {
            "name": name,
            "kind": facts[name]["op_name"],
            "implementation": "",
            "precision": _element_type(facts[name]),
            "order": order,
            "times_ns": _of_calls(durations, _WARM_UP + runs)[_WARM_UP:],
        }
        for order, (name, durations) in enumerate(times.items())
    ]
    return {"kernels": kernels, "calls_s": calls_s, "clock": "wall clock, whole microseconds"}, optimized


def _of_calls(durations: list[int], calls: int) -> list[int]:
    """Sums for each call: nodes of a loop's body run several times in one."""
    each, rest = divmod(len(durations), calls)
    if rest or not each:
        raise ProfilerError(f"ONNX Runtime reported {len(durations)} times of one node in {calls} calls")
    return [sum(durations[start : start + each]) for start in range(0, len(durations), each)]


def _element_type(facts: Mapping[str, Any]) -> str:
    outputs = facts.get("output_type_shape") or [{}]
    return next(iter(outputs[0]), "")


def direct_groups(kernels: list[Mapping[str, Any]], optimized: Any, file: onnx_files.PreparedFile) -> dict[str, int]:
    """unique name -> index in `kernels`: by the tensors that a fused node writes, and by the names that it keeps."""
    index_of = {kernel["name"]: index for index, kernel in enumerate(kernels)}
    producers = {output: node.unique_name for node in file.nodes for output in node.outputs}
    known = {node.unique_name for node in file.nodes}
    found: dict[str, int] = {}
    for node in optimized.graph.node:
        index = index_of.get(node.name)
        if index is None or node.op_type in _REORDERS:
            continue
        words = (node.name, node.name.partition("/")[0], node.name.removeprefix(_FUSED))
        names = {producers.get(tensor) for tensor in (node.name.removesuffix(_BLOCKED), *node.output)}
        names |= {word for word in words if word in known}
        names |= set(_fused_behind(node, names, file))
        found.update({name: index for name in names if name is not None})
    return found


def _fused_behind(node: Any, names: Collection[str | None], file: onnx_files.PreparedFile) -> Iterator[str]:
    """What a blocked convolution does besides: it is named after itself, and adds a tensor and applies a function."""
    if node.op_type != "Conv" or node.domain != _BLOCKED_DOMAIN:
        return
    left = {"Add"} if len(node.input) > _SUM_INPUT else set()
    left |= {attribute.s.decode() for attribute in node.attribute if attribute.name == "activation"}
    last = next((each for each in file.nodes if each.unique_name in names), None)
    while last is not None and left:
        behind = [each for each in file.nodes if set(last.outputs) & set(each.inputs)]
        last = behind[0] if len(behind) == 1 and behind[0].operator in {*left, *_FOLDED} else None
        if last is not None:
            left.discard(last.operator)
            yield last.unique_name

"""Labels of a network from a TensorRT engine of it."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latpred.api import load
from latpred.errors import InvalidArgumentError
from latpred.labels.labelled import Labels, from_kernel_times
from latpred.labels.tensorrt import Engine, read_engine
from latpred.units import NANOSECOND
from latpred.workloads import onnx_files
from latpred.workloads.fused_groups import close_groups
from latpred.workloads.kernel_times import kernel_times
from latpred.workloads.workload import Setting

RUNTIME = "tensorrt"


def label_engine(
    network: str | Path, layers: str | Path, profile: str | Path | None = None, *, batch: int = 1, input: Any = None
) -> Labels:
    """How an engine fuses the ONNX file that it was built from. layers: of trtexec --exportLayerInfo; profile: of
    --exportProfile, for times."""
    with tempfile.TemporaryDirectory(prefix="latpred-") as folder:
        setting = Setting(str(network), batch=batch, input=input)
        file = onnx_files.prepare(setting, Path(folder))
        graph = load(str(file.path), batch=batch)
    named = {node.name: node.unique_name for node in file.nodes if node.name}
    engine = read_engine(Path(layers), None if profile is None else Path(profile), named)
    direct = {named[name]: place for place, layer in enumerate(engine.layers) for name in layer.nodes if name in named}
    if not direct:
        raise InvalidArgumentError(
            f"no layer of '{layers}' has a node of '{network}'; its nodes are named {', '.join(sorted(named)[:3])}"
        )
    return labels_of(engine, file, graph, direct)


def labels_of(
    engine: Engine,
    file: onnx_files.PreparedFile,
    graph: Any,
    direct: Mapping[str, int],
    inferred: Mapping[str, int] | None = None,
    version: str = "",
) -> Labels:
    """direct, inferred: unique name of a node of the file -> place of its layer, as its names say, or as follows."""
    is_timed = any(layer.latency_s is not None for layer in engine.layers)
    kernels = [
        {
            "name": layer.name,
            "kind": layer.type,
            "implementation": layer.kernel,
            "precision": "",
            "order": order,
            "times_ns": [(layer.latency_s or 0.0) / NANOSECOND or 1.0],
        }
        for order, layer in enumerate(engine.layers)
    ]
    report = {"kernels": kernels, "calls_s": [sum(layer.latency_s or 0.0 for layer in engine.layers)], "clock": ""}
    maker = {tensor: layer.name for layer in engine.layers for tensor in layer.outputs}
    reads = {layer.name: [maker[tensor] for tensor in layer.inputs if tensor in maker] for layer in engine.layers}
    groups = close_groups(file.nodes, {**(inferred or {}), **direct})
    groups = {name: (place, name in direct) for name, (place, _) in groups.items()}
    times = kernel_times(report, file, groups)
    return from_kernel_times(times, file.nodes, graph, RUNTIME, version, is_timed=is_timed, reads=reads)

"""From what a runtime reports of its kernels to KernelTimes."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from latpred import _core
from latpred.units import NANOSECOND
from latpred.workloads.onnx_files import FileNode, PreparedFile
from latpred.workloads.workload import KernelTime, KernelTimes, NodeOfKernel


def kernel_times(report: Mapping[str, Any], file: PreparedFile, groups: Mapping[str, tuple[int, bool]]) -> KernelTimes:
    """Of the kernels that were executed. groups: unique name -> index in report["kernels"], whether it is direct."""
    members: dict[int, list[NodeOfKernel]] = defaultdict(list)
    unattributed = []
    for node in file.nodes:
        if node.unique_name in groups:
            index, is_direct = groups[node.unique_name]
            members[index].append(_node(node, is_direct))
        else:
            unattributed.append(_node(node, False))
    kernels = report["kernels"]
    rows = [_row(kernel, members[index]) for index, kernel in enumerate(kernels) if kernel["times_ns"]]
    return KernelTimes(
        tuple(sorted(rows, key=lambda row: row.order)),
        tuple(node for index in members if not kernels[index]["times_ns"] for node in members[index]),
        tuple(unattributed),
        report["clock"],
        statistics.median(report["calls_s"]),
    )


def _node(node: FileNode, is_direct: bool) -> NodeOfKernel:
    return NodeOfKernel(node.index, node.name, node.operator, is_direct)


def _row(kernel: Mapping[str, Any], nodes: list[NodeOfKernel]) -> KernelTime:
    samples_s = [time_ns * NANOSECOND for time_ns in kernel["times_ns"]]
    found = _core.statistics(samples_s)
    return KernelTime(
        name=kernel["name"],
        kind=kernel["kind"],
        implementation=kernel["implementation"],
        precision=kernel["precision"],
        order=kernel["order"],
        nodes=tuple(nodes),
        latency_s=found.median,
        noise=found.noise,
        samples_s=tuple(samples_s),
    )

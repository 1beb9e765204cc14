"""A network with what a runtime made of it: a group for each node, the kernel of each group."""

from __future__ import annotations

import dataclasses
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from latpred.labels import grouping
from latpred.labels.kernel_type import kernel_type
from latpred.tables import Column, Table, number_column, text_column

if TYPE_CHECKING:
    from latpred._core import Graph
    from latpred.workloads.onnx_files import FileNode
    from latpred.workloads.workload import KernelTime, KernelTimes

NO_GROUP = -1
_COPIES = {
    "NoOp",
    "Reformat",
    "Reorder",
    "ReorderInput",
    "ReorderOutput",
}  # to another layout: no node of the network asks for them


@dataclasses.dataclass(frozen=True)
class LabelledKernel:
    """One executed kernel."""

    group: int  # NO_GROUP: it computes no node, as copies to another layout do
    charged_to: int  # the group that its time counts for: its own, else that of what reads it; NO_GROUP: of the whole
    type: str  # "Convolution:brgconv_1x1"
    name: str  # the runtime's own
    implementation: str
    precision: str
    latency_s: float | None  # None: not timed
    noise: float | None  # robust standard deviation over latency_s


@dataclasses.dataclass(frozen=True)
class Labels:
    """What a runtime made of a graph. Nodes are numbered as in `graph`."""

    graph: Graph
    runtime: str
    runtime_version: str
    edges: npt.NDArray[np.int64]  # [2, E]: producer, consumer
    group: npt.NDArray[np.int64]  # [N]; every node is in one, alone where nothing is fused
    is_direct: npt.NDArray[np.bool_]  # [N]: the runtime names the node; else it was inferred from its neighbours
    kernels: tuple[LabelledKernel, ...]  # in the order of execution
    num_split: int  # groups that were taken apart: not connected, or left and entered again
    num_unattributed: int  # nodes that nothing could be inferred for: they are groups of their own

    @property
    def edge_label(self) -> npt.NDArray[np.uint8]:
        """1: both ends are computed by one kernel. uint8 [E]."""
        return grouping.edge_labels(self.edges, self.group)

    @property
    def groups(self) -> Table[Any]:
        """A row for each group: members, kernels, time."""
        rows = []
        for number in range(int(self.group.max(initial=-1)) + 1):
            members = np.flatnonzero(self.group == number)
            kernels = [kernel for kernel in self.kernels if kernel.group == number]
            rows.append(_Group(number, [self.graph.nodes[index] for index in members], kernels))
        return Table(rows, _GROUP_COLUMNS, what="group")

    def __str__(self) -> str:
        label = self.edge_label
        return (
            f"{len(self.graph)} nodes in {int(self.group.max(initial=-1)) + 1} groups, {int(label.sum())} of "
            f"{len(label)} edges fused, {len(self.kernels)} kernels under {self.runtime} {self.runtime_version}"
        )


@dataclasses.dataclass(frozen=True)
class _Group:
    number: int
    nodes: list[Any]
    kernels: list[LabelledKernel]

    @property
    def type(self) -> str:
        return type_of(self.kernels)

    @property
    def latency_s(self) -> float | None:
        times = [kernel.latency_s for kernel in self.kernels if kernel.latency_s is not None]
        return sum(times) if times else None


def type_of(kernels: Sequence[LabelledKernel]) -> str:
    """Of several kernels that of the longest."""
    return max(kernels, key=lambda kernel: kernel.latency_s or 0.0).type if kernels else ""


_GROUP_COLUMNS: list[Column[Any]] = [
    number_column("number", text=str),
    Column("operators", lambda row: " + ".join(node.operator for node in row.nodes), is_left=True),
    Column("nodes", lambda row: [node.name for node in row.nodes], is_shown=False),
    text_column("type"),
    Column("kernels", lambda row: len(row.kernels)),
    Column(
        "latency_us",
        lambda row: None if row.latency_s is None else row.latency_s * 1e6,
        "us",
        lambda value: f"{value:.1f}",
    ),
]


def edges_of(graph: Graph) -> npt.NDArray[np.int64]:
    """Producer and consumer of every data edge, each once: int64 [2, E]."""
    pairs = np.asarray(graph.adjacency(), np.int64).reshape(-1, 2)
    return np.ascontiguousarray(np.unique(pairs, axis=0).T)


def from_kernel_times(
    times: KernelTimes,
    nodes: Sequence[FileNode],
    graph: Graph,
    runtime: str,
    runtime_version: str,
    *,
    is_timed: bool,
    reads: Mapping[str, Sequence[str]] | None = None,
) -> Labels:
    """nodes: those of the file that ran; graph: what latpred.load makes of that file; reads: the runtime's own name of
    each of its nodes -> names of those that it reads, where the runtime says so."""
    home = graph_node_of_each(nodes, graph)
    parts: list[list[tuple[int, bool]]] = []  # of each kernel: nodes of the graph, and whether they are direct
    for row in times.rows:
        found = [(home[node.index], node.is_direct) for node in row.nodes if node.index in home]
        parts.append(found)
    idle = [(home[node.index], node.is_direct) for node in times.not_executed if node.index in home]
    place_of = {node.index: place for place, row in enumerate(times.rows) for node in row.nodes}
    group, unattributed = np.full(len(graph), NO_GROUP, np.int64), 0
    # A node of the graph that the file writes as several belongs where the last of them is computed.
    for file_index in sorted(home):
        if file_index in place_of:
            group[home[file_index]] = place_of[file_index]
    is_direct = np.zeros(len(graph), bool)
    for index, direct in [pair for part in parts for pair in part] + idle:
        is_direct[index] |= direct
    resting = {index for index, _ in idle}
    for index in np.flatnonzero(group == NO_GROUP).tolist():
        group[index] = len(times.rows) + index
        unattributed += index not in resting
    edges = edges_of(graph)
    whole = grouping.numbered(group)
    parted = grouping.kernel_groups(edges, group)
    own = [_group_of_kernel(place, parts[place], group, parted, graph) for place in range(len(times.rows))]
    kernels = _kernels(times.rows, own, _readers(reads or {}), is_timed)
    num_split = int(parted.max(initial=-1) - whole.max(initial=-1))
    return Labels(graph, runtime, runtime_version, edges, parted, is_direct, kernels, num_split, int(unattributed))


def _group_of_kernel(
    place: int, part: list[tuple[int, bool]], group: npt.NDArray[np.int64], parted: npt.NDArray[np.int64], graph: Graph
) -> int:
    """Of the parts of a kernel's nodes the one with most of the arithmetic; of a kernel whose nodes all end elsewhere
    (the first of an attention's three) the group where they end."""
    members = np.flatnonzero(group == place)
    if not len(members):
        members = np.array(sorted({index for index, _ in part}), np.int64)
    if not len(members):
        return NO_GROUP
    flops: Counter[int] = Counter()
    for index in members:
        flops[int(parted[index])] += int(graph.nodes[index].flops) + 1
    return flops.most_common(1)[0][0]


def _readers(reads: Mapping[str, Sequence[str]]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, sources in reads.items():
        for source in sources:
            found[source].append(name)
    return found


def _kernels(
    rows: Sequence[KernelTime], own: Sequence[int], readers: Mapping[str, list[str]], is_timed: bool
) -> tuple[LabelledKernel, ...]:
    """A kernel that computes a part of what reads it belongs there, a copy is only charged to it."""
    group_of = {row.name: group for row, group in zip(rows, own, strict=True) if group != NO_GROUP}

    def group_behind(name: str, seen: set[str]) -> int:
        for reader in readers.get(name, []):
            if reader in group_of:
                return group_of[reader]
            if reader not in seen and (found := group_behind(reader, seen | {reader})) != NO_GROUP:
                return found
        return NO_GROUP

    made = []
    for row, group in zip(rows, own, strict=True):
        behind = group if group != NO_GROUP else group_behind(row.name, {row.name})
        made.append(
            LabelledKernel(
                NO_GROUP if group == NO_GROUP and row.kind in _COPIES else behind,
                behind,
                kernel_type(row.kind, row.implementation),
                row.name,
                row.implementation,
                row.precision,
                row.latency_s if is_timed else None,
                row.noise if is_timed else None,
            )
        )
    return tuple(made)


def graph_node_of_each(nodes: Sequence[FileNode], graph: Graph) -> dict[int, int]:
    """index in the file -> number in the graph. Where a graph's node stands for several of the file (a GELU, an
    attention) it has the name of the last of them; the others are those whose results all end in it."""
    numbers = {node.name: number for number, node in enumerate(graph.nodes)}
    consumers: Mapping[str, list[FileNode]] = _consumers(nodes)
    found: dict[int, int] = {}
    for node in reversed(nodes):
        if node.unique_name in numbers:
            found[node.index] = numbers[node.unique_name]
            continue
        ends = {found.get(reader.index) for output in node.outputs for reader in consumers.get(output, [])}
        if len(ends) == 1 and None not in ends:
            end = ends.pop()
            assert end is not None
            found[node.index] = end
    return found


def _consumers(nodes: Sequence[FileNode]) -> Mapping[str, list[FileNode]]:
    found: dict[str, list[FileNode]] = defaultdict(list)
    for node in nodes:
        for name in node.inputs:
            found[name].append(node)
    return found

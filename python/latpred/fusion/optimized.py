"""A network as its runtime executes it: nodes put into kernels, each kernel with its time, type and bound.

The kernels come from rules (of_prediction), from networks that learnt them (optimize) or from a runtime that was asked
(of_labels); all three show, compare and draw alike.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.fusion import graph_arrays
from latpred.fusion.bounds import Bounds
from latpred.fusion.inputs import device_columns
from latpred.graph import name as graph_name
from latpred.tables import Column, Table, html_table, number, scaled
from latpred.writing import replacing, writing

if TYPE_CHECKING:
    import pandas

    from latpred._core import Graph
    from latpred.fusion.difference import Difference
    from latpred.fusion.graph_arrays import Arrays
    from latpred.fusion.network import GraphNetwork
    from latpred.fusion.pictures import Picture
    from latpred.labels.labelled import Labels
    from latpred.prediction import Prediction

FUSIBLE = 0.5  # from this probability on
SHOWN_TYPES = 5
US_PER_S = 1e6


@dataclass(frozen=True)
class OptimizedKernel:
    """Some nodes that one kernel computes, or what no node asked for: a copy, a cast, a wait of the host."""

    members: tuple[int, ...]  # numbers of nodes
    operators: tuple[str, ...]  # of the members
    types: tuple[tuple[str, float], ...]  # the likeliest five with their probabilities; one where it is known
    latency_s: float | None  # None: it was not timed
    bound: str = ""  # "compute" or "memory"; empty where the device's rates are not known
    roofline_s: float | None = None  # what the device's rates allow
    saved_bytes: float = 0  # reads and writes of tensors that stay inside of the kernel

    @property
    def type(self) -> str:
        """The likeliest."""
        return self.types[0][0] if self.types else ""

    @property
    def title(self) -> str:
        """Its operators; of a kernel without nodes its type."""
        return " + ".join(self.operators) or self.type or "kernel"


def _types_text(types: Sequence[tuple[str, float]]) -> str:
    if len(types) == 1 and types[0][1] == 1:
        return types[0][0]
    return ", ".join(f"{name} {probability:.0%}" for name, probability in types[:2])


_KERNEL_COLUMNS: list[Column[tuple[int, OptimizedKernel]]] = [
    Column("number", lambda row: row[0]),
    Column("operators", lambda row: row[1].title, is_left=True),
    Column("type", lambda row: row[1].type, is_shown=False),
    Column("types", lambda row: list(row[1].types), "type", _types_text, is_left=True),
    Column(
        "latency_us", lambda row: None if row[1].latency_s is None else row[1].latency_s * US_PER_S, "us", text=number
    ),
    Column(
        "roofline_us",
        lambda row: None if row[1].roofline_s is None else row[1].roofline_s * US_PER_S,
        "bound us",
        text=number,
    ),
    Column("bound", lambda row: row[1].bound or None, is_left=True),
    Column("saved_bytes", lambda row: row[1].saved_bytes, "bytes saved", scaled),
    Column("members", lambda row: list(row[1].members), is_shown=False),
]


@dataclass(frozen=True)
class OptimizedGraph:
    """Kernels in the order of execution, and which of them reads what another gives: [2, edges] of their numbers."""

    graph: Graph
    kernels: tuple[OptimizedKernel, ...]
    edges: np.ndarray
    where: str  # runtime and device, and how the kernels were found: "tensorrt on A100 by rules"

    @property
    def latency_s(self) -> float | None:
        """The sum over the kernels, which run one after another; None where one was not timed."""
        times = [kernel.latency_s for kernel in self.kernels]
        known = [time for time in times if time is not None]
        return sum(known) if len(known) == len(times) else None

    @property
    def saved_bytes(self) -> float:
        """Reads and writes of tensors that fusion spares, each consumer's read among them."""
        return sum(kernel.saved_bytes for kernel in self.kernels)

    @cached_property
    def group(self) -> np.ndarray:
        """The kernel of each node: int64 [N]; -1: no kernel computes it, as of a reshape."""
        group = np.full(len(self.graph), -1, np.int64)
        for place, kernel in enumerate(self.kernels):
            group[list(kernel.members)] = place
        return group

    @cached_property
    def table(self) -> Table[tuple[int, OptimizedKernel]]:
        """A row for each kernel."""
        return Table(list(enumerate(self.kernels)), _KERNEL_COLUMNS, what="kernel")

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row for each kernel, values unrounded. Needs latpred[data]."""
        return self.table.to_pandas()

    def types(self, place: int) -> Table[tuple[str, float]]:
        """The likeliest types of a kernel."""
        columns: list[Column[tuple[str, float]]] = [
            Column("type", lambda row: row[0], is_left=True),
            Column("probability", lambda row: row[1], text=lambda share: f"{share:.1%}"),
        ]
        return Table(self.kernels[place].types, columns, what="type")

    def to_dot(self) -> str:
        """For Graphviz: a box for each kernel, coloured by its time."""
        from latpred.fusion.pictures import dot

        return dot(self)

    def to_svg(self) -> Picture:
        """The same as a drawing, which a notebook shows; needs no other program."""
        from latpred.fusion.pictures import svg

        return svg(self)

    def to_chrome_trace(self) -> dict[str, Any]:
        """Kernels one after another, for chrome://tracing and Perfetto."""
        from latpred.fusion.pictures import chrome_trace

        return chrome_trace(self)

    def save(self, path: str | Path) -> None:
        """Writes what the file's ending names: .dot, .svg, .json (Chrome trace), .csv."""
        path = Path(path)
        writers: dict[str, Callable[[], str]] = {
            ".dot": self.to_dot,
            ".svg": self.to_svg,
            ".json": lambda: json.dumps(self.to_chrome_trace()),
            ".csv": lambda: str(self.to_pandas().to_csv(index=False)),
        }
        if path.suffix not in writers:
            raise InvalidArgumentError(
                _core.unknown_name_message("ending of an optimized graph's file", path.suffix, list(writers)),
                valid=list(writers),
            )
        text = writers[path.suffix]()
        with writing(f"the optimized graph of '{graph_name(self.graph)}'", path), replacing(path) as unfinished:
            unfinished.write_text(text, encoding="utf-8")

    def diff(self, other: OptimizedGraph) -> Difference:
        """What another runtime, device or network makes otherwise, kernel by kernel."""
        from latpred.fusion.difference import compare

        if not isinstance(other, OptimizedGraph):
            raise InvalidArgumentError(
                f"diff() takes another optimized graph, prediction.optimized, got {type(other).__name__}"
            )
        return compare(self, other)

    def headline(self) -> str:
        """One line."""
        latency_s = self.latency_s
        with_nodes = sum(bool(kernel.members) for kernel in self.kernels)
        others = len(self.kernels) - with_nodes
        beside = f" beside {others} of copies and waits" if others else ""
        return (
            f"{graph_name(self.graph)}, batch {self.graph.batch}, {self.where}: {len(self.graph)} nodes in "
            f"{with_nodes} kernels{beside}, "
            f"{'not timed' if latency_s is None else f'{number(latency_s * 1e3)} ms'}, "
            f"{scaled(self.saved_bytes, 'B')} of traffic saved"
        )

    def __repr__(self) -> str:
        return f"{self.headline()}\n{self.table!r}"

    def _repr_html_(self) -> str:
        return html_table([[self.headline()]]) + self.table._repr_html_()


def of_prediction(prediction: Prediction) -> OptimizedGraph:
    """The kernels behind a prediction, whose runtime's rules say what is fused; times add up to the prediction's."""
    graph = prediction.graph
    place_of = {node.name: place for place, node in enumerate(graph.nodes)}
    rows = prediction.kernels
    members = [tuple(sorted(place_of[name] for name in row.members)) for row in rows]
    bounds = Bounds(graph)
    kernels = tuple(
        OptimizedKernel(
            members=some,
            operators=tuple(graph.nodes[node].operator for node in some),
            types=((row.kind, 1.0),),
            latency_s=row.latency_ms / 1e3,
            bound=row.bound,
            roofline_s=None if row.roofline_ms is None else row.roofline_ms / 1e3,
            saved_bytes=bounds.saved_bytes(some),
        )
        for row, some in zip(rows, members, strict=True)
    )
    where = f"{prediction.runtime} on {prediction.where()} by rules"
    return OptimizedGraph(graph, kernels, edges_between(graph, members), where)


def of_labels(labels: Labels) -> OptimizedGraph:
    """What a runtime did: a kernel for each group that was executed, and for each copy; see latpred.labels.label."""
    from latpred.labels.labelled import NO_GROUP, type_of

    graph, bounds = labels.graph, Bounds(labels.graph)
    own: dict[int, list[Any]] = {}
    for place, kernel in enumerate(labels.kernels):
        own.setdefault(kernel.group if kernel.group != NO_GROUP else -1 - place, []).append(kernel)
    members, kernels = [], []
    for key, some in own.items():
        nodes = tuple(np.flatnonzero(labels.group == key).tolist()) if key >= 0 else ()
        times = [kernel.latency_s for kernel in some if kernel.latency_s is not None]
        members.append(nodes)
        kernels.append(
            OptimizedKernel(
                members=nodes,
                operators=tuple(graph.nodes[node].operator for node in nodes),
                types=((type_of(some), 1.0),),
                latency_s=sum(times) if times else None,
                saved_bytes=bounds.saved_bytes(nodes),
            )
        )
    where = f"{labels.runtime} {labels.runtime_version} on this processor, measured"
    return OptimizedGraph(graph, tuple(kernels), edges_between(graph, members), where)


@dataclass
class _Nodes:
    operator_ids: np.ndarray
    features: np.ndarray
    edges: np.ndarray
    edge_label: np.ndarray


def groups_of(network: GraphNetwork, graphs: Arrays) -> list[np.ndarray]:
    """The group of each node of each graph, from the edges that the network says are fusible."""
    fusible = network.predict(graphs)["fusible"] > FUSIBLE
    first = graphs["first_node"]
    first_edge = np.searchsorted(graphs["edges"][0], first)
    return [
        _core.extract_subgraphs(
            int(first[g + 1] - first[g]),
            graphs["edges"][:, first_edge[g] : first_edge[g + 1]] - first[g],
            fusible[first_edge[g] : first_edge[g + 1]],
        )
        for g in range(len(first) - 1)
    ]


def optimize(
    graph: Graph,
    edges: GraphNetwork,
    kernels: GraphNetwork,
    device: str = "",
    *,
    bounds: Bounds | None = None,
    where: str = "by learnt fusion",
) -> OptimizedGraph:
    """What a runtime makes of `graph`, by a network that learnt its fusion and one that learnt its kernels.

    device: one of kernels.trained_on["devices"], where it learnt several; on another, times lie between theirs.
    bounds: the rates of a device.
    """
    whole = graph_arrays.of_graph(graph)
    (group,) = groups_of(edges, whole)
    nodes = _Nodes(whole["operators"], whole["nodes"], whole["edges"], np.empty(0))
    members = [np.flatnonzero(group == number) for number in range(int(group.max(initial=-1)) + 1)]
    columns = device_columns([device] * len(members), kernels.trained_on.get("devices", ()))
    groups: list[tuple[graph_arrays.LabelledNetwork, np.ndarray]] = [(nodes, some) for some in members]
    arrays = graph_arrays.of_groups(groups, columns)
    if "network_range" in kernels.trained_on:  # beyond it the network would only continue its last slope
        arrays["networks"] = np.clip(arrays["networks"], *kernels.trained_on["network_range"])
    answers = kernels.predict(arrays)
    return of_groups(
        graph,
        [tuple(some.tolist()) for some in members],
        answers["targets"][:, 0],
        answers.get("types"),
        kernels.classes,
        bounds=bounds,
        where=where,
    )


def of_groups(
    graph: Graph,
    members: Sequence[tuple[int, ...]],
    latency_s: Sequence[float] | np.ndarray,
    type_probabilities: np.ndarray | None = None,
    classes: Sequence[str] = (),
    *,
    bounds: Bounds | None = None,
    where: str = "",
) -> OptimizedGraph:
    """Kernels of given nodes; type_probabilities: [K, classes]. bounds: the rates of a device."""
    bounds = Bounds(graph) if bounds is None else bounds
    operator_of = [node.operator for node in graph.nodes]
    found = []
    for place, some in enumerate(members):
        types: tuple[tuple[str, float], ...] = ()
        if type_probabilities is not None:
            likeliest = np.argsort(-type_probabilities[place])[:SHOWN_TYPES]
            types = tuple((classes[index], float(type_probabilities[place, index])) for index in likeliest)
        bound, roofline_s = bounds.of(some)
        operators = tuple(operator_of[node] for node in some)
        saved_bytes = bounds.saved_bytes(some)
        found.append(OptimizedKernel(some, operators, types, float(latency_s[place]), bound, roofline_s, saved_bytes))
    return OptimizedGraph(graph, tuple(found), edges_between(graph, members), where)


def edges_between(graph: Graph, members: Sequence[Sequence[int]]) -> np.ndarray:
    """Which kernel reads what another gives; what no kernel computes hands on what it reads: int64 [2, edges]."""
    kernel_of = {node: place for place, some in enumerate(members) for node in some}
    sources: dict[int, set[int]] = {}  # of nodes without a kernel: kernels behind them
    pairs = set()
    for source, target in sorted(map(tuple, np.asarray(graph.adjacency(), np.int64).reshape(-1, 2).tolist()),
                                 key=lambda pair: pair[1]):  # fmt: skip
        behind = {kernel_of[source]} if source in kernel_of else sources.get(source, set())
        if target in kernel_of:
            pairs |= {(kernel, kernel_of[target]) for kernel in behind if kernel != kernel_of[target]}
        else:
            sources.setdefault(target, set()).update(behind)
    return np.ascontiguousarray(np.array(sorted(pairs), np.int64).reshape(-1, 2).T)

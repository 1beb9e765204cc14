"""A network as its runtime executes it, foretold: nodes put into kernels, each kernel with its time and type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from latpred import _core
from latpred.fusion import graph_arrays
from latpred.fusion.graph_arrays import Arrays

if TYPE_CHECKING:
    from latpred._core import Graph
    from latpred.fusion.network import GraphNetwork

FUSIBLE = 0.5  # from this probability on


@dataclass(frozen=True)
class PredictedKernel:
    """Some nodes that one kernel computes."""

    members: tuple[int, ...]
    latency_s: float
    types: tuple[tuple[str, float], ...]  # the likeliest five with their probabilities; none where none were learnt

    @property
    def type(self) -> str:
        """The likeliest."""
        return self.types[0][0] if self.types else ""


@dataclass(frozen=True)
class OptimizedGraph:
    """Kernels, and which of them reads what another gives: [2, edges] of their numbers."""

    kernels: tuple[PredictedKernel, ...]
    edges: np.ndarray

    @property
    def latency_s(self) -> float:
        """The sum over the kernels, which run one after another."""
        return sum(kernel.latency_s for kernel in self.kernels)


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
    graph: Graph, edges: GraphNetwork, kernels: GraphNetwork, columns: np.ndarray | None = None
) -> OptimizedGraph:
    """What a runtime makes of `graph`, by a network that learnt its fusion and one that learnt its kernels.

    columns: [S] of the device, where both networks were trained with them.
    """
    whole = graph_arrays.of_graph(graph)
    if columns is not None:
        whole["columns"] = columns[None, :]
    (group,) = groups_of(edges, whole)
    nodes = _Nodes(whole["operators"], whole["nodes"], whole["edges"], np.empty(0))
    members = [np.flatnonzero(group == number) for number in range(int(group.max(initial=-1)) + 1)]
    repeated = None if columns is None else np.repeat(columns[None, :], len(members), axis=0)
    groups: list[tuple[graph_arrays.LabelledNetwork, np.ndarray]] = [(nodes, some) for some in members]
    answers = kernels.predict(graph_arrays.of_groups(groups, repeated))
    found = []
    for number, some in enumerate(members):
        types: tuple[tuple[str, float], ...] = ()
        if "types" in answers:
            likeliest = np.argsort(-answers["types"][number])[:5]
            types = tuple((kernels.classes[place], float(answers["types"][number, place])) for place in likeliest)
        found.append(PredictedKernel(tuple(some.tolist()), float(answers["targets"][number, 0]), types))
    between = group[whole["edges"]]
    between = between[:, between[0] != between[1]]
    return OptimizedGraph(tuple(found), np.unique(between, axis=1))

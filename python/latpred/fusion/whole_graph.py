"""A whole network as DIPPM reads it: the nodes of its 16 operators, numbers of the whole; latency, memory, energy."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.fusion.graph_arrays import Arrays

if TYPE_CHECKING:
    from latpred._core import Graph, NodeFeatures

FEATURE_SET = "dippm"  # of latpred.features
TARGETS = ("latency_s", "memory_bytes", "energy_j")

NUM_SIZES = 4  # the last columns of a node: sizes of its output
_FLOPS_OF_A_MAC = 2
_BYTES_MOVED = 2 * 4  # each element is written once and read once, in float32


def of_graph(graph: Graph) -> Arrays:
    """nodes [n, 32], edges [2, e], graph [5] of one network."""
    return only_operators(_core.node_features(graph, FEATURE_SET))


def only_operators(features: NodeFeatures) -> Arrays:
    """The nodes that DIPPM keeps (line 5 of its algorithm 1: its 16 operators); data flows through the others."""
    kept: list[bool] = (features.nodes[:, : _num_operators(features)] != 0).any(axis=1).tolist()
    if not any(kept):
        kept = [True] * len(kept)  # a network without any of them: better all nodes than none
    producers: list[list[int]] = [[] for _ in kept]
    for source, target in features.edges.T.tolist():
        producers[target].append(source)
    place = (np.cumsum(kept) - 1).tolist()
    reached: list[set[int]] = []  # of each node the kept ones that its output comes from
    edges = set()
    for node, is_kept in enumerate(kept):
        sources: set[int] = set().union(*(reached[producer] for producer in producers[node]))
        if is_kept:
            edges |= {(source, place[node]) for source in sources}
        reached.append({place[node]} if is_kept else sources)
    return {
        "nodes": features.nodes[np.array(kept, bool)],
        "edges": np.array(sorted(edges), np.int64).reshape(-1, 2).T,
        "graph": features.graph,
    }


def _num_operators(features: NodeFeatures) -> int:
    return sum(column.name.startswith("is_") for column in features.set.node_columns)


def joined(graphs: Sequence[Arrays]) -> Arrays:
    """Graphs behind each other, as GraphTrainer and GraphNetwork.predict take them; columns: the static features."""
    first_node = np.concatenate([[0], np.cumsum([len(graph["nodes"]) for graph in graphs])]).astype(np.int64)
    edges = [graph["edges"] + first for graph, first in zip(graphs, first_node[:-1], strict=True)]
    return {
        "nodes": np.concatenate([graph["nodes"] for graph in graphs]),
        "edges": np.concatenate(edges, axis=1),
        "first_node": first_node,
        "columns": np.stack([graph["graph"] for graph in graphs]),
    }


def with_totals(arrays: Arrays) -> Arrays:
    """Ours: three columns more, elements that all nodes give, the most that one gives, and how many nodes there are."""
    given = np.prod(np.maximum(arrays["nodes"][:, -NUM_SIZES:], 1), axis=1)
    first = arrays["first_node"][:-1]
    totals = [np.add.reduceat(given, first), np.maximum.reduceat(given, first), np.diff(arrays["first_node"])]
    return arrays | {"columns": np.column_stack([arrays["columns"], *totals])}


def peaks_of(device: str) -> tuple[float, float]:
    """FLOP/s and bytes/s that a row of the device table promises."""
    row = _core.device(device)
    flops_per_s = row.fp16_flops_per_s or row.fp32_flops_per_s
    if flops_per_s is None:
        raise InvalidArgumentError(f"the device table knows no FLOP/s of '{row.name}'")
    return flops_per_s, row.bandwidth_bytes_per_s


def latency_base_s(arrays: Arrays, device: str) -> np.ndarray:
    """[G] what graphs of with_totals() would take at a device's peaks: the physics that ours learns a factor of."""
    return base_s(arrays, *peaks_of(device))


def base_s(arrays: Arrays, flops_per_s: float, bytes_per_s: float) -> np.ndarray:
    """The same at peaks that somebody knows."""
    macs, elements = arrays["columns"][:, 0], arrays["columns"][:, -3]
    return np.asarray(_FLOPS_OF_A_MAC * macs / flops_per_s + _BYTES_MOVED * elements / bytes_per_s)

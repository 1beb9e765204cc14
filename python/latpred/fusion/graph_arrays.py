"""Labelled networks as the arrays that graph neural networks train on (_predictors.GraphTrainer)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TypeAlias

import numpy as np

from latpred import _core
from latpred.errors import InvalidArgumentError

if TYPE_CHECKING:
    from latpred._core import Graph
    from latpred.datasets.kernels import KernelRows

Arrays: TypeAlias = dict[str, np.ndarray]

FEATURE_SET = "lilou"  # of latpred.features: what the networks below read of a node, beside its operator
NO_LABEL = -1
NETWORK_NUMBERS = ("nodes", "elements of outputs", "elements of the largest output", "parameters", "FLOPs")


class LabelledNetwork(Protocol):
    """What is read of a network: its nodes, its edges, which of them one kernel computes."""

    @property
    def operator_ids(self) -> np.ndarray: ...  # [N]
    @property
    def features(self) -> np.ndarray: ...  # [N, F]
    @property
    def edges(self) -> np.ndarray: ...  # [2, E]
    @property
    def edge_label(self) -> np.ndarray: ...  # [E]


def num_operators() -> int:
    """How many operators the one-hot part of a node tells apart."""
    return len(_core.operators())


def of_graph(graph: Graph) -> Arrays:
    """One graph without labels."""
    features = _core.node_features(graph, FEATURE_SET)
    return {
        "nodes": features.nodes,
        "operators": features.operators,
        "edges": features.edges,
        "first_node": np.array([0, len(features.operators)], np.int64),
    }


def of_networks(networks: Sequence[LabelledNetwork], columns: np.ndarray | None = None) -> Arrays:
    """Whole networks with 'fusible' edges; columns: [G, S] of the device that each was labelled on."""
    if not networks:
        raise InvalidArgumentError("there is no network to learn from")
    counts = [len(network.operator_ids) for network in networks]
    first_node = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    edges = [network.edges + first for network, first in zip(networks, first_node[:-1], strict=True)]
    arrays = {
        "nodes": np.concatenate([network.features for network in networks]),
        "operators": np.concatenate([network.operator_ids for network in networks]),
        "edges": np.concatenate(edges, axis=1),
        "first_node": first_node,
        "fusible": np.concatenate([network.edge_label for network in networks]).astype(np.int64),
    }
    return arrays if columns is None else arrays | {"columns": columns}


def subgraph(network: LabelledNetwork, members: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Operators [n], features [n, F] and edges [2, e] between members, numbered from 0 in their order."""
    place = np.full(len(network.operator_ids), -1, np.int64)
    place[members] = np.arange(len(members))
    edges = place[network.edges]
    return network.operator_ids[members], network.features[members], edges[:, (edges >= 0).all(axis=0)]


def network_numbers(features: np.ndarray) -> np.ndarray:
    """[5] NETWORK_NUMBERS of a whole network with these features of nodes, [N, F]. What lies between two calls of a
    kernel, and so whether a cache still has its weights."""
    _, outputs, parameters, flops = np.asarray(features, np.float64).T
    return np.array([len(outputs), outputs.sum(), outputs.max(initial=0.0), parameters.sum(), flops.sum()])


def of_groups(groups: Sequence[tuple[LabelledNetwork, np.ndarray]], columns: np.ndarray | None = None) -> Arrays:
    """One graph for each group of nodes of a network; 'networks': [G, 5], the numbers of the network that it is of."""
    if not groups:
        raise InvalidArgumentError("there is no group of nodes to learn from")
    parts = [subgraph(network, members) for network, members in groups]
    numbers = {
        id(network): network_numbers(network.features) for network in {id(one): one for one, _ in groups}.values()
    }
    first_node = np.concatenate([[0], np.cumsum([len(operators) for operators, _, _ in parts])]).astype(np.int64)
    arrays = {
        "nodes": np.concatenate([features for _, features, _ in parts]),
        "operators": np.concatenate([operators for operators, _, _ in parts]),
        "edges": np.concatenate(
            [edges + first for (_, _, edges), first in zip(parts, first_node, strict=False)], axis=1
        ),
        "first_node": first_node,
        "networks": np.stack([numbers[id(network)] for network, _ in groups]),
    }
    return arrays if columns is None else arrays | {"columns": columns}


def of_kernels(rows: KernelRows, which: np.ndarray, columns: np.ndarray | None = None) -> Arrays:
    """Timed groups `which` of the rows, with targets [G, 1] seconds and types [G]; rows without nodes are none."""
    which = which[rows.node_offsets[which + 1] > rows.node_offsets[which]]
    groups: list[tuple[LabelledNetwork, np.ndarray]] = [
        (rows.networks[rows.network[row]], rows.members(row)) for row in which
    ]
    return of_groups(groups, columns) | {"targets": rows.latency_s[which][:, None], "types": rows.type_id[which]}


def part(arrays: Arrays, which: np.ndarray) -> Arrays:
    """The graphs `which`, in that order; not of calls with a sum, whose graphs stand together."""
    if "sums" in arrays:
        raise InvalidArgumentError("graphs of calls with a sum cannot be parted: choose calls, then make their arrays")
    first = arrays["first_node"]
    first_edge = np.searchsorted(arrays["edges"][0], first)  # edges of one graph stand together, graphs in order
    counts, edge_counts = np.diff(first)[which], np.diff(first_edge)[which]
    nodes = np.concatenate([np.arange(first[g], first[g + 1]) for g in which])
    edges = np.concatenate([np.arange(first_edge[g], first_edge[g + 1]) for g in which])
    new_first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    moved = np.repeat(new_first[:-1] - first[which], edge_counts)
    by_axis = {"nodes": nodes, "operators": nodes, "fusible": edges}
    taken = {
        name: values[by_axis.get(name, which)] for name, values in arrays.items() if name not in ("edges", "first_node")
    }
    return taken | {"edges": arrays["edges"][:, edges] + moved, "first_node": new_first}

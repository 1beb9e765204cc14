"""Which nodes of a network a runtime computes in one kernel: labels of edges, for learning."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from latpred.datasets import label_table
from latpred.datasets.label_table import NetworkLabels


def load(path: str | Path) -> list[NetworkLabels]:
    """The networks of a table of labels; see NetworkLabels for their arrays."""
    return label_table.read(Path(path))


@dataclasses.dataclass(frozen=True)
class Counts:
    """How much a set of fusion labels holds; distinct: what repeats in any network counts once."""

    networks: int
    families: int
    distinct_networks: int
    nodes: int
    edges: int
    distinct_edges: int
    fused_edges: int
    direct_nodes: int


def count(networks: Sequence[NetworkLabels]) -> Counts:
    """An edge is distinct by operators and numbers of both its ends, a network by all its nodes and edges."""
    return Counts(
        networks=len(networks),
        families=len({network.family for network in networks}),
        distinct_networks=len({network_key(network) for network in networks}),
        nodes=sum(len(network.operators) for network in networks),
        edges=sum(network.edges.shape[1] for network in networks),
        distinct_edges=len({key for network in networks for key in edge_keys(network)}),
        fused_edges=sum(int(network.edge_label.sum()) for network in networks),
        direct_nodes=sum(int(network.is_direct.sum()) for network in networks),
    )


def edge_keys(network: NetworkLabels) -> list[tuple[float, ...]]:
    """What each edge is to one who sees its two ends alone."""
    nodes = node_keys(network)
    return [(*nodes[source], *nodes[target]) for source, target in network.edges.T]


def node_keys(network: NetworkLabels) -> list[tuple[float, ...]]:
    """Operator and numbers of each node."""
    return [(int(name), *row) for name, row in zip(network.operator_ids, network.features.tolist(), strict=True)]


def network_key(network: NetworkLabels) -> str:
    """The same for the same nodes and edges."""
    parts = (network.operator_ids, network.features, network.edges)
    return hashlib.sha256(b"|".join(np.ascontiguousarray(part).tobytes() for part in parts)).hexdigest()

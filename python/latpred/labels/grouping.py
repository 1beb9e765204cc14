"""Groups of a graph's nodes, as a runtime names them, made into what can each be one kernel.

Edges are int64 [2, E], producer and consumer; nodes stand in execution order, so that an edge goes from a smaller to a
larger number. A group is a number for each node: int64 [N].
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from latpred import _core

Ints: TypeAlias = npt.NDArray[np.int64]


def edge_labels(edges: Ints, group: Ints) -> npt.NDArray[np.uint8]:
    """1 where both ends of an edge are in one group: uint8 [E]."""
    return np.asarray(group[edges[0]] == group[edges[1]], np.uint8)


def numbered(group: Ints) -> Ints:
    """The same groups, numbered from 0 in the order of their first nodes."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)])


def kernel_groups(edges: Ints, group: Ints) -> Ints:
    """The same groups, split where no edge of theirs joins them, and where a path leaves one and comes back: it would
    have to wait for what waits for it."""
    return np.asarray(_core.extract_subgraphs(len(group), edges, edge_labels(edges, group).astype(bool)), np.int64)

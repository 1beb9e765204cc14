"""Groups of a graph's nodes: union-find over fused edges, and the check that no path leaves a group and comes back.

Edges are int64 [2, E], producer and consumer; nodes stand in execution order, so that an edge goes from a smaller to a
larger number. A group is a number for each node: int64 [N].
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ints: TypeAlias = npt.NDArray[np.int64]


def edge_labels(edges: Ints, group: Ints) -> npt.NDArray[np.uint8]:
    """1 where both ends of an edge are in one group: uint8 [E]."""
    return np.asarray(group[edges[0]] == group[edges[1]], np.uint8)


def groups_of_edges(num_nodes: int, edges: Ints, is_fused: npt.NDArray[np.uint8]) -> Ints:
    """Union-find over the edges that are fused; groups are numbered by their first node."""
    root = list(range(num_nodes))

    def find(node: int) -> int:
        while root[node] != node:
            root[node] = root[root[node]]
            node = root[node]
        return node

    for source, target in edges[:, np.asarray(is_fused, bool)].T:
        # Roots are joined, not the nodes: those may be in a group already.
        one, other = sorted((find(int(source)), find(int(target))))
        root[other] = one
    return numbered(np.array([find(node) for node in range(num_nodes)], np.int64))


def numbered(group: Ints) -> Ints:
    """The same groups, numbered from 0 in the order of their first nodes."""
    _, first, inverse = np.unique(group, return_index=True, return_inverse=True)
    rank = np.empty(len(first), np.int64)
    rank[np.argsort(first)] = np.arange(len(first))
    return np.asarray(rank[inverse.reshape(-1)])


def convex_groups(edges: Ints, group: Ints) -> Ints:
    """The same groups, those split that a path leaves and enters again: such a group cannot be one kernel, because it
    would have to wait for what waits for it."""
    found, next_group = group.copy(), int(group.max(initial=-1)) + 1
    sources: list[list[int]] = [[] for _ in range(len(group))]
    for source, target in edges.T:
        sources[target].append(int(source))
    numbers, counts = np.unique(group, return_counts=True)
    for number in numbers[counts > 1]:
        members = np.flatnonzero(group == number)
        returns = _returns(sources, group, int(number), int(members[0]), int(members[-1]))
        # Nodes behind the same number of returns stay together.
        for level in sorted(set(returns[members - members[0]].tolist()) - {0}):
            found[members[returns[members - members[0]] == level]] = next_group
            next_group += 1
    return numbered(found)


def _returns(sources: list[list[int]], group: Ints, number: int, first: int, last: int) -> Ints:
    """How often the longest way from the group to each of the nodes first..last has left the group and come back."""
    levels = np.full(last - first + 1, -1, np.int64)  # -1: no way from the group
    for node in range(first, last + 1):
        level = 0 if group[node] == number else -1
        for source in sources[node]:
            if source < first or levels[source - first] < 0:
                continue
            comes_back = group[node] == number and group[source] != number
            level = max(level, int(levels[source - first]) + int(comes_back))
        levels[node - first] = level
    return levels


def is_convex(edges: Ints, group: Ints) -> bool:
    """Whether every group is."""
    return bool((convex_groups(edges, group) == numbered(group)).all())


def connected_groups(edges: Ints, group: Ints) -> Ints:
    """The same groups, split where no edge of theirs joins them."""
    return groups_of_edges(len(group), edges, edge_labels(edges, group))

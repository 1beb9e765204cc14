"""Two optimized graphs side by side: two runtimes, two devices, or two networks."""

from __future__ import annotations

import difflib
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from latpred.tables import Column, Table, html_table, number
from latpred.units import MICROSECONDS_PER_S

if TYPE_CHECKING:
    import pandas

    from latpred._core import Graph
    from latpred.fusion.optimized import OptimizedGraph, OptimizedKernel

SAME, OTHERWISE, LEFT_ONLY, RIGHT_ONLY = "same nodes", "fused otherwise", "only left", "only right"


@dataclass(frozen=True)
class Change:
    """Kernels of both sides that share nodes."""

    change: str
    operators: str  # "conv + relu | add": kernels of the left, else of the right
    left: tuple[int, ...]  # numbers of kernels
    right: tuple[int, ...]
    left_s: float | None  # None: not timed
    right_s: float | None

    @property
    def added_s(self) -> float | None:
        """Right minus left."""
        return None if self.left_s is None or self.right_s is None else self.right_s - self.left_s


def _us(value: float | None) -> float | None:
    return None if value is None else value * MICROSECONDS_PER_S


_COLUMNS: list[Column[Change]] = [
    Column("change", lambda row: row.change, is_left=True),
    Column("operators", lambda row: row.operators, is_left=True),
    Column("left", lambda row: list(row.left), "kernels left", lambda value: str(len(value))),
    Column("right", lambda row: list(row.right), "kernels right", lambda value: str(len(value))),
    Column("left_us", lambda row: _us(row.left_s), "left us", number),
    Column("right_us", lambda row: _us(row.right_s), "right us", number),
    Column("added_us", lambda row: _us(row.added_s), "right - left", number),
]


@dataclass(frozen=True)
class Difference:
    """Rows in the order of the left side's execution; what only the right has comes last."""

    left: OptimizedGraph
    right: OptimizedGraph
    rows: tuple[Change, ...]

    @cached_property
    def table(self) -> Table[Change]:
        """Every row, those that fuse alike among them."""
        return Table(self.rows, _COLUMNS, what="change")

    @property
    def largest(self) -> Table[Change]:
        """The rows whose times differ most first."""
        return Table(sorted(self.rows, key=lambda row: -abs(row.added_s or 0.0)), _COLUMNS, what="change")

    def count(self, change: str) -> int:
        """Rows of that change."""
        return sum(row.change == change for row in self.rows)

    def to_pandas(self) -> pandas.DataFrame:
        """A frame with a row for each change. Needs latpred[data]."""
        return self.table.to_pandas()

    def headline(self) -> str:
        """Both sides and what differs, a line each."""
        counts = ", ".join(
            f"{self.count(change)} {change}"
            for change in (SAME, OTHERWISE, LEFT_ONLY, RIGHT_ONLY)
            if self.count(change)
        )
        return f"left:  {self.left.headline()}\nright: {self.right.headline()}\n{counts}"

    def __repr__(self) -> str:
        return f"{self.headline()}\n{self.largest!r}"

    def _repr_html_(self) -> str:
        return html_table([[line] for line in self.headline().splitlines()]) + self.largest._repr_html_()


def same_nodes(left: Graph, right: Graph) -> dict[int, int]:
    """Node of the left -> node of the right. Networks that differ are laid side by side in the order of execution:
    nodes match by operator and by what they give."""

    def keys(graph: Graph) -> list[tuple[Hashable, ...]]:
        return [
            (node.operator, *(tuple(tensor.shape) for tensor in node.outputs if tensor is not None))
            for node in graph.nodes
        ]

    a, b = keys(left), keys(right)
    if [key[0] for key in a] == [key[0] for key in b]:  # another batch or size too
        return {place: place for place in range(len(a))}
    blocks = difflib.SequenceMatcher(None, a=a, b=b, autojunk=False).get_matching_blocks()
    return {block.a + step: block.b + step for block in blocks for step in range(block.size)}


def compare(left: OptimizedGraph, right: OptimizedGraph) -> Difference:
    """Kernels that share nodes are one row."""
    twin = same_nodes(left.graph, right.graph)
    right_kernel = {node: place for place, kernel in enumerate(right.kernels) for node in kernel.members}
    meets: list[set[int]] = [
        {right_kernel[twin[node]] for node in kernel.members if twin.get(node) in right_kernel}
        for kernel in left.kernels
    ]
    met_by: list[list[int]] = [[] for _ in right.kernels]
    for place, found in enumerate(meets):
        for other in found:
            met_by[other].append(place)
    rows: list[Change] = []
    seen_left: set[int] = set()
    seen_right: set[int] = set()
    for place, kernel in enumerate(left.kernels):
        if place in seen_left or not kernel.members:
            continue
        some, waiting = {place}, [place]
        others: set[int] = set()
        while waiting:
            for other in meets[waiting.pop()] - others:
                others.add(other)
                fresh = set(met_by[other]) - some
                some |= fresh
                waiting += fresh
        seen_left |= some
        seen_right |= others
        rows.append(_change(left, right, sorted(some), sorted(others), twin))
    for place, kernel in enumerate(right.kernels):
        if place not in seen_right and kernel.members:
            rows.append(_change(left, right, [], [place], twin))
    return Difference(left, right, (*rows, *_without_nodes(left, right)))


def _change(
    left: OptimizedGraph, right: OptimizedGraph, some: list[int], others: list[int], twin: dict[int, int]
) -> Change:
    if not others or not some:
        change = LEFT_ONLY if some else RIGHT_ONLY
    else:
        is_same = len(some) == len(others) == 1 and {twin.get(node) for node in left.kernels[some[0]].members} == set(
            right.kernels[others[0]].members
        )
        change = SAME if is_same else OTHERWISE
    shown = [left.kernels[place] for place in some] or [right.kernels[place] for place in others]
    return Change(
        change,
        " | ".join(kernel.title for kernel in shown),
        tuple(some),
        tuple(others),
        _sum_s([left.kernels[place] for place in some]),
        _sum_s([right.kernels[place] for place in others]),
    )


def _without_nodes(left: OptimizedGraph, right: OptimizedGraph) -> list[Change]:
    """Copies, casts and waits, by their type."""
    names = {kernel.type: None for graph in (left, right) for kernel in graph.kernels if not kernel.members}
    rows = []
    for name in names:
        some, others = (
            [place for place, kernel in enumerate(graph.kernels) if not kernel.members and kernel.type == name]
            for graph in (left, right)
        )
        change = SAME if some and others else LEFT_ONLY if some else RIGHT_ONLY
        left_s = _sum_s([left.kernels[place] for place in some])
        right_s = _sum_s([right.kernels[place] for place in others])
        rows.append(Change(change, name or "kernel", tuple(some), tuple(others), left_s, right_s))
    return rows


def _sum_s(kernels: Sequence[OptimizedKernel]) -> float | None:
    times = [kernel.latency_s for kernel in kernels]
    known = [time for time in times if time is not None]
    return sum(known) if len(known) == len(times) else None

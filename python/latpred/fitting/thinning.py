"""Fewer rows for fits that are made again and again: those that say the same as others are left out."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from latpred.fitting.kernel_terms import CHANNELS_LAST

if TYPE_CHECKING:
    import pandas as pd

NETWORKS_BY = ("source", "family", "device", "batch")
TABLE_BY = ("source", "runtime_version", "precision", "family", "device")


@dataclasses.dataclass(frozen=True)
class Cap:
    """At most `rows` of those that agree in the columns `by`."""

    rows: int
    by: tuple[str, ...]
    reason: str


ALL = Cap(2**31, TABLE_BY, "every network is another")
CAPS = {
    "bert": ALL,
    "anb": Cap(300, TABLE_BY, "one search space: more networks of it teach nothing new"),
    "nb201": Cap(100, NETWORKS_BY, "cells of one space, thousands on each device"),
    "fbnet": Cap(80, NETWORKS_BY, "blocks of one space, thousands on each device"),
    "ofa": Cap(100, NETWORKS_BY, "widths and depths of one network"),
    "llm": Cap(99, TABLE_BY, "few models, many lengths"),
    "attention": Cap(300, TABLE_BY, "shapes on a grid"),
    "conv": Cap(600, TABLE_BY, "the only shapes of convolutions alone: all that ship"),
    "bmm": Cap(300, TABLE_BY, "shapes on a grid"),
    "gemm": Cap(300, TABLE_BY, "shapes on a grid"),
}
OTHER = Cap(120, TABLE_BY, "element-wise operators and small tables, close to a straight line")
TIMM = "timm"
# Timings of the same networks in the other memory format: one in so many.
ONE_IN = 3


def cap_of(family: str) -> Cap:
    """What `family` is thinned to."""
    return ALL if family.startswith(TIMM) else CAPS.get(family, OTHER)


def thin(rows: pd.DataFrame) -> pd.DataFrame:
    """Some of `rows`, chosen by their ids, which are hashes: the same ones in whatever order they come."""
    rows = rows.sort_values("id")
    caps = {family: cap_of(family) for family in rows.family.unique()}
    rank = np.zeros(len(rows), dtype=np.int64)
    for by in {cap.by for cap in caps.values()}:
        is_counted = rows.family.map({family: cap.by == by for family, cap in caps.items()}).to_numpy(dtype=bool)
        rank = np.where(is_counted, rows.groupby(list(by)).cumcount(), rank)
    kept = rank < rows.family.map({family: cap.rows for family, cap in caps.items()}).to_numpy()
    is_other_format = (rows.layout == CHANNELS_LAST) & rows.family.str.startswith(TIMM)
    is_chosen = np.array([int(row, 16) % ONE_IN == 0 for row in rows.id])
    return rows[kept & (~is_other_format | is_chosen)]

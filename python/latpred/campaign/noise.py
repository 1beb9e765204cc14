"""The noise floor of a campaign: some of its items timed a second time at the end, in another order.

No predictor can be nearer to the labels than the labels are to themselves: these numbers stand beside every error.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from collections.abc import Collection, Sequence

import numpy as np

SHARE = 0.02  # of the items
FEWEST = 5  # of a small campaign: all of them, if there are no more


@dataclasses.dataclass(frozen=True)
class NoiseFloor:
    """How far the second times are from the first ones."""

    pairs: int
    mean_abs_difference_s: float
    mae_over_mean: float  # of the pairs' first times
    mape: float  # |second / first - 1|
    cov_p50: float  # coefficient of variation of a pair
    cov_p90: float

    def __str__(self) -> str:
        return (
            f"mean difference {self.mae_over_mean:.1%} of the mean, {self.mape:.1%} of each; coefficient of variation "
            f"{self.cov_p50:.1%} (median), {self.cov_p90:.1%} (90th percentile); {self.pairs} items timed twice"
        )


def noise_floor(first_s: Sequence[float], second_s: Sequence[float]) -> NoiseFloor | None:
    """Of [N] pairs; None where there are none."""
    if not len(first_s):
        return None
    first, second = np.asarray(first_s, dtype=float), np.asarray(second_s, dtype=float)
    difference = np.abs(second - first)
    # Of two values the unbiased standard deviation is their distance over the square root of 2.
    variation = difference / math.sqrt(2) / ((first + second) / 2)
    return NoiseFloor(
        pairs=len(first),
        mean_abs_difference_s=float(difference.mean()),
        mae_over_mean=float(difference.mean() / first.mean()),
        mape=float((difference / first).mean()),
        cov_p50=float(np.quantile(variation, 0.5)),
        cov_p90=float(np.quantile(variation, 0.9)),
    )


def choose(positions: Collection[int], seed: int) -> list[int]:
    """Which of the items are timed again, in the order in which they are: by chance, and the same for a seed."""

    def chance(position: int) -> bytes:
        return hashlib.sha256(f"{seed} {position}".encode()).digest()

    wanted = min(len(positions), max(FEWEST, math.ceil(SHARE * len(positions))))
    return sorted(positions, key=chance)[:wanted]

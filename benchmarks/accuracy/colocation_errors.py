"""Errors of predictors of slow-downs, and by how much one is ahead of another."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

RESAMPLES, SPREAD = 2000, 0.9  # of a bootstrap
SEED = 0
NONE, MEAN, OURS = "no interference", "mean of the network", "ours"
BASELINES = (NONE, MEAN)
LEAD = f"ours is ahead by ({SPREAD:.0%} interval)"


@dataclasses.dataclass(frozen=True)
class Errors:
    """Of one predictor on rows that it did not see."""

    slow_down: float  # mean |predicted - measured|
    delay_ms: float
    delay_share: float  # of the mean |degradation| of the same rows


def errors_of(predicted: np.ndarray, slow_downs: np.ndarray, alone_s: np.ndarray) -> Errors:
    error_s = np.abs(predicted - slow_downs) * alone_s
    mean_s = np.mean(np.abs(slow_downs - 1) * alone_s)
    return Errors(
        float(np.abs(predicted - slow_downs).mean()), 1e3 * float(error_s.mean()), float(error_s.mean() / mean_s)
    )


@dataclasses.dataclass(frozen=True)
class Lead:
    """By how much the mean absolute error of ours is smaller than another's on the same rows."""

    mean: float
    low: float  # of SPREAD of the samples drawn again from the combinations
    high: float

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ({self.low:+.4f} to {self.high:+.4f})"


def lead_of(ours: np.ndarray, other: np.ndarray, slow_downs: np.ndarray, groups: Sequence[str]) -> Lead:
    """What is measured together stays together when samples are drawn."""
    gains = np.abs(other - slow_downs) - np.abs(ours - slow_downs)
    _, places = np.unique(np.asarray(groups), return_inverse=True)
    sums, counts = np.bincount(places, gains), np.bincount(places)
    drawn = np.random.default_rng(SEED).integers(0, len(sums), (RESAMPLES, len(sums)))
    means = sums[drawn].sum(1) / counts[drawn].sum(1)
    low, high = np.quantile(means, [(1 - SPREAD) / 2, (1 + SPREAD) / 2])
    return Lead(float(gains.mean()), float(low), float(high))

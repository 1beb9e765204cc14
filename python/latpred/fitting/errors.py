"""Measures of error between predicted and measured seconds."""

from __future__ import annotations

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class ErrorSummary:
    """Percentages are of the measured value; bias is the median of predicted / measured."""

    rows: int
    mape_percent: float
    median_percent: float
    p90_percent: float
    spearman: float
    bias: float


def summarise(predicted: np.ndarray, measured: np.ndarray) -> ErrorSummary:
    """The errors of `predicted` [S] against `measured` [S]."""
    from scipy.stats import spearmanr

    ratio = predicted / measured
    error = 100 * np.abs(ratio - 1)
    return ErrorSummary(
        rows=len(ratio),
        mape_percent=float(error.mean()),
        median_percent=float(np.median(error)),
        p90_percent=float(np.quantile(error, 0.9)),
        spearman=float(spearmanr(predicted, measured).statistic) if len(ratio) > 2 else float("nan"),
        bias=float(np.median(ratio)),
    )

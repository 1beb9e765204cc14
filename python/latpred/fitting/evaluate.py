"""Errors and interval terms of a way of fitting: blocks, chips and kinds left out in turn."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Protocol

import numpy as np

from latpred.fitting.measurements import KINDS, Samples

COVERAGE = 0.8
MIN_LEFT_OUT = 30  # samples of a kind or chip from which a common factor is worth stating

# What these tables cannot show, from a trial on whole networks of a thousand families: eager against compiled spreads
# by 15 %; the host's time per launch differs between machines by a factor of two.
RUNTIME_SD = 0.15
HOST_SD = 0.35


class Fitted(Protocol):
    """What a fit returns."""

    def arrays(self) -> dict[str, np.ndarray]: ...
    def predict(self, samples: Samples) -> np.ndarray: ...


Fit = Callable[[Samples], Fitted]


@dataclasses.dataclass(frozen=True)
class Term:
    """One interval term and where it comes from."""

    value: float
    source: str


def log_ratio(fitted: Fitted, samples: Samples) -> np.ndarray:
    """[S] log(measured / predicted)."""
    return np.asarray(np.log(samples.latency_s / fitted.predict(samples)))


def equal_weights(groups: np.ndarray) -> np.ndarray:
    """[S] weights that sum to the same for every group."""
    _, group, counts = np.unique(groups, return_inverse=True, return_counts=True)
    return 1.0 / counts[group.ravel()]


def weighted_quantile(values: np.ndarray, weights: np.ndarray, level: float) -> float:
    """The smallest value that `level` of the weight does not exceed."""
    order = np.argsort(values)
    share = np.cumsum(weights[order]) / weights.sum()
    return float(values[order][min(int(np.searchsorted(share, level)), len(values) - 1)])


def main_kind(samples: Samples) -> np.ndarray:
    """[S] the kind whose kernels have the largest roofline."""
    roofline = np.maximum(samples.compute_s, samples.memory_s) * samples.repeat
    totals = np.bincount(samples.sample * len(KINDS) + samples.kind, roofline, samples.size * len(KINDS))
    return np.asarray(totals.reshape(samples.size, len(KINDS)).argmax(axis=1))


def _left_out_in_turn(fit: Fit, samples: Samples, groups: np.ndarray) -> list[tuple[str, np.ndarray, np.ndarray]]:
    """For each group: its log ratios by a fit on the others, and their weights, families alike."""
    found = []
    for group in np.unique(groups):
        inside = groups == group
        test = samples.select(inside & samples.is_clear)
        if test.size < MIN_LEFT_OUT:
            continue
        fitted = fit(samples.select(~inside & ~samples.is_left_out))
        found.append((str(group), log_ratio(fitted, test), equal_weights(test.family)))
    return found


def _listed(groups: list[tuple[str, np.ndarray, np.ndarray]], factors: list[float]) -> str:
    return ", ".join(f"{name} {np.exp(factor):.2f}" for (name, _, _), factor in zip(groups, factors, strict=True))


def interval_terms(fit: Fit, samples: Samples) -> dict[str, Term]:
    """The terms of predict/interval.cpp, measured where these samples can show them."""
    fitted = fit(samples.select(~samples.is_left_out))
    test = samples.select(samples.is_left_out & samples.is_clear)
    ratio, weights = log_ratio(fitted, test), equal_weights(test.family)
    bias = weighted_quantile(ratio, weights, 0.5)
    blocks = f"{len(np.unique(test.family))} families of operators and networks, blocks left out, {test.size} rows"

    chips = _left_out_in_turn(fit, samples, samples.chip)
    factors = [weighted_quantile(ratios, of_rows, 0.5) for _, ratios, of_rows in chips]
    inside = np.concatenate([np.abs(ratios - factor) for (_, ratios, _), factor in zip(chips, factors, strict=True)])
    inside_weights = np.concatenate([of_rows / of_rows.sum() for _, _, of_rows in chips])
    left_out_chips = _listed(chips, factors)

    kinds = _left_out_in_turn(fit, samples, np.array(KINDS)[main_kind(samples)])
    kind_factors = [weighted_quantile(ratios, of_rows, 0.5) for _, ratios, of_rows in kinds]
    left_out_kinds = _listed(kinds, kind_factors)

    def spread(values: list[float]) -> float:
        return float(np.sqrt(np.mean((np.array(values) - bias) ** 2)))

    return {
        "log_bias": Term(bias, f"measured: median over {blocks}"),
        "known_device": Term(weighted_quantile(np.abs(ratio - bias), weights, COVERAGE), f"measured: 80 % of {blocks}"),
        "unknown_device": Term(
            weighted_quantile(inside, inside_weights, COVERAGE), "measured: as known_device, on chips left out whole"
        ),
        "device_sd": Term(spread(factors), f"measured: chips left out, measured / predicted: {left_out_chips}"),
        "kind_sd": Term(spread(kind_factors), f"measured: kinds left out, measured / predicted: {left_out_kinds}"),
        "runtime_sd": Term(RUNTIME_SD, "published: a trial on tables of whole networks, eager against compiled"),
        "host_sd": Term(HOST_SD, "published: the same trial, hosts at batch 1"),
    }

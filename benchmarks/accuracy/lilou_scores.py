"""Scores of lilou.py's contestants, from its lines of results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from latpred.fusion.network import NO_KERNEL
from lilou_data import SCHEMES
from lilou_fits import CONTESTANTS, ERROR_STEP, TOPS

Rows = Sequence[dict[str, Any]]
ByContestant = Mapping[str, Rows]
Score = dict[str, float]

OURS = "ours"
WHOLE = "whole"
DEVICE, FIRST_TOLD = 4, 6  # of a row of latencies: recipe, family, size, batch, device, seconds, what was predicted
PREDICTED = "predicted groups"


def of_scheme(rows: Rows, scheme: str) -> list[list[dict[str, Any]]]:
    """The fits of each seed."""
    by_seed: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        if row["scheme"] == scheme:
            by_seed[row["seed"]].append(row)
    return [by_seed[seed] for seed in sorted(by_seed)]


def mean_and_spread(by_seed: Sequence[Score]) -> dict[str, tuple[float, float | None]]:
    """Over the seeds."""
    result = {}
    for name in by_seed[0]:
        values = np.array([score[name] for score in by_seed])
        result[name] = (float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None)
    return result


def edge_score(counts: Iterable[Sequence[int]]) -> Score:
    """From [true positive, false positive, false negative, true negative] of each network."""
    right, extra, missing, apart = np.array(list(counts), dtype=float).reshape(-1, 4).sum(axis=0)
    return {
        "accuracy": (right + apart) / max(right + extra + missing + apart, 1),
        "precision": right / (right + extra) if right + extra else np.nan,
        "recall": right / (right + missing) if right + missing else np.nan,
    }


def edges_by_seed(rows: Rows, scheme: str, keep: Callable[[list[Any]], bool] = lambda _: True) -> list[Score]:
    """Of all tested networks that `keep` takes."""
    found = [
        [network[2:] for fit in fits for network in fit["edges"]["networks"] if keep(network)]
        for fits in of_scheme(rows, scheme)
    ]
    return [edge_score(counts) for counts in found if counts]


def latency_score(pairs: Iterable[tuple[float, float]]) -> Score:
    """From what was predicted and what was measured."""
    values = np.array(list(pairs), dtype=float).reshape(-1, 2)
    errors = np.abs(values[:, 0] / values[:, 1] - 1)
    if not errors.size:
        return dict.fromkeys(("mape", "rmspe", "median", "p90"), float("nan"))
    return {
        "mape": float(errors.mean()),
        "rmspe": float(np.sqrt(np.square(errors).mean())),
        "median": float(np.median(errors)),
        "p90": float(np.percentile(errors, 90)),
    }


def latency_by_seed(
    rows: Rows, scheme: str, column: str, keep: Callable[[list[Any]], bool] = lambda _: True
) -> list[Score]:
    """End to end, of all tested networks that `keep` takes."""
    found = []
    for fits in of_scheme(rows, scheme):
        pairs = [
            (network[FIRST_TOLD + fit["columns"].index(column)], network[FIRST_TOLD - 1])
            for fit in fits
            for network in fit["latency"]
            if keep(network)
        ]
        if pairs:
            found.append(latency_score(pairs))
    return found


def told_by(fits: ByContestant) -> list[tuple[str, str, str]]:
    """Contestant, column and title of everything that foretells latencies."""
    found = []
    for row in CONTESTANTS:
        columns = next((fit["columns"] for fit in fits.get(row.name, ()) if "columns" in fit), [])
        for column in reversed(columns):
            found.append((row.name, column, row.title if column == WHOLE else f"{row.title}, {column}"))
    return found


def family_mape(fits: Rows, scheme: str, column: str) -> dict[str, float]:
    """Of each family the mean over the seeds."""
    families = sorted({n[1] for fit in fits if fit["scheme"] == scheme for n in fit["latency"]})
    return {
        family: mean_and_spread(latency_by_seed(fits, scheme, column, lambda n, f=family: n[1] == f))["mape"][0]
        for family in families
    }


def kernel_score(fits: Rows) -> Score:
    """Of all tested kernels of a seed, true groups."""
    families = [values for fit in fits for values in fit["kernels"]["families"].values()]
    count, summed, squared = np.array(families, dtype=float).reshape(-1, 3).sum(axis=0)
    steps = np.zeros(max(len(fit["kernels"]["steps"]) for fit in fits))
    for fit in fits:
        steps[: len(fit["kernels"]["steps"])] += fit["kernels"]["steps"]
    share = np.cumsum(steps) / max(steps.sum(), 1)
    tops = np.array([row for fit in fits for name, row in fit["kernels"]["types"].items() if name != NO_KERNEL])
    found = {
        "mape": summed / count,
        "rmspe": float(np.sqrt(squared / count)),
        "median": ERROR_STEP * float(np.searchsorted(share, 0.5) + 0.5),
        "p90": ERROR_STEP * float(np.searchsorted(share, 0.9) + 0.5),
    }
    ranks = tops.sum(axis=0) if tops.size else np.full(1 + len(TOPS), np.nan)
    return found | {f"top{most}": float(ranks[1 + place] / ranks[0]) for place, most in enumerate(TOPS)}


def on_equal_folds(fits: ByContestant, scheme: str) -> tuple[ByContestant, str]:
    """Results on the folds that ours has, of those who have all of them; who is left out, in words."""
    of_ours = {(row["fold"], row["seed"]) for row in fits[OURS] if row["scheme"] == scheme}
    kept: dict[str, Rows] = {}
    missing = []
    for contestant in CONTESTANTS:
        wanted = {(fold, seed) for fold, seed in of_ours if contestant.has_seeds or seed == 0}
        rows = [
            row
            for row in fits.get(contestant.name, ())
            if row["scheme"] == scheme and (row["fold"], row["seed"]) in wanted
        ]
        if wanted and len(rows) == len(wanted):
            kept[contestant.name] = rows
        elif wanted:
            missing.append(f"{contestant.title} ({len(rows)} of {len(wanted)} fits)")
    return kept, f"Not fitted yet, and so not shown: {', '.join(missing)}.\n" if missing else ""


def to_json(every: ByContestant) -> dict[str, Any]:
    """The numbers of the main tables."""
    found: dict[str, Any] = {}
    for scheme in SCHEMES:
        if not any(row["scheme"] == scheme for row in every.get(OURS, ())):
            continue
        fits, _ = on_equal_folds(every, scheme)
        of_one: dict[str, Any] = {"edges": {}, "latency": {}, "kernels": {}}
        for row in CONTESTANTS:
            if any("edges" in fit for fit in fits.get(row.name, ())) and (
                scores := edges_by_seed(fits[row.name], scheme)
            ):
                of_one["edges"][row.name] = mean_and_spread(scores)
            seeds = [
                some for some in of_scheme(fits.get(row.name, ()), scheme) if "families" in some[0].get("kernels", {})
            ]
            if seeds:
                of_one["kernels"][row.name] = mean_and_spread([kernel_score(some) for some in seeds])
        for name, column, title in told_by(fits):
            if scores := latency_by_seed(fits[name], scheme, column):
                of_one["latency"][title] = mean_and_spread(scores) | {
                    "families": family_mape(fits[name], scheme, column)
                }
        found[scheme] = of_one
    return found

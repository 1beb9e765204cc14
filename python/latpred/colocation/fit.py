"""Fits what colocate() answers with, from the two committed tables.

python -m latpred.colocation.fit --own data/measurements/colocation.parquet --graphs
    data/measurements/colocation_graphs.xz --gpus data/measurements/colocation_gpus.parquet
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.colocation import fits, table
from latpred.colocation.fits import CPU, GPU, Fit, Learnt
from latpred.colocation.jobs import Jobs, slice_terms
from latpred.colocation.rows import LabelledMember, Profiles, core_model, labelled
from latpred.datasets import colocation as shared_gpus
from latpred.datasets.graph_cache import GraphCache, unpacked
from latpred.optional import need

if TYPE_CHECKING:
    import pandas as pd


Rows = Sequence[Sequence[float]]
Groups = Sequence[frozenset[str]]  # the networks of each row's combination


def fit_terms(terms: Rows, slow_downs: Sequence[float], groups: Groups) -> list[float]:
    """[T] The mean of the laws of one term each, unless one of them, or all terms fitted at once, is better on networks
    that are left out of these rows, by more than the standard error of that difference. Terms of one way of sharing
    grow together, and few or noisy labels do not tell them apart: the mean of the laws depends on them least."""
    candidates = _laws(terms, slow_downs)
    left_out = _left_out(groups)
    if len(candidates) == 1 or len(left_out) < 2:
        return candidates[0]
    values, measured = np.array(terms), np.array(slow_downs)
    errors = np.zeros((len(left_out), len(candidates)))
    for place, own in enumerate(left_out):
        laws = np.array(_laws(values[~own].tolist(), measured[~own].tolist()))
        errors[place] = np.abs(1 + values[own] @ laws.T - measured[own][:, None]).sum(0)
    gains = errors[:, :1] - errors  # over the mean of the laws, which comes first: 0 for itself
    by_chance = gains.std(0, ddof=1) * np.sqrt(len(gains))
    return candidates[int(np.argmax(gains.sum(0) - by_chance))]


def _laws(terms: Rows, slow_downs: Sequence[float]) -> list[list[float]]:
    """Coefficients of all terms: the mean of the laws of one term, each of them, and all terms fitted at once."""
    count = len(terms[0])
    if count == 1:
        return [_core.fit_interference(terms, slow_downs)]
    alone = np.diag([_core.fit_interference([[row[place]] for row in terms], slow_downs)[0] for place in range(count)])
    return [alone.mean(0).tolist(), *alone.tolist(), _core.fit_interference(terms, slow_downs)]


def _left_out(groups: Groups) -> list[np.ndarray]:
    """For each network the rows [N] whose combinations have it, where that leaves any."""
    found = [np.array([name in group for group in groups]) for name in sorted(frozenset().union(*groups))]
    return [own for own in found if not own.all()]


def left_out_predictions(terms: Rows, slow_downs: Sequence[float], groups: Groups) -> np.ndarray:
    """[N] One network at a time is left out with all its combinations; a row is predicted once for each of its
    networks, and the mean of those stands. NaN where a network is in all rows."""
    sums, counts = np.zeros(len(slow_downs)), np.zeros(len(slow_downs))
    values, measured = np.array(terms), np.array(slow_downs)
    for own in _left_out(groups):
        seen = [group for group, is_own in zip(groups, own, strict=True) if not is_own]
        found = fit_terms(values[~own].tolist(), measured[~own].tolist(), seen)
        sums[own] += 1 + values[own] @ np.array(found)
        counts[own] += 1
    with np.errstate(invalid="ignore"):
        return sums / counts


def fit_rows(rows: Sequence[LabelledMember], profiles: Profiles, sharing: str, machine: str, licence: str) -> Fit:
    """Of those that share in this way."""
    pairs = [(profiles.terms(row), row) for row in rows]
    chosen = [(terms, row) for (way, terms), row in pairs if way == sharing]
    terms = [found for found, _ in chosen]
    slow_downs = [row.slow_down for _, row in chosen]
    groups = [frozenset(row.networks) for _, row in chosen]
    predicted = left_out_predictions(terms, slow_downs, groups)
    return Fit(
        sharing, CPU, (machine,), False, tuple(fit_terms(terms, slow_downs, groups)),
        fits.log_error(predicted, slow_downs), len(chosen), "measured here", licence,
    )  # fmt: skip


def fit_gpus(rows: pd.DataFrame, kind: str, sharing: str) -> Fit:
    """Of the rows of one kind that share in this way."""
    own = rows[(rows.kind == kind) & (rows.sharing == sharing)]
    slow_downs = (own.beside_s / own.alone_s).tolist()
    is_pair = kind == shared_gpus.PAIR
    terms = Jobs(rows[rows.kind == kind]).terms(own, sharing) if is_pair else slice_terms(own)
    groups = [frozenset(pair) for pair in zip(own.network, own.neighbour, strict=True)]
    predicted = left_out_predictions(terms, slow_downs, groups)
    # What all have beside them cannot be left out.
    is_known = np.isfinite(predicted)
    return Fit(
        sharing, GPU, tuple(sorted(set(own.device))), bool(own.is_training.any()),
        tuple(fit_terms(terms, slow_downs, groups)),
        fits.log_error(predicted[is_known], np.array(slow_downs)[is_known]), len(own),
        ", ".join(sorted(set(own.source))), ", ".join(sorted(set(own.licence))),
    )  # fmt: skip


def learn(measured: table.Measured, graphs: GraphCache, gpus: pd.DataFrame) -> Learnt:
    """All fits."""
    core = core_model(measured, graphs)
    profiles = Profiles(graphs, core)
    rows = [row for row in labelled(measured) if row.repeat == 0]
    licence = measured.machine["licence"]
    own = [fit_rows(rows, profiles, sharing, core.machine, licence) for sharing in ("cores", "time_slicing")]
    public = [
        fit_gpus(gpus, shared_gpus.PAIR, "time_slicing"),
        fit_gpus(gpus, shared_gpus.PAIR, "mps"),
        fit_gpus(gpus, shared_gpus.MIG_NEIGHBOURS, "mig"),
    ]
    return Learnt((*own, *public), core)


def read_graphs(archive: Path) -> GraphCache:
    return GraphCache(unpacked(archive))


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("own", "graphs", "gpus"):
        parser.add_argument(f"--{name}", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=fits.FILE)
    options = parser.parse_args()
    gpus: Any = need("pandas", "data", "fitting").read_parquet(options.gpus)
    learnt = learn(table.read(options.own), read_graphs(options.graphs), gpus)
    fits.write(options.out, learnt)
    for fit in learnt.fits:
        named = zip(fits.term_names(fit.sharing), fit.coefficients, strict=True)
        words = ", ".join(f"{name} {value:.3g}" for name, value in named)
        print(f"{fit.kind} {fit.sharing}: {words}; 80 % within {np.expm1(fit.log_error):.1%}, {fit.rows} rows")
    words = ", ".join(f"{value:.3g}" for value in learnt.core.coefficients)
    print(f"core: {words}; 80 % within {np.expm1(learnt.core.log_error):.1%}")


if __name__ == "__main__":
    main()

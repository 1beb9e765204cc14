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
from latpred.colocation.rows import LabelledMember, Profiles, core_model, labelled
from latpred.datasets import colocation as shared_gpus
from latpred.datasets.graph_cache import GraphCache, unpacked
from latpred.optional import need

if TYPE_CHECKING:
    import pandas as pd

# A training job: nothing is known of it but that it keeps its GPU busy.
_BUSY = {"busy_share": 1.0, "sm_share": 1.0, "compute_share": 0.0, "memory_share": 0.0, "footprint_bytes": 0.0}


def left_out_predictions(
    terms: Sequence[Sequence[float]], slow_downs: Sequence[float], groups: Sequence[frozenset[str]]
) -> np.ndarray:
    """[N] One network at a time is left out with all its combinations; a row is predicted once for each of its
    networks, and the mean of those stands. NaN where a network is in all rows."""
    sums, counts = np.zeros(len(slow_downs)), np.zeros(len(slow_downs))
    for name in sorted(set().union(*groups)):
        own = np.array([name in group for group in groups])
        if own.all():
            continue
        found = _core.fit_interference(
            [row for row, is_own in zip(terms, own, strict=True) if not is_own],
            [value for value, is_own in zip(slow_downs, own, strict=True) if not is_own],
        )
        for place in np.flatnonzero(own).tolist():
            sums[place] += _core.slow_down(found, list(terms[place]))
            counts[place] += 1
    with np.errstate(invalid="ignore"):
        return sums / counts


def fit_rows(rows: Sequence[LabelledMember], profiles: Profiles, sharing: str, machine: str, licence: str) -> Fit:
    """Of those that share in this way."""
    pairs = [(profiles.terms(row), row) for row in rows]
    chosen = [(terms, row) for (way, terms), row in pairs if way == sharing]
    terms = [found for found, _ in chosen]
    slow_downs = [row.slow_down for _, row in chosen]
    predicted = left_out_predictions(terms, slow_downs, [frozenset(row.networks) for _, row in chosen])
    return Fit(
        sharing, CPU, (machine,), False, tuple(_core.fit_interference(terms, slow_downs)),
        fits.log_error(predicted, slow_downs), len(chosen), "measured here", licence,
    )  # fmt: skip


def gpu_terms(rows: pd.DataFrame, sharing: str) -> list[list[float]]:
    """Of pairs of jobs of which nothing is known, and of a slice beside others."""
    job = _core.ResourceProfile(latency_s=1.0, **_BUSY)
    return [_core.interference(sharing, [job, job], 0) for _ in range(len(rows))]


def fit_gpus(rows: pd.DataFrame, kind: str, sharing: str) -> Fit:
    """Of the rows of one kind that share in this way."""
    own = rows[(rows.kind == kind) & (rows.sharing == sharing)]
    slow_downs = (own.beside_s / own.alone_s).tolist()
    terms = gpu_terms(own, sharing)
    groups = [frozenset(pair) for pair in zip(own.network, own.neighbour, strict=True)]
    predicted = left_out_predictions(terms, slow_downs, groups)
    # What all have beside them cannot be left out.
    is_known = np.isfinite(predicted)
    return Fit(
        sharing, GPU, tuple(sorted(set(own.device))), bool(own.is_training.any()),
        tuple(_core.fit_interference(terms, slow_downs)),
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

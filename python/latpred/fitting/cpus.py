"""What a fit on GPUs lacks on CPUs: factors of its kernels and launches, and a width, from networks measured on CPUs.

No CPU is in the fit: its kernels would need efficiencies of their own. Two factors stand for them, so that an answer
about a CPU is of the right size, and the width of CPUs left out in turn says that it is no more.
"""

from __future__ import annotations

import dataclasses
import math
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.datasets.rows import executed
from latpred.fitting.errors import ErrorSummary, summarise
from latpred.fitting.evaluate import COVERAGE, Term, equal_weights, weighted_quantile
from latpred.fitting.kernel_terms import laid_out
from latpred.fitting.measurements import is_latency, join_host_s
from latpred.fitting.processes import side_by_side

if TYPE_CHECKING:
    import pandas as pd

    from latpred.datasets.graph_cache import GraphCache

LEAST = 2  # CPUs, of which each is left out in turn
_SHARD_ROWS = 500
_KINK = 0.1  # of the loss, in logarithms: below it errors count by their squares
_HELD = 0.02  # of a factor to the usual one: launches show nothing where nothing waits for them
# Times, or one over it. Networks as small as those of the three Xeons do not tell slow launches from kernels that take
# fourteen times as long; what does tell them found 1 to 3.
_MOST = 8.0


def is_on_cpu(rows: pd.DataFrame) -> np.ndarray:
    """[N] latencies of whole calls on CPUs."""
    return is_latency(rows, on_gpu=False)


def _answers_about(
    places: np.ndarray, rows: pd.DataFrame, predictor: str, checkpoint: Path, graphs: GraphCache
) -> tuple[np.ndarray, np.ndarray]:
    """`places` again, and [n, 2] seconds of the kernels and of the launches of `rows`."""
    loaded = _core.load_predictor(predictor, str(checkpoint))
    seconds = []
    for row, ran in zip(rows.itertuples(index=False), executed(rows), strict=True):
        graph = laid_out(graphs.graph(ran, int(row.batch)), row.layout)
        kernels = _core.fuse(graph, row.runtime, row.precision)
        found = loaded.latency(graph, kernels, row.device)
        seconds.append((sum(found.kernel_s), found.host_s))
    return places, np.array(seconds)


def answers(
    predictor: str, checkpoint: Path, rows: pd.DataFrame, graphs: GraphCache, told: Factors | None = None
) -> pd.DataFrame:
    """`rows` on CPUs with what `predictor` says by its `checkpoint` of their kernels and launches, but for the factors
    that it was `told`: columns kernels_s and launches_s."""
    told = told or Factors(1.0, 1.0)
    alike_together = np.lexsort((rows.batch, executed(rows)))
    shards = np.array_split(alike_together, math.ceil(len(rows) / _SHARD_ROWS))
    calls = [partial(_answers_about, places, rows.iloc[places], predictor, checkpoint, graphs) for places in shards]
    seconds = np.empty((len(rows), 2))
    for places, found in side_by_side(calls, lone_here=True):
        seconds[places] = found
    return rows.assign(kernels_s=seconds[:, 0] / told.kernels, launches_s=seconds[:, 1] / told.launches)


@dataclasses.dataclass(frozen=True)
class Factors:
    """Of kernels and of launches."""

    kernels: float
    launches: float

    def latency_s(self, rows: pd.DataFrame) -> np.ndarray:
        """[N] of answers()."""
        return join_host_s(np.asarray(self.kernels * rows.kernels_s), np.asarray(self.launches * rows.launches_s))

    def log_ratio(self, rows: pd.DataFrame) -> np.ndarray:
        """[N] log(measured / predicted)."""
        return np.asarray(np.log(rows.value / self.latency_s(rows)))


def weights(rows: pd.DataFrame) -> np.ndarray:
    """[N]: every CPU alike, and on it every family."""
    families = rows.groupby("device").family.transform("nunique")
    return np.asarray(equal_weights(np.asarray(rows.device + "|" + rows.family)) / families)


def fit(rows: pd.DataFrame) -> Factors:
    """The factors that make answers() nearest, in logarithms, to what was measured."""
    from scipy.optimize import minimize

    share = weights(rows) / weights(rows).sum()

    def loss(logarithms: np.ndarray) -> float:
        off = Factors(*np.exp(logarithms)).log_ratio(rows)
        return float(share @ np.sqrt(_KINK**2 + off**2) + _HELD * (logarithms @ logarithms))

    starts = ([1.0, 0.0], [0.0, 1.0], [1.0, 1.0])  # it has a valley for each of the two parts
    bounds = 2 * [(-np.log(_MOST), np.log(_MOST))]
    results = (minimize(loss, start, method="Nelder-Mead", bounds=bounds) for start in starts)
    found = min(results, key=lambda result: result.fun)
    return Factors(*(float(factor) for factor in np.exp(found.x)))


@dataclasses.dataclass(frozen=True)
class Measured:
    """The factors of all CPUs, and what each was off with those of the others."""

    factors: Factors
    half_width: float
    of_cpus: dict[str, ErrorSummary]
    covers: dict[str, float]  # by the others' width

    def __str__(self) -> str:
        lines = [f"CPUs: kernels x {self.factors.kernels:.2f}, launches x {self.factors.launches:.2f}"]
        lines += [
            f"{device:18} left out, MAPE {summary.mape_percent:.0f} %, covered {self.covers[device]:.2f}"
            for device, summary in self.of_cpus.items()
        ]
        return "\n".join([*lines, f"half-width x/{np.exp(self.half_width):.2f}"])

    def manifest(self) -> dict[str, Any]:
        """The checkpoint's entry."""
        names = ", ".join(self.of_cpus)
        source = f"measured: networks on {names}, each alike"
        return {
            "kernels": vars(Term(self.factors.kernels, f"{source}, over what the fit on GPUs says of their kernels")),
            "launches": vars(Term(self.factors.launches, f"{source}, over what it says of their launches")),
            "half_width": vars(Term(self.half_width, f"measured: 80 % on {names}, each left out")),
        }


def _width(rows: pd.DataFrame, off: np.ndarray) -> float:
    return weighted_quantile(np.abs(off), weights(rows), COVERAGE)


def measure(rows: pd.DataFrame) -> Measured:
    """From answers() of two CPUs and more."""
    devices = np.asarray(rows.device)
    off, found, covers = np.zeros(len(rows)), {}, {}
    for device in np.unique(devices):
        is_left_out = devices == device
        factors = fit(rows[~is_left_out])
        off[is_left_out] = factors.log_ratio(rows[is_left_out])
        found[str(device)] = summarise(factors.latency_s(rows[is_left_out]), np.asarray(rows.value[is_left_out]))
    for device in found:
        is_left_out = devices == device
        inside = np.abs(off[is_left_out]) <= _width(rows[~is_left_out], off[~is_left_out])
        covers[device] = float(np.average(inside, weights=weights(rows[is_left_out])))
    return Measured(fit(rows), _width(rows, off), found, covers)

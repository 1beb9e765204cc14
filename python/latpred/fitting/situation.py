"""How wide an interval must be in which situation: what a row is asked about, and a law fitted on what others were off.

    half-width = table x (new_table x untried)^novelty
                 x hypot(near x new^novelty x few^scarcity, runtime x small^smallness, version),
    over the typical one; version: of a runtime whose versions were told apart, by one that was not measured there or is
    not said

What small batches add is their runtime's: engines run them by other kernels, with the time between kernels in plain
sight. Eager calls wait for their hosts then, which have a width of their own (conformal.py). Choices were made on what
families left out were off, and came to suit them: `untried` is what families that no choice looked at are off beyond.

A kernel that stands alone has the width of operators of its kind (conformal.py) instead.
predict/situation.cpp answers with it. Every exponent lies between none and one, every factor but `near` widens.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from latpred.fitting.evaluate import COVERAGE, equal_weights, weighted_quantile

if TYPE_CHECKING:
    import pandas as pd

    from latpred.fitting.kernel_terms import KernelTable

# Two networks are at most sqrt(2) apart (alike_networks.py). Those of families left out are mostly 0.1 to 0.4 from the
# nearest measured one, those of known families below 0.08; residuals grow with the distance and no further beyond this.
# Chosen on both of them and on versions and search spaces left out.
FAR_NETWORK = 0.15
FULL_BATCH = 8  # residuals grow below it, over
SMALL_BATCH_OCTAVES = 3  # so many halvings
MANY_FAMILIES = 64  # measured on a device by a runtime: those of timm; from there on more of them show nothing

BANDS = {"batch 1": (1, 1), "batch 2 to 31": (2, 31), "batch 32 and more": (32, 10**9)}
# Situations are judged one by one, so that each counts alike however many rows it has: a family in one table and band
# of batches is one unit for each situation.
# A runtime has a width of its own, and a table a factor, as far as families show it: n of them by n / (n + this). New
# networks have another: beside the known ones of their table, those of the RTX 3090 and 4090 where they ran eagerly are
# nearer than the law has it, those of the PRO 6000 further off (interval_new_tables of the checkpoint).
SHRINKING_FAMILIES = 4
MIN_FAMILIES = 10
NEW = 0.5  # the novelty from which on networks show what a table's factor is for new ones
BASE_RUNTIME = "eager"  # measured on most devices: the others are beside it
SPACE = "family"  # the situation of search spaces left out
NO_WIDTH = 0.01  # below it a width of a runtime is not told from none

# A kernel with this share of the roofline stands alone: its errors have nothing to even out with.
LONE_SHARE = 0.9

_SMOOTHING = 0.03  # of the quantile loss's kink, in logarithms
_SMALLEST_RESIDUAL = 0.005  # closer than two timings of one network ever are
_SHRINKAGE = 5e-4
_SMALLEST_NOVELTY = 0.01  # no factor helps a network that was measured


def lone_kernels(table: KernelTable) -> np.ndarray:
    """[N] the place of the kernel that stands alone in each call, -1 where none does."""
    call, roofline_s = table.call(), table.roofline_s()
    is_lone = roofline_s / table.count >= LONE_SHARE * np.bincount(call, roofline_s, table.size)[call]
    found = np.full(table.size, -1)
    found[call[is_lone]] = np.flatnonzero(is_lone)
    return found


def _octaves(larger: np.ndarray, smaller: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(0.0, np.log2(larger / smaller)))


def _scarcity(rows: pd.DataFrame) -> np.ndarray:
    """[N] of families measured on the device by the runtime: 1 of one and of none."""
    families = np.maximum(rows.families.to_numpy(dtype=float), 1)
    return np.asarray(_octaves(np.asarray(float(MANY_FAMILIES)), families) / np.log2(MANY_FAMILIES))


def novelty(rows: pd.DataFrame, is_known: bool) -> np.ndarray:
    """[N] 1 of a network that is like none of the measured ones. On a measured device with few families it is as new as
    it is there, as far as they are few: what other devices took says less about it."""
    anywhere, there = (
        np.minimum(rows[column].to_numpy(dtype=float) / FAR_NETWORK, 1) for column in ("distance", "distance_there")
    )
    return np.asarray(np.maximum(anywhere, _scarcity(rows) * there) if is_known else anywhere)


def exponents(rows: pd.DataFrame, is_known: bool) -> np.ndarray:
    """[N, 3] ones, novelty, scarcity of families."""
    scarcity = _scarcity(rows) if is_known else np.zeros(len(rows))
    return np.stack([np.ones(len(rows)), novelty(rows, is_known), scarcity], axis=1)


def smallness(rows: pd.DataFrame) -> np.ndarray:
    """[N] of the batch, which is within the measured range: 1 of a single item."""
    batch = rows.batch.to_numpy(dtype=float)
    return np.asarray(np.minimum(_octaves(np.asarray(float(FULL_BATCH)), batch) / SMALL_BATCH_OCTAVES, 1))


@dataclasses.dataclass(frozen=True)
class Law:
    """Half-widths over the typical one."""

    near: float
    new: float
    small: float
    few: float
    other_version: float
    runtimes: Mapping[str, float]
    tables: Mapping[tuple[str, str], float]  # by device and runtime
    new_tables: Mapping[tuple[str, str], float] = dataclasses.field(default_factory=dict)
    untried: float = 1.0

    def of_table(self, rows: pd.DataFrame) -> np.ndarray:
        """[N] the factor of each row's table."""
        keys = list(zip(rows.device, rows.runtime, strict=True))
        of_new = np.array([self.new_tables.get(key, 1.0) for key in keys])
        return np.asarray([self.tables.get(key, 1.0) for key in keys] * of_new ** novelty(rows, is_known=True))

    def relative(self, rows: pd.DataFrame, is_known: bool) -> np.ndarray:
        """[N] of `rows`, on devices that were measured or not."""
        logarithms = np.log([self.near, self.new, self.few])
        of_network = np.exp(exponents(rows, is_known) @ logarithms)
        of_runtime = rows.runtime.map(self.runtimes).fillna(0.0).to_numpy(dtype=float) * self.small ** smallness(rows)
        width = np.sqrt(of_network**2 + of_runtime**2 + np.where(rows.is_other_version, self.other_version, 0) ** 2)
        width = width * self.untried ** novelty(rows, is_known)
        return np.asarray(width * self.of_table(rows) if is_known else width)

    def scaled(self, factor: float) -> Law:
        """All widths times `factor`."""
        runtimes = {name: width * factor for name, width in self.runtimes.items()}
        of_version = self.other_version * factor
        return dataclasses.replace(self, near=self.near * factor, other_version=of_version, runtimes=runtimes)


FLAT = Law(1.0, 1.0, 1.0, 1.0, 0.0, {}, {})


def _bands(batch: pd.Series) -> np.ndarray:
    edges = [most for _, most in BANDS.values()]
    return np.asarray(np.searchsorted(edges, batch.to_numpy()))


def units(rows: pd.DataFrame) -> np.ndarray:
    """[N] weights: every family in a table and band of batches alike, in each situation; of search spaces every one
    alike, or the one with the most tables would speak for all."""
    table = rows.device + "|" + rows.runtime + "|" + rows.family
    unit = table + "|" + _bands(rows.batch).astype(str) + "|" + rows.situation
    weights = 1 / unit.map(unit.value_counts())
    is_space = rows.situation == SPACE
    of_space = weights[is_space].groupby(rows.family).sum()
    return np.asarray(weights.where(~is_space, weights * (of_space.mean() / rows.family.map(of_space))))


def _fit_widths(rows: pd.DataFrame, off: np.ndarray, weights: np.ndarray) -> Law:
    """The quantile regression of `off` [N], in logarithms and held to no effect."""
    from scipy.optimize import minimize

    families = rows.groupby("runtime").family.nunique()
    runtimes = [name for name, count in families.items() if name != BASE_RUNTIME and count >= MIN_FAMILIES]
    columns, small = exponents(rows, is_known=True), smallness(rows)
    parts = [rows.runtime == name for name in runtimes]  # they add in quadrature
    is_part = np.stack(parts or [np.zeros(len(rows))], axis=1).astype(float)
    size, weights = columns.shape[1], weights / weights.sum()
    log_off = np.log(np.maximum(off, _SMALLEST_RESIDUAL))

    # [near, new, few, small, runtimes...], all but the first of the factors held to none
    def loss(parameters: np.ndarray) -> tuple[float, np.ndarray]:
        squared = np.exp(2 * (columns @ parameters[:size]))
        of_parts = is_part * np.exp(2 * (parameters[size + 1 :] + small[:, None] * parameters[size]))
        total = squared + of_parts.sum(axis=1)
        above = log_off - 0.5 * np.log(total)
        value = weights @ (_SMOOTHING * np.logaddexp(0, above / _SMOOTHING) - (1 - COVERAGE) * above)
        slope = weights * (0.5 * (1 + np.tanh(above / _SMOOTHING / 2)) - (1 - COVERAGE)) / total
        of_columns = -(columns * (squared * slope)[:, None]).sum(axis=0)
        of_runtimes = -(of_parts * slope[:, None])
        of_small = (of_runtimes * small[:, None]).sum()
        held = _SHRINKAGE * parameters[1 : size + 1]
        gradient = np.concatenate([of_columns, [of_small], of_runtimes.sum(axis=0)])
        gradient[1 : size + 1] += 2 * held
        return value + held @ parameters[1 : size + 1], gradient

    typical = np.log(weighted_quantile(off, weights, COVERAGE))
    start = np.concatenate([[typical], np.full(size, 0.3), np.full(is_part.shape[1], typical - 1)])
    bounds = [(None, None)] + [(0, None)] * size + [(np.log(NO_WIDTH) - 1, None)] * is_part.shape[1]
    found = np.exp(minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds).x)
    near, new, few, small_batch = (float(value) for value in found[: size + 1])
    widths = zip(runtimes, found[size + 1 : size + 1 + len(parts)], strict=True)
    kept = {name: float(width) for name, width in widths if width > NO_WIDTH}
    return Law(near, new, small_batch, few, 0.0, kept, {})


def of_versions(rows: pd.DataFrame, off: np.ndarray, law: Law) -> float:
    """What `law`, which knows nothing of versions, lacks of `off` [N], of `rows` by versions left out (`what`): every
    version alike, or the one with the most tables would speak for all."""
    lacking = np.sqrt(np.maximum(off**2 - law.relative(rows, is_known=True) ** 2, 0)) / law.of_table(rows)
    weighted = rows.assign(weight=units(rows))
    of_version = weighted.groupby("what").weight.transform("sum")
    return weighted_quantile(lacking, np.asarray(weighted.weight / of_version), COVERAGE)


def of_untried(rows: pd.DataFrame, off: np.ndarray, law: Law) -> float:
    """The factor with which `law`, which has none, holds what `rows` of families that no choice looked at are `off`
    [N]: 1 or more, every family alike."""
    ratio = off / law.relative(rows, is_known=True)
    needed = np.maximum(ratio, 1) ** (1 / np.maximum(novelty(rows, is_known=True), _SMALLEST_NOVELTY))
    return weighted_quantile(needed, equal_weights(rows.family.to_numpy()), COVERAGE)


def _of_tables(rows: pd.DataFrame, ratio: np.ndarray, weights: np.ndarray) -> dict[tuple[str, str], float]:
    """What each table's `ratio` [N] to the law asks for, as far as its families can tell."""
    found = {}
    for (device, runtime), places in rows.groupby(["device", "runtime"]).indices.items():
        count = rows.family.iloc[places].nunique()
        if count >= MIN_FAMILIES:
            factor = weighted_quantile(ratio[places], weights[places], COVERAGE)
            found[str(device), str(runtime)] = float(factor ** (count / (count + SHRINKING_FAMILIES)))
    return found


def fit_law(rows: pd.DataFrame, off: np.ndarray) -> Law:
    """In logarithms of latency, from what `rows` [N] of measured devices were `off`: regressed on the situation, then
    scaled so that it covers as often as asked, each table for known networks and for new ones. A table with too few of
    one sort has the other's factor for both."""
    weights = units(rows)
    law = _fit_widths(rows, off, weights)
    law = law.scaled(weighted_quantile(off / law.relative(rows, is_known=True), weights, COVERAGE))
    ratio, is_new = off / law.relative(rows, is_known=True), novelty(rows, is_known=True) >= NEW
    known, new = (_of_tables(rows[part], ratio[part], weights[part]) for part in (~is_new, is_new))
    new_tables = {key: new[key] / known[key] for key in known if key in new}
    return dataclasses.replace(law, tables=new | known, new_tables=new_tables)

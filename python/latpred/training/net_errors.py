"""How far predicted seconds of nets are from measured ones, as a whole and by the size of the weights."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from latpred.datasets.measured_nets import MeasuredNets

KIBI, MEBI, GIBI = 2.0**10, 2.0**20, 2.0**30
# Of the weights in bytes. Nets up to the last-level cache are most of them, those beyond it most of the time.
BANDS: tuple[tuple[str, float, float], ...] = (
    ("below 64 KiB", 0, 64 * KIBI),
    ("64 KiB - 1 MiB", 64 * KIBI, MEBI),
    ("1 - 16 MiB", MEBI, 16 * MEBI),
    ("16 - 32 MiB", 16 * MEBI, 32 * MEBI),
    ("32 - 128 MiB", 32 * MEBI, 128 * MEBI),
    ("128 MiB - 1 GiB", 128 * MEBI, GIBI),
    ("1 GiB and more", GIBI, np.inf),
)
ALL = "all"


@dataclasses.dataclass(frozen=True)
class NetErrors:
    """Of the nets of one band; percentages are of each measured latency, but for the MAE's, which is of their mean."""

    band: str
    nets: int
    mean_s: float
    std_s: float
    mae_s: float
    mae_percent_of_mean: float
    mape_percent: float
    median_percent: float
    p90_percent: float

    def to_dict(self) -> dict[str, Any]:
        """Plain values."""
        return dataclasses.asdict(self)


def errors_of(predicted_s: np.ndarray, measured_s: np.ndarray, band: str = ALL) -> NetErrors:
    """Of predicted [G] against measured [G]."""
    apart = np.abs(predicted_s - measured_s)
    percent = 100 * apart / measured_s
    return NetErrors(
        band=band,
        nets=len(measured_s),
        mean_s=float(measured_s.mean()),
        std_s=float(measured_s.std()),
        mae_s=float(apart.mean()),
        mae_percent_of_mean=float(100 * apart.mean() / measured_s.mean()),
        mape_percent=float(percent.mean()),
        median_percent=float(np.median(percent)),
        p90_percent=float(np.quantile(percent, 0.9)),
    )


def by_band(predicted_s: np.ndarray, measured_s: np.ndarray, weight_bytes: np.ndarray) -> list[NetErrors]:
    """All nets, then each band that has any."""
    found = [errors_of(predicted_s, measured_s)]
    for name, least, most in BANDS:
        chosen = (least <= weight_bytes) & (weight_bytes < most)
        if chosen.any():
            found.append(errors_of(predicted_s[chosen], measured_s[chosen], name))
    return found


def noise_floor(measured: MeasuredNets) -> list[NetErrors]:
    """The second timing of a net taken as the prediction of its first: no predictor can be nearer. Empty where no net
    was timed twice."""
    twice = measured.select(np.isfinite(measured.again_s))
    return by_band(twice.again_s, twice.latency_s, twice.nets.weight_bytes()) if len(twice) else []

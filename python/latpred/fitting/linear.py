"""Fits the linear predictor: a weighted sum of FLOPs, activation bytes, weight bytes and launches.

Each sum is in seconds at the device's peak or bandwidth, so that one fit answers for every device.
"""

from __future__ import annotations

import dataclasses

import numpy as np

from latpred.fitting.analytic import SMALLEST_INVERSE
from latpred.fitting.measurements import Samples, join_host_s

# Coefficients of the physical times stay where no answer can fall below nine tenths of the bound.
LOWER = (SMALLEST_INVERSE, SMALLEST_INVERSE, SMALLEST_INVERSE, 0.0)


def _sums(samples: Samples) -> np.ndarray:
    """[S, 4] seconds of FLOPs, activations and weights, and launches."""
    weights_s = samples.memory_s * samples.weight_share
    columns = (samples.compute_s, samples.memory_s - weights_s, weights_s, np.ones_like(weights_s))
    return np.stack([samples.sum_kernels(column) for column in columns], axis=1)


@dataclasses.dataclass(frozen=True)
class Linear:
    """The fitted coefficients: of FLOPs, activations and weights, and seconds per launch."""

    coefficients: np.ndarray

    def arrays(self) -> dict[str, np.ndarray]:
        """What the checkpoint stores."""
        return {"coefficients": self.coefficients}

    def predict(self, samples: Samples) -> np.ndarray:
        """[S] seconds, by the form that C++ evaluates."""
        device_s = _sums(samples) @ self.coefficients
        return join_host_s(device_s, samples.host_s)


def fit(samples: Samples) -> Linear:
    """Least squares of the relative error over the calls that the device decides; every family the same weight."""
    from scipy.optimize import lsq_linear

    samples = samples.select(samples.is_clear)
    _, family, counts = np.unique(samples.family, return_inverse=True, return_counts=True)
    scale = 1 / (samples.latency_s * np.sqrt(counts[family.ravel()]))
    sums = _sums(samples)
    solution = lsq_linear(sums * scale[:, None], samples.latency_s * scale, bounds=(LOWER, np.inf))
    return Linear(solution.x)


if __name__ == "__main__":
    from latpred.fitting.checkpoint import run

    run("linear", fit)

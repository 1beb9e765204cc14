"""Measures the roofline predictor, which has nothing to fit: its checkpoint holds evidence and interval terms alone."""

from __future__ import annotations

import dataclasses

import numpy as np

from latpred.fitting.measurements import Samples, join_host_s


@dataclasses.dataclass(frozen=True)
class Roofline:
    """Peak or bandwidth, whichever takes longer, times a constant (1: the bound itself)."""

    factor: float = 1.0

    def arrays(self) -> dict[str, np.ndarray]:
        """What the checkpoint stores."""
        return {}

    def predict(self, samples: Samples) -> np.ndarray:
        """[S] seconds, by the form that C++ evaluates."""
        device_s = self.factor * samples.sum_kernels(np.maximum(samples.compute_s, samples.memory_s))
        return join_host_s(device_s, samples.host_s)


def fit(samples: Samples) -> Roofline:
    """The bound, whatever the samples."""
    del samples
    return Roofline()


def fit_scaled(samples: Samples) -> Roofline:
    """The bound times the median of measured / bound: how far one constant goes."""
    samples = samples.select(samples.is_clear)
    return Roofline(float(np.median(samples.latency_s / Roofline().predict(samples))))


if __name__ == "__main__":
    from latpred.fitting.checkpoint import run

    run("roofline", fit, is_fitted=False)

"""The interface of a learner: what can be trained to tell the seconds of plain nets."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from latpred.datasets.nets import Nets

Arrays = dict[str, np.ndarray]
Parameters = dict[str, Any]


class Learner(Protocol):
    """Learns seconds from nets, epoch by epoch; equal seeds and data give equal numbers."""

    def fit_epoch(self, nets: Nets, latency_s: np.ndarray) -> float:
        """Goes once through the training nets [G]; returns the mean loss."""
        ...

    def predict(self, nets: Nets) -> np.ndarray:
        """[G] seconds; a straight line may go below zero."""
        ...

    def state(self) -> Arrays:
        """Everything that the next epoch depends on."""
        ...

    def load_state(self, arrays: Arrays) -> None:
        """Goes on where state() was taken."""
        ...

    def arrays(self) -> Arrays:
        """What predict() needs, for the checkpoint."""
        ...

    def load_arrays(self, arrays: Arrays) -> None:
        """Answers from now on as the learner did whose arrays() these are."""
        ...

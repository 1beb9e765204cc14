"""Linear regression of seconds on one number of each node: the baselines of the papers on latency of nets."""

from __future__ import annotations

import numpy as np

from latpred.datasets.fnn import MOST_NODES
from latpred.datasets.nets import Nets
from latpred.errors import InvalidArgumentError
from latpred.training.learner import Arrays


class Linear:
    """Minimum-norm least squares: nets are short of the last nodes, and their columns are zero then."""

    def __init__(self, column: str) -> None:
        self._column = column  # of Nets: "weights" or "units"
        self._coefficients = np.zeros(MOST_NODES + 1)

    def fit_epoch(self, nets: Nets, latency_s: np.ndarray) -> float:
        """The whole fit; the mean squared error."""
        inputs = self._inputs(nets)
        # Weight counts span eight orders of magnitude: in units of each column's largest the solver sees all of them.
        scale = np.maximum(np.abs(inputs).max(axis=0), 1.0)
        self._coefficients = np.linalg.lstsq(inputs / scale, latency_s, rcond=None)[0] / scale
        return float(np.mean((inputs @ self._coefficients - latency_s) ** 2))

    def predict(self, nets: Nets) -> np.ndarray:
        """[G] seconds."""
        return np.asarray(self._inputs(nets) @ self._coefficients)

    def _inputs(self, nets: Nets) -> np.ndarray:
        """[G, nodes + 1] the column of each node, and a one."""
        most = int(nets.lengths.max(initial=0))
        if most > MOST_NODES:
            raise InvalidArgumentError(f"a net has {most} nodes, a regression on each node takes at most {MOST_NODES}")
        inputs = np.zeros((len(nets), MOST_NODES + 1))
        inputs[:, :most] = getattr(nets, self._column)[:, :most]
        inputs[:, -1] = 1
        return inputs

    def arrays(self) -> Arrays:
        """The coefficients."""
        return {"coefficients": self._coefficients}

    def load_arrays(self, arrays: Arrays) -> None:
        """The same back."""
        self._coefficients = arrays["coefficients"]

    state = arrays
    load_state = load_arrays

"""Gradient-boosted trees over sizes of a net: what a good learner of tables reaches. Trained by scikit-learn, kept as
plain arrays, so that answering needs NumPy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

from latpred.datasets.nets import Nets
from latpred.optional import need
from latpred.training.learner import Arrays

PARAMETERS: dict[str, Any] = {"max_iter": 400, "learning_rate": 0.1, "max_leaf_nodes": 31, "loss": "squared_error"}
LARGEST_LAYERS = 10  # by weights, the largest first; the others are in the sums
_FIELDS = {"feature": np.int16, "threshold": np.float64, "left": np.int16, "right": np.int16, "value": np.float32}


class Trees:
    """Predicts the logarithm of seconds."""

    def __init__(self, seed: int, parameters: dict[str, Any]) -> None:
        self._seed = seed
        self._parameters = parameters
        self._trees: Arrays = {}

    def fit_epoch(self, nets: Nets, latency_s: np.ndarray) -> float:
        """The whole fit; the mean squared error of the logarithm."""
        ensemble = need("sklearn.ensemble", "trees", "predictor 'trees'")
        regressor = ensemble.HistGradientBoostingRegressor(
            random_state=self._seed, early_stopping=False, **{name: self._parameters[name] for name in PARAMETERS}
        )
        inputs, target = _inputs(nets), np.log(latency_s)
        # One thread: those of OpenMP spin while they wait, which on a busy machine takes ten times as long.
        with need("threadpoolctl", "trees", "predictor 'trees'").threadpool_limits(1):
            regressor.fit(inputs, target)
        self._trees = _as_arrays(regressor)
        return float(np.mean((self._log(inputs) - target) ** 2))

    def predict(self, nets: Nets) -> np.ndarray:
        """[G] seconds."""
        return np.asarray(np.exp(self._log(_inputs(nets))))

    def _log(self, inputs: np.ndarray) -> np.ndarray:
        trees = self._trees
        total = np.full(len(inputs), float(trees["baseline"][0]))
        rows = np.arange(len(inputs))
        for first in trees["first_node"]:
            node = np.full(len(inputs), first, dtype=np.int64)
            while True:
                feature = trees["feature"][node]
                is_inner = feature >= 0
                if not is_inner.any():
                    break
                goes_left = inputs[rows, np.maximum(feature, 0)] <= trees["threshold"][node]
                node = np.where(is_inner, first + np.where(goes_left, trees["left"][node], trees["right"][node]), node)
            total += trees["value"][node]
        return total

    def arrays(self) -> Arrays:
        """The trees, one after another."""
        return self._trees

    def load_arrays(self, arrays: Arrays) -> None:
        """The same back."""
        self._trees = arrays

    state = arrays
    load_state = load_arrays


def _inputs(nets: Nets) -> np.ndarray:
    """[G, F] logarithms of sums and of the largest layers, -1 where there is none."""
    weights = np.sort(nets.weights, axis=1)[:, ::-1]
    largest = np.full((len(nets), LARGEST_LAYERS), -1.0)
    kept = np.log1p(weights[:, :LARGEST_LAYERS])
    largest[:, : kept.shape[1]] = np.where(kept > 0, kept, -1.0)
    units = nets.units
    sums = np.stack(
        [
            nets.lengths.astype(float),
            np.log1p(nets.weights.sum(axis=1)),
            np.log1p(units.sum(axis=1)),
            np.log1p(units.max(axis=1, initial=0)),
            np.log1p(units[:, 0]),
            np.log1p(units[np.arange(len(nets)), nets.lengths - 1]),
        ],
        axis=1,
    )
    return np.concatenate([sums, largest], axis=1)


def _as_arrays(regressor: Any) -> Arrays:
    """What scikit-learn found; leaves have feature -1, children are counted from their tree's first node."""
    stages = [stage[0].nodes for stage in regressor._predictors]
    sizes = [len(nodes) for nodes in stages]
    nodes = np.concatenate(stages)
    is_leaf = nodes["is_leaf"].astype(bool)
    columns = {
        "feature": np.where(is_leaf, -1, nodes["feature_idx"]),
        "threshold": np.where(is_leaf, 0, nodes["num_threshold"]),
        "left": nodes["left"],
        "right": nodes["right"],
        "value": nodes["value"],
    }
    return {name: columns[name].astype(kind) for name, kind in _FIELDS.items()} | {
        "first_node": np.concatenate([[0], np.cumsum(sizes)[:-1]]).astype(np.int64),
        "baseline": np.asarray(regressor._baseline_prediction, dtype=float).reshape(1),
    }

"""Regressors of whole nets after Mendoza and Wang, and ours beside them; all arithmetic is in C++."""

from __future__ import annotations

from typing import Any

import numpy as np

from latpred._torch import predictors_module
from latpred.datasets.nets import Nets
from latpred.training.cache_roofline import CacheRoofline
from latpred.training.learner import Arrays

# Of a config, besides its name and its epochs.
_FIELDS = (
    "rows", "most_nodes", "hidden_layers", "width", "loss", "huber_delta", "schedule", "learning_rate", "batch_nets",
)  # fmt: skip
_LAW = {"flat": None, "layers": CacheRoofline}  # what a row's seconds are a factor of
_OF_LAW = "law."  # before the names of its arrays

# Weights are kept as 16-bit integers, which is far nearer than their predictions are to any measurement.
_MOST = 32767
_STEP = ".step"  # at the end of the name of what one of these integers stands for


def hyper_parameters(recipe: str, epochs: int) -> dict[str, Any]:
    """Everything that decides what the recipe learns."""
    config = predictors_module().dense_config(recipe)
    return {"name": recipe} | {name: getattr(config, name) for name in _FIELDS} | {"epochs": epochs}


def _in_cpp(nets: Nets, base_s: np.ndarray | None = None, latency_s: np.ndarray | None = None) -> Any:
    return predictors_module().NetArrays(nets.attributes, nets.lengths, nets.positions, base_s, latency_s)


class FlatLinear:
    """A straight line through flattened nets."""

    def __init__(self, parameters: dict[str, Any]) -> None:
        self._most_nodes = parameters["most_nodes"]
        self._line: Any = None

    def fit_epoch(self, nets: Nets, latency_s: np.ndarray) -> float:
        """The whole fit; the mean squared error."""
        self._line = predictors_module().FlatLine(_in_cpp(nets, latency_s=latency_s), self._most_nodes)
        return float(np.mean((self.predict(nets) - latency_s) ** 2))

    def predict(self, nets: Nets) -> np.ndarray:
        """[G] seconds."""
        return np.asarray(self._line.predict(_in_cpp(nets)))

    def arrays(self) -> Arrays:
        """Coefficients and scales."""
        return dict(self._line.arrays())

    def load_arrays(self, arrays: Arrays) -> None:
        """The same back."""
        self._line = predictors_module().FlatLine(arrays, self._most_nodes)

    state = arrays
    load_state = load_arrays


class Dense:
    """A dense network; over layers it learns what factor their law is off by."""

    def __init__(self, seed: int, parameters: dict[str, Any]) -> None:
        self._config = predictors_module().DenseConfig()
        for name in ("name", *_FIELDS, "epochs"):
            setattr(self._config, name, parameters[name])
        self._trainer = predictors_module().DenseTrainer(self._config, seed)
        self._answering = self._trainer
        law = _LAW[self._config.rows]
        self._law = law() if law else None
        self._has_law = False

    def fit_epoch(self, nets: Nets, latency_s: np.ndarray) -> float:
        """One pass; the mean loss."""
        self._answering = self._trainer
        if self._law and not self._has_law:
            self._law.fit_epoch(nets, latency_s)
            self._has_law = True
        return float(self._trainer.fit_epoch(_in_cpp(nets, self._base_s(nets), latency_s)))

    def predict(self, nets: Nets) -> np.ndarray:
        """[G] seconds."""
        return np.asarray(self._answering.predict(_in_cpp(nets, self._base_s(nets))))

    def arrays(self) -> Arrays:
        """Parameters and scales."""
        return _packed(_as_trained(self._trainer.arrays())) | self._law_arrays()

    def load_arrays(self, arrays: Arrays) -> None:
        """Answers with these from now on."""
        self._answering = predictors_module().DenseRegressor(self._config, _unpacked(self._load_law(arrays)))

    def state(self) -> Arrays:
        """With Adam's moments and the epochs done."""
        return _as_trained(self._trainer.state()) | self._law_arrays()

    def load_state(self, arrays: Arrays) -> None:
        """Goes on from there."""
        self._trainer.load_state(self._load_law(arrays))

    def _base_s(self, nets: Nets) -> np.ndarray | None:
        return self._law.layers_s(nets) if self._law else None

    def _law_arrays(self) -> Arrays:
        return {_OF_LAW + name: values for name, values in self._law.arrays().items()} if self._law else {}

    def _load_law(self, arrays: Arrays) -> Arrays:
        """The law's arrays go to it; returns the others."""
        if self._law:
            self._law.load_arrays({name: arrays[_OF_LAW + name] for name in self._law.arrays()})
            self._has_law = True
        return {name: values for name, values in arrays.items() if not name.startswith(_OF_LAW)}


def _as_trained(arrays: Arrays) -> Arrays:
    """Weights, biases and their moments in the float32 that they are trained in."""
    return {
        name: values.astype(np.float32) if name.endswith(("_weight", "_bias")) else values
        for name, values in arrays.items()
    }


def _packed(arrays: Arrays) -> Arrays:
    found: Arrays = {}
    for name, values in arrays.items():
        if not name.endswith("_weight"):
            found[name] = values
            continue
        step = max(float(np.abs(values).max()) / _MOST, np.finfo(float).tiny)
        found[name] = np.round(values / step).astype(np.int16)
        found[name + _STEP] = np.array(step)
    return found


def _unpacked(arrays: Arrays) -> Arrays:
    return {
        name: values * arrays[name + _STEP] if name + _STEP in arrays else values
        for name, values in arrays.items()
        if not name.endswith(_STEP)
    }

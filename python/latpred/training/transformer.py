"""The transformer over nodes: what it is stands in C++ (predictors/transformer_config), this hands it arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from latpred._torch import predictors_module
from latpred.datasets.nets import Nets
from latpred.training.cache_roofline import CacheRoofline
from latpred.training.learner import Arrays

# Of a config, besides its name and its epochs.
_FIELDS = (
    "width", "heads", "feed_forward_width", "blocks", "dropout", "positions", "most_nodes", "scale", "loss",
    "huber_delta", "schedule", "learning_rate", "batch_graphs",
)  # fmt: skip


# What the transformer's answer is a factor of: seconds as they are, or those of a law that holds beyond what it saw.
BASES = {"none": None, "cache_roofline": CacheRoofline}
_OF_BASE = "base."  # before the names of its arrays


def hyper_parameters(recipe: str, base: str, epochs: int) -> dict[str, Any]:
    """Everything that decides what the recipe learns."""
    config = predictors_module().transformer_config(recipe)
    return {"name": recipe} | {name: getattr(config, name) for name in _FIELDS} | {"base": base, "epochs": epochs}


class Transformer:
    """Trains and answers through LibTorch."""

    def __init__(self, seed: int, parameters: dict[str, Any]) -> None:
        base = BASES[parameters["base"]]
        self._base = base() if base else None
        self._has_base = False
        self._config = predictors_module().TransformerConfig()
        for name in ("name", *_FIELDS, "epochs"):
            setattr(self._config, name, parameters[name])
        threads = len(os.sched_getaffinity(0))  # any number of them gives the same numbers
        self._trainer = predictors_module().TransformerTrainer(self._config, seed, threads)
        self._answering = self._trainer

    def fit_epoch(self, nets: Nets, latency_s: np.ndarray) -> float:
        """One pass; the mean loss of the scaled target."""
        self._answering = self._trainer
        if self._base and not self._has_base:
            self._base.fit_epoch(nets, latency_s)
            self._has_base = True
        return float(self._trainer.fit_epoch(nets.attributes, nets.lengths, latency_s / self._base_s(nets)))

    def predict(self, nets: Nets) -> np.ndarray:
        """[G] seconds."""
        return np.asarray(self._answering.predict(nets.attributes, nets.lengths) * self._base_s(nets))

    def attention(self, nets: Nets) -> np.ndarray:
        """[G, blocks, heads, N, N]: how much each node (row) attends to each other."""
        return np.asarray(self._answering.attention(nets.attributes, nets.lengths))

    def arrays(self) -> Arrays:
        """Parameters and scales, in the float32 that they are trained in."""
        found = {name: np.asarray(values, dtype=np.float32) for name, values in self._trainer.arrays().items()}
        return found | self._base_arrays()

    def load_arrays(self, arrays: Arrays) -> None:
        """Answers with these from now on."""
        self._answering = predictors_module().TransformerRegressor(self._config, self._load_base(arrays))

    def state(self) -> Arrays:
        """With Adam's moments and the epochs done."""
        return dict(self._trainer.state()) | self._base_arrays()

    def load_state(self, arrays: Arrays) -> None:
        """Goes on from there."""
        self._trainer.load_state(self._load_base(arrays))

    def _base_s(self, nets: Nets) -> np.ndarray:
        return self._base.predict(nets) if self._base else np.ones(len(nets))

    def _base_arrays(self) -> Arrays:
        return {_OF_BASE + name: values for name, values in self._base.arrays().items()} if self._base else {}

    def _load_base(self, arrays: Arrays) -> Arrays:
        """The base's arrays go to it; returns the others."""
        if self._base:
            self._base.load_arrays({name: arrays[_OF_BASE + name] for name in self._base.arrays()})
            self._has_base = True
        return {name: values for name, values in arrays.items() if not name.startswith(_OF_BASE)}

"""The transformer over nodes: what it is stands in C++ (predictors/transformer_config), this hands it arrays."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from latpred._torch import predictors_module
from latpred.datasets.fnn import Nets
from latpred.training.learner import Arrays

# Of a config, besides its name and its epochs.
_FIELDS = (
    "width", "heads", "feed_forward_width", "blocks", "dropout", "positions", "most_nodes", "scale", "loss",
    "huber_delta", "schedule", "learning_rate", "batch_graphs",
)  # fmt: skip


def hyper_parameters(recipe: str, epochs: int) -> dict[str, Any]:
    """Everything that decides what the recipe learns."""
    config = predictors_module().transformer_config(recipe)
    return {"name": recipe} | {name: getattr(config, name) for name in _FIELDS} | {"epochs": epochs}


class Transformer:
    """Trains and answers through LibTorch."""

    def __init__(self, seed: int, parameters: dict[str, Any]) -> None:
        self._config = predictors_module().TransformerConfig()
        for name, value in parameters.items():
            setattr(self._config, name, value)
        threads = len(os.sched_getaffinity(0))  # any number of them gives the same numbers
        self._trainer = predictors_module().TransformerTrainer(self._config, seed, threads)
        self._answering = self._trainer

    def fit_epoch(self, nets: Nets, latency_s: np.ndarray) -> float:
        """One pass; the mean loss of the scaled target."""
        self._answering = self._trainer
        return float(self._trainer.fit_epoch(nets.attributes, nets.lengths, latency_s))

    def predict(self, nets: Nets) -> np.ndarray:
        """[G] seconds."""
        return np.asarray(self._answering.predict(nets.attributes, nets.lengths))

    def attention(self, nets: Nets) -> np.ndarray:
        """[G, blocks, heads, N, N]: how much each node (row) attends to each other."""
        return np.asarray(self._answering.attention(nets.attributes, nets.lengths))

    def arrays(self) -> Arrays:
        """Parameters and scales, in the float32 that they are trained in."""
        return {name: np.asarray(values, dtype=np.float32) for name, values in self._trainer.arrays().items()}

    def load_arrays(self, arrays: Arrays) -> None:
        """Answers with these from now on."""
        self._answering = predictors_module().TransformerRegressor(self._config, arrays)

    def state(self) -> Arrays:
        """With Adam's moments and the epochs done."""
        return dict(self._trainer.state())

    def load_state(self, arrays: Arrays) -> None:
        """Goes on from there."""
        self._trainer.load_state(arrays)

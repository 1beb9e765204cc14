"""A roofline that knows caches: seconds = time per layer x layers + weight bytes of dense layers / bandwidth of the
net's size + bytes of convolutions' images / their bandwidth + multiply-accumulates of convolutions / their rate.

At batch 1 a dense layer reads each weight once, so that bytes decide; where a net's weights lie between two calls
decides how fast. A convolution uses each weight at every pixel: its images, read and written, and its arithmetic
decide. On images of one size bytes of its weights could not be told from arithmetic, and would be wrong on others.
"""

from __future__ import annotations

import numpy as np

from latpred.datasets.nets import Nets
from latpred.training.learner import Arrays

KIBI, MEBI = 2.0**10, 2.0**20
# Where one bandwidth ends and the next begins, in bytes of the whole net: first- and second-level caches, the shared
# last level of current servers, memory.
EDGES = np.array([64 * KIBI, 1 * MEBI, 16 * MEBI, 32 * MEBI, 128 * MEBI])
_OF_ALL = 2 + len(EDGES)  # terms: a layer's, and one for each band
_OF_CONVOLUTIONS = 2
_ROUNDS = 2000  # of coordinate descent; it stops when nothing moves
_REWEIGHTINGS = 10  # towards the least absolute relative error
_STILL = 1e-12
_SMALL = 1e-3  # relative errors below it weigh alike


class CacheRoofline:
    """Non-negative terms that make the mean relative error small."""

    def __init__(self) -> None:
        # Seconds per layer, then seconds per byte of each band; where it has seen convolutions, then per byte and per
        # MAC of them.
        self._terms = np.zeros(_OF_ALL)

    def fit_epoch(self, nets: Nets, latency_s: np.ndarray) -> float:
        """The whole fit; the mean relative error."""
        inputs = self._of_nets(nets) / latency_s[:, None]
        if not inputs[:, -_OF_CONVOLUTIONS:].any():
            inputs = inputs[:, :-_OF_CONVOLUTIONS]
        weights = np.ones(len(nets))
        for _ in range(_REWEIGHTINGS):
            root = np.sqrt(weights)
            self._terms = _non_negative(inputs * root[:, None], root)
            weights = 1 / np.maximum(np.abs(inputs @ self._terms - 1), _SMALL)
        return float(np.mean(np.abs(inputs @ self._terms - 1)))

    def predict(self, nets: Nets) -> np.ndarray:
        """[G] seconds."""
        return np.asarray(self._of_nets(nets)[:, : len(self._terms)] @ self._terms)

    def layers_s(self, nets: Nets) -> np.ndarray:
        """[G, N] the seconds of each layer, which add up to those of the net; 0 for what is no layer."""
        return np.asarray(self._of_layers(nets)[:, :, : len(self._terms)] @ self._terms)

    def _of_layers(self, nets: Nets) -> np.ndarray:
        """[G, N, 3 + bands] one for a layer, a dense layer's bytes in the column of the net's band, a convolution's
        bytes of images and its MACs."""
        is_convolution = nets.positions[:, None] > 1
        band = np.searchsorted(EDGES, nets.weight_bytes(), side="right")
        inputs = np.zeros((*nets.weights.shape, _OF_ALL + _OF_CONVOLUTIONS))
        inputs[:, :, 0] = nets.is_layer
        inputs[np.arange(len(nets)), :, 1 + band] = np.where(nets.is_layer & ~is_convolution, 4 * nets.weights, 0)
        units = nets.units[:, 1:] + nets.units[:, :-1]
        is_read = (nets.is_layer & is_convolution)[:, 1:]
        inputs[:, 1:, -2] = np.where(is_read, 4 * units * nets.positions[:, None], 0)
        inputs[:, :, -1] = np.where(is_convolution, nets.macs, 0)
        return inputs

    def _of_nets(self, nets: Nets) -> np.ndarray:
        """[G, 3 + bands] the sums over layers."""
        return np.asarray(self._of_layers(nets).sum(axis=1))

    def arrays(self) -> Arrays:
        """The terms."""
        return {"terms": self._terms}

    def load_arrays(self, arrays: Arrays) -> None:
        """The same back."""
        terms = arrays["terms"]
        if len(terms) not in (_OF_ALL, _OF_ALL + _OF_CONVOLUTIONS):
            raise ValueError(f"cache_roofline has {len(terms)} terms")
        self._terms = terms

    state = arrays
    load_state = load_arrays


def _non_negative(inputs: np.ndarray, target: np.ndarray) -> np.ndarray:
    """[K] least squares with no coefficient below zero, one at a time until none moves."""
    scale = np.sqrt((inputs**2).sum(axis=0))
    scale[scale == 0] = 1  # a band without a net
    columns = inputs / scale
    products, towards = columns.T @ columns, columns.T @ target
    found = np.zeros(len(towards))
    for _ in range(_ROUNDS):
        largest = 0.0
        for k in range(len(found)):
            if products[k, k] == 0:
                continue
            new = max(0.0, found[k] + (towards[k] - products[k] @ found) / products[k, k])
            largest = max(largest, abs(new - found[k]))
            found[k] = new
        if largest < _STILL * max(1.0, float(np.abs(found).max())):
            break
    return np.asarray(found / scale)

"""Measured nets whose latency is a known law, for tests of what learns from them."""

from itertools import islice

import numpy as np
from latpred.datasets import fnn, measured_nets
from latpred.datasets.measured_nets import encode_recipes

PER_LAYER_S, BYTES_PER_S, MACS_PER_S = 2e-6, 30e9, 50e9
CONDITIONS = measured_nets.Conditions(
    device_fingerprint="Some CPU, 2 cores",
    runtime="libtorch",
    runtime_version="torch 2.13.0",
    precision="fp32",
    protocol="khan: 1 warm-up, 5 samples",
    source="a law",
    licence="Apache-2.0",
)


def law_s(nets):
    of_convolutions = np.where(nets.positions > 1, nets.macs.sum(axis=1), 0)
    return PER_LAYER_S * (nets.lengths - 1) + nets.weight_bytes() / BYTES_PER_S + of_convolutions / MACS_PER_S


def by_law(count, seed=0, noise=0.02, recipes=None, conditions=CONDITIONS):
    """Nets with normal noise on the logarithm; a tenth of them timed twice."""
    recipes = list(islice(fnn.generate(seed), count)) if recipes is None else recipes
    exact = law_s(encode_recipes(recipes))
    random = np.random.default_rng(seed)

    def timed():
        return exact * np.exp(noise * random.normal(size=len(exact)))

    return measured_nets.make(
        recipes,
        timed(),
        conditions,
        first_run_s=1.5 * timed(),
        noise=np.full(len(exact), noise),
        again_s=np.where(random.random(len(exact)) < 0.1, timed(), np.nan),
    )

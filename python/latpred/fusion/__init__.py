"""Fusion and kernels learnt from what runtimes did: which nodes one kernel computes, how long it takes, what it is."""

from latpred.fusion.network import GraphNetwork, load, recipe, sizes_of, train
from latpred.fusion.optimized import OptimizedGraph, PredictedKernel, groups_of, optimize

__all__ = [
    "GraphNetwork",
    "OptimizedGraph",
    "PredictedKernel",
    "groups_of",
    "load",
    "optimize",
    "recipe",
    "sizes_of",
    "train",
]

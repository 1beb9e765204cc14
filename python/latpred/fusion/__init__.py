"""Fusion and kernels learnt from what runtimes did: which nodes one kernel computes, how long it takes, what it is."""

from latpred.fusion.bounds import Bounds
from latpred.fusion.difference import Difference
from latpred.fusion.network import GraphNetwork, find_learning_rate, load, recipe, sizes_of, train
from latpred.fusion.optimized import (
    OptimizedGraph,
    OptimizedKernel,
    edges_between,
    groups_of,
    of_groups,
    of_labels,
    of_prediction,
    optimize,
)

__all__ = [
    "Bounds",
    "Difference",
    "GraphNetwork",
    "OptimizedGraph",
    "OptimizedKernel",
    "edges_between",
    "find_learning_rate",
    "groups_of",
    "load",
    "of_groups",
    "of_labels",
    "of_prediction",
    "optimize",
    "recipe",
    "sizes_of",
    "train",
]

"""Graphs of recipes that need no recording, and what rows of measurements say beside them."""

from latpred import Graph, GraphBuilder
from latpred.datasets import recipe


def built(text: str, batch: int = 1) -> Graph:
    net = GraphBuilder()
    recipe.build(net, recipe.parse(text))
    return net.build(batch)


def named_version(row) -> str:
    """Of the runtime of a row of measurements, as a request names it: without that of CUDA, PyTorch's alone."""
    return row.runtime_version.partition(" cuda")[0] if row.runtime_version.startswith("torch ") else ""

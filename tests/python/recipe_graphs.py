"""Graphs of recipes that need no recording."""

from latpred import Graph, GraphBuilder
from latpred.datasets import recipe


def built(text: str, batch: int = 1) -> Graph:
    net = GraphBuilder()
    recipe.build(net, recipe.parse(text))
    return net.build(batch)

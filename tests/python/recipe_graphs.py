"""Graphs of recipes that need no recording."""

from latpred import Graph, GraphBuilder
from latpred.datasets.recipe import parse
from latpred.datasets.recipe_builders import build


def built(text: str, batch: int = 1) -> Graph:
    net = GraphBuilder()
    build(net, parse(text))
    return net.build(batch)

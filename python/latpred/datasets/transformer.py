"""Encoders of the BERT family, built without a framework."""

from __future__ import annotations

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, Variable

VOCABULARY = 30522
POSITIONS = 512
FEED_FORWARD = 4  # times the width
HEAD_WIDTH = 64

# Layers and width of the sizes that tables name.
SIZES = {"base": (12, 768), "large": (24, 1024)}


def _linear(net: GraphBuilder, x: Variable, cin: int, cout: int) -> Variable:
    return net.apply("linear", [x, net.parameter((cout, cin)), net.parameter((cout,))])


def _norm(net: GraphBuilder, x: Variable, width: int) -> Variable:
    return net.apply("layer_norm", [x, net.parameter((width,)), net.parameter((width,))], axis=-1)


def _layer(net: GraphBuilder, x: Variable, width: int) -> Variable:
    query, key, value = (_linear(net, x, width, width) for _ in range(3))
    y = net.apply("multi_head_attention", [query, key, value], num_heads=width // HEAD_WIDTH)
    x = _norm(net, net.apply("add", [x, _linear(net, y, width, width)]), width)
    y = net.apply("gelu", _linear(net, x, width, FEED_FORWARD * width))
    return _norm(net, net.apply("add", [x, _linear(net, y, FEED_FORWARD * width, width)]), width)


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the encoder of a "bert:" recipe into `net`: seq tokens in, outputs numbers for each of them out."""
    layers, width = SIZES[recipe.name] if recipe.name in SIZES else (recipe.integer("layers"), recipe.integer("width"))
    tokens = net.input("input_ids", (recipe.integer("seq"),), "int64")
    segments = net.input("token_type_ids", (recipe.integer("seq"),), "int64")
    words = net.apply("embedding", [net.parameter((VOCABULARY, width)), tokens])
    x = net.apply("add", [words, net.apply("embedding", [net.parameter((2, width)), segments])])
    x = net.apply("add", [x, net.parameter((recipe.integer("seq"), width))])  # positions
    x = _norm(net, x, width)
    for _ in range(layers):
        x = _layer(net, x, width)
    net.output(_linear(net, x, width, recipe.integer("outputs", 2)))

"""Encoders of the BERT family and the vision transformer, built without a framework."""

from __future__ import annotations

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, Variable
from latpred.errors import InvalidArgumentError

VOCABULARY = 30522
POSITIONS = 512
FEED_FORWARD = 4  # times the width
HEAD_WIDTH = 64
HEAD_SCALE = 8  # the root of it
CHANNELS = 3
CLASSES = 1000

# Layers and width of the sizes that tables name.
SIZES = {"base": (12, 768), "large": (24, 1024)}
# Layers, width and edge of a patch.
VISION_SIZES = {"base16": (12, 768, 16), "large16": (24, 1024, 16)}

# What "attention=" chooses from: one operator, or what PyTorch ran before it had one.
ATTENTIONS = ("fused", "products")


def _linear(net: GraphBuilder, x: Variable, cin: int, cout: int) -> Variable:
    return net.apply("linear", [x, net.parameter((cout, cin)), net.parameter((cout,))])


def _norm(net: GraphBuilder, x: Variable, width: int) -> Variable:
    return net.apply("layer_norm", [x, net.parameter((width,)), net.parameter((width,))], axis=-1)


def _by_products(
    net: GraphBuilder, query: Variable, key: Variable, value: Variable, seq: int, width: int, mask: Variable | None
) -> Variable:
    """As torch.matmul has it: operands of four dimensions are made ones of three, which copies them where the batch is
    above one."""
    heads = width // HEAD_WIDTH
    orders = {"rows": ([0, 2, 1, 3], [-1, seq, HEAD_WIDTH]), "columns": ([0, 2, 3, 1], [-1, HEAD_WIDTH, seq])}

    def split(x: Variable, kind: str) -> Variable:
        order, sizes = orders[kind]
        x = net.apply("reshape", [x, net.constant([0, seq, heads, HEAD_WIDTH])])
        return net.apply("reshape", [net.apply("transpose", x, perm=order), net.constant(sizes)])

    scores = net.apply("matmul", [split(query, "rows"), split(key, "columns")])
    scores = net.apply("div", [scores, net.constant(HEAD_SCALE)])
    if mask is not None:
        scores = net.apply("reshape", [scores, net.constant([-1, heads, seq, seq])])
        scores = net.apply("add", [scores, mask])
        scores = net.apply("reshape", [scores, net.constant([-1, seq, seq])])
    y = net.apply("matmul", [net.apply("softmax", scores, axis=-1), split(value, "rows")])
    y = net.apply("reshape", [y, net.constant([-1, heads, seq, HEAD_WIDTH])])
    y = net.apply("transpose", y, perm=[0, 2, 1, 3])
    return net.apply("reshape", [y, net.constant([0, seq, width])])


def _attention(
    net: GraphBuilder, x: Variable, seq: int, width: int, kind: str, mask: Variable | None = None
) -> Variable:
    query, key, value = (_linear(net, x, width, width) for _ in range(3))
    if kind == "fused":
        y = net.apply("multi_head_attention", [query, key, value], num_heads=width // HEAD_WIDTH)
    else:
        y = _by_products(net, query, key, value, seq, width, mask)
    return _linear(net, y, width, width)


def _feed_forward(net: GraphBuilder, x: Variable, width: int) -> Variable:
    y = net.apply("gelu", _linear(net, x, width, FEED_FORWARD * width))
    return _linear(net, y, FEED_FORWARD * width, width)


def _attention_kind(recipe: Recipe) -> str:
    kind = recipe.parameters.get("attention", ATTENTIONS[0])
    if kind not in ATTENTIONS:
        raise InvalidArgumentError(f"recipe '{recipe}': attention is '{kind}'; valid: {', '.join(ATTENTIONS)}")
    return kind


def _embedding(net: GraphBuilder, seq: int, width: int) -> Variable:
    tokens = net.input("input_ids", (seq,), "int64")
    segments = net.input("token_type_ids", (seq,), "int64")
    words = net.apply("embedding", [net.parameter((VOCABULARY, width)), tokens])
    x = net.apply("add", [words, net.apply("embedding", [net.parameter((2, width)), segments])])
    x = net.apply("add", [x, net.parameter((seq, width))])  # positions
    return _norm(net, x, width)


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the encoder of a "bert:" recipe into `net`: seq tokens in, outputs numbers for each of them out; with
    embedded=1 the layers alone, widths in and out. Attention by products has a mask for each pair of tokens."""
    layers, width = SIZES[recipe.name] if recipe.name in SIZES else (recipe.integer("layers"), recipe.integer("width"))
    seq, kind, is_embedded = recipe.integer("seq"), _attention_kind(recipe), bool(recipe.integer("embedded", 0))
    x = net.input("x", (seq, width)) if is_embedded else _embedding(net, seq, width)
    mask = None
    if kind == "products":
        mask = net.apply("sub", [net.constant(1), net.input("mask", (1, seq, seq))])
        mask = net.apply("mul", [mask, net.constant(-10000)])
    for _ in range(layers):
        x = _norm(net, net.apply("add", [x, _attention(net, x, seq, width, kind, mask)]), width)
        x = _norm(net, net.apply("add", [x, _feed_forward(net, x, width)]), width)
    net.output(x if is_embedded else _linear(net, x, width, recipe.integer("outputs", 2)))


def build_vision(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the classifier of a "vit:" recipe into `net`: vit:base16?size=384&attention=products"""
    if recipe.name not in VISION_SIZES:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown size; valid: {', '.join(VISION_SIZES)}")
    layers, width, patch = VISION_SIZES[recipe.name]
    kind, side = _attention_kind(recipe), recipe.integer("size")
    weights = [net.parameter((width, CHANNELS, patch, patch)), net.parameter((width,))]
    x = net.apply(
        "conv", [net.input("data", (CHANNELS, side, side)), *weights], kernel_shape=[patch] * 2, strides=[patch] * 2
    )
    x = net.apply("transpose", net.apply("reshape", [x, net.constant([0, width, -1])]), perm=[0, 2, 1])
    # The token of the class is looked up: a weight that only grows by the batch would be no weight any more.
    token = net.apply("embedding", [net.parameter((1, width)), net.input("class", (1,), "int64")])
    x = net.apply("concat", [token, x], axis=1)
    seq = (side // patch) ** 2 + 1
    x = net.apply("add", [x, net.parameter((seq, width))])
    for _ in range(layers):
        x = net.apply("add", [x, _attention(net, _norm(net, x, width), seq, width, kind)])
        x = net.apply("add", [x, _feed_forward(net, _norm(net, x, width), width)])
    x = net.apply("select", [_norm(net, x, width), net.constant(0)], axis=1)
    net.output(_linear(net, x, width, recipe.integer("outputs", CLASSES)))

"""GoogLeNet and networks of its kind, built without a framework: "googlenet:v1", "googlenet:v1?norm=1&depth=5"."""

from __future__ import annotations

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, Variable
from latpred.errors import InvalidArgumentError

KIND = "googlenet"
_CLASSES = 1000
_SIZE = 224

# Channels of each module: 1 x 1; 3 x 3 behind 1 x 1; 5 x 5 behind 1 x 1; 1 x 1 behind a pool. From its paper's table 1.
_MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
_POOLED_BEFORE = ("4a", "5a")


def _conv(net: GraphBuilder, x: Variable, cin: int, cout: int, kernel: int, stride: int, has_norm: bool) -> Variable:
    weights = [net.parameter((cout, cin, kernel, kernel))]
    if not has_norm:
        weights.append(net.parameter((cout,)))
    pads = [kernel // 2] * 4
    x = net.apply("conv", [x, *weights], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=pads)
    if has_norm:
        x = net.apply("batch_norm", [x, *(net.parameter((cout,)) for _ in range(4))])
    return net.apply("relu", x)


def _pool(net: GraphBuilder, x: Variable, stride: int) -> Variable:
    return net.apply("max_pool", x, kernel_shape=[3, 3], strides=[stride] * 2, pads=[1] * 4)


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network into `net`. norm: batch norms instead of biases; depth: how many of the nine modules; width:
    channels in percent; size: of the image."""
    if recipe.name != "v1":
        raise InvalidArgumentError(f"recipe '{recipe}': unknown network; valid: v1")
    has_norm, depth, percent = bool(recipe.integer("norm", 0)), recipe.integer("depth", 9), recipe.integer("width", 100)
    size = recipe.integer("size", _SIZE)

    def wide(channels: int) -> int:
        return max(8, channels * percent // 100)

    x = net.input("x", (3, size, size))
    x = _pool(net, _conv(net, x, 3, wide(64), 7, 2, has_norm), 2)
    x = _conv(net, _conv(net, x, wide(64), wide(64), 1, 1, has_norm), wide(64), wide(192), 3, 1, has_norm)
    x, width = _pool(net, x, 2), wide(192)
    for name in list(_MODULES)[:depth]:
        one, three_in, three, five_in, five, pooled = (wide(channels) for channels in _MODULES[name])
        x = _pool(net, x, 2) if name in _POOLED_BEFORE else x
        parts = [
            _conv(net, x, width, one, 1, 1, has_norm),
            _conv(net, _conv(net, x, width, three_in, 1, 1, has_norm), three_in, three, 3, 1, has_norm),
            _conv(net, _conv(net, x, width, five_in, 1, 1, has_norm), five_in, five, 5, 1, has_norm),
            _conv(net, _pool(net, x, 1), width, pooled, 1, 1, has_norm),
        ]
        x, width = net.apply("concat", parts, axis=1), one + three + five + pooled
    x = net.apply("flatten", net.apply("global_average_pool", x))
    net.output(net.apply("linear", [x, net.parameter((_CLASSES, width)), net.parameter((_CLASSES,))]))

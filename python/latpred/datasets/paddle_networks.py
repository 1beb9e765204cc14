"""Small networks as PaddleClas defines them: MobileNets whose widths or blocks differ from timm's, ShuffleNetV2 and
SqueezeNet."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from latpred._core import GraphBuilder
from latpred.datasets.mobile_blocks import classifier, conv, conv_norm, divisible
from latpred.datasets.recipe import Recipe, Variable
from latpred.errors import InvalidArgumentError

IMAGE_SIZE = 224
CLASSES = 1000
SQUEEZE = 4


def _conv_bias(
    net: GraphBuilder, x: Variable, cin: int, cout: int, kernel: int = 1, stride: int = 1, pad: int = 0
) -> Variable:
    weights = [net.parameter((cout, cin, kernel, kernel)), net.parameter((cout,))]
    return net.apply("conv", [x, *weights], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)


def _input(net: GraphBuilder) -> Variable:
    return net.input("data", (3, IMAGE_SIZE, IMAGE_SIZE))


def _classify(net: GraphBuilder, x: Variable, width: int) -> None:
    x = net.apply("flatten", net.apply("global_average_pool", x))
    net.output(classifier(net, x, width, CLASSES))


# Width out and stride of each depth-wise separable block.
V1_BLOCKS = (
    (64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), *[(512, 1)] * 5, (1024, 2), (1024, 1),
)  # fmt: skip


def _mobilenetv1(net: GraphBuilder, scale: float) -> None:
    cin = int(32 * scale)
    x = conv_norm(net, _input(net), 3, cin, 3, 2)
    for width, stride in V1_BLOCKS:
        cout = int(width * scale)
        x = conv_norm(net, x, cin, cin, 3, stride, groups=cin)
        x = conv_norm(net, x, cin, cout)
        cin = cout
    _classify(net, x, cin)


# Expansion, width out, layers and stride of each stage.
V2_STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
V2_HEAD = 1280


def _mobilenetv2(net: GraphBuilder, scale: float) -> None:
    """Every block widens, the first one by a convolution from 32 to 32 too."""
    cin = int(32 * scale)
    x = conv_norm(net, _input(net), 3, cin, 3, 2, activation="clip")
    for expand, width, layers, stage_stride in V2_STAGES:
        cout = int(width * scale)
        for layer in range(layers):
            middle = cin * expand
            y = conv_norm(net, x, cin, middle, activation="clip")
            stride = stage_stride if layer == 0 else 1
            y = conv_norm(net, y, middle, middle, 3, stride, groups=middle, activation="clip")
            y = conv_norm(net, y, middle, cout, activation="")
            x = y if layer == 0 else net.apply("add", [x, y])
            cin = cout
    head = int(V2_HEAD * max(scale, 1.0))
    _classify(net, conv_norm(net, x, cin, head, activation="clip"), head)


class _V3Block(NamedTuple):
    kernel: int
    expand: int
    width: int
    squeeze: bool
    activation: str
    stride: int


_RELU, _SWISH = "relu", "hard_swish"
V3_LARGE = (
    _V3Block(3, 16, 16, False, _RELU, 1),
    _V3Block(3, 64, 24, False, _RELU, 2),
    _V3Block(3, 72, 24, False, _RELU, 1),
    _V3Block(5, 72, 40, True, _RELU, 2),
    _V3Block(5, 120, 40, True, _RELU, 1),
    _V3Block(5, 120, 40, True, _RELU, 1),
    _V3Block(3, 240, 80, False, _SWISH, 2),
    _V3Block(3, 200, 80, False, _SWISH, 1),
    _V3Block(3, 184, 80, False, _SWISH, 1),
    _V3Block(3, 184, 80, False, _SWISH, 1),
    _V3Block(3, 480, 112, True, _SWISH, 1),
    _V3Block(3, 672, 112, True, _SWISH, 1),
    _V3Block(5, 672, 160, True, _SWISH, 2),
    _V3Block(5, 960, 160, True, _SWISH, 1),
    _V3Block(5, 960, 160, True, _SWISH, 1),
)
V3_SMALL = (
    _V3Block(3, 16, 16, True, _RELU, 2),
    _V3Block(3, 72, 24, False, _RELU, 2),
    _V3Block(3, 88, 24, False, _RELU, 1),
    _V3Block(5, 96, 40, True, _SWISH, 2),
    _V3Block(5, 240, 40, True, _SWISH, 1),
    _V3Block(5, 240, 40, True, _SWISH, 1),
    _V3Block(5, 120, 48, True, _SWISH, 1),
    _V3Block(5, 144, 48, True, _SWISH, 1),
    _V3Block(5, 288, 96, True, _SWISH, 2),
    _V3Block(5, 576, 96, True, _SWISH, 1),
    _V3Block(5, 576, 96, True, _SWISH, 1),
)
V3_HEAD = 1280


def _squeeze_excite(net: GraphBuilder, x: Variable, width: int) -> Variable:
    y = net.apply("relu", _conv_bias(net, net.apply("global_average_pool", x), width, width // SQUEEZE))
    return net.apply("mul", [x, net.apply("hard_sigmoid", _conv_bias(net, y, width // SQUEEZE, width))])


def _mobilenetv3(net: GraphBuilder, scale: float, blocks: tuple[_V3Block, ...]) -> None:
    cin = divisible(16 * scale)
    x = conv_norm(net, _input(net), 3, cin, 3, 2, activation=_SWISH)
    for block in blocks:
        middle, cout = divisible(block.expand * scale), divisible(block.width * scale)
        y = conv_norm(net, x, cin, middle, activation=block.activation)
        y = conv_norm(net, y, middle, middle, block.kernel, block.stride, groups=middle, activation=block.activation)
        if block.squeeze:
            y = _squeeze_excite(net, y, middle)
        y = conv_norm(net, y, middle, cout, activation="")
        x = net.apply("add", [x, y]) if block.stride == 1 and cin == cout else y
        cin = cout
    last = divisible(blocks[-1].expand * scale)
    x = conv_norm(net, x, cin, last, activation=_SWISH)
    x = net.apply(_SWISH, conv(net, net.apply("global_average_pool", x), last, V3_HEAD))
    net.output(classifier(net, net.apply("flatten", x), V3_HEAD, CLASSES))


# Widths of the three stages and of the head, by scale.
SHUFFLE_WIDTHS = {
    0.25: (24, 48, 96, 512),
    0.33: (32, 64, 128, 512),
    0.5: (48, 96, 192, 1024),
    1.0: (116, 232, 464, 1024),
    1.5: (176, 352, 704, 1024),
    2.0: (224, 488, 976, 2048),  # not the 244 of the paper: the pages state this one's sizes
}
SHUFFLE_STEM = 24
SHUFFLE_LAYERS = (4, 8, 4)


def _shuffled(net: GraphBuilder, halves: list[Variable], half: int, size: int) -> Variable:
    y = net.apply("reshape", [net.apply("concat", halves, axis=1), net.constant([-1, 2, half, size, size])])
    y = net.apply("transpose", y, perm=[0, 2, 1, 3, 4])
    return net.apply("reshape", [y, net.constant([-1, 2 * half, size, size])])


def _shuffle_branch(net: GraphBuilder, x: Variable, cin: int, half: int, stride: int, activation: str) -> Variable:
    y = conv_norm(net, x, cin, half, activation=activation)
    y = conv_norm(net, y, half, half, 3, stride, groups=half, activation="")
    return conv_norm(net, y, half, half, activation=activation)


def _shufflenetv2(net: GraphBuilder, scale: float, activation: str = "relu") -> None:
    *widths, head = SHUFFLE_WIDTHS[scale]
    cin, size = SHUFFLE_STEM, IMAGE_SIZE // 4
    x = conv_norm(net, _input(net), 3, cin, 3, 2, activation=activation)
    x = net.apply("max_pool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[1] * 4)
    for width, layers in zip(widths, SHUFFLE_LAYERS, strict=True):
        half, size = width // 2, size // 2
        y = conv_norm(net, x, cin, cin, 3, 2, groups=cin, activation="")
        y = conv_norm(net, y, cin, half, activation=activation)
        x = _shuffled(net, [y, _shuffle_branch(net, x, cin, half, 2, activation)], half, size)
        for _ in range(layers - 1):
            kept, y = net.apply("split", [x, net.constant([half, half])], num_outputs=2, axis=1)
            x = _shuffled(net, [kept, _shuffle_branch(net, y, half, half, 1, activation)], half, size)
        cin = width
    _classify(net, conv_norm(net, x, cin, head, activation=activation), head)


# The widths that fire modules squeeze to; they widen to four times as much by each of two convolutions.
FIRES = (16, 16, 32, 32, 48, 48, 64, 64)


def _squeezenet(net: GraphBuilder, width: int, kernel: int, pad: int, pooled_after: tuple[int, ...]) -> None:
    x = _conv_bias(net, _input(net), 3, width, kernel, 2, pad)
    x = net.apply("max_pool", net.apply("relu", x), kernel_shape=[3, 3], strides=[2, 2])
    for place, squeezed in enumerate(FIRES):
        y = net.apply("relu", _conv_bias(net, x, width, squeezed))
        wide = 4 * squeezed
        one = net.apply("relu", _conv_bias(net, y, squeezed, wide))
        three = net.apply("relu", _conv_bias(net, y, squeezed, wide, 3, pad=1))
        x, width = net.apply("concat", [one, three], axis=1), 2 * wide
        if place in pooled_after:
            x = net.apply("max_pool", x, kernel_shape=[3, 3], strides=[2, 2])
    x = net.apply("relu", _conv_bias(net, x, width, CLASSES))
    net.output(net.apply("flatten", net.apply("global_average_pool", x)))


_BUILDERS: dict[str, Callable[[GraphBuilder, float], None]] = {
    "mobilenetv1": _mobilenetv1,
    "mobilenetv2": _mobilenetv2,
    "mobilenetv3_large": lambda net, scale: _mobilenetv3(net, scale, V3_LARGE),
    "mobilenetv3_small": lambda net, scale: _mobilenetv3(net, scale, V3_SMALL),
    "shufflenetv2": _shufflenetv2,
    "shufflenetv2_swish": lambda net, scale: _shufflenetv2(net, scale, "swish"),
    "squeezenet1_0": lambda net, _: _squeezenet(net, 96, 7, 0, (2, 6)),
    "squeezenet1_1": lambda net, _: _squeezenet(net, 64, 3, 1, (1, 3)),
}


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of a "paddle:" recipe into `net`: paddle:mobilenetv2?scale=0.5"""
    rule = _BUILDERS.get(recipe.name)
    if rule is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown network; valid: {', '.join(_BUILDERS)}")
    rule(net, float(recipe.parameters.get("scale", "1.0")))

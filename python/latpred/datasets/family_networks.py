"""Networks of DIPPM's families at any width, depth, kernel, expansion and image size: "family:resnet?depth=3,4,6,3".

With the sizes that their papers name they have the weights and MACs of timm's. `graphs()` draws as many of each family
as DIPPM's Table 2 has, each with a batch, by a rule: the same ones everywhere, and no list to ship.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from latpred._core import GraphBuilder
from latpred.datasets.mobile_blocks import classifier, conv, conv_norm, divisible, norm, numbers
from latpred.datasets.recipe import Recipe, Variable
from latpred.errors import InvalidArgumentError

KIND = "family"
CLASSES = 1000
CHANNELS = 3
FEED_FORWARD = 4  # times the width
SQUEEZE = 4


def _image(net: GraphBuilder, recipe: Recipe) -> tuple[Variable, int]:
    size = recipe.integer("size")
    return net.input("x", (CHANNELS, size, size)), size


def _biased(
    net: GraphBuilder, x: Variable, cin: int, cout: int, kernel: int = 1, stride: int = 1, pad: int = 0, groups: int = 1
) -> Variable:
    weights = [net.parameter((cout, cin // groups, kernel, kernel)), net.parameter((cout,))]
    return net.apply(
        "conv", [x, *weights], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4, group=groups
    )


def _plain(net: GraphBuilder, x: Variable, cin: int, cout: int, kernel: int, stride: int, pad: int) -> Variable:
    weight = net.parameter((cout, cin, kernel, kernel))
    return net.apply("conv", [x, weight], kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)


def _pool(net: GraphBuilder, operator: str, x: Variable, kernel: int, stride: int, pad: int = 0) -> Variable:
    return net.apply(operator, x, kernel_shape=[kernel] * 2, strides=[stride] * 2, pads=[pad] * 4)


def _linear(net: GraphBuilder, x: Variable, cin: int, cout: int, has_bias: bool = True) -> Variable:
    bias = [net.parameter((cout,))] if has_bias else []
    return net.apply("linear", [x, net.parameter((cout, cin)), *bias])


def _layer_norm(net: GraphBuilder, x: Variable, width: int) -> Variable:
    return net.apply("layer_norm", [x, net.parameter((width,)), net.parameter((width,))], axis=-1)


def _classify(net: GraphBuilder, x: Variable, width: int) -> None:
    net.output(classifier(net, net.apply("flatten", net.apply("global_average_pool", x)), width, CLASSES))


def _moved(net: GraphBuilder, x: Variable, *order: int) -> Variable:
    return net.apply("transpose", x, perm=list(order))


def _shaped(net: GraphBuilder, x: Variable, *sizes: int) -> Variable:
    return net.apply("reshape", [x, net.constant(list(sizes))])


def _resnet(net: GraphBuilder, recipe: Recipe) -> None:
    """block: basic or bottleneck."""
    base, is_wide = recipe.integer("width"), recipe.parameters["block"] == "bottleneck"
    kernel = recipe.integer("kernel", 3)
    x, _ = _image(net, recipe)
    x = _pool(net, "max_pool", conv_norm(net, x, CHANNELS, base, 7, 2), 3, 2, 1)
    cin = base
    for stage, layers in enumerate(numbers(recipe.parameters["depth"])):
        middle = base << stage
        cout = 4 * middle if is_wide else middle
        for layer in range(layers):
            stride = 2 if layer == 0 and stage > 0 else 1
            if is_wide:
                y = conv_norm(net, x, cin, middle)
                y = conv_norm(net, y, middle, middle, kernel, stride)
                y = conv_norm(net, y, middle, cout, activation="")
            else:
                y = conv_norm(net, x, cin, cout, kernel, stride)
                y = conv_norm(net, y, cout, cout, kernel, activation="")
            if stride > 1 or cin != cout:
                x = conv_norm(net, x, cin, cout, 1, stride, activation="")
            x, cin = net.apply("relu", net.apply("add", [y, x])), cout
    _classify(net, x, cin)


def _vgg(net: GraphBuilder, recipe: Recipe) -> None:
    """The head sees 7 x 7 whatever the image."""
    base, has_norm, head = recipe.integer("width"), recipe.integer("norm"), recipe.integer("head")
    x, _ = _image(net, recipe)
    cin = CHANNELS
    for stage, layers in enumerate(numbers(recipe.parameters["depth"])):
        cout = base * min(1 << stage, 8)
        for _ in range(layers):
            x = _biased(net, x, cin, cout, 3, pad=1)
            x, cin = net.apply("relu", norm(net, x, cout) if has_norm else x), cout
        x = _pool(net, "max_pool", x, 2, 2)
    x = net.apply("flatten", net.apply("adaptive_average_pool", x, output_size=[7, 7]))
    cin *= 49
    for _ in range(2):
        x, cin = net.apply("relu", _linear(net, x, cin, head)), head
    net.output(_linear(net, x, cin, CLASSES))


def _densenet(net: GraphBuilder, recipe: Recipe) -> None:
    growth, width = recipe.integer("growth"), recipe.integer("width")
    x, _ = _image(net, recipe)
    x = _pool(net, "max_pool", conv_norm(net, x, CHANNELS, width, 7, 2), 3, 2, 1)
    depths = numbers(recipe.parameters["depth"])
    for stage, layers in enumerate(depths):
        parts = [x]
        for _ in range(layers):
            y = net.apply("concat", parts, axis=1) if len(parts) > 1 else x
            y = conv(net, net.apply("relu", norm(net, y, width)), width, 4 * growth)
            y = conv(net, net.apply("relu", norm(net, y, 4 * growth)), 4 * growth, growth, 3)
            parts, width = [*parts, y], width + growth
        x = net.apply("relu", norm(net, net.apply("concat", parts, axis=1), width))
        if stage + 1 < len(depths):
            x, width = _pool(net, "average_pool", conv(net, x, width, width // 2), 2, 2), width // 2
    _classify(net, x, width)


@dataclass(frozen=True)
class _Stage:
    """Inverted bottlenecks of a mobile network."""

    expand: int
    width: int
    layers: int
    stride: int
    kernel: int = 3
    squeeze: bool = False


def _squeeze_excite(net: GraphBuilder, x: Variable, width: int, squeezed: int) -> Variable:
    y = _biased(net, net.apply("global_average_pool", x), width, squeezed)
    y = _biased(net, net.apply("swish", y), squeezed, width)
    return net.apply("mul", [x, net.apply("sigmoid", y)])


def _mobile(
    net: GraphBuilder, recipe: Recipe, stages: Sequence[_Stage], activation: str, stem: int, head: int, head_grows: bool
) -> None:
    """width and depth are factors; expand and kernel, where the recipe has them, hold for all stages but the first."""
    width, depth = float(recipe.parameters["width"]), float(recipe.parameters["depth"])
    x, _ = _image(net, recipe)
    cin = divisible(stem * width)
    x = conv_norm(net, x, CHANNELS, cin, 3, 2, activation=activation)
    for place, stage in enumerate(stages):
        cout = divisible(stage.width * width)
        expand = stage.expand if place == 0 else recipe.integer("expand", stage.expand)
        kernel = stage.kernel if place == 0 else recipe.integer("kernel", stage.kernel)
        layers = math.ceil(stage.layers * depth) if place else stage.layers if depth <= 1 else math.ceil(depth)
        for layer in range(layers):
            stride, middle = stage.stride if layer == 0 else 1, cin * expand
            y = x if expand == 1 else conv_norm(net, x, cin, middle, activation=activation)
            y = conv_norm(net, y, middle, middle, kernel, stride, groups=middle, activation=activation)
            if stage.squeeze:
                y = _squeeze_excite(net, y, middle, max(1, cin // SQUEEZE))
            y = conv_norm(net, y, middle, cout, activation="")
            x, cin = net.apply("add", [y, x]) if stride == 1 and cin == cout else y, cout
    last = divisible(head * width) if head_grows else divisible(head * max(width, 1.0))
    _classify(net, conv_norm(net, x, cin, last, activation=activation), last)


_MOBILENET = (
    _Stage(1, 16, 1, 1), _Stage(6, 24, 2, 2), _Stage(6, 32, 3, 2), _Stage(6, 64, 4, 2), _Stage(6, 96, 3, 1),
    _Stage(6, 160, 3, 2), _Stage(6, 320, 1, 1),
)  # fmt: skip
_MNASNET = (
    _Stage(1, 16, 1, 1), _Stage(3, 24, 3, 2), _Stage(3, 40, 3, 2, 5), _Stage(6, 80, 3, 2, 5), _Stage(6, 96, 2, 1),
    _Stage(6, 192, 4, 2, 5), _Stage(6, 320, 1, 1),
)  # fmt: skip
_EFFICIENTNET = (
    _Stage(1, 16, 1, 1, 3, True), _Stage(6, 24, 2, 2, 3, True), _Stage(6, 40, 2, 2, 5, True),
    _Stage(6, 80, 3, 2, 3, True), _Stage(6, 112, 3, 1, 5, True), _Stage(6, 192, 4, 2, 5, True),
    _Stage(6, 320, 1, 1, 3, True),
)  # fmt: skip


def _mobilenet(net: GraphBuilder, recipe: Recipe) -> None:
    _mobile(net, recipe, _MOBILENET, "clip", 32, 1280, head_grows=False)


def _mnasnet(net: GraphBuilder, recipe: Recipe) -> None:
    _mobile(net, recipe, _MNASNET, "relu", 32, 1280, head_grows=False)


def _efficientnet(net: GraphBuilder, recipe: Recipe) -> None:
    _mobile(net, recipe, _EFFICIENTNET, "swish", 32, 1280, head_grows=True)


def _attend(net: GraphBuilder, x: Variable, seq: int, width: int, heads: int, bias: Variable | None = None) -> Variable:
    """[B, seq, width] to the same: queries, keys and values by one layer."""
    size = width // heads
    y = _moved(net, _shaped(net, _linear(net, x, width, 3 * width), -1, seq, 3, heads, size), 2, 0, 3, 1, 4)
    query, key, value = (net.apply("select", [y, net.constant(place)], axis=0) for place in range(3))
    mask = [] if bias is None else [bias]
    y = net.apply("scaled_dot_product_attention", [query, key, value, *mask])
    return _linear(net, _shaped(net, _moved(net, y, 0, 2, 1, 3), -1, seq, width), width, width)


def _feed_forward(net: GraphBuilder, x: Variable, width: int, ratio: int = FEED_FORWARD) -> Variable:
    return _linear(net, net.apply("gelu", _linear(net, x, width, ratio * width)), ratio * width, width)


def _vit(net: GraphBuilder, recipe: Recipe) -> None:
    """Without a token of the class: the mean of all patches is classified."""
    width, patch = recipe.integer("width"), recipe.integer("patch")
    x, size = _image(net, recipe)
    seq = (size // patch) ** 2
    x = _moved(net, _shaped(net, _biased(net, x, CHANNELS, width, patch, patch), 0, width, seq), 0, 2, 1)
    x = net.apply("add", [x, net.parameter((1, seq, width))])
    for _ in range(recipe.integer("layers")):
        x = net.apply("add", [x, _attend(net, _layer_norm(net, x, width), seq, width, recipe.integer("heads"))])
        x = net.apply("add", [x, _feed_forward(net, _layer_norm(net, x, width), width, recipe.integer("expand", 4))])
    x = net.apply("reduce_mean", [_layer_norm(net, x, width), net.constant([1])], keepdims=0)
    net.output(_linear(net, x, width, CLASSES))


def _swin(net: GraphBuilder, recipe: Recipe) -> None:
    """Windows of every other block are shifted by a roll; the bias of each pair of places is looked up beforehand."""
    width, window, expand, patch = (*(recipe.integer(name) for name in ("width", "window", "expand")), 4)
    x, size = _image(net, recipe)
    side = size // patch
    x = _moved(net, _biased(net, x, CHANNELS, width, patch, patch), 0, 2, 3, 1)
    x = _layer_norm(net, x, width)
    for stage, layers in enumerate(numbers(recipe.parameters["depth"])):
        if stage > 0:
            x = _shaped(net, x, -1, side // 2, 2, side // 2, 2, width)
            x = _shaped(net, _moved(net, x, 0, 1, 3, 4, 2, 5), -1, side // 2, side // 2, 4 * width)
            x = _linear(net, _layer_norm(net, x, 4 * width), 4 * width, 2 * width, has_bias=False)
            side, width = side // 2, 2 * width
        heads, wide = width // 32, min(window, side)
        seq, count = wide * wide, side // wide
        for layer in range(layers):
            is_shifted = layer % 2 == 1 and wide < side
            y = _layer_norm(net, x, width)
            if is_shifted:
                y = net.apply("roll", y, shifts=[-(wide // 2)] * 2, axes=[1, 2])
            y = _moved(net, _shaped(net, y, -1, count, wide, count, wide, width), 0, 1, 3, 2, 4, 5)
            bias = net.parameter((1, heads, seq, seq))
            y = _attend(net, _shaped(net, y, -1, seq, width), seq, width, heads, bias)
            y = _moved(net, _shaped(net, y, -1, count, count, wide, wide, width), 0, 1, 3, 2, 4, 5)
            y = _shaped(net, y, -1, side, side, width)
            if is_shifted:
                y = net.apply("roll", y, shifts=[wide // 2] * 2, axes=[1, 2])
            x = net.apply("add", [x, y])
            x = net.apply("add", [x, _feed_forward(net, _layer_norm(net, x, width), width, expand)])
    x = net.apply("reduce_mean", [_layer_norm(net, x, width), net.constant([1, 2])], keepdims=0)
    net.output(_linear(net, x, width, CLASSES))


def _poolformer(net: GraphBuilder, recipe: Recipe) -> None:
    base, kernel, expand = recipe.integer("width"), recipe.integer("kernel"), recipe.integer("expand")
    x, _ = _image(net, recipe)
    x = _biased(net, x, CHANNELS, base, 7, 4, 2)
    width = base
    for stage, layers in enumerate(numbers(recipe.parameters["depth"])):
        if stage > 0:
            cout = (base, 2 * base, 5 * base, 8 * base)[stage]
            x, width = _biased(net, x, width, cout, 3, 2, 1), cout
        for _ in range(layers):
            y = _group_norm(net, x, width)
            y = net.apply("sub", [_pool(net, "average_pool", y, kernel, 1, kernel // 2), y])
            x = net.apply("add", [x, _scaled(net, y, width)])
            y = _biased(net, _group_norm(net, x, width), width, expand * width)
            y = _biased(net, net.apply("gelu", y), expand * width, width)
            x = net.apply("add", [x, _scaled(net, y, width)])
    x = net.apply("flatten", net.apply("global_average_pool", x))
    net.output(_linear(net, _layer_norm(net, x, width), width, CLASSES))


def _group_norm(net: GraphBuilder, x: Variable, width: int) -> Variable:
    return net.apply("group_norm", [x, net.parameter((width,)), net.parameter((width,))], num_groups=1)


def _scaled(net: GraphBuilder, x: Variable, width: int) -> Variable:
    return net.apply("mul", [x, net.parameter((width, 1, 1))])


def _visformer(net: GraphBuilder, recipe: Recipe) -> None:
    """Convolutions by groups in the first stage, attention in the others; width: of the second."""
    middle, groups = recipe.integer("width"), recipe.integer("groups")
    x, size = _image(net, recipe)
    x = conv_norm(net, x, CHANNELS, 32, 7, 2)
    cin, side = 32, size // 2
    for stage, layers in enumerate(numbers(recipe.parameters["depth"])):
        width, patch = middle << stage >> 1, 4 if stage == 0 else 2
        side //= patch
        x = norm(net, _biased(net, x, cin, width, patch, patch), width)
        x = net.apply("add", [x, net.parameter((1, width, side, side))])
        for _ in range(layers):
            if stage > 0:
                y = _attend_image(net, norm(net, x, width), side * side, width, middle // 64)
                x = net.apply("add", [x, _shaped(net, y, -1, width, side, side)])
            wide = 2 * width if stage == 0 else FEED_FORWARD * width
            y = net.apply("gelu", conv(net, norm(net, x, width), width, wide))
            if stage == 0:
                y = net.apply("gelu", conv(net, y, wide, wide, 3, groups=groups))
            x = net.apply("add", [x, conv(net, y, wide, width)])
        cin = width
    _classify(net, norm(net, x, cin), cin)


def _attend_image(net: GraphBuilder, x: Variable, seq: int, width: int, heads: int) -> Variable:
    """The same over the pixels of an image, by convolutions of 1 x 1."""
    size = width // heads
    y = _moved(net, _shaped(net, conv(net, x, width, 3 * width), -1, 3, heads, size, seq), 1, 0, 2, 4, 3)
    query, key, value = (net.apply("select", [y, net.constant(place)], axis=0) for place in range(3))
    y = net.apply("scaled_dot_product_attention", [query, key, value])
    side = math.isqrt(seq)
    return conv(net, _shaped(net, _moved(net, y, 0, 1, 3, 2), -1, width, side, side), width, width)


def _convnext(net: GraphBuilder, recipe: Recipe) -> None:
    base, kernel, expand = recipe.integer("width"), recipe.integer("kernel"), recipe.integer("expand")
    x, _ = _image(net, recipe)
    width = base
    x = _image_norm(net, _biased(net, x, CHANNELS, width, 4, 4), width)
    for stage, layers in enumerate(numbers(recipe.parameters["depth"])):
        if stage > 0:
            x, width = _biased(net, _image_norm(net, x, width), width, 2 * width, 2, 2), 2 * width
        for _ in range(layers):
            y = _moved(net, _biased(net, x, width, width, kernel, pad=kernel // 2, groups=width), 0, 2, 3, 1)
            y = _feed_forward(net, _layer_norm(net, y, width), width, expand)
            x = net.apply("add", [x, _scaled(net, _moved(net, y, 0, 3, 1, 2), width)])
    x = net.apply("flatten", net.apply("global_average_pool", x))
    net.output(_linear(net, _layer_norm(net, x, width), width, CLASSES))


def _image_norm(net: GraphBuilder, x: Variable, width: int) -> Variable:
    """Over the channels of each pixel."""
    return _moved(net, _layer_norm(net, _moved(net, x, 0, 2, 3, 1), width), 0, 3, 1, 2)


Space = Mapping[str, Sequence[object]]
_SIZES = (128, 160, 192, 224, 256, 288)
_DEPTHS_OF_FOUR = ("1,1,1,1", "2,2,2,2", "2,2,4,2", "2,3,5,2", "3,4,6,3", "3,4,12,3", "3,4,23,3")


@dataclass(frozen=True)
class Family:
    """How one is built, what its networks vary in, and how many of them DIPPM has."""

    build: Callable[[GraphBuilder, Recipe], None]
    space: Space
    count: int


# Counts of DIPPM's Table 2; ConvNeXt, which it never saw, with as many as its smallest families.
FAMILIES: Mapping[str, Family] = {
    "efficientnet": Family(
        _efficientnet,
        {"width": (0.5, 0.75, 1.0, 1.1, 1.2, 1.4, 1.6), "depth": (0.5, 1.0, 1.1, 1.2, 1.4, 1.8),
         "expand": (3, 4, 6), "kernel": (3, 5), "size": _SIZES},
        1729,
    ),
    "mnasnet": Family(
        _mnasnet,
        {"width": (0.35, 0.5, 0.75, 1.0, 1.3, 1.6), "depth": (0.5, 1.0, 1.5, 2.0), "expand": (3, 4, 6),
         "kernel": (3, 5, 7), "size": _SIZES},
        1001,
    ),
    "mobilenet": Family(
        _mobilenet,
        {"width": (0.35, 0.5, 0.75, 1.0, 1.2, 1.4, 2.0), "depth": (0.5, 1.0, 1.2, 1.5, 2.0), "expand": (3, 4, 6),
         "kernel": (3, 5, 7), "size": _SIZES},
        1591,
    ),
    "resnet": Family(
        _resnet,
        {"block": ("basic", "bottleneck"), "depth": _DEPTHS_OF_FOUR, "width": (32, 48, 64, 80, 96, 128),
         "kernel": (3, 5), "size": _SIZES},
        1152,
    ),
    "vgg": Family(
        _vgg,
        {"depth": ("1,1,1,1,1", "1,1,2,2,2", "2,2,2,2,2", "2,2,3,3,3", "2,2,4,4,4"), "width": (16, 32, 48, 64, 80),
         "head": (1024, 2048, 4096), "norm": (0, 1), "size": _SIZES},
        1536,
    ),
    "swin": Family(
        _swin,
        {"depth": ("1,1,2,1", "2,2,2,2", "2,2,4,2", "2,2,6,2", "2,2,12,2", "2,2,18,2"),
         "width": (64, 96, 128, 160, 192), "window": (7,), "expand": (2, 4), "size": (224, 448)},
        547,
    ),
    "vit": Family(
        _vit,
        {"layers": (4, 6, 8, 12, 16, 24), "width": (192, 384, 576, 768), "heads": (3, 6, 12), "patch": (16, 32),
         "expand": (2, 4), "size": (160, 192, 224, 256, 384)},
        520,
    ),
    "densenet": Family(
        _densenet,
        {"depth": ("3,6,12,8", "6,12,18,12", "6,12,24,16", "6,12,32,32", "6,12,48,32"), "growth": (12, 16, 24, 32, 48),
         "width": (32, 64, 96), "size": _SIZES},
        768,
    ),
    "visformer": Family(
        _visformer,
        {"depth": ("3,2,2", "4,4,4", "7,4,4", "7,6,6", "10,6,6"), "width": (192, 256, 384, 512), "groups": (4, 8),
         "size": (128, 160, 192, 224, 256, 288)},
        768,
    ),
    "poolformer": Family(
        _poolformer,
        {"depth": ("1,1,3,1", "2,2,6,2", "4,4,12,4", "6,6,18,6"), "width": (32, 48, 64, 96), "kernel": (3, 5),
         "expand": (2, 4), "size": _SIZES},
        896,
    ),
    "convnext": Family(
        _convnext,
        {"depth": ("2,2,4,2", "2,2,6,2", "3,3,9,3", "3,3,18,3", "3,3,27,3"), "width": (40, 64, 96, 128),
         "kernel": (5, 7), "expand": (3, 4), "size": _SIZES},
        512,
    ),
}  # fmt: skip
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of a "family:" recipe into `net`."""
    family = FAMILIES.get(recipe.name)
    if family is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown family; valid: {', '.join(FAMILIES)}")
    family.build(net, recipe)


def graphs(only: Sequence[str] = ()) -> Iterator[tuple[str, int]]:
    """Recipes and batches: of each family as many distinct pairs as its count, drawn from its space by hashes."""
    for name, family in FAMILIES.items():
        if only and name not in only:
            continue
        seen: set[tuple[str, int]] = set()
        draw = 0
        while len(seen) < family.count:
            words = {key: str(_choice(values, f"{name}|{draw}|{key}")) for key, values in family.space.items()}
            pair = str(Recipe(KIND, name, words)), int(str(_choice(BATCHES, f"{name}|{draw}|batch")))
            draw += 1
            if pair not in seen:
                seen.add(pair)
                yield pair


def _choice(values: Sequence[object], text: str) -> object:
    return values[int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big") % len(values)]

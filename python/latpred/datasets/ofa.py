"""Networks of Once-for-all's MobileNetV3 space on three GeForce cards and V100, from HELP (MIT)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from latpred._core import GraphBuilder
from latpred.datasets.help_tables import rows_of
from latpred.datasets.mobile_blocks import classifier, conv, divisible, norm, numbers
from latpred.datasets.recipe import Recipe, Variable
from latpred.datasets.rows import Row

TABLE = "ofa_latency_ms.csv.gz"

# The fixed parts of the space, widths before the factor of recipes.
STEM_WIDTH = 16
FIRST_WIDTH = 16
WIDTHS = (24, 40, 80, 112, 160)
STRIDES = (2, 2, 2, 1, 2)
ACTIVATIONS = ("relu", "relu", "swish", "swish", "swish")
HAS_SQUEEZE = (False, True, False, True, True)
EXPANDED_WIDTH = 960
HEAD_WIDTH = 1280
CLASSES = 1000
STAGE_LAYERS = 4  # each stage's choices stand for so many layers; its depth says how many of them are there
SQUEEZE = 4

WIDTH_FACTOR = 1.2  # of the network that HELP takes its parts from


def _hard_sigmoid(net: GraphBuilder, x: Variable) -> Variable:
    """relu6(x + 3) / 6, each step an operator of its own, as Once-for-all writes it."""
    y = net.apply("clip", net.apply("add", [x, net.parameter((1,))]))
    return net.apply("div", [y, net.parameter((1,))])


def _activation(net: GraphBuilder, name: str, x: Variable) -> Variable:
    """ReLU or the hard swish, x * relu6(x + 3) / 6."""
    if name == "relu":
        return net.apply("relu", x)
    y = net.apply("clip", net.apply("add", [x, net.parameter((1,))]))
    return net.apply("div", [net.apply("mul", [x, y]), net.parameter((1,))])


def _mean(net: GraphBuilder, x: Variable) -> Variable:
    """Once-for-all takes it along one axis after the other."""
    for axis in (3, 2):
        x = net.apply("reduce_mean", [x, net.constant([axis])], keepdims=1)
    return x


def _squeeze_excite(net: GraphBuilder, x: Variable, width: int) -> Variable:
    squeezed = divisible(width // SQUEEZE)
    y = net.apply("add", [conv(net, _mean(net, x), width, squeezed), net.parameter((squeezed, 1, 1))])
    y = net.apply("add", [conv(net, net.apply("relu", y), squeezed, width), net.parameter((width, 1, 1))])
    return net.apply("mul", [x, _hard_sigmoid(net, y)])


def _block(
    net: GraphBuilder,
    x: Variable,
    cin: int,
    cout: int,
    kernel: int,
    expand: int,
    stride: int,
    activation: str,
    squeeze: bool,
) -> Variable:
    width = cin * expand
    y = x
    if expand != 1:
        y = _activation(net, activation, norm(net, conv(net, y, cin, width), width))
    y = _activation(net, activation, norm(net, conv(net, y, width, width, kernel, stride, groups=width), width))
    if squeeze:
        y = _squeeze_excite(net, y, width)
    y = norm(net, conv(net, y, width, cout), cout)
    return net.apply("add", [y, x]) if cin == cout and stride == 1 else y


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of an "ofa:" recipe into `net`: ks and e hold a window and an expansion for each of twenty
    layers, d the depth of each of five stages."""
    kernels, expansions, depths = (numbers(recipe.parameters[key]) for key in ("ks", "e", "d"))
    size, factor = recipe.integer("size"), float(recipe.parameters["width"])
    cin = divisible(STEM_WIDTH * factor)
    x = conv(net, net.input("data", (3, size, size)), 3, cin, 3, 2)
    x = _activation(net, "swish", norm(net, x, cin))
    cout = divisible(FIRST_WIDTH * factor)
    x = _block(net, x, cin, cout, 3, 1, 1, "relu", False)
    cin = cout
    stages = zip(WIDTHS, STRIDES, ACTIVATIONS, HAS_SQUEEZE, depths, strict=True)
    for stage, (width, stage_stride, activation, squeeze, depth) in enumerate(stages):
        cout = divisible(width * factor)
        for layer in range(depth):
            place = stage * STAGE_LAYERS + layer
            stride = stage_stride if layer == 0 else 1
            x = _block(net, x, cin, cout, kernels[place], expansions[place], stride, activation, squeeze)
            cin = cout
    expanded, head = divisible(EXPANDED_WIDTH * factor), divisible(HEAD_WIDTH * factor)
    x = _activation(net, "swish", norm(net, conv(net, x, cin, expanded), expanded))
    x = _activation(net, "swish", conv(net, _mean(net, x), expanded, head))
    net.output(classifier(net, net.apply("flatten", x), head, CLASSES))


def _network(text: str) -> tuple[Recipe, str]:
    arch = json.loads(text)
    parameters = {key: ",".join(map(str, arch[key])) for key in ("ks", "e", "d")}
    parameters |= {"size": str(arch["r"]), "width": str(WIDTH_FACTOR)}
    return Recipe("ofa", "mbv3", parameters), f"3,{arch['r']},{arch['r']}"


def read(data: Path) -> Iterator[Row]:
    """All rows under `data`/HELP of this space and of the devices that the device table has."""
    return rows_of(data / "HELP" / TABLE, "ofa", _network)

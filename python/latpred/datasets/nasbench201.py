"""Cells of NAS-Bench-201 on five GeForce cards and three Xeons, from HELP (MIT)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from latpred._core import GraphBuilder
from latpred.datasets.help_tables import rows_of
from latpred.datasets.mobile_blocks import classifier, conv, norm
from latpred.datasets.recipe import Recipe, Variable
from latpred.datasets.rows import Row

TABLE = "nasbench201_latency_ms.csv.gz"

# The fixed parts of the space, as for CIFAR-10.
IMAGE_SIZE = 32
STEM_WIDTH = 16
CELLS = 5  # in each of three stages
CLASSES = 10
EDGE = re.compile(r"(?P<op>\w+)~(?P<source>\d)")


def _conv_norm(net: GraphBuilder, x: Variable, cin: int, cout: int, kernel: int, stride: int = 1) -> Variable:
    return norm(net, conv(net, x, cin, cout, kernel, stride), cout)


def _relu_conv_norm(net: GraphBuilder, x: Variable, cin: int, cout: int, kernel: int, stride: int = 1) -> Variable:
    return _conv_norm(net, net.apply("relu", x), cin, cout, kernel, stride)


def _edge(net: GraphBuilder, op: str, x: Variable, width: int) -> Variable:
    rules: dict[str, Callable[[], Variable]] = {
        "none": lambda: net.apply("mul", [x, net.parameter((1,))]),  # the original multiplies by zero
        "skip_connect": lambda: x,
        "nor_conv_1x1": lambda: _relu_conv_norm(net, x, width, width, 1),
        "nor_conv_3x3": lambda: _relu_conv_norm(net, x, width, width, 3),
        "avg_pool_3x3": lambda: net.apply("average_pool", x, kernel_shape=[3, 3], strides=[1, 1], pads=[1] * 4),
    }
    return rules[op]()


def _cell(net: GraphBuilder, x: Variable, width: int, nodes: list[list[tuple[str, int]]]) -> Variable:
    values = [x]
    for edges in nodes:
        ends = [_edge(net, op, values[source], width) for op, source in edges]
        # Python's sum() starts from 0: one addition for each end.
        value = net.apply("add", [ends[0], net.parameter((1,))])
        for end in ends[1:]:
            value = net.apply("add", [value, end])
        values.append(value)
    return values[-1]


def _reduction(net: GraphBuilder, x: Variable, cin: int, cout: int) -> Variable:
    y = _relu_conv_norm(net, x, cin, cout, 3, 2)
    y = _relu_conv_norm(net, y, cout, cout, 3)
    shortcut = net.apply("average_pool", x, kernel_shape=[2, 2], strides=[2, 2])
    return net.apply("add", [conv(net, shortcut, cin, cout), y])


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of an "nb201:" recipe into `net`: cell holds "op~from" for each edge, nodes apart by ";"."""
    nodes = [
        [(match["op"], int(match["source"])) for match in EDGE.finditer(node)]
        for node in recipe.parameters["cell"].split(";")
    ]
    width = STEM_WIDTH
    x = _conv_norm(net, net.input("data", (3, IMAGE_SIZE, IMAGE_SIZE)), 3, width, 3)
    for stage in range(3):
        if stage > 0:
            x = _reduction(net, x, width, 2 * width)
            width *= 2
        for _ in range(CELLS):
            x = _cell(net, x, width, nodes)
    x = net.apply("relu", norm(net, x, width))
    x = net.apply("flatten", net.apply("global_average_pool", x))
    net.output(classifier(net, x, width, CLASSES))


def recipe_of(cell: str) -> Recipe:
    """`cell` as the benchmark writes it: "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|...|"."""
    nodes = [",".join(match[0] for match in EDGE.finditer(node)) for node in cell.split("+")]
    return Recipe("nb201", "cifar10", {"cell": ";".join(nodes)})


def read(data: Path) -> Iterator[Row]:
    """All rows under `data`/HELP of this space and of the devices that the device table has."""
    sizes = f"3,{IMAGE_SIZE},{IMAGE_SIZE}"
    return rows_of(data / "HELP" / TABLE, "nb201", lambda arch: (recipe_of(arch), sizes))

"""Cells of NAS-Bench-201 on five GeForce cards and three Xeons, from HELP (MIT)."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, Variable
from latpred.datasets.rows import Row

SOURCE = "HELP 45f70eb9"
LICENCE = "MIT"
PROTOCOL = "PyTorch, mean of repeated calls; the table states no more"
MILLISECOND = 1e-3
SMALLEST_MS = 0.1  # what lies below are slips of units

DEVICES = {
    "1080ti": "GTX 1080 Ti",
    "2080ti": "RTX 2080 Ti",
    "titan_rtx": "TITAN RTX",
    "titanx": "TITAN X (Pascal)",
    "titanxp": "TITAN Xp",
    "silver_4114": "Xeon Silver 4114",
    "silver_4210r": "Xeon Silver 4210R",
    "gold_6240": "Xeon Gold 6240",
}
BATCHES = {"_1": 1, "_32": 32, "_256": 256, "": 1}  # the ends of the columns' names

# The fixed parts of the space, as for CIFAR-10.
IMAGE_SIZE = 32
STEM_WIDTH = 16
CELLS = 5  # in each of three stages
CLASSES = 10
EDGE = re.compile(r"(?P<op>\w+)~(?P<source>\d)")


def _conv_norm(net: GraphBuilder, x: Variable, cin: int, cout: int, kernel: int, stride: int = 1) -> Variable:
    y = net.apply(
        "conv",
        [x, net.parameter((cout, cin, kernel, kernel))],
        kernel_shape=[kernel] * 2,
        strides=[stride] * 2,
        pads=[kernel // 2] * 4,
    )
    return _norm(net, y, cout)


def _norm(net: GraphBuilder, x: Variable, width: int) -> Variable:
    return net.apply("batch_norm", [x, *(net.parameter((width,)) for _ in range(4))])


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
    shortcut = net.apply("conv", [shortcut, net.parameter((cout, cin, 1, 1))], kernel_shape=[1, 1])
    return net.apply("add", [shortcut, y])


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
    x = net.apply("relu", _norm(net, x, width))
    x = net.apply("flatten", net.apply("global_average_pool", x))
    net.output(net.apply("gemm", [x, net.parameter((CLASSES, width)), net.parameter((CLASSES,))], transB=1))


def recipe_of(cell: str) -> Recipe:
    """`cell` as the benchmark writes it: "|nor_conv_3x3~0|+|none~0|skip_connect~1|+|...|"."""
    nodes = [",".join(match[0] for match in EDGE.finditer(node)) for node in cell.split("+")]
    return Recipe("nb201", "cifar10", {"cell": ";".join(nodes)})


def read(data: Path) -> Iterator[Row]:
    """All rows under `data`/HELP of the devices that the device table has."""
    import pandas as pd

    table = pd.read_csv(data / "HELP" / "nasbench201_latency_ms.csv.gz")
    columns = [
        (name + end, device, batch)
        for name, device in DEVICES.items()
        for end, batch in BATCHES.items()
        if name + end in table.columns
    ]
    for values in table.to_dict("records"):
        recipe = str(recipe_of(values["arch"]))
        for column, device, batch in columns:
            if not values[column] > SMALLEST_MS:
                continue
            yield Row(
                recipe=recipe,
                family="nb201",
                batch=batch,
                input=f"3,{IMAGE_SIZE},{IMAGE_SIZE}",
                device=device,
                runtime="eager",
                runtime_version="",
                precision="fp32",
                value=values[column] * MILLISECOND,
                source=SOURCE,
                licence=LICENCE,
                protocol=PROTOCOL,
            )

"""EfficientNet-like networks on A100 and RTX 3090 under fp16 autocast, from Accel-NASBench (Apache-2.0)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from latpred._core import GraphBuilder
from latpred.datasets.mobile_blocks import conv_norm
from latpred.datasets.recipe import Recipe, Variable
from latpred.datasets.rows import Row

SOURCE = "Accel-NASBench 42603572"
LICENCE = "Apache-2.0"
PROTOCOL = "batch 512 / throughput; CUDA events, one warm-up pass, then passes over a whole set"
BATCH = 512  # of the A100 configuration
IMAGE_SIZE = 256
DEVICES = {"a100": "A100-SXM4-40GB", "3090": "RTX 3090"}

# The fixed parts of the space.
STEM_WIDTH = 32
STRIDES = (1, 2, 2, 2, 1, 2, 1)
WIDTHS = (16, 24, 40, 80, 112, 192, 320)
HEAD_WIDTH = 1280
CLASSES = 1000
SQUEEZE = 4  # the squeeze-and-excitation width is the block's input over this

FIELDS = ("e", "k", "l", "se")  # expansion, window, layers, squeeze-and-excitation


def _squeeze_excite(net: GraphBuilder, x: Variable, width: int, squeezed: int) -> Variable:
    y = net.apply("global_average_pool", x)
    y = net.apply("conv", [y, net.parameter((squeezed, width, 1, 1)), net.parameter((squeezed,))], kernel_shape=[1, 1])
    y = net.apply("relu", y)
    y = net.apply("conv", [y, net.parameter((width, squeezed, 1, 1)), net.parameter((width,))], kernel_shape=[1, 1])
    return net.apply("mul", [x, net.apply("sigmoid", y)])


def _block(
    net: GraphBuilder, x: Variable, cin: int, cout: int, expand: int, kernel: int, stride: int, se: bool
) -> Variable:
    y = x
    width = cin * expand
    if expand != 1:
        y = conv_norm(net, y, cin, width)
    y = conv_norm(net, y, width, width, kernel, stride, groups=width)
    if se:
        y = _squeeze_excite(net, y, width, max(1, cin // SQUEEZE))
    y = conv_norm(net, y, width, cout, activation="")
    return net.apply("add", [x, y]) if stride == 1 and cin == cout else y


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of an "anb:" recipe into `net`: e, k, l and se hold one number for each of seven blocks."""
    choices = {field: [int(word) for word in recipe.parameters[field].split(",")] for field in FIELDS}
    size = recipe.integer("size")
    x = conv_norm(net, net.input("data", (3, size, size)), 3, STEM_WIDTH, 3, 2)
    cin = STEM_WIDTH
    for position, (stride, cout) in enumerate(zip(STRIDES, WIDTHS, strict=True)):
        for layer in range(choices["l"][position]):
            x = _block(
                net,
                x,
                cin,
                cout,
                choices["e"][position],
                choices["k"][position],
                stride if layer == 0 else 1,
                bool(choices["se"][position]),
            )
            cin = cout
    x = conv_norm(net, x, cin, HEAD_WIDTH)
    x = net.apply("flatten", net.apply("global_average_pool", x))
    net.output(net.apply("gemm", [x, net.parameter((CLASSES, HEAD_WIDTH)), net.parameter((CLASSES,))], transB=1))


def _recipe(row: object) -> Recipe:
    parameters = {
        field: ",".join(str(int(getattr(row, f"block{block}_{field}"))) for block in range(len(STRIDES)))
        for field in FIELDS
    }
    return Recipe("anb", "mbconv", parameters | {"size": str(IMAGE_SIZE)})


def read_stated(data: Path) -> Iterator[tuple[Recipe, float]]:
    """Each network of the table and the parameters, in millions, that the table states for it."""
    import pandas as pd

    table = pd.read_csv(data / "Accel-NASBench" / "anb_platform_perf.csv.gz")
    for row in table.itertuples(index=False):
        yield _recipe(row), row.params_m


def read(data: Path) -> Iterator[Row]:
    """All rows under `data`/Accel-NASBench that have a throughput on one of DEVICES."""
    import pandas as pd

    table = pd.read_csv(data / "Accel-NASBench" / "anb_platform_perf.csv.gz")
    for row in table.itertuples(index=False):
        for column, device in DEVICES.items():
            throughput = getattr(row, f"throughput_{column}_mean")
            if not throughput > 0:
                continue
            yield Row(
                recipe=str(_recipe(row)),
                family="anb",
                batch=BATCH,
                input=f"3,{IMAGE_SIZE},{IMAGE_SIZE}",
                device=device,
                runtime="eager",
                runtime_version="",
                precision="amp",
                layout="nhwc",
                value=BATCH / throughput,
                noise=getattr(row, f"throughput_{column}_std") / throughput,
                source=SOURCE,
                licence=LICENCE,
                protocol=PROTOCOL,
            )

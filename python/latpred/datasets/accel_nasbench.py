"""EfficientNet-like networks on A100 and RTX 3090 under fp16 autocast, from Accel-NASBench (Apache-2.0).

What its tables do not say stands in the code that measured them (afzalxo/ANB-DatasetCollection 08a6baa6): the version
of PyTorch (requirements.txt), that the images came to the device in half precision (dataloader/ffcv_dataloader.py), and
that a DistributedDataParallel stood around each network (measure_throughput_gpu.py, `distributed` in configs/
conf_local.cfg and conf_tacc.cfg).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from latpred._core import GraphBuilder
from latpred.datasets.mobile_blocks import conv_norm, numbers
from latpred.datasets.recipe import Recipe, Variable
from latpred.datasets.rows import Row

SOURCE = "Accel-NASBench 42603572"
LICENCE = "Apache-2.0"
PROTOCOL = "batch 512 / throughput; CUDA events, one warm-up pass, then passes over a whole set"
BATCH = 512  # of the A100 configuration
IMAGE_SIZE = 256
DEVICES = {"a100": "A100-SXM4-40GB", "3090": "RTX 3090"}
VERSION = "torch 1.12.0"
IMAGE = "image"  # the parameter of a recipe that says another type of its image than float32
IMAGE_AS_RUN = "float16"

# Before each call DistributedDataParallel hands round the buffers of its module, though there be one process: it waits
# for a copy of all of them, then copies each one back (torch/csrc/distributed/c10d/comm.cpp, broadcast_coalesced).
BUFFERS_OF_NORM = 3  # two statistics and the number of batches
# Two views, a copy and its launch: 9.6 us on a host of 2022, and one of 2020, as these cards have, takes 25 to
# 43 % longer, as fits differ (`python benchmarks/host_calls.py` prints what each takes and what a year changes).
BUFFER_S = 13e-6

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


def _choices(recipe: Recipe) -> dict[str, list[int]]:
    return {field: numbers(recipe.parameters[field]) for field in FIELDS}


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of an "anb:" recipe into `net`: e, k, l and se hold one number for each of seven blocks."""
    choices = _choices(recipe)
    size = recipe.integer("size")
    image = net.input("data", (3, size, size), recipe.parameters.get(IMAGE, "float32"))
    x = conv_norm(net, image, 3, STEM_WIDTH, 3, 2)
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


def beside_operators_s(recipe: Recipe) -> float:
    """Seconds that each call of this network took beside its operators: the buffers of all its norms."""
    choices = _choices(recipe)
    of_layers = (2 + (expand != 1) for expand in choices["e"])  # without an expansion a block has two convolutions
    norms = 2 + sum(layers * norms for layers, norms in zip(choices["l"], of_layers, strict=True))
    return norms * BUFFERS_OF_NORM * BUFFER_S


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
        recipe = _recipe(row)
        as_run = dataclasses.replace(recipe, parameters=recipe.parameters | {IMAGE: IMAGE_AS_RUN})
        for column, device in DEVICES.items():
            throughput = getattr(row, f"throughput_{column}_mean")
            if not throughput > 0:
                continue
            yield Row(
                recipe=str(recipe),
                family="anb",
                batch=BATCH,
                input=f"3,{IMAGE_SIZE},{IMAGE_SIZE}",
                device=device,
                runtime="eager",
                runtime_version=VERSION,
                precision="amp",
                layout="nhwc",
                value=BATCH / throughput,
                noise=getattr(row, f"throughput_{column}_std") / throughput,
                source=SOURCE,
                licence=LICENCE,
                protocol=PROTOCOL,
                executed=str(as_run),
            )

"""Networks of FBNet's space on five GeForce cards and three Xeons, from HELP (MIT)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

from latpred._core import GraphBuilder
from latpred.datasets.help_tables import rows_of
from latpred.datasets.mobile_blocks import classifier, conv, norm, numbers
from latpred.datasets.recipe import Recipe, Variable
from latpred.datasets.rows import Row
from latpred.errors import InvalidArgumentError

TABLE = "fbnet_latency_ms.csv.gz"

# The fixed parts of the space.
STEM_WIDTH = 16
LAYERS = (1, 4, 4, 4, 4, 4, 1)
WIDTHS = (16, 24, 32, 64, 112, 184, 352)


# What each call on a GPU took beside its operators, whatever these were. The table shows it without any predictor:
# counts of blocks explain the latency at batch 1 within 2 %, and what a block takes says what remains when all are
# skipped. It is 0.82 to 0.97 ms more on each of the five cards (`python benchmarks/host_calls.py`); nobody says why.
BESIDE_OPERATORS_S = 0.89e-3


@dataclasses.dataclass(frozen=True)
class _Variant:
    """What differs between the space's two forms."""

    image_size: int
    stem_stride: int
    strides: tuple[int, ...]
    head_width: int
    classes: int


# HELP's networks are those for CIFAR-100, as HW-NAS-Bench defines them.
VARIANTS = {
    "cifar100": _Variant(32, 1, (1, 1, 2, 2, 1, 2, 1), 1504, 100),
    "imagenet": _Variant(224, 2, (1, 2, 2, 2, 1, 2, 1), 1984, 1000),
}


@dataclasses.dataclass(frozen=True)
class _Block:
    kernel: int
    expand: int
    groups: int = 1


# The space's choices by number; None is the skip.
BLOCKS = (
    _Block(3, 1), _Block(3, 1, 2), _Block(3, 3), _Block(3, 6),
    _Block(5, 1), _Block(5, 1, 2), _Block(5, 3), _Block(5, 6), None,
)  # fmt: skip


def _shuffle(net: GraphBuilder, x: Variable, width: int, size: int, groups: int) -> Variable:
    y = net.apply("reshape", [x, net.constant([-1, groups, width // groups, size, size])])
    y = net.apply("transpose", y, perm=[0, 2, 1, 3, 4])
    return net.apply("reshape", [y, net.constant([-1, width, size, size])])


def _skip(net: GraphBuilder, x: Variable, cin: int, cout: int, stride: int) -> Variable:
    if cin == cout and stride == 1:
        return x
    return net.apply("relu", norm(net, conv(net, x, cin, cout, stride=stride), cout))


def _block(net: GraphBuilder, x: Variable, block: _Block, cin: int, cout: int, stride: int, size: int) -> Variable:
    width = cin * block.expand
    y = net.apply("relu", norm(net, conv(net, x, cin, width, groups=block.groups), width))
    if block.groups > 1:
        y = _shuffle(net, y, width, size, block.groups)
    y = net.apply("relu", norm(net, conv(net, y, width, width, block.kernel, stride, groups=width), width))
    y = norm(net, conv(net, y, width, cout, groups=block.groups), cout)
    return net.apply("add", [y, x]) if cin == cout and stride == 1 else y


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of an "fbnet:" recipe into `net`: ops holds the number of each layer's block."""
    if recipe.name not in VARIANTS:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown form '{recipe.name}'; valid: {', '.join(VARIANTS)}")
    variant = VARIANTS[recipe.name]
    choices = numbers(recipe.parameters["ops"])
    if len(choices) != sum(LAYERS):
        raise InvalidArgumentError(f"recipe '{recipe}' names {len(choices)} blocks; expected {sum(LAYERS)}")
    size = variant.image_size
    x = conv(net, net.input("data", (3, size, size)), 3, STEM_WIDTH, 3, variant.stem_stride)
    x = net.apply("relu", norm(net, x, STEM_WIDTH))
    size //= variant.stem_stride
    cin = STEM_WIDTH
    blocks = iter(BLOCKS[choice] for choice in choices)
    for layers, cout, stage_stride in zip(LAYERS, WIDTHS, variant.strides, strict=True):
        for layer in range(layers):
            stride = stage_stride if layer == 0 else 1
            block = next(blocks)
            if block is None:
                x = _skip(net, x, cin, cout, stride)
            else:
                x = _block(net, x, block, cin, cout, stride, size)
            cin = cout
            size //= stride
    x = net.apply("relu", norm(net, conv(net, x, cin, variant.head_width), variant.head_width))
    x = net.apply("flatten", net.apply("global_average_pool", x))
    net.output(classifier(net, x, variant.head_width, variant.classes))


def beside_operators_s(_recipe: Recipe) -> float:
    """Seconds that each call of a network took beside its operators."""
    return BESIDE_OPERATORS_S


def read(data: Path) -> Iterator[Row]:
    """All rows under `data`/HELP of this space and of the devices that the device table has."""
    size = VARIANTS["cifar100"].image_size
    return rows_of(
        data / "HELP" / TABLE,
        "fbnet",
        lambda arch: (Recipe("fbnet", "cifar100", {"ops": ",".join(arch.split())}), f"3,{size},{size}"),
    )

"""Plain CNNs, "cnn:3-64-128?size=32": the channels of the image and of each 3 x 3 convolution, a ReLU between two.

Stride and padding are 1, so that every layer has images of size x size.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

import numpy as np

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, is_count, parse
from latpred.errors import InvalidArgumentError

KIND = "cnn"

WINDOW = 3
STRIDE = 1
PADDING = 1

# The space of Mendoza and Wang: 3..10 nodes, the input node among them, of 2^0..2^10 channels; theirs leaves the size
# open.
LEAST_NODES, MOST_NODES = 3, 10
LARGEST_EXPONENT = 10
IMAGE_CHANNELS = 3
IMAGE_SIZE = 32


def sizes_of(recipe: Recipe | str) -> tuple[tuple[int, ...], int]:
    """The channels of each node, and the height and width of the images."""
    recipe = parse(recipe) if isinstance(recipe, str) else recipe
    channels = recipe.name.split("-")
    size = recipe.parameters.get("size", "")
    is_right = recipe.kind == KIND and len(channels) >= 2 and set(recipe.parameters) == {"size"}
    if not is_right or not all(is_count(word) for word in (*channels, size)):
        raise InvalidArgumentError(
            f"recipe '{recipe}' is no plain CNN; expected {KIND}:3-64-128?size=32, the channels of the image and of "
            "every convolution, and the size of the image"
        )
    return tuple(int(word) for word in channels), int(size)


def recipe_of(channels: Sequence[int], size: int) -> str:
    """The recipe of these channels."""
    return f"{KIND}:{'-'.join(str(width) for width in channels)}?size={size}"


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the net of a "cnn:" recipe into `net`, as LibTorch runs it: conv with a bias, relu between two."""
    channels, size = sizes_of(recipe)
    x = net.input("x", (channels[0], size, size))
    for layer, (width_in, width) in enumerate(itertools.pairwise(channels)):
        if layer > 0:
            x = net.apply("relu", x)
        x = net.apply(
            "conv",
            [x, net.parameter((width, width_in, WINDOW, WINDOW)), net.parameter((width,))],
            kernel_shape=[WINDOW] * 2,
            strides=[STRIDE] * 2,
            pads=[PADDING] * 4,
        )
    net.output(x)


def generate(seed: int, size: int = IMAGE_SIZE) -> Iterator[str]:
    """Distinct recipes without end: 3 to 10 nodes, 2^0 to 2^10 channels. A shorter run is a prefix of a longer one."""
    random = np.random.default_rng(seed)
    seen: set[str] = set()
    while True:
        layers = int(random.integers(LEAST_NODES, MOST_NODES, endpoint=True)) - 1
        widths = [2 ** int(exponent) for exponent in random.integers(0, LARGEST_EXPONENT, layers, endpoint=True)]
        recipe = recipe_of((IMAGE_CHANNELS, *widths), size)
        if recipe not in seen:
            seen.add(recipe)
            yield recipe

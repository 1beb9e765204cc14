"""Plain CNNs, "cnn:3-64-128?size=32": the channels of the image and of each 3 x 3 convolution, a ReLU between two.

Stride and padding are 1, so that every layer has images of size x size.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, is_count, parse
from latpred.errors import InvalidArgumentError

if TYPE_CHECKING:
    from latpred._core import Graph, Node, Tensor

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


# From a Graph.


@dataclasses.dataclass(frozen=True)
class PlainCnn:
    """A Graph read as a plain CNN, and where it differs from those that are measured."""

    channels: tuple[int, ...]
    size: int
    notes: tuple[str, ...] = ()


# What a convolution must be, and what it is where its node does not say.
_SIZES = {
    "kernel_shape": ([WINDOW] * 2, [WINDOW] * 2),
    "strides": ([STRIDE] * 2, [1, 1]),
    "pads": ([PADDING] * 4, [0] * 4),
    "dilations": ([1, 1], [1, 1]),
    "group": (1, 1),
    "auto_pad": ("NOTSET", "NOTSET"),
}
_NOTHING = {"identity", "dropout"}
_HANDLED = f"{WINDOW} x {WINDOW} convolutions of stride and padding 1 on square images, and ReLU between them"


def from_graph(graph: Graph) -> PlainCnn:
    """The plain CNN that `graph` is; an error that names the operator where it is another kind of network."""
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise _out_of_scope(f"it has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs, one of each is read")
    value = graph.inputs[0]
    shape = value.shape
    if len(shape) != 4 or shape[2] != shape[3] or value.dtype != "float32":
        raise _out_of_scope(f"its input is {value.dtype} of shape {tuple(shape)}")
    channels, has_bias, has_relu = [int(shape[1])], [], []
    for node in graph.nodes:
        weights = _continues(node, value)
        where = f"operator '{node.operator}' (node '{node.name}')"
        output = node.outputs[0]
        assert output is not None
        if node.operator == "conv":
            _check_convolution(node, where)
            channels.append(int(output.shape[1]))
            has_bias.append(len(weights) > 1)
            has_relu.append(False)
        elif node.operator == "relu" and has_relu:
            has_relu[-1] = True
        elif node.operator not in _NOTHING:
            raise _out_of_scope(f"{where} is no part of such a net", node)
        value = output
    if value.id != graph.outputs[0].id:
        raise _out_of_scope("its output is not what its last operator computes")
    if not has_bias:
        raise _out_of_scope("it has no convolution")
    notes = []
    if not all(has_bias):
        notes.append("a convolution without a bias: all measured ones have one")
    if not all(has_relu[:-1]):
        notes.append("two convolutions without a ReLU between them: measured nets have one")
    if has_relu[-1]:
        notes.append("a ReLU after the last convolution: measured nets have none")
    return PlainCnn(tuple(channels), int(shape[2]), tuple(notes))


def _continues(node: Node, value: Tensor) -> list[Tensor]:
    """The node's parameters, where it takes `value` and nothing else."""
    inputs = [tensor for tensor in node.inputs if tensor is not None]
    moved = [tensor for tensor in inputs if tensor.kind not in ("parameter", "statistic", "constant")]
    if [tensor.id for tensor in moved] != [value.id] or node.repeat != 1:
        raise _out_of_scope(f"operator '{node.operator}' (node '{node.name}') does not continue one chain", node)
    return [tensor for tensor in inputs if tensor.kind == "parameter"]


def _check_convolution(node: Node, where: str) -> None:
    for name, (expected, unsaid) in _SIZES.items():
        found = node.attributes.get(name, unsaid)
        if found != expected:
            raise _out_of_scope(f"{where} has {name} {found}", node)


def _out_of_scope(reason: str, node: Node | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the graph is no plain CNN: {reason}; it takes {_HANDLED}; another predictor answers for other networks "
        "(leave predictor= out)",
        node=node.name if node else None,
        operator=node.operator if node else None,
    )

"""Feed-forward nets, "fnn:16-128-1": the units of the input node and of each dense layer, a ReLU between two layers.

Here are their recipes, the random ones that are measured, their Graph, the way back from any Graph that is such a net,
and what predictors of whole nets see of them.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred._core import GraphBuilder
from latpred.datasets import nets
from latpred.datasets.recipe import Recipe, is_count, parse
from latpred.errors import InvalidArgumentError

if TYPE_CHECKING:
    from latpred._core import Graph, Node, Tensor

KIND = "fnn"

# The space of the paper: 3..10 nodes, the input node among them, of 2^0..2^14 units.
LEAST_NODES, MOST_NODES = 3, 10
LARGEST_EXPONENT = 14
# Beyond it: deeper, and of other widths.
LEAST_NODES_OUT, MOST_NODES_OUT = 11, 16

PARTS = nets.PARTS
Nets = nets.Nets


def widths_of(recipe: Recipe | str) -> tuple[int, ...]:
    """The units of each node."""
    recipe = parse(recipe) if isinstance(recipe, str) else recipe
    words = recipe.name.split("-")
    if recipe.kind != KIND or recipe.parameters or len(words) < 2 or not all(is_count(word) for word in words):
        raise InvalidArgumentError(
            f"recipe '{recipe}' is no feed-forward net; expected {KIND}:16-128-1, the units of the input and of every "
            "dense layer"
        )
    return tuple(int(word) for word in words)


def recipe_of(widths: Sequence[int]) -> str:
    """The recipe of these units."""
    return f"{KIND}:{'-'.join(str(width) for width in widths)}"


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the net of an "fnn:" recipe into `net`, as LibTorch runs it: linear with a bias, relu between two."""
    widths = widths_of(recipe)
    x = net.input("x", (widths[0],))
    for layer, (units_in, units) in enumerate(itertools.pairwise(widths)):
        if layer > 0:
            x = net.apply("relu", x)
        x = net.apply("linear", [x, net.parameter((units, units_in)), net.parameter((units,))])
    net.output(x)


# Random nets.


def generate(seed: int) -> Iterator[str]:
    """Distinct recipes without end: 3 to 10 nodes, widths of 2^0 to 2^14. A shorter run is a prefix of a longer one."""
    random = np.random.default_rng(seed)

    def draw() -> list[int]:
        nodes = int(random.integers(LEAST_NODES, MOST_NODES, endpoint=True))
        return [2 ** int(exponent) for exponent in random.integers(0, LARGEST_EXPONENT, nodes, endpoint=True)]

    return _distinct(draw)


def generate_out_of_range(seed: int) -> Iterator[str]:
    """Distinct recipes outside of what generate() draws: 11 to 16 nodes, no width a power of two."""
    random = np.random.default_rng(seed)

    def width() -> int:
        while True:
            units = round(2 ** float(random.uniform(0, LARGEST_EXPONENT)))
            if units & (units - 1):
                return units

    def draw() -> list[int]:
        return [width() for _ in range(int(random.integers(LEAST_NODES_OUT, MOST_NODES_OUT, endpoint=True)))]

    return _distinct(draw)


def _distinct(draw: Any) -> Iterator[str]:
    seen: set[str] = set()
    while True:
        recipe = recipe_of(draw())
        if recipe not in seen:
            seen.add(recipe)
            yield recipe


def part_of(recipe: str) -> str:
    """ "train" (eight in ten), "validation" or "test": by the recipe alone, so that no data set moves a net."""
    return nets.part_of(recipe, frozenset({KIND}))


# From a Graph.


@dataclasses.dataclass(frozen=True)
class FeedForward:
    """A Graph read as a feed-forward net, and where it differs from the nets that are measured."""

    widths: tuple[int, ...]
    notes: tuple[str, ...] = ()


_DENSE = {"linear", "gemm", "matmul"}
_BIAS = {"add", "bias_add"}
_NOTHING = {"identity", "dropout", "flatten", "reshape", "squeeze", "unsqueeze"}  # of one item's units
_HANDLED = "dense layers (linear, gemm, matmul with add), ReLU between them, and views"


def from_graph(graph: Graph) -> FeedForward:
    """The net that `graph` is; an error that names the operator where it is another kind of network."""
    if len(graph.inputs) != 1 or len(graph.outputs) != 1:
        raise _out_of_scope(f"it has {len(graph.inputs)} inputs and {len(graph.outputs)} outputs, one of each is read")
    value = graph.inputs[0]
    reader = _Layers(_num_units(value, graph.batch))
    for node in graph.nodes:
        value = reader.read(node, value, graph.batch)
    if value.id != graph.outputs[0].id:
        raise _out_of_scope("its output is not what its last operator computes")
    return reader.finish()


class _Layers:
    """Goes along a chain of operators."""

    def __init__(self, units: int) -> None:
        self.widths = [units]
        self.has_bias: list[bool] = []
        self.has_relu: list[bool] = []

    def read(self, node: Node, value: Tensor, batch: int) -> Tensor:
        """Takes the next operator; returns its output."""
        inputs = [tensor for tensor in node.inputs if tensor is not None]
        moved = [tensor for tensor in inputs if tensor.kind not in ("parameter", "statistic", "constant")]
        where = f"operator '{node.operator}' (node '{node.name}')"
        if [tensor.id for tensor in moved] != [value.id] or node.repeat != 1:
            raise _out_of_scope(f"{where} does not continue one chain of layers", node)
        output = node.outputs[0]
        assert output is not None
        weights = [tensor for tensor in inputs if tensor.kind == "parameter"]
        units, last = _num_units(output, batch), self.widths[-1]
        if node.operator in _DENSE and weights and weights[0].num_elements == last * units:
            self.widths.append(units)
            self.has_bias.append(len(weights) > 1)
            self.has_relu.append(False)
        elif node.operator in _BIAS and self._awaits_bias() and [tensor.num_elements for tensor in weights] == [last]:
            self.has_bias[-1] = True
        elif node.operator == "relu" and self.has_relu:
            self.has_relu[-1] = True
        elif node.operator not in _NOTHING or units != last:
            raise _out_of_scope(f"{where} is no part of such a net", node)
        return output

    def _awaits_bias(self) -> bool:
        return bool(self.has_bias) and not self.has_bias[-1] and not self.has_relu[-1]

    def finish(self) -> FeedForward:
        if not self.has_bias:
            raise _out_of_scope("it has no dense layer")
        notes = []
        if not all(self.has_bias):
            notes.append("a dense layer without a bias: all measured ones have one")
        if not all(self.has_relu[:-1]):
            notes.append("two dense layers without a ReLU between them: measured nets have one")
        if self.has_relu[-1]:
            notes.append("a ReLU after the last dense layer: measured nets have none")
        return FeedForward(tuple(self.widths), tuple(notes))


def _num_units(tensor: Tensor, batch: int) -> int:
    if tensor.dtype != "float32":
        raise _out_of_scope(f"tensor '{tensor.name}' is {tensor.dtype}, float32 was measured")
    return int(tensor.num_elements) // batch


def _out_of_scope(reason: str, node: Node | None = None) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"the graph is no feed-forward net: {reason}; it takes {_HANDLED}; "
        "another predictor answers for other networks (leave predictor= out)",
        node=node.name if node else None,
        operator=node.operator if node else None,
    )


# What predictors see.


def encode(widths: Sequence[Sequence[int]], max_nodes: int | None = None) -> Nets:
    """The arrays of nets of these units; room for `max_nodes` nodes, None: as many as the largest has."""
    return nets.encode([(units, 0) for units in widths], max_nodes)

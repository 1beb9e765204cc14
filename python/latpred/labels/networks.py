"""Graphs of recipes for labelling: from a cache of recorded networks, at the size that is asked for."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np

from latpred._core import Graph, GraphBuilder, Tensor
from latpred.datasets.graph_cache import GraphCache, graph_of
from latpred.datasets.recipe import is_count, parse
from latpred.datasets.recorded import is_recorded
from latpred.errors import InvalidArgumentError

_COMMENT = "#"
_LINE = re.compile(r"(?P<recipe>\S+)\s+(?P<family>\S+)(\s+(?P<batches>\d+(,\d+)*))?")


class Networks:
    """Graphs of recipes. A network that a cache has at another image size is read at the size of the recipe: right for
    convolutions whose windows do not depend on it, an error where the size is part of the network."""

    def __init__(self, caches: Sequence[Path] = ()) -> None:
        self._caches = [GraphCache(path) for path in caches]
        self._sizes: dict[str, list[tuple[int, GraphCache]]] = {}
        for cache in self._caches:
            for recipe in cache.recipes():
                name, size = _name_and_size(recipe)
                if size is not None:
                    self._sizes.setdefault(name, []).append((size, cache))

    def graph(self, recipe: str, batch: int) -> Graph:
        """The network at a batch."""
        if not is_recorded(parse(recipe)):
            return graph_of(recipe, batch)
        for cache in self._caches:
            if recipe in cache:
                return cache.graph(recipe, batch)
        name, size = _name_and_size(recipe)
        if size is not None:
            for recorded_size, cache in self._sizes.get(name, [])[:1]:
                return at_size(cache.graph(f"{name}@{recorded_size}", 1), size, batch)
        return graph_of(recipe, batch)


def _name_and_size(recipe: str) -> tuple[str, int | None]:
    """Of "timm:resnet18@160" "timm:resnet18" and 160; None: no size is said, or parameters make it another network."""
    parsed = parse(recipe)
    name, _, size = parsed.name.partition("@")
    return f"{parsed.kind}:{name}", int(size) if is_count(size) and not parsed.parameters else None


def at_size(graph: Graph, size: int, batch: int, without: Collection[str] = ()) -> Graph:
    """A network for square images at another size of them: its operators applied again. without: operators that hand
    their first input on."""
    net = GraphBuilder()
    made: dict[int, int] = {}
    for tensor in graph.inputs:
        made[tensor.id] = net.input(tensor.name, (*tensor.shape[1:-2], size, size), tensor.dtype)

    def take(tensor: Tensor | None) -> int | None:
        if tensor is None:
            return None
        if tensor.id not in made:
            is_constant = tensor.kind == "constant"
            made[tensor.id] = _constant(net, tensor) if is_constant else net.parameter(tensor.shape, tensor.dtype)
        return made[tensor.id]

    for node in graph.nodes:
        first, result = node.inputs[0], node.outputs[0]
        if node.operator in without and first is not None and result is not None:
            made[result.id] = made[first.id]
            continue
        outputs = net.apply(
            node.operator, [take(tensor) for tensor in node.inputs], num_outputs=len(node.outputs), **node.attributes
        )
        for made_tensor, variable in zip(
            node.outputs, outputs if isinstance(outputs, tuple) else (outputs,), strict=True
        ):
            if made_tensor is not None:
                made[made_tensor.id] = variable
    for tensor in graph.outputs:
        net.output(made[tensor.id])
    return net.build(batch)


def _constant(net: GraphBuilder, tensor: Tensor) -> int:
    numbers = np.asarray(tensor.value if tensor.value is not None else np.nan, float).reshape(-1)
    if not np.array_equal(numbers, np.floor(numbers)):
        raise InvalidArgumentError(f"constant '{tensor.name}' is no integer: no other size can be read")
    whole = [int(number) for number in numbers]
    return net.constant(whole if tensor.shape else whole[0])


@dataclasses.dataclass(frozen=True)
class Listed:
    """A line of a list."""

    recipe: str
    family: str
    batches: tuple[int, ...]  # empty: those of the whole set


def read_list(path: Path) -> list[Listed]:
    """A recipe, its family and, where they differ from the others', its batches on each line: "cnn:3-8 cnn 1,2,4"."""
    if not path.is_file():
        raise InvalidArgumentError(f"there is no list of recipes '{path}'", path=str(path))
    found = []
    for number, line in enumerate(path.read_text(encoding="utf-8-sig").splitlines(), 1):
        if not line.strip() or line.startswith(_COMMENT):
            continue
        words = _LINE.fullmatch(line.strip())
        if words is None:
            raise InvalidArgumentError(f"'{path}', line {number}: expected a recipe and its family, got '{line}'")
        batches = tuple(int(word) for word in words["batches"].split(",")) if words["batches"] else ()
        found.append(Listed(words["recipe"], words["family"], batches))
    return found

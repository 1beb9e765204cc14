"""ONNX files made ready to run: every node with a name of its own, every size a number, weights that are not zero."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred._core import NO_BATCH
from latpred.datasets.graph_cache import graph_of
from latpred.errors import InvalidArgumentError
from latpred.inputs import InputSize, parse_inputs
from latpred.optional import need
from latpred.workloads import standard_onnx
from latpred.workloads.sources import onnx_path, recipe_of
from latpred.workloads.workload import Setting

if TYPE_CHECKING:
    from latpred._core import Graph

_WITHOUT_WEIGHTS = "latpred"  # the producer whose files hold a ConstantOfShape for each weight
_MADE_FROM_NOTHING = {"Constant", "ConstantOfShape", "RandomNormal", "RandomUniform"}

_INTEGER_KINDS = "iub"  # of NumPy


@dataclasses.dataclass(frozen=True)
class FileNode:
    """A node of the file that moves data: what depends on no input of the network is left out."""

    index: int
    name: str  # in the file that was handed over
    unique_name: str  # in the file that runs: letters, digits and underscores
    operator: str
    inputs: tuple[str, ...]  # tensors
    outputs: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class PreparedFile:
    """What runs."""

    path: Path
    nodes: tuple[FileNode, ...]
    inputs: Mapping[str, tuple[str, tuple[int, ...]]]  # name -> type of NumPy, shape
    outputs: tuple[str, ...]
    source: Graph | None = None  # what the file was written from; None: from a file with its weights


def prepare(setting: Setting, folder: Path, model: Any = None) -> PreparedFile:
    """Writes the source of the setting into `folder`; model: what the source would be read as, where it is at hand."""
    onnx = need("onnx", "onnx", "running ONNX files")
    if model is not None:
        return _write(onnx, model, setting, folder)
    given = onnx_path(setting.source)
    if given is None:
        return _write_graph(onnx, graph_of(recipe_of(setting.source, setting.input), setting.batch), setting, folder)
    try:
        model = onnx.load(given)
    except Exception as error:
        raise InvalidArgumentError(f"'{given}' is no ONNX file that can be read: {error}", path=str(given)) from error
    if model.producer_name == _WITHOUT_WEIGHTS:
        from latpred.api import load

        return _write_graph(onnx, load(given, batch=setting.batch, input=setting.input), setting, folder)
    return _write(onnx, model, setting, folder)


def _write_graph(onnx: Any, graph: Graph, setting: Setting, folder: Path) -> PreparedFile:
    file = _write(onnx, standard_onnx.model_of(graph), dataclasses.replace(setting, input=None), folder)
    return dataclasses.replace(file, source=graph)


def _write(onnx: Any, model: Any, setting: Setting, folder: Path) -> PreparedFile:
    inputs = _fix_sizes(onnx, model, setting)
    nodes = _rename(model)
    path = folder / "network.onnx"
    standard_onnx.save(onnx, model, path)
    return PreparedFile(path, nodes, inputs, tuple(output.name for output in model.graph.output))


def example(random: np.random.Generator, dtype: Any, shape: tuple[int, ...]) -> Any:
    """Random numbers, and ones of an integer type: a token and a mask that every network takes."""
    if np.dtype(dtype).kind in _INTEGER_KINDS:
        return np.ones(shape, dtype)
    return random.standard_normal(shape).astype(dtype)


def _fix_sizes(onnx: Any, model: Any, setting: Setting) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Writes the batch and input= into the file's inputs; what it says of other tensors is derived again."""
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializer}
    only, named = parse_inputs(setting.input or None)
    inputs = [value for value in graph.input if value.name not in stored]
    if only is not None and len(inputs) != 1:
        names = ", ".join(value.name for value in inputs)
        raise InvalidArgumentError(f"input={setting.input!r} is one input, the file has {names}: give a mapping")
    unknown = set(named) - {value.name for value in inputs}
    if unknown:
        raise InvalidArgumentError(
            f"input= names '{sorted(unknown)[0]}'; inputs of the file: {', '.join(value.name for value in inputs)}"
        )
    found = {}
    for value in inputs:
        tensor = value.type.tensor_type
        shape = _shape(value, only or named.get(value.name), setting)
        del tensor.shape.dim[:]
        for size in shape:
            tensor.shape.dim.add().dim_value = size
        found[value.name] = (str(onnx.helper.tensor_dtype_to_np_dtype(tensor.elem_type)), shape)
    del graph.value_info[:]
    for value in graph.output:
        for dimension in value.type.tensor_type.shape.dim:
            dimension.Clear()
    return found


def _shape(value: Any, given: InputSize | None, setting: Setting) -> tuple[int, ...]:
    """The file's sizes with the batch in front unless `given` has it elsewhere or has none; it says the others where
    they are open."""
    declared = [dimension.dim_value if dimension.HasField("dim_value") else None
                for dimension in value.type.tensor_type.shape.dim]  # fmt: skip
    if not declared:
        return ()
    sizes = declared[1:] if given is None else given.sizes
    num_batches = 0 if given is not None and given.batch_position == NO_BATCH else 1
    if len(sizes) != len(declared) - num_batches or None in sizes:
        shown = ", ".join("?" if size is None else str(size) for size in declared)
        raise InvalidArgumentError(
            f"input '{value.name}' of the file is [{shown}]; say its sizes without the batch by input=, got "
            f"{setting.input!r}"
        )
    place = None if given is None else given.batch_position
    return InputSize([int(size) for size in sizes if size is not None], None, place).with_batch(setting.batch)


def _rename(model: Any) -> tuple[FileNode, ...]:
    """Gives each node a name that every runtime keeps whole, and lists those that move data."""
    moving = {value.name for value in model.graph.input} - {tensor.name for tensor in model.graph.initializer}
    nodes = []
    for index, node in enumerate(model.graph.node):
        name, node.name = node.name, f"n{index:05d}_{node.op_type}"
        if node.op_type in _MADE_FROM_NOTHING or not moving.intersection(_read_by(node)):
            continue
        if node.op_type == "Shape":
            continue  # every size is a number
        moving.update(node.output)
        nodes.append(FileNode(index, name, node.name, node.op_type, tuple(_read_by(node)), tuple(node.output)))
    return tuple(nodes)


def _read_by(node: Any) -> list[str]:
    """Tensors that it reads, those that its subgraphs take from outside among them."""
    names = [name for name in node.input if name]
    for attribute in node.attribute:
        for body in (*([attribute.g] if attribute.HasField("g") else []), *attribute.graphs):
            made = {name for inner in body.node for name in inner.output} | {value.name for value in body.input}
            names += [name for inner in body.node for name in _read_by(inner) if name not in made]
    return names

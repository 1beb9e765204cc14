"""Writes a Graph as an ONNX file of ONNX's own operators with random weights: what runtimes of ONNX files run.

What ONNX has no operator for is written as PyTorch's exporter writes it: a GELU becomes five nodes. What depends on
weights alone becomes a weight.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.export_onnx import onnx_name
from latpred.optional import need
from latpred.workloads.standard_onnx_rules import AS_IT_IS, RULES, unsupported

if TYPE_CHECKING:
    from latpred._core import Graph, Node, Tensor

_OPSET = 17
_IR_VERSION = 8
_LARGEST_MESSAGE = 1 << 30  # protobuf ends at 2 GiB; weights beyond this go to a file beside
_SEED = 0
_NOT_ONNX = {"contiguous", "allowzero", "may_hold_batch"}  # attributes that change no number
_OWN_NAME = re.compile(r"|(t|stored_|made_|input_|output_)\d+")  # of tensors as they are called here; and no name
_POOL = (1 << 16) + 1  # numbers that large weights repeat; odd, so that rows differ


def write(graph: Graph, path: Path) -> None:
    """Writes the file; UnsupportedOperatorError for what no rule here can say."""
    save(need("onnx", "onnx", "running networks as ONNX files"), model_of(graph), path)


def model_of(graph: Graph) -> Any:
    """What `write` writes, in memory."""
    return Writer(graph, need("onnx", "onnx", "running networks as ONNX files")).model()


def save(onnx: Any, model: Any, path: Path) -> None:
    """Writes a model; large weights go to a file beside."""
    is_large = model.ByteSize() > _LARGEST_MESSAGE
    onnx.save(model, path, **({"save_as_external_data": True, "location": f"{path.name}.weights"} if is_large else {}))


def he_normal(random: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    """He's normal numbers: however deep the network, nothing overflows."""
    deviation = math.sqrt(2 / max(1, math.prod(shape[1:])))
    return np.asarray(random.standard_normal(shape, np.float32) * np.float32(deviation))


class Writer:
    def __init__(self, graph: Graph, onnx: Any) -> None:
        self.graph = graph
        self.onnx = onnx
        self.nodes: list[Any] = []
        self.stored: list[Any] = []
        self._random = np.random.default_rng(_SEED)
        self._pool = self._random.standard_normal(_POOL, np.float32)
        self._names: dict[int, str] = {}  # of tensors that the file has, by id
        self._made = 0
        self._positive = {
            tensor.id
            for node in graph.nodes
            if node.operator == "batch_norm"
            for tensor in (*node.inputs[1:2], *node.inputs[4:5])
            if tensor is not None
        }

    def model(self) -> Any:
        helper = self.onnx.helper
        inputs: list[Any] = []
        for tensor in self.graph.inputs:
            is_free = not _OWN_NAME.fullmatch(tensor.name) and tensor.name not in self._names.values()
            self._names[tensor.id] = tensor.name if is_free else f"input_{len(inputs)}"
            inputs.append(helper.make_tensor_value_info(self._names[tensor.id], tensor.dtype_id, list(tensor.shape)))
        moving = {tensor.id for tensor in self.graph.inputs}
        for node in self.graph.nodes:
            if moving.isdisjoint(tensor.id for tensor in node.inputs if tensor is not None):
                continue  # its outputs are stored when somebody reads them
            moving.update(tensor.id for tensor in node.outputs if tensor is not None)
            self._add(node)
        outputs: dict[str, Any] = {}
        made_here = {name for node in self.nodes for name in node.output}
        for index, tensor in enumerate(self.graph.outputs):
            name = self.name(tensor)
            if name not in made_here or name in outputs:  # an input, a stored tensor, or an output twice
                self.apply("Identity", [name], [name := f"output_{index}"])
            outputs[name] = helper.make_tensor_value_info(name, tensor.dtype_id, list(tensor.shape))
        made = helper.make_graph(self.nodes, "graph", inputs, list(outputs.values()), initializer=self.stored)
        return helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)

    def _add(self, node: Node) -> None:
        rule = RULES.get(node.operator)
        if rule is not None:
            rule(self, node)
        elif node.operator in AS_IT_IS:
            self.as_it_is(node)
        else:
            raise unsupported(node, "no rule writes it with ONNX's operators")

    def as_it_is(self, node: Node, **changed: Any) -> None:
        """The operator of the same name, with its attributes."""
        attributes = {name: value for name, value in node.attributes.items() if name not in _NOT_ONNX} | changed
        operator = onnx_name(node.operator)
        known = self.onnx.defs.get_schema(operator, _OPSET).attributes
        if unknown := set(attributes) - set(known):
            raise unsupported(node, f"ONNX's {operator} has no attribute '{sorted(unknown)[0]}'")
        self.apply(operator, [self.name(tensor) for tensor in node.inputs], self.outputs(node), **attributes)

    def number_like(self, tensor: Tensor, dtype_id: int) -> str:
        """A stored constant in the type of what it is added to or multiplied by: ONNX mixes no types."""
        if tensor.kind != "constant" or tensor.value is None or tensor.dtype_id == dtype_id:
            return self.name(tensor)
        dtype = self.onnx.helper.tensor_dtype_to_np_dtype(dtype_id)
        return self.store(np.asarray(tensor.value).reshape(tensor.shape).astype(dtype))

    def name(self, tensor: Tensor | None) -> str:
        """Of a tensor that is read: what is stored goes into the file now."""
        if tensor is None:
            return ""
        if tensor.id not in self._names:
            self._names[tensor.id] = self.store(self._content(tensor))
        return self._names[tensor.id]

    def outputs(self, node: Node) -> list[str]:
        """Names for what the node makes."""
        return [self.output(tensor) for tensor in node.outputs]

    def output(self, tensor: Tensor | None) -> str:
        if tensor is None:
            return ""
        self._names[tensor.id] = f"t{tensor.id}"
        return self._names[tensor.id]

    def same(self, node: Node) -> None:
        """Who reads the output reads the input."""
        read, made = node.inputs[0], node.outputs[0]
        assert made is not None
        self._names[made.id] = self.name(read)

    def _content(self, tensor: Tensor) -> Any:
        dtype = self.onnx.helper.tensor_dtype_to_np_dtype(tensor.dtype_id)
        if tensor.kind == "constant" and tensor.value is not None:
            return np.asarray(tensor.value, dtype).reshape(tensor.shape)
        if np.dtype(dtype).kind != "f":
            return np.zeros(tensor.shape, dtype)  # places in a table: every table has a first one
        if tensor.id in self._positive:
            return (self._random.random(tensor.shape, np.float32) + 0.5).astype(dtype)
        return self.weights(tensor.shape).astype(dtype, copy=False)

    def weights(self, shape: Sequence[int]) -> Any:
        """He's normal numbers: large weights repeat some, which takes a tenth of the time and runs as long."""
        count = math.prod(shape)
        if count <= _POOL:
            return he_normal(self._random, tuple(shape))
        deviation = np.float32(math.sqrt(2 / max(1, math.prod(shape[1:]))))
        return np.resize(self._pool * deviation, count).reshape(shape)

    def weight(self, tensor: Tensor, order: Sequence[int]) -> str:
        """A stored tensor with its dimensions in another order."""
        return self.store(np.ascontiguousarray(np.transpose(self._content(tensor), order)))

    def store(self, values: Any) -> str:
        """Puts numbers into the file."""
        self._made += 1
        name = f"stored_{self._made}"
        self.stored.append(self.onnx.numpy_helper.from_array(np.asarray(values), name))
        return name

    def integers(self, values: Sequence[int]) -> str:
        return self.store(np.asarray(values, np.int64))

    def number(self, value: float) -> str:
        return self.store(np.asarray(value, np.float32))

    def apply(
        self, operator: str, inputs: Sequence[str], outputs: Sequence[str] | None = None, **attributes: Any
    ) -> str:
        """Adds a node; its first output."""
        self._made += 1
        outputs = [f"made_{self._made}"] if outputs is None else list(outputs)
        self.nodes.append(
            self.onnx.helper.make_node(operator, list(inputs), outputs, name=f"{operator}_{self._made}", **attributes)
        )
        return outputs[0]

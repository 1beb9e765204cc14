"""Writes a Graph as an ONNX file without weights, for viewers and other tools.

Every size in the file is a number. A weight is a ConstantOfShape node, as in the ONNX project's own light networks: the
file stays small, passes the checker and runs (on zeros). What ONNX has no operator for goes to the domain "latpred".
"""

from __future__ import annotations

import os
import re
from functools import cache
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.graph import name as graph_name
from latpred.optional import need
from latpred.writing import replacing, writing

if TYPE_CHECKING:
    from latpred._core import Graph, Node, Tensor

OWN_DOMAIN = "latpred"
_OPSET = 17  # of graphs that come from no ONNX file
_OLDEST_OPSET = 9  # with ConstantOfShape
_IR_VERSION = 8  # of onnx 1.10, read by everything in use

# Where ONNX's name is not ours in camel case.
_ONNX_NAMES = {
    "batch_norm": "BatchNormalization",
    "group_norm": "GroupNormalization",
    "instance_norm": "InstanceNormalization",
    "layer_norm": "LayerNormalization",
    "logical_and": "And",
    "logical_not": "Not",
    "logical_or": "Or",
    "logical_xor": "Xor",
    "lp_norm": "LpNormalization",
    "mean_variance_norm": "MeanVarianceNormalization",
    "rms_norm": "RMSNormalization",
}

_REAL_TYPES = ("float32", "float16", "bfloat16", "float64")

# Operators whose constant is the shape of their output: the graph knows it, whatever the file had.
_SHAPE_INPUT = {"reshape": 1, "expand": 1}
# Where ONNX has sizes as an input, and the attributes that other frameworks have instead.
_SIZES_INPUT = _SHAPE_INPUT | {"constant_of_shape": 0, "tile": 1}
_SIZES = ("shape", "repeats", "allowzero", "may_hold_batch")
# What is asked for under autocast, which a file of ONNX has no word for: operators stay those of ONNX without it.
_OF_AUTOCAST = "converts"


def to_onnx(graph: Graph, path: str | os.PathLike[str]) -> None:
    """Writes the file; needs the package onnx (the extra latpred[onnx])."""
    if not isinstance(path, (str, os.PathLike)):
        raise InvalidArgumentError(f"path must be the name of the .onnx file to write, got {path!r}")
    onnx = need("onnx", "onnx", "to_onnx()")
    model = _Writer(graph, onnx).model()
    with writing(f"network '{graph_name(graph)}'", path), replacing(path) as unfinished:
        onnx.save(model, os.fspath(unfinished))


class _Writer:
    def __init__(self, graph: Graph, onnx: Any):
        self.graph = graph
        self.onnx = onnx
        self.opset = _opset_of(graph)
        self.names: dict[int, str] = {}  # by tensor id
        self.used_names: set[str] = set()
        self.written: set[int] = set()  # stored tensors that the file has by now
        self.inputs: list[Any] = []
        self.stored: list[Any] = []  # initializers
        self.nodes: list[Any] = []
        self.domains: set[str] = set()

    def model(self) -> Any:
        helper = self.onnx.helper
        graph = self.graph
        for tensor in graph.inputs:
            self._add_input(tensor)
        for node in graph.nodes:
            self._add_node(node)
        for tensor in graph.outputs:
            self._store(tensor)
        made = helper.make_graph(
            self.nodes,
            graph_name(graph),
            self.inputs,
            [self._value_info(tensor) for tensor in graph.outputs],
            initializer=self.stored,
            value_info=[self._value_info(tensor) for tensor in graph.tensors if tensor.kind == "activation"],
            doc_string=f"Batch {graph.batch}; weights left out: each is a ConstantOfShape.",
        )
        opsets = [helper.make_opsetid("", self.opset)]
        opsets += [helper.make_opsetid(domain, 1) for domain in sorted(self.domains)]
        return helper.make_model(
            made,
            producer_name="latpred",
            producer_version=_core.__version__,
            opset_imports=opsets,
            ir_version=_IR_VERSION,
        )

    def _name(self, tensor: Tensor) -> str:
        name = self.names.get(tensor.id)
        if name is None:
            name = tensor.name or f"t{tensor.id}"
            while name in self.used_names:
                name += f"#{tensor.id}"
            self.names[tensor.id] = name
            self.used_names.add(name)
        return name

    def _value_info(self, tensor: Tensor) -> Any:
        return self.onnx.helper.make_tensor_value_info(self._name(tensor), tensor.dtype_id, list(tensor.shape))

    def _add_input(self, tensor: Tensor) -> None:
        self.written.add(tensor.id)
        self.inputs.append(self._value_info(tensor))

    def _store(self, tensor: Tensor, content: list[int] | None = None) -> None:
        """Sees to it that a stored tensor is in the file; does nothing for what a node makes."""
        if tensor.kind in ("activation", "input") or tensor.id in self.written:
            return
        self.written.add(tensor.id)
        if content is not None or (tensor.kind == "constant" and tensor.value is not None):
            values = tensor.value if content is None else content
            self._add_initializer(self._name(tensor), tensor.dtype_id, tensor.shape, values)
        elif tensor.kind == "constant" and tensor.dtype not in _REAL_TYPES:
            # Axes or sizes that nobody knows: the file says so by asking for them.
            self.inputs.append(self._value_info(tensor))
        else:
            self._add_weight(tensor)

    def _add_initializer(self, name: str, data_type: int, shape: Any, values: Any) -> None:
        self.stored.append(self.onnx.helper.make_tensor(name, data_type, list(shape), values))

    def _sizes(self, shape: tuple[int, ...]) -> str:
        """The name of a stored tensor with these numbers."""
        name = "shape_" + "x".join(map(str, shape))
        if name not in self.used_names:
            self.used_names.add(name)
            self._add_initializer(name, self.onnx.TensorProto.INT64, [len(shape)], shape)
        return name

    def _add_weight(self, tensor: Tensor) -> None:
        shape_name = self._sizes(tensor.shape)
        zero = self.onnx.helper.make_tensor("zero", tensor.dtype_id, [1], [0])
        self.nodes.append(self.onnx.helper.make_node("ConstantOfShape", [shape_name], [self._name(tensor)], value=zero))

    def _add_node(self, node: Node) -> None:
        made = node.outputs[0]
        if node.operator == "range" and self.graph.source.framework != "onnx" and made is not None:
            # Its limit may be the batch that the network was recorded at.
            self._add_initializer(self._name(made), made.dtype_id, made.shape, range(made.shape[0]))
            return
        shape_input = _SHAPE_INPUT.get(node.operator)
        for index, tensor in enumerate(node.inputs):
            if tensor is None:
                continue
            reshaped = node.outputs[0] if index == shape_input else None
            self._store(tensor, None if reshaped is None else list(reshaped.shape))
        domain, operator = self._onnx_operator(node)
        written = self._make_node(node, domain, operator)
        if domain == "" and not self._is_valid(written):
            domain = OWN_DOMAIN
            written = self._make_node(node, domain, node.operator)
        if domain:
            self.domains.add(domain)
        self.nodes.append(written)

    def _onnx_operator(self, node: Node) -> tuple[str, str]:
        """Its domain and name; those of a file that was ONNX stay."""
        if node.source_operator and self.graph.source.framework == "onnx":
            domain, _, operator = node.source_operator.rpartition("::")
            return domain, operator
        return "", onnx_name(node.operator)

    def _make_node(self, node: Node, domain: str, operator: str) -> Any:
        inputs = ["" if tensor is None else self._name(tensor) for tensor in node.inputs]
        attributes = {name: value for name, value in node.attributes.items() if value != [] and name != _OF_AUTOCAST}
        if (sizes := _sizes_in_attributes(node)) is not None:
            inputs[_SIZES_INPUT[node.operator] :] = [self._sizes(sizes)]
            attributes = {name: value for name, value in attributes.items() if name not in _SIZES}
        while inputs and not inputs[-1]:
            inputs.pop()
        outputs = ["" if tensor is None else self._name(tensor) for tensor in node.outputs]
        return self.onnx.helper.make_node(
            operator,
            inputs,
            outputs,
            name=node.name,
            domain=domain,
            doc_string=f"executed {node.repeat} times" if node.repeat > 1 else None,
            **attributes,
        )

    def _is_valid(self, made: Any) -> bool:
        """Whether ONNX has this operator, with these inputs and attributes, at the file's version."""
        context = self.onnx.checker.C.CheckerContext()
        context.ir_version = _IR_VERSION
        context.opset_imports = {"": self.opset}
        try:
            self.onnx.checker.check_node(made, context)
        except self.onnx.checker.ValidationError:
            return False
        return True


def _sizes_in_attributes(node: Node) -> tuple[int, ...] | None:
    """What ONNX has as a tensor of sizes and other frameworks as an attribute, at the graph's batch: an attribute may
    hold the one that the network was recorded at."""
    made, read = node.outputs[0], node.inputs[0] if node.inputs else None
    if made is None or node.operator not in _SIZES_INPUT or not any(name in node.attributes for name in _SIZES):
        return None
    if node.operator != "tile":
        return made.shape
    if read is None or len(read.shape) != len(made.shape):
        return None
    return tuple(new // old for new, old in zip(made.shape, read.shape, strict=True))


def _opset_of(graph: Graph) -> int:
    """The version that the file was written in: nodes kept its form."""
    if graph.source.framework != "onnx":
        return _OPSET
    match = re.search(r"opset (\d+)", graph.source.format)
    return max(int(match[1]), _OLDEST_OPSET) if match else _OPSET


@cache
def onnx_name(operator: str) -> str:
    """ONNX's spelling of one of our operators: "LpPool", "LogSoftmax", "PRelu"."""
    if operator in _ONNX_NAMES:
        return _ONNX_NAMES[operator]
    onnx = need("onnx", "onnx", "to_onnx()")
    camel = "".join(word.capitalize() for word in operator.split("_"))
    names = {schema.name.lower(): schema.name for schema in onnx.defs.get_all_schemas() if not schema.domain}
    return str(names.get(camel.lower(), camel))

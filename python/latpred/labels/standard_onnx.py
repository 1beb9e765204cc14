"""Writes a Graph as an ONNX file of ONNX's own operators with random weights: what runtimes of ONNX files run.

What ONNX has no operator for is written as PyTorch's exporter writes it: a GELU becomes five nodes. What depends on
weights alone becomes a weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.errors import UnsupportedOperatorError
from latpred.export_onnx import onnx_name
from latpred.optional import need
from latpred.workloads.onnx_files import he_normal

if TYPE_CHECKING:
    from latpred._core import Graph, Node, Tensor

_OPSET = 17
_IR_VERSION = 8
_SEED = 0
_LARGEST_MESSAGE = 1 << 30  # protobuf ends at 2 GiB
_MADE_HERE = ("activation", "input")
_NOT_ONNX = {"contiguous", "allowzero", "may_hold_batch"}  # attributes that change no number
_POOL = (1 << 16) + 1  # numbers that large weights repeat; odd, so that rows differ
_ROLLED = 3  # the shift that a Graph does not keep: half of Swin's window


def write(graph: Graph, path: Path) -> None:
    """Writes the file; UnsupportedOperatorError for what no rule here can say."""
    onnx = need("onnx", "onnx", "running networks as ONNX files")
    model = _Writer(graph, onnx).model()
    is_large = model.ByteSize() > _LARGEST_MESSAGE
    onnx.save(model, path, **({"save_as_external_data": True, "location": f"{path.name}.weights"} if is_large else {}))


class _Writer:
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
            self._names[tensor.id] = f"input_{len(inputs)}"
            inputs.append(helper.make_tensor_value_info(self._names[tensor.id], tensor.dtype_id, list(tensor.shape)))
        moving = {tensor.id for tensor in self.graph.inputs}
        for node in self.graph.nodes:
            if moving.isdisjoint(tensor.id for tensor in node.inputs if tensor is not None):
                continue  # its outputs are stored when somebody reads them
            moving.update(tensor.id for tensor in node.outputs if tensor is not None)
            self._add(node)
        outputs = []
        for index, tensor in enumerate(self.graph.outputs):
            name = f"output_{index}"
            self.apply("Identity", [self.name(tensor)], [name])
            outputs.append(helper.make_tensor_value_info(name, tensor.dtype_id, list(tensor.shape)))
        made = helper.make_graph(self.nodes, "graph", inputs, outputs, initializer=self.stored)
        return helper.make_model(made, opset_imports=[helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)

    def _add(self, node: Node) -> None:
        rule = _RULES.get(node.operator)
        if rule is not None:
            rule(self, node)
        elif node.operator in _AS_IT_IS:
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


def unsupported(node: Node, why: str) -> UnsupportedOperatorError:
    return UnsupportedOperatorError(f"node '{node.name}' ({node.operator}) cannot be written as ONNX: {why}")


# Rules: from a node to nodes of ONNX.


def _input(node: Node, index: int = 0) -> Any:
    tensor = node.inputs[index] if index < len(node.inputs) else None
    if tensor is None:
        raise unsupported(node, f"it lacks input {index}")
    return tensor


def _made(node: Node) -> Any:
    return node.outputs[0]


def _arithmetic(writer: _Writer, node: Node) -> None:
    dtype_id = next(tensor.dtype_id for tensor in node.inputs if tensor is not None and tensor.kind in _MADE_HERE)
    names = ["" if tensor is None else writer.number_like(tensor, dtype_id) for tensor in node.inputs]
    writer.apply(onnx_name(node.operator), names, writer.outputs(node))


def _reshape(writer: _Writer, node: Node) -> None:
    shape = writer.integers(_made(node).shape)
    writer.apply("Reshape", [writer.name(_input(node)), shape], writer.outputs(node))


def _identity(writer: _Writer, node: Node) -> None:
    if _input(node).shape != _made(node).shape:
        raise unsupported(node, "it changes the shape")
    writer.same(node)


def _expand(writer: _Writer, node: Node) -> None:
    shape = writer.integers(_made(node).shape)
    writer.apply("Expand", [writer.name(_input(node)), shape], writer.outputs(node))


def _linear(writer: _Writer, node: Node) -> None:
    x, weight = _input(node), _input(node, 1)
    bias = [writer.name(tensor) for tensor in node.inputs[2:] if tensor is not None]
    is_stored = weight.kind not in _MADE_HERE
    if len(x.shape) == 2 and bias:
        writer.apply("Gemm", [writer.name(x), writer.name(weight), *bias], writer.outputs(node), transB=1)
        return
    turned = (
        writer.weight(weight, (1, 0)) if is_stored else writer.apply("Transpose", [writer.name(weight)], perm=[1, 0])
    )
    if not bias:
        writer.apply("MatMul", [writer.name(x), turned], writer.outputs(node))
        return
    writer.apply("Add", [writer.apply("MatMul", [writer.name(x), turned]), *bias], writer.outputs(node))


def _gelu(writer: _Writer, node: Node) -> None:
    x = writer.name(_input(node))
    one, half = writer.number(1.0), writer.number(0.5)
    if node.attributes.get("approximate", "none") == "tanh":
        cubic = writer.apply("Mul", [writer.apply("Pow", [x, writer.number(3.0)]), writer.number(0.044715)])
        inner = writer.apply("Mul", [writer.apply("Add", [x, cubic]), writer.number(math.sqrt(2 / math.pi))])
        bent = writer.apply("Tanh", [inner])
    else:
        bent = writer.apply("Erf", [writer.apply("Div", [x, writer.number(math.sqrt(2))])])
    product = writer.apply("Mul", [x, writer.apply("Add", [bent, one])])
    writer.apply("Mul", [product, half], writer.outputs(node))


def _silu(writer: _Writer, node: Node) -> None:
    x = writer.name(_input(node))
    writer.apply("Mul", [x, writer.apply("Sigmoid", [x])], writer.outputs(node))


def _mish(writer: _Writer, node: Node) -> None:
    x = writer.name(_input(node))
    writer.apply("Mul", [x, writer.apply("Tanh", [writer.apply("Softplus", [x])])], writer.outputs(node))


def _hard_sigmoid(writer: _Writer, node: Node) -> None:
    writer.apply("HardSigmoid", [writer.name(_input(node))], writer.outputs(node), alpha=1 / 6, beta=0.5)


def _attention(writer: _Writer, node: Node) -> None:
    query, key, value = (_input(node, index) for index in range(3))
    if query.shape[:-2] != key.shape[:-2]:
        raise unsupported(node, "its queries have more heads than its keys")
    scale = writer.number(query.shape[-1] ** -0.25)  # on either side, as PyTorch's exporter has it
    axes = list(range(len(key.shape)))
    turned = writer.apply("Transpose", [writer.name(key)], perm=[*axes[:-2], axes[-1], axes[-2]])
    products = [writer.apply("Mul", [side, scale]) for side in (writer.name(query), turned)]
    scores = writer.apply("MatMul", products)
    if len(node.inputs) > 3 and node.inputs[3] is not None:
        scores = writer.apply("Add", [scores, writer.name(node.inputs[3])])
    elif node.attributes.get("is_causal"):
        rows, columns = query.shape[-2], key.shape[-2]
        mask = np.triu(np.full((rows, columns), -1e4, np.float32), columns - rows + 1)
        scores = writer.apply("Add", [scores, writer.store(mask)])
    share = writer.apply("Softmax", [scores], axis=-1)
    writer.apply("MatMul", [share, writer.name(value)], writer.outputs(node))


def _select(writer: _Writer, node: Node) -> None:
    index = node.attributes.get("index")
    if index is None:
        value = _input(node, 1).value
        if value is None:
            raise unsupported(node, "its place is no number")
        index = int(np.asarray(value).reshape(-1)[0])
    place = writer.store(np.asarray(index, np.int64))
    writer.apply(
        "Gather", [writer.name(_input(node)), place], writer.outputs(node), axis=int(node.attributes.get("axis", 0))
    )


def _split(writer: _Writer, node: Node) -> None:
    axis = int(node.attributes.get("axis", 0))
    sizes = writer.integers([tensor.shape[axis] for tensor in node.outputs if tensor is not None])
    writer.apply("Split", [writer.name(_input(node)), sizes], writer.outputs(node), axis=axis)


def _slice(writer: _Writer, node: Node) -> None:
    given = node.attributes
    if "starts" not in given:
        writer.as_it_is(node)
        return
    parts = [writer.integers(given[name]) for name in ("starts", "ends", "axes", "steps") if name in given]
    writer.apply("Slice", [writer.name(_input(node)), *parts], writer.outputs(node))


def _pad(writer: _Writer, node: Node) -> None:
    x, given = _input(node), node.attributes
    if "pads" not in given:
        writer.as_it_is(node)
        return
    rank = len(x.shape)
    axes = [axis % rank for axis in given.get("axes", range(rank))]
    pads = [0] * (2 * rank)
    for place, axis in enumerate(axes):
        pads[axis], pads[rank + axis] = given["pads"][place], given["pads"][len(axes) + place]
    if not any(pads):
        writer.same(node)
        return
    mode = given.get("mode", "constant")
    writer.apply("Pad", [writer.name(x), writer.integers(pads)], writer.outputs(node), mode=mode)


def _unsqueeze(writer: _Writer, node: Node) -> None:
    operator = onnx_name(node.operator)
    axes = node.attributes.get("axes")
    if axes is None:
        _reshape(writer, node)
        return
    writer.apply(operator, [writer.name(_input(node)), writer.integers(axes)], writer.outputs(node))


def _reduce(writer: _Writer, node: Node) -> None:
    operator, given = onnx_name(node.operator), dict(node.attributes)
    if len(node.inputs) > 1 and operator != "ReduceSum":
        given["axes"] = [int(axis) for axis in np.asarray(_input(node, 1).value).reshape(-1)]
    keep = int(given.get("keepdims", 1))
    if operator == "ReduceSum":  # the first whose axes became an input
        axes = writer.integers(given["axes"]) if "axes" in given else writer.name(_input(node, 1))
        writer.apply(operator, [writer.name(_input(node)), axes], writer.outputs(node), keepdims=keep)
        return
    writer.apply(operator, [writer.name(_input(node))], writer.outputs(node), axes=given["axes"], keepdims=keep)


def _adaptive(writer: _Writer, node: Node, whole: str, windowed: str) -> None:
    x, made = _input(node), _made(node)
    space, wanted = x.shape[2:], made.shape[2:]
    if all(size == 1 for size in wanted):
        writer.apply(whole, [writer.name(x)], writer.outputs(node))
        return
    if any(size % count for size, count in zip(space, wanted, strict=True)):
        raise unsupported(node, f"windows of {list(space)} to {list(wanted)} differ in size")
    window = [size // count for size, count in zip(space, wanted, strict=True)]
    writer.apply(windowed, [writer.name(x)], writer.outputs(node), kernel_shape=window, strides=window)


def _adaptive_average(writer: _Writer, node: Node) -> None:
    _adaptive(writer, node, "GlobalAveragePool", "AveragePool")


def _adaptive_max(writer: _Writer, node: Node) -> None:
    _adaptive(writer, node, "GlobalMaxPool", "MaxPool")


def _layer_norm(writer: _Writer, node: Node) -> None:
    x, axis = _input(node), int(node.attributes.get("axis", -1))
    inputs = [writer.name(tensor) for tensor in node.inputs]
    if len(inputs) < 2:
        inputs.append(writer.store(np.ones(x.shape[axis:], np.float32)))
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    writer.apply("LayerNormalization", inputs, writer.outputs(node)[:1], axis=axis, epsilon=epsilon)


def _rms_norm(writer: _Writer, node: Node) -> None:
    x, axis = _input(node), int(node.attributes.get("axis", -1))
    axes = list(range(axis % len(x.shape), len(x.shape)))
    name = writer.name(x)
    mean = writer.apply("ReduceMean", [writer.apply("Pow", [name, writer.number(2.0)])], axes=axes, keepdims=1)
    epsilon = writer.number(float(node.attributes.get("epsilon", 1e-6)))
    root = writer.apply("Sqrt", [writer.apply("Add", [mean, epsilon])])
    normed = writer.apply("Div", [name, root])
    writer.apply("Mul", [normed, writer.name(_input(node, 1))], writer.outputs(node))


def _group_norm(writer: _Writer, node: Node) -> None:
    x, groups = _input(node), int(node.attributes["num_groups"])
    batch, channels, *space = x.shape
    flat = writer.apply("Reshape", [writer.name(x), writer.integers([batch, groups, -1])])
    ones, zeros = (writer.store(np.full(groups, value, np.float32)) for value in (1.0, 0.0))
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    normed = writer.apply("InstanceNormalization", [flat, ones, zeros], epsilon=epsilon)
    y = writer.apply("Reshape", [normed, writer.integers(x.shape)])
    sides = [writer.store(writer.weights((channels, *[1] * len(space)))) for _ in node.inputs[1:]]
    for place, (operator, side) in enumerate(zip(("Mul", "Add"), sides, strict=False)):
        y = writer.apply(operator, [y, side], writer.outputs(node) if place == len(sides) - 1 else None)
    if not sides:
        writer.apply("Identity", [y], writer.outputs(node))


def _roll(writer: _Writer, node: Node) -> None:
    x, axes = _input(node), list(node.attributes["axes"])
    y = writer.name(x)
    for place, axis in enumerate(axes):
        cut = _ROLLED % x.shape[axis]
        bounds = ((cut, x.shape[axis]), (0, cut))
        parts = [
            writer.apply("Slice", [y, *(writer.integers([number]) for number in (start, end, axis))])
            for start, end in bounds
        ]
        y = writer.apply("Concat", parts, writer.outputs(node) if place == len(axes) - 1 else None, axis=axis)


def _addcmul(writer: _Writer, node: Node) -> None:
    x, a, b = (writer.name(_input(node, index)) for index in range(3))
    writer.apply("Add", [x, writer.apply("Mul", [a, b])], writer.outputs(node))


def _resize(writer: _Writer, node: Node) -> None:
    x, made = _input(node), _made(node)
    mode = node.attributes.get("mode", "nearest")
    sizes = writer.integers(made.shape)
    # As PyTorch's exporter: half pixels but for the nearest one.
    extra = {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"} if mode == "nearest" else {}
    writer.apply("Resize", [writer.name(x), "", "", sizes], writer.outputs(node), mode=mode, **extra)


def _rsqrt(writer: _Writer, node: Node) -> None:
    root = writer.apply("Sqrt", [writer.name(_input(node))])
    writer.apply("Reciprocal", [root], writer.outputs(node))


def _embedding(writer: _Writer, node: Node) -> None:
    writer.apply("Gather", [writer.name(_input(node)), writer.name(_input(node, 1))], writer.outputs(node), axis=0)


def _dropout(writer: _Writer, node: Node) -> None:
    writer.same(node)


_RULES: dict[str, Callable[[_Writer, Any], None]] = {
    **dict.fromkeys(("add", "clip", "div", "mul", "pow", "sub"), _arithmetic),
    "reshape": _reshape,
    "flatten": _reshape,
    "identity": _identity,
    "dropout": _dropout,
    "expand": _expand,
    "unsqueeze": _unsqueeze,
    "squeeze": _unsqueeze,
    "linear": _linear,
    "gelu": _gelu,
    "silu": _silu,
    "mish": _mish,
    "hard_sigmoid": _hard_sigmoid,
    "scaled_dot_product_attention": _attention,
    "select": _select,
    "split": _split,
    "slice": _slice,
    "pad": _pad,
    "reduce_mean": _reduce,
    "reduce_sum": _reduce,
    "reduce_max": _reduce,
    "reduce_l2": _reduce,
    "adaptive_average_pool": _adaptive_average,
    "adaptive_max_pool": _adaptive_max,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "group_norm": _group_norm,
    "roll": _roll,
    "addcmul": _addcmul,
    "resize": _resize,
    "rsqrt": _rsqrt,
    "embedding": _embedding,
}

# ONNX has these under the same name, with the same inputs and attributes.
_AS_IT_IS = frozenset(
    ("abs", "average_pool", "batch_norm", "cast", "concat", "conv", "cos", "einsum", "elu", "equal", "erf",
     "exp", "floor", "gather", "gemm", "global_average_pool", "global_max_pool", "greater_or_equal", "hard_swish",
     "leaky_relu", "log", "logical_not", "matmul", "max", "max_pool", "min", "neg", "prelu", "reciprocal", "relu",
     "sigmoid", "sin", "softmax", "softplus", "sqrt", "tanh", "transpose", "where")
)  # fmt: skip

assert not _AS_IT_IS & set(_RULES)
OPERATORS = frozenset(_RULES) | _AS_IT_IS
assert {row.name for row in _core.operators()} >= OPERATORS

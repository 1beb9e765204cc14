"""How nodes of a Graph are written with ONNX's operators: a rule for each operator that ONNX has under another form."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.errors import UnsupportedOperatorError
from latpred.export_onnx import onnx_name

if TYPE_CHECKING:
    from latpred._core import Node
    from latpred.workloads.standard_onnx import Writer

MADE_HERE = ("activation", "input")
_ROLLED = 3  # the shift that a Graph does not keep: half of Swin's window


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


def _arithmetic(writer: Writer, node: Node) -> None:
    dtype_id = next(tensor.dtype_id for tensor in node.inputs if tensor is not None and tensor.kind in MADE_HERE)
    names = ["" if tensor is None else writer.number_like(tensor, dtype_id) for tensor in node.inputs]
    writer.apply(onnx_name(node.operator), names, writer.outputs(node))


def _reshape(writer: Writer, node: Node) -> None:
    shape = writer.integers(_made(node).shape)
    writer.apply("Reshape", [writer.name(_input(node)), shape], writer.outputs(node))


def _identity(writer: Writer, node: Node) -> None:
    if _input(node).shape != _made(node).shape:
        raise unsupported(node, "it changes the shape")
    writer.same(node)


def _expand(writer: Writer, node: Node) -> None:
    shape = writer.integers(_made(node).shape)
    writer.apply("Expand", [writer.name(_input(node)), shape], writer.outputs(node))


def _linear(writer: Writer, node: Node) -> None:
    x, weight = _input(node), _input(node, 1)
    bias = [writer.name(tensor) for tensor in node.inputs[2:] if tensor is not None]
    is_stored = weight.kind not in MADE_HERE
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


def _gelu(writer: Writer, node: Node) -> None:
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


def _silu(writer: Writer, node: Node) -> None:
    x = writer.name(_input(node))
    writer.apply("Mul", [x, writer.apply("Sigmoid", [x])], writer.outputs(node))


def _mish(writer: Writer, node: Node) -> None:
    x = writer.name(_input(node))
    writer.apply("Mul", [x, writer.apply("Tanh", [writer.apply("Softplus", [x])])], writer.outputs(node))


def _hard_sigmoid(writer: Writer, node: Node) -> None:
    writer.apply("HardSigmoid", [writer.name(_input(node))], writer.outputs(node), alpha=1 / 6, beta=0.5)


def _attention(writer: Writer, node: Node) -> None:
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


def _select(writer: Writer, node: Node) -> None:
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


def _split(writer: Writer, node: Node) -> None:
    axis = int(node.attributes.get("axis", 0))
    sizes = writer.integers([tensor.shape[axis] for tensor in node.outputs if tensor is not None])
    writer.apply("Split", [writer.name(_input(node)), sizes], writer.outputs(node), axis=axis)


def _slice(writer: Writer, node: Node) -> None:
    given = node.attributes
    if "starts" not in given:
        writer.as_it_is(node)
        return
    parts = [writer.integers(given[name]) for name in ("starts", "ends", "axes", "steps") if name in given]
    writer.apply("Slice", [writer.name(_input(node)), *parts], writer.outputs(node))


def _pad(writer: Writer, node: Node) -> None:
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


def _unsqueeze(writer: Writer, node: Node) -> None:
    operator = onnx_name(node.operator)
    axes = node.attributes.get("axes")
    if axes is None:
        _reshape(writer, node)
        return
    writer.apply(operator, [writer.name(_input(node)), writer.integers(axes)], writer.outputs(node))


def _reduce(writer: Writer, node: Node) -> None:
    operator, given = onnx_name(node.operator), dict(node.attributes)
    if len(node.inputs) > 1 and operator != "ReduceSum":
        given["axes"] = [int(axis) for axis in np.asarray(_input(node, 1).value).reshape(-1)]
    keep = int(given.get("keepdims", 1))
    if operator == "ReduceSum":  # the first whose axes became an input
        axes = writer.integers(given["axes"]) if "axes" in given else writer.name(_input(node, 1))
        writer.apply(operator, [writer.name(_input(node)), axes], writer.outputs(node), keepdims=keep)
        return
    writer.apply(operator, [writer.name(_input(node))], writer.outputs(node), axes=given["axes"], keepdims=keep)


def _adaptive(writer: Writer, node: Node, whole: str, windowed: str) -> None:
    x, made = _input(node), _made(node)
    space, wanted = x.shape[2:], made.shape[2:]
    if all(size == 1 for size in wanted):
        writer.apply(whole, [writer.name(x)], writer.outputs(node))
        return
    if any(size % count for size, count in zip(space, wanted, strict=True)):
        raise unsupported(node, f"windows of {list(space)} to {list(wanted)} differ in size")
    window = [size // count for size, count in zip(space, wanted, strict=True)]
    writer.apply(windowed, [writer.name(x)], writer.outputs(node), kernel_shape=window, strides=window)


def _adaptive_average(writer: Writer, node: Node) -> None:
    _adaptive(writer, node, "GlobalAveragePool", "AveragePool")


def _adaptive_max(writer: Writer, node: Node) -> None:
    _adaptive(writer, node, "GlobalMaxPool", "MaxPool")


def _layer_norm(writer: Writer, node: Node) -> None:
    x, axis = _input(node), int(node.attributes.get("axis", -1))
    inputs = [writer.name(tensor) for tensor in node.inputs]
    if len(inputs) < 2:
        inputs.append(writer.store(np.ones(x.shape[axis:], np.float32)))
    epsilon = float(node.attributes.get("epsilon", 1e-5))
    writer.apply("LayerNormalization", inputs, writer.outputs(node)[:1], axis=axis, epsilon=epsilon)


def _rms_norm(writer: Writer, node: Node) -> None:
    x, axis = _input(node), int(node.attributes.get("axis", -1))
    axes = list(range(axis % len(x.shape), len(x.shape)))
    name = writer.name(x)
    mean = writer.apply("ReduceMean", [writer.apply("Pow", [name, writer.number(2.0)])], axes=axes, keepdims=1)
    epsilon = writer.number(float(node.attributes.get("epsilon", 1e-6)))
    root = writer.apply("Sqrt", [writer.apply("Add", [mean, epsilon])])
    normed = writer.apply("Div", [name, root])
    writer.apply("Mul", [normed, writer.name(_input(node, 1))], writer.outputs(node))


def _group_norm(writer: Writer, node: Node) -> None:
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


def _roll(writer: Writer, node: Node) -> None:
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


def _addcmul(writer: Writer, node: Node) -> None:
    x, a, b = (writer.name(_input(node, index)) for index in range(3))
    writer.apply("Add", [x, writer.apply("Mul", [a, b])], writer.outputs(node))


def _resize(writer: Writer, node: Node) -> None:
    x, made = _input(node), _made(node)
    mode = node.attributes.get("mode", "nearest")
    sizes = writer.integers(made.shape)
    # As PyTorch's exporter: half pixels but for the nearest one.
    extra = {"nearest_mode": "floor", "coordinate_transformation_mode": "asymmetric"} if mode == "nearest" else {}
    writer.apply("Resize", [writer.name(x), "", "", sizes], writer.outputs(node), mode=mode, **extra)


def _rsqrt(writer: Writer, node: Node) -> None:
    root = writer.apply("Sqrt", [writer.name(_input(node))])
    writer.apply("Reciprocal", [root], writer.outputs(node))


def _embedding(writer: Writer, node: Node) -> None:
    writer.apply("Gather", [writer.name(_input(node)), writer.name(_input(node, 1))], writer.outputs(node), axis=0)


def _dropout(writer: Writer, node: Node) -> None:
    writer.same(node)


RULES: dict[str, Callable[[Writer, Any], None]] = {
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
    "swish": _silu,
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
AS_IT_IS = frozenset(
    ("abs", "average_pool", "batch_norm", "cast", "concat", "conv", "cos", "einsum", "elu", "equal", "erf",
     "exp", "floor", "gather", "gemm", "global_average_pool", "global_max_pool", "greater_or_equal", "hard_swish",
     "leaky_relu", "log", "logical_not", "matmul", "max", "max_pool", "min", "neg", "prelu", "reciprocal", "relu",
     "sigmoid", "sin", "softmax", "softplus", "sqrt", "tanh", "transpose", "where")
)  # fmt: skip

assert not AS_IT_IS & set(RULES)
OPERATORS = frozenset(RULES) | AS_IT_IS
assert {row.name for row in _core.operators()} >= OPERATORS

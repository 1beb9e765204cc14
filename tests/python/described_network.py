"""Networks that exist twice: each is described once, and the description makes a torch module and a latpred Graph.

The torch side runs the statements in order and drops a tensor after its last use, as torch.fx's generated code and a
hand-written Sequential do. Attributes have ONNX's meaning on both sides.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def _window(attributes: dict[str, Any]) -> dict[str, Any]:
    """kernel_shape, strides and pads as torch.nn.functional takes them."""
    kernel = attributes["kernel_shape"]
    pads = attributes.get("pads", [0] * (2 * len(kernel)))
    assert pads[: len(kernel)] == pads[len(kernel) :], "one-sided padding has no torch counterpart here"
    return {
        "kernel_size": kernel,
        "stride": attributes.get("strides", [1] * len(kernel)),
        "padding": pads[: len(kernel)],
    }


def _convolution(x: Tensor, weight: Tensor, bias: Tensor | None = None, **a: Any) -> Tensor:
    rank = weight.dim() - 2
    function = {1: F.conv1d, 2: F.conv2d, 3: F.conv3d}[rank]
    window = _window({"kernel_shape": list(weight.shape[2:]), **a})
    dilations = a.get("dilations", [1] * rank)
    return function(x, weight, bias, window["stride"], window["padding"], dilations, a.get("group", 1))


def _transposed_convolution(x: Tensor, weight: Tensor, bias: Tensor | None = None, **a: Any) -> Tensor:
    window = _window({"kernel_shape": list(weight.shape[2:]), **a})
    return F.conv_transpose2d(x, weight, bias, window["stride"], window["padding"])


def _max_pool(x: Tensor, **a: Any) -> Tensor:
    return {1: F.max_pool1d, 2: F.max_pool2d, 3: F.max_pool3d}[x.dim() - 2](x, **_window(a))


def _average_pool(x: Tensor, **a: Any) -> Tensor:
    return {1: F.avg_pool1d, 2: F.avg_pool2d, 3: F.avg_pool3d}[x.dim() - 2](x, **_window(a))


def _reshape(x: Tensor, *, target: Sequence[int]) -> Tensor:
    return x.reshape([x.shape[i] if size == 0 else size for i, size in enumerate(target)])


def _slice(x: Tensor, *, starts: list[int], ends: list[int], axes: list[int]) -> Tensor:
    for start, end, axis in zip(starts, ends, axes, strict=True):
        x = x.narrow(axis, start, min(end, x.shape[axis]) - start)
    return x


# What PyTorch calls each operator.
TORCH: dict[str, Callable[..., Any]] = {
    "relu": F.relu,
    "leaky_relu": F.leaky_relu,
    "elu": F.elu,
    "gelu": F.gelu,
    "silu": F.silu,
    "mish": F.mish,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "hard_swish": F.hardswish,
    "hard_sigmoid": F.hardsigmoid,
    "softplus": F.softplus,
    "softsign": F.softsign,
    "prelu": F.prelu,
    "exp": torch.exp,
    "identity": lambda x: x,
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
    "clip": lambda x, min, max: F.hardtanh(x, min, max),
    "add": torch.add,
    "sub": torch.sub,
    "mul": torch.mul,
    "div": torch.div,
    "conv": _convolution,
    "conv_transpose": _transposed_convolution,
    "batch_norm": lambda x, scale, bias, mean, variance: F.batch_norm(x, mean, variance, scale, bias, training=False),
    "layer_norm": lambda x, scale, bias, axis: F.layer_norm(x, x.shape[axis:], scale, bias),
    "group_norm": lambda x, scale, bias, num_groups: F.group_norm(x, num_groups, scale, bias),
    "instance_norm": lambda x, scale, bias: F.instance_norm(x, weight=scale, bias=bias),
    "lrn": lambda x, size: F.local_response_norm(x, size),
    "max_pool": _max_pool,
    "average_pool": _average_pool,
    "global_average_pool": lambda x: F.adaptive_avg_pool2d(x, 1),
    "global_max_pool": lambda x: F.adaptive_max_pool2d(x, 1),
    "reduce_mean": lambda x, axes, keepdims: x.mean(axes, keepdim=bool(keepdims)),
    "reduce_sum": lambda x, axes, keepdims: x.sum(axes, keepdim=bool(keepdims)),
    "reduce_max": lambda x, axes, keepdims: x.amax(axes, keepdim=bool(keepdims)),
    "softmax": lambda x, axis: x.softmax(axis),
    "log_softmax": lambda x, axis: x.log_softmax(axis),
    "matmul": torch.matmul,
    "linear": F.linear,
    "gemm": lambda x, weight, bias, transB: F.linear(x, weight, bias),
    "scaled_dot_product_attention": F.scaled_dot_product_attention,
    "gather": lambda table, indices, axis: F.embedding(indices, table),
    "reshape": _reshape,
    "flatten": lambda x, axis: x.flatten(axis),
    "transpose": lambda x, perm: x.permute(perm),
    "slice": _slice,
    "split": lambda x, axis, sizes: x.split(sizes, axis),
    "concat": lambda *xs, axis: torch.cat(xs, axis),
    "upsample": lambda x, scales, mode: F.interpolate(x, scale_factor=scales[2:], mode=mode),
    "depth_to_space": lambda x, blocksize, mode: F.pixel_shuffle(x, blocksize),
    "pad": lambda x, pads: F.pad(x, (pads[3], pads[7], pads[2], pads[6])),
}

# Attributes that the Graph takes as inputs: stored integers behind the data.
STORED = {"reshape": ("target",), "slice": ("starts", "ends", "axes"), "split": ("sizes",), "pad": ("pads",)}


@dataclass
class Statement:
    op: str
    inputs: list[int]
    attributes: dict[str, Any]
    outputs: list[int]


@dataclass
class Network:
    """A description: what is given, what is stored, what is applied."""

    batch: int = 2
    inputs: list[int] = field(default_factory=list)
    parameters: dict[int, tuple[int, ...]] = field(default_factory=dict)
    statistics: set[int] = field(default_factory=set)  # of the parameters: not trained
    statements: list[Statement] = field(default_factory=list)
    outputs: list[int] = field(default_factory=list)
    examples: list[Tensor] = field(default_factory=list)  # every value on the meta device: shapes

    def _new(self, value: Tensor) -> int:
        self.examples.append(value)
        return len(self.examples) - 1

    def shape(self, variable: int) -> torch.Size:
        return self.examples[variable].shape

    def input(self, *sizes: int, dtype: torch.dtype = torch.float32) -> int:
        variable = self._new(torch.empty((self.batch, *sizes), dtype=dtype, device="meta"))
        self.inputs.append(variable)
        return variable

    def parameter(self, *shape: int, trained: bool = True) -> int:
        variable = self._new(torch.empty(shape, device="meta"))
        self.parameters[variable] = shape
        if not trained:
            self.statistics.add(variable)
        return variable

    def apply(self, op: str, *inputs: int, **attributes: Any) -> Any:
        results = TORCH[op](*(self.examples[i] for i in inputs), **attributes)
        several = isinstance(results, tuple)
        outputs = [self._new(r) for r in (results if several else (results,))]
        self.statements.append(Statement(op, list(inputs), attributes, outputs))
        return outputs if several else outputs[0]

    def output(self, *variables: int) -> None:
        self.outputs.extend(variables)

    # Layers: an operator with its weights.
    def conv(self, x: int, channels: int, kernel: int, stride: int = 1, padding: int = 0, group: int = 1,
             bias: bool = True, dilation: int = 1) -> int:  # fmt: skip
        rank = len(self.shape(x)) - 2
        weights = [self.parameter(channels, self.shape(x)[1] // group, *[kernel] * rank)]
        if bias:
            weights.append(self.parameter(channels))
        return self.apply("conv", x, *weights, kernel_shape=[kernel] * rank, strides=[stride] * rank,
                          pads=[padding] * (2 * rank), group=group, dilations=[dilation] * rank)  # fmt: skip

    def batch_norm(self, x: int) -> int:
        channels = self.shape(x)[1]
        trained = [self.parameter(channels) for _ in range(2)]
        return self.apply("batch_norm", x, *trained, *(self.parameter(channels, trained=False) for _ in range(2)))

    def conv_bn(self, x: int, channels: int, kernel: int, stride: int = 1, group: int = 1,
                activation: str | None = "relu") -> int:  # fmt: skip
        x = self.conv(x, channels, kernel, stride, kernel // 2, group, bias=False)
        x = self.batch_norm(x)
        return self.activate(x, activation)

    def activate(self, x: int, activation: str | None) -> int:
        if activation is None:
            return x
        if activation == "relu6":
            return self.apply("clip", x, min=0.0, max=6.0)
        return self.apply(activation, x)

    def linear(self, x: int, features: int, bias: bool = True) -> int:
        weights = [self.parameter(features, self.shape(x)[-1])]
        if bias:
            weights.append(self.parameter(features))
        return self.apply("linear", x, *weights)

    def layer_norm(self, x: int) -> int:
        features = self.shape(x)[-1]
        return self.apply("layer_norm", x, self.parameter(features), self.parameter(features), axis=-1)

    def max_pool(self, x: int, kernel: int, stride: int, padding: int = 0) -> int:
        rank = len(self.shape(x)) - 2
        return self.apply("max_pool", x, kernel_shape=[kernel] * rank, strides=[stride] * rank,
                          pads=[padding] * (2 * rank))  # fmt: skip

    def average_pool(self, x: int, kernel: int, stride: int, padding: int = 0) -> int:
        rank = len(self.shape(x)) - 2
        return self.apply("average_pool", x, kernel_shape=[kernel] * rank, strides=[stride] * rank,
                          pads=[padding] * (2 * rank))  # fmt: skip

    def classify(self, x: int, classes: int = 10) -> None:
        x = self.apply("global_average_pool", x)
        x = self.apply("flatten", x, axis=1)
        self.output(self.linear(x, classes))

    def heads(self, x: int, heads: int) -> int:
        _, length, width = self.shape(x)
        x = self.apply("reshape", x, target=[0, length, heads, width // heads])
        return self.apply("transpose", x, perm=[0, 2, 1, 3])

    def joined_heads(self, x: int) -> int:
        _, heads, length, width = self.shape(x)
        x = self.apply("transpose", x, perm=[0, 2, 1, 3])
        return self.apply("reshape", x, target=[0, length, heads * width])

    # The two sides.
    def torch_module(self) -> TorchNetwork:
        return TorchNetwork(self)

    def torch_inputs(self) -> list[Tensor]:
        generator = torch.Generator().manual_seed(0)
        return [
            torch.rand(self.shape(i), generator=generator)
            if self.examples[i].dtype.is_floating_point
            else torch.randint(0, 10, self.shape(i), generator=generator)
            for i in self.inputs
        ]

    def graph(self) -> Any:
        import latpred

        builder = latpred.GraphBuilder()
        known: dict[int, int] = {}
        for number, i in enumerate(self.inputs):
            dtype = str(self.examples[i].dtype).removeprefix("torch.")
            known[i] = builder.input(f"input_{number}", list(self.shape(i)[1:]), dtype)
        for i, shape in self.parameters.items():
            known[i] = builder.parameter(list(shape))
        for statement in self.statements:
            attributes = dict(statement.attributes)
            inputs = [known[i] for i in statement.inputs]
            inputs += [builder.constant(list(attributes.pop(name))) for name in STORED.get(statement.op, ())]
            results = builder.apply(statement.op, inputs, num_outputs=len(statement.outputs), **attributes)
            results = results if isinstance(results, tuple) else (results,)
            known.update(zip(statement.outputs, results, strict=True))
        for i in self.outputs:
            builder.output(known[i])
        return builder.build(batch=self.batch)


class TorchNetwork(nn.Module):
    def __init__(self, network: Network) -> None:
        super().__init__()
        self.network = network
        self.stored: dict[int, Tensor] = {}
        for i, shape in network.parameters.items():
            if i in network.statistics:
                self.register_buffer(f"stored_{i}", torch.ones(shape))
            else:
                self.register_parameter(f"stored_{i}", nn.Parameter(torch.rand(shape) * 0.1))
            self.stored[i] = getattr(self, f"stored_{i}")
        self.dead_after: list[list[int]] = [[] for _ in network.statements]
        last_use: dict[int, int] = {}
        for position, statement in enumerate(network.statements):
            last_use.update(dict.fromkeys([*statement.inputs, *statement.outputs], position))
        for i, position in last_use.items():
            if i not in network.outputs and i not in network.parameters:
                self.dead_after[position].append(i)
        self.eval()

    def forward(self, *inputs: Tensor) -> tuple[Tensor, ...]:
        values = dict(zip(self.network.inputs, inputs, strict=True))
        for statement, dead in zip(self.network.statements, self.dead_after, strict=True):
            arguments = [self.stored[i] if i in self.stored else values[i] for i in statement.inputs]
            results = TORCH[statement.op](*arguments, **statement.attributes)
            values.update(zip(statement.outputs, results if isinstance(results, tuple) else (results,), strict=True))
            del arguments, results
            for i in dead:
                del values[i]
        return tuple(values[i] for i in self.network.outputs)

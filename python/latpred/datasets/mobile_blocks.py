"""Layers that the mobile search spaces share."""

from __future__ import annotations

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Variable

DIVISOR = 8  # of widths


def divisible(value: float) -> int:
    """The nearest multiple of DIVISOR, but no more than a tenth below."""
    rounded = max(DIVISOR, int(value + DIVISOR / 2) // DIVISOR * DIVISOR)
    return rounded + DIVISOR if rounded < 0.9 * value else rounded


def conv(
    net: GraphBuilder, x: Variable, cin: int, cout: int, kernel: int = 1, stride: int = 1, groups: int = 1
) -> Variable:
    """A convolution that keeps the size, up to its stride."""
    return net.apply(
        "conv",
        [x, net.parameter((cout, cin // groups, kernel, kernel))],
        kernel_shape=[kernel] * 2,
        strides=[stride] * 2,
        pads=[kernel // 2] * 4,
        group=groups,
    )


def norm(net: GraphBuilder, x: Variable, width: int) -> Variable:
    """A batch norm: scale, shift and two statistics."""
    return net.apply("batch_norm", [x, *(net.parameter((width,)) for _ in range(4))])


def conv_norm(
    net: GraphBuilder,
    x: Variable,
    cin: int,
    cout: int,
    kernel: int = 1,
    stride: int = 1,
    groups: int = 1,
    activation: str = "relu",
) -> Variable:
    """A convolution with its norm and, but for "", an activation."""
    y = norm(net, conv(net, x, cin, cout, kernel, stride, groups), cout)
    return net.apply(activation, y) if activation else y


def classifier(net: GraphBuilder, x: Variable, cin: int, classes: int) -> Variable:
    """One number for each class."""
    return net.apply("gemm", [x, net.parameter((classes, cin)), net.parameter((classes,))], transB=1)


def numbers(text: str) -> list[int]:
    """ "3,5,7" """
    return [int(word) for word in text.split(",")]

"""Networks of depth-wise and grouped convolutions: MobileNet, MNASNet, EfficientNet, ShuffleNet, RegNet, ConvNeXt."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from .convolutional import CLASSES, conv_norm, head


def _divisible(channels: float, divisor: int = 8) -> int:
    """The multiple nearest to `channels`, not more than 10 % below."""
    rounded = max(divisor, int(channels + divisor / 2) // divisor * divisor)
    return rounded + divisor if rounded < 0.9 * channels else rounded


class SqueezeExcitation(nn.Module):
    """Channels weighted by what the whole image says."""

    def __init__(self, channels: int, squeezed: int, activation: type[nn.Module], gate: type[nn.Module]) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(channels, squeezed, 1), activation(), nn.Conv2d(squeezed, channels, 1),
            gate(),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        return x * self.body(x)


class _Added(nn.Module):
    """x + body(x)."""

    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        return x + self.body(x)


def _inverted(
    inputs: int,
    hidden: int,
    outputs: int,
    kernel: int,
    stride: int,
    activation: type[nn.Module],
    squeezed: int = 0,
    gate: type[nn.Module] = nn.Sigmoid,
    squeeze_activation: type[nn.Module] = nn.ReLU,
    is_activated_first: bool = True,
) -> nn.Module:
    """1 x 1 to more channels, depth-wise, 1 x 1 to fewer; added to its input where the shapes are equal."""
    layers: list[nn.Module] = []
    if hidden != inputs:
        layers += [conv_norm(inputs, hidden, 1), activation()]
    layers.append(conv_norm(hidden, hidden, kernel, stride, hidden))
    if squeezed:
        excitation = SqueezeExcitation(hidden, squeezed, squeeze_activation, gate)
        layers += [activation(), excitation] if is_activated_first else [excitation, activation()]
    else:
        layers.append(activation())
    body = nn.Sequential(*layers, conv_norm(hidden, outputs, 1))
    return _Added(body) if inputs == outputs and stride == 1 else body


def mobilenet_v1() -> nn.Sequential:
    layers: list[nn.Module] = [conv_norm(3, 32, 3, 2), nn.ReLU(True)]
    channels = 32
    for outputs, stride in (
        (64, 1),
        (128, 2),
        (128, 1),
        (256, 2),
        (256, 1),
        (512, 2),
        *[(512, 1)] * 5,
        (1024, 2),
        (1024, 1),
    ):
        layers += [conv_norm(channels, channels, 3, stride, channels), nn.ReLU(True)]
        layers += [conv_norm(channels, outputs, 1), nn.ReLU(True)]
        channels = outputs
    return nn.Sequential(*layers, head(channels))


def mobilenet_v2(width: float = 1.0) -> nn.Sequential:
    channels = _divisible(32 * width)
    layers: list[nn.Module] = [conv_norm(3, channels, 3, 2), nn.ReLU6(True)]
    for factor, base, count, first_stride in (
        (1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1)
    ):  # fmt: skip
        outputs = _divisible(base * width)
        for i in range(count):
            stride = first_stride if i == 0 else 1
            layers.append(_inverted(channels, channels * factor, outputs, 3, stride, nn.ReLU6))
            channels = outputs
    last = _divisible(1280 * max(1.0, width))
    return nn.Sequential(*layers, conv_norm(channels, last, 1), nn.ReLU6(True), head(last, 0.2))


def mnasnet(width: float = 1.0) -> nn.Sequential:
    stem, channels = _divisible(32 * width), _divisible(16 * width)
    layers: list[nn.Module] = [
        conv_norm(3, stem, 3, 2),
        nn.ReLU(True),
        conv_norm(stem, stem, 3, 1, stem),
        nn.ReLU(True),
    ]
    layers.append(conv_norm(stem, channels, 1))
    for factor, base, kernel, count, first_stride in (
        (3, 24, 3, 3, 2), (3, 40, 5, 3, 2), (6, 80, 5, 3, 2), (6, 96, 3, 2, 1), (6, 192, 5, 4, 2), (6, 320, 3, 1, 1)
    ):  # fmt: skip
        outputs = _divisible(base * width)
        for i in range(count):
            stride = first_stride if i == 0 else 1
            layers.append(_inverted(channels, channels * factor, outputs, kernel, stride, nn.ReLU))
            channels = outputs
    return nn.Sequential(*layers, conv_norm(channels, 1280, 1), nn.ReLU(True), head(1280, 0.2))


# Kernel, hidden, outputs, squeezed and excited, hard swish instead of ReLU, stride.
_V3_LARGE = (
    (3, 16, 16, 0, 0, 1), (3, 64, 24, 0, 0, 2), (3, 72, 24, 0, 0, 1), (5, 72, 40, 1, 0, 2), (5, 120, 40, 1, 0, 1),
    (5, 120, 40, 1, 0, 1), (3, 240, 80, 0, 1, 2), (3, 200, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1), (3, 184, 80, 0, 1, 1),
    (3, 480, 112, 1, 1, 1), (3, 672, 112, 1, 1, 1), (5, 672, 160, 1, 1, 2), (5, 960, 160, 1, 1, 1),
    (5, 960, 160, 1, 1, 1),
)  # fmt: skip
_V3_SMALL = (
    (3, 16, 16, 1, 0, 2), (3, 72, 24, 0, 0, 2), (3, 88, 24, 0, 0, 1), (5, 96, 40, 1, 1, 2), (5, 240, 40, 1, 1, 1),
    (5, 240, 40, 1, 1, 1), (5, 120, 48, 1, 1, 1), (5, 144, 48, 1, 1, 1), (5, 288, 96, 1, 1, 2), (5, 576, 96, 1, 1, 1),
    (5, 576, 96, 1, 1, 1),
)  # fmt: skip


def mobilenet_v3(is_large: bool) -> nn.Sequential:
    layers: list[nn.Module] = [conv_norm(3, 16, 3, 2), nn.Hardswish()]
    channels = 16
    for kernel, hidden, outputs, is_squeezed, is_swish, stride in _V3_LARGE if is_large else _V3_SMALL:
        activation = nn.Hardswish if is_swish else nn.ReLU
        squeezed = _divisible(hidden // 4) if is_squeezed else 0
        block = _inverted(
            channels, hidden, outputs, kernel, stride, activation, squeezed, nn.Hardsigmoid, is_activated_first=False
        )
        layers.append(block)
        channels = outputs
    last, dense = 6 * channels, 1280 if is_large else 1024
    tail = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(last, dense), nn.Hardswish(), nn.Dropout(0.2)]
    return nn.Sequential(*layers, conv_norm(channels, last, 1), nn.Hardswish(), *tail, nn.Linear(dense, CLASSES))


def efficientnet(width: float, depth: float) -> nn.Sequential:
    channels = _divisible(32 * width)
    layers: list[nn.Module] = [conv_norm(3, channels, 3, 2), nn.SiLU(True)]
    for factor, base, kernel, count, first_stride in (
        (1, 16, 3, 1, 1), (6, 24, 3, 2, 2), (6, 40, 5, 2, 2), (6, 80, 3, 3, 2), (6, 112, 5, 3, 1), (6, 192, 5, 4, 2),
        (6, 320, 3, 1, 1),
    ):  # fmt: skip
        outputs = _divisible(base * width)
        for i in range(math.ceil(count * depth)):
            stride, squeezed = first_stride if i == 0 else 1, max(1, channels // 4)
            layers.append(
                _inverted(
                    channels, channels * factor, outputs, kernel, stride, nn.SiLU, squeezed, squeeze_activation=nn.SiLU
                )
            )
            channels = outputs
    last = 4 * channels
    return nn.Sequential(*layers, conv_norm(channels, last, 1), nn.SiLU(True), head(last, 0.2))


class _Shuffle(nn.Module):
    """A ShuffleNet V2 unit: half of the channels pass, the halves are mixed after."""

    def __init__(self, inputs: int, outputs: int, stride: int) -> None:
        super().__init__()
        half = outputs // 2
        self.first: nn.Module | None = None
        own = inputs if stride == 2 else half
        if stride == 2:
            depthwise = conv_norm(inputs, inputs, 3, 2, inputs)
            self.first = nn.Sequential(depthwise, conv_norm(inputs, half, 1), nn.ReLU(True))
        self.second = nn.Sequential(
            conv_norm(own, half, 1), nn.ReLU(True), conv_norm(half, half, 3, stride, half), conv_norm(half, half, 1),
            nn.ReLU(True),
        )  # fmt: skip

    def forward(self, x: Tensor) -> Tensor:
        left, right = x.chunk(2, 1) if self.first is None else (self.first(x), x)
        joined = torch.cat([left, self.second(right)], 1)
        return joined.unflatten(1, (2, -1)).transpose(1, 2).flatten(1, 2)


def shufflenet_v2(widths: Sequence[int]) -> nn.Sequential:
    """Channels of the three stages and of the last convolution."""
    layers: list[nn.Module] = [conv_norm(3, 24, 3, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    channels = 24
    for outputs, count in zip(widths[:3], (4, 8, 4), strict=True):
        for i in range(count):
            layers.append(_Shuffle(channels, outputs, 2 if i == 0 else 1))
            channels = outputs
    return nn.Sequential(*layers, conv_norm(channels, widths[3], 1), nn.ReLU(True), head(widths[3]))


class _RegBlock(nn.Module):
    def __init__(self, inputs: int, outputs: int, stride: int, group_width: int, squeezed: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [conv_norm(inputs, outputs, 1), nn.ReLU(True)]
        layers += [conv_norm(outputs, outputs, 3, stride, outputs // group_width), nn.ReLU(True)]
        layers += [SqueezeExcitation(outputs, squeezed, nn.ReLU, nn.Sigmoid)] if squeezed else []
        self.body = nn.Sequential(*layers, conv_norm(outputs, outputs, 1))
        is_same = inputs == outputs and stride == 1
        self.shortcut: nn.Module = nn.Identity() if is_same else conv_norm(inputs, outputs, 1, stride)
        self.activation = nn.ReLU(True)

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.body(x) + self.shortcut(x))


def regnet(depths: Sequence[int], widths: Sequence[int], group_width: int, is_squeezed: bool) -> nn.Sequential:
    """RegNetX, or Y with squeeze and excitation."""
    layers: list[nn.Module] = [conv_norm(3, 32, 3, 2), nn.ReLU(True)]
    channels = 32
    for count, outputs in zip(depths, widths, strict=True):
        for i in range(count):
            squeezed = round(0.25 * channels) if is_squeezed else 0
            layers.append(_RegBlock(channels, outputs, 2 if i == 0 else 1, min(group_width, outputs), squeezed))
            channels = outputs
    return nn.Sequential(*layers, head(channels))


class _ChannelNorm(nn.LayerNorm):
    """A layer norm over the channels of an image."""

    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class _NextBlock(nn.Module):
    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.body = nn.Sequential(
            nn.LayerNorm(channels, 1e-6),
            nn.Linear(channels, 4 * channels),
            nn.GELU(),
            nn.Linear(4 * channels, channels),
        )
        self.scale = nn.Parameter(torch.full((channels, 1, 1), 1e-6))

    def forward(self, x: Tensor) -> Tensor:
        y = self.body(self.depthwise(x).permute(0, 2, 3, 1)).permute(0, 3, 1, 2)
        return x + self.scale * y


def convnext(depths: Sequence[int], widths: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = [nn.Conv2d(3, widths[0], 4, 4), _ChannelNorm(widths[0], 1e-6)]
    for stage, (count, width) in enumerate(zip(depths, widths, strict=True)):
        if stage > 0:
            layers += [_ChannelNorm(widths[stage - 1], 1e-6), nn.Conv2d(widths[stage - 1], width, 2, 2)]
        layers += [_NextBlock(width) for _ in range(count)]
    last = widths[-1]
    return nn.Sequential(
        *layers, nn.AdaptiveAvgPool2d(1), _ChannelNorm(last, 1e-6), nn.Flatten(), nn.Linear(last, CLASSES)
    )

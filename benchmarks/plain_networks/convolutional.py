"""Networks whose work is dense convolutions: AlexNet, VGG, ResNet, DenseNet, SqueezeNet, GoogLeNet, U-Net."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import torch
from torch import Tensor, nn

CLASSES = 1000


def conv_norm(
    inputs: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1, eps: float = 1e-5
) -> nn.Sequential:
    """A convolution without bias, "same" padding, and its batch norm."""
    conv = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outputs, eps))


def head(channels: int, dropout: float = 0.0) -> nn.Sequential:
    """Mean over the image and one dense layer."""
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(dropout), nn.Linear(channels, CLASSES))


def dense_head(features: int) -> nn.Sequential:
    """The three dense layers of AlexNet and VGG."""
    return nn.Sequential(
        nn.Flatten(), nn.Linear(features, 4096), nn.ReLU(True), nn.Dropout(), nn.Linear(4096, 4096), nn.ReLU(True),
        nn.Dropout(), nn.Linear(4096, CLASSES),
    )  # fmt: skip


def alexnet() -> nn.Sequential:
    layers: list[nn.Module] = []
    for inputs, outputs, kernel, stride, padding, is_pooled in (
        (3, 64, 11, 4, 2, True), (64, 192, 5, 1, 2, True), (192, 384, 3, 1, 1, False), (384, 256, 3, 1, 1, False),
        (256, 256, 3, 1, 1, True),
    ):  # fmt: skip
        layers += [nn.Conv2d(inputs, outputs, kernel, stride, padding), nn.ReLU(True)]
        layers += [nn.MaxPool2d(3, 2)] if is_pooled else []
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(6), dense_head(256 * 36))


def vgg(convolutions: Sequence[int], has_norm: bool = False) -> nn.Sequential:
    """So many convolutions in each of five stages."""
    layers: list[nn.Module] = []
    channels = 3
    for stage, count in enumerate(convolutions):
        for _ in range(count):
            outputs = min(64 * 2**stage, 512)
            layers.append(nn.Conv2d(channels, outputs, 3, padding=1))
            layers += [nn.BatchNorm2d(outputs)] if has_norm else []
            layers.append(nn.ReLU(True))
            channels = outputs
        layers.append(nn.MaxPool2d(2))
    return nn.Sequential(*layers, nn.AdaptiveAvgPool2d(7), dense_head(512 * 49))


class _Residual(nn.Module):
    """A ResNet block: two 3 x 3 convolutions, or 1 x 1, 3 x 3, 1 x 1."""

    def __init__(self, inputs: int, inner: int, outputs: int, stride: int, groups: int, is_bottleneck: bool) -> None:
        super().__init__()
        kernels = (1, 3, 1) if is_bottleneck else (3, 3)
        widths = (inputs, inner, inner, outputs) if is_bottleneck else (inputs, inner, outputs)
        strided = 1 if is_bottleneck else 0
        layers: list[nn.Module] = []
        for i, kernel in enumerate(kernels):
            own_groups = groups if kernel == 3 else 1
            layers.append(conv_norm(widths[i], widths[i + 1], kernel, stride if i == strided else 1, own_groups))
            layers += [nn.ReLU(True)] if i + 1 < len(kernels) else []
        self.body = nn.Sequential(*layers)
        is_same = inputs == outputs and stride == 1
        self.shortcut: nn.Module = nn.Identity() if is_same else conv_norm(inputs, outputs, 1, stride)
        self.activation = nn.ReLU(True)

    def forward(self, x: Tensor) -> Tensor:
        return self.activation(self.body(x) + self.shortcut(x))


def resnet(blocks: Sequence[int], is_bottleneck: bool, groups: int = 1, group_width: int = 64) -> nn.Sequential:
    """Also Wide ResNet (group_width 128) and ResNeXt (several groups)."""
    layers: list[nn.Module] = [conv_norm(3, 64, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    channels = 64
    for stage, count in enumerate(blocks):
        base = 64 * 2**stage
        inner = base * group_width // 64 * groups if is_bottleneck else base
        outputs = base * 4 if is_bottleneck else base
        for block in range(count):
            stride = 2 if block == 0 and stage > 0 else 1
            layers.append(_Residual(channels, inner, outputs, stride, groups, is_bottleneck))
            channels = outputs
    return nn.Sequential(*layers, head(channels))


def _norm_relu_conv(inputs: int, outputs: int, kernel: int) -> nn.Sequential:
    conv = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
    return nn.Sequential(nn.BatchNorm2d(inputs), nn.ReLU(True), conv)


class _DenseLayer(nn.Module):
    def __init__(self, inputs: int, growth: int) -> None:
        super().__init__()
        self.body = nn.Sequential(_norm_relu_conv(inputs, 4 * growth, 1), _norm_relu_conv(4 * growth, growth, 3))

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([x, self.body(x)], 1)


def densenet(blocks: Sequence[int], growth: int = 32, channels: int = 64) -> nn.Sequential:
    layers: list[nn.Module] = [conv_norm(3, channels, 7, 2), nn.ReLU(True), nn.MaxPool2d(3, 2, 1)]
    for stage, count in enumerate(blocks):
        if stage > 0:
            layers += [_norm_relu_conv(channels, channels // 2, 1), nn.AvgPool2d(2)]
            channels //= 2
        for _ in range(count):
            layers.append(_DenseLayer(channels, growth))
            channels += growth
    return nn.Sequential(*layers, nn.BatchNorm2d(channels), nn.ReLU(True), head(channels))


class _Branches(nn.Module):
    """The same input through each, joined by channels."""

    def __init__(self, *branches: nn.Module) -> None:
        super().__init__()
        self.branches = nn.ModuleList(branches)

    def forward(self, x: Tensor) -> Tensor:
        return torch.cat([branch(x) for branch in self.branches], 1)


def _conv_relu(inputs: int, outputs: int, kernel: int, stride: int = 1, padding: int = 0) -> nn.Sequential:
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, padding), nn.ReLU(True))


def _fire(inputs: int, squeezed: int, expanded: int) -> nn.Sequential:
    branches = _Branches(_conv_relu(squeezed, expanded, 1), _conv_relu(squeezed, expanded, 3, padding=1))
    return nn.Sequential(_conv_relu(inputs, squeezed, 1), branches)


def squeezenet(is_first: bool) -> nn.Sequential:
    """Version 1.0, or 1.1 with a smaller stem and earlier pooling."""
    stem = _conv_relu(3, 96, 7, 2) if is_first else _conv_relu(3, 64, 3, 2)
    layers: list[nn.Module] = [stem, nn.MaxPool2d(3, 2, ceil_mode=True)]
    channels = 96 if is_first else 64
    pooled_after = (2, 6) if is_first else (1, 3)
    for i, squeezed in enumerate((16, 16, 32, 32, 48, 48, 64, 64)):
        layers.append(_fire(channels, squeezed, 4 * squeezed))
        channels = 8 * squeezed
        layers += [nn.MaxPool2d(3, 2, ceil_mode=True)] if i in pooled_after else []
    last = [nn.Dropout(), nn.Conv2d(512, CLASSES, 1), nn.ReLU(True), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return nn.Sequential(*layers, *last)


def _norm_relu(inputs: int, outputs: int, kernel: int, stride: int = 1) -> nn.Sequential:
    return nn.Sequential(conv_norm(inputs, outputs, kernel, stride, eps=1e-3), nn.ReLU(True))


def _inception(inputs: int, one: int, three: tuple[int, int], five: tuple[int, int], pooled: int) -> _Branches:
    return _Branches(
        _norm_relu(inputs, one, 1),
        nn.Sequential(_norm_relu(inputs, three[0], 1), _norm_relu(three[0], three[1], 3)),
        # The published weights have 3 x 3 here, not the paper's 5 x 5.
        nn.Sequential(_norm_relu(inputs, five[0], 1), _norm_relu(five[0], five[1], 3)),
        nn.Sequential(nn.MaxPool2d(3, 1, 1), _norm_relu(inputs, pooled, 1)),
    )


def googlenet() -> nn.Sequential:
    pool = nn.MaxPool2d(3, 2, ceil_mode=True)
    return nn.Sequential(
        _norm_relu(3, 64, 7, 2), pool, _norm_relu(64, 64, 1), _norm_relu(64, 192, 3), pool,
        _inception(192, 64, (96, 128), (16, 32), 32), _inception(256, 128, (128, 192), (32, 96), 64), pool,
        _inception(480, 192, (96, 208), (16, 48), 64), _inception(512, 160, (112, 224), (24, 64), 64),
        _inception(512, 128, (128, 256), (24, 64), 64), _inception(512, 112, (144, 288), (32, 64), 64),
        _inception(528, 256, (160, 320), (32, 128), 128), nn.MaxPool2d(2, 2, ceil_mode=True),
        _inception(832, 256, (160, 320), (32, 128), 128), _inception(832, 384, (192, 384), (48, 128), 128),
        head(1024, 0.2),
    )  # fmt: skip


class UNet(nn.Module):
    """Down and up again, with what each level saw carried over."""

    def __init__(self, width: int, levels: int = 4, classes: int = 2) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(levels + 1)]
        self.down = nn.ModuleList(self._pair(i, o) for i, o in zip([3, *widths], widths, strict=False))
        self.up = nn.ModuleList(nn.ConvTranspose2d(o, i, 2, 2) for i, o in itertools.pairwise(widths))
        self.join = nn.ModuleList(self._pair(o, i) for i, o in itertools.pairwise(widths))
        self.last = nn.Conv2d(width, classes, 1)

    @staticmethod
    def _pair(inputs: int, outputs: int) -> nn.Sequential:
        layers = [conv_norm(inputs, outputs, 3), nn.ReLU(True), conv_norm(outputs, outputs, 3), nn.ReLU(True)]
        return nn.Sequential(*layers)

    def forward(self, x: Tensor) -> Tensor:
        seen: list[Tensor] = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else nn.functional.max_pool2d(x, 2))
            seen.append(x)
        for level in range(len(self.up) - 1, -1, -1):
            x = self.join[level](torch.cat([seen[level], self.up[level](x)], 1))
        return self.last(x)


def generator(width: int = 64, noise: int = 100) -> nn.Sequential:
    """DCGAN's: an image of 64 x 64 from noise."""
    layers: list[nn.Module] = [nn.Unflatten(1, (noise, 1, 1))]
    channels = [noise, width * 8, width * 4, width * 2, width]
    for i, (inputs, outputs) in enumerate(itertools.pairwise(channels)):
        stride, padding = (1, 0) if i == 0 else (2, 1)
        layers += [nn.ConvTranspose2d(inputs, outputs, 4, stride, padding, bias=False), nn.BatchNorm2d(outputs)]
        layers.append(nn.ReLU(True))
    return nn.Sequential(*layers, nn.ConvTranspose2d(width, 3, 4, 2, 1, bias=False), nn.Tanh())

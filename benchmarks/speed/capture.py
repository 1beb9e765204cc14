"""The recorder against torch.export: the same document of a live module, on tensors without content.

python benchmarks/speed/capture.py [--rounds 5] [--json FILE]
"""

from __future__ import annotations

import argparse
from pathlib import Path

import torch
from common import paired, report, summary
from latpred.frontends import recorder, torch_export
from torch import nn


class Block(nn.Module):
    """A bottleneck of ResNet-50: the operators of a usual convolutional network."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = channels // 4
        sizes = [(channels, inner, 1), (inner, inner, 3), (inner, channels, 1)]
        self.convolutions = nn.ModuleList(nn.Conv2d(a, b, k, padding=k // 2, bias=False) for a, b, k in sizes)
        self.norms = nn.ModuleList(nn.BatchNorm2d(b) for _, b, _ in sizes)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = x
        for convolution, norm in zip(self.convolutions, self.norms, strict=True):
            y = norm(convolution(y)).relu_()
        return x + y


NETWORKS = {
    "convolutional, 16 bottlenecks": (lambda: nn.Sequential(*(Block(256) for _ in range(16))), "256,28,28"),
    "transformer, 12 layers": (
        lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(256, 4, 1024, batch_first=True), 12),
        "128,256",
    ),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = {}
    for name, (make, sizes) in NETWORKS.items():
        with torch.device("meta"):
            module = make()
        arguments = torch_export.call_arguments(module, {next(iter(forward_names(module))): sizes}, batch=8)
        contestants = {
            "recorder": lambda module=module, arguments=arguments: recorder.record(module, arguments),
            "torch.export": lambda module=module, arguments=arguments: torch_export.export(module, arguments),
        }
        for way, row in summary(paired(contestants, options.rounds), ours="recorder").items():
            rows[f"{name}: {way}"] = row
    report("Capture of a live module", rows, options.json)


def forward_names(module: nn.Module) -> list[str]:
    return [parameter.name for parameter in torch_export.parameters_of(module)]


if __name__ == "__main__":
    main()

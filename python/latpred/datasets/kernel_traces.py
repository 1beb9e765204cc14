"""Every kernel of a call with its time, as benchmarks/gpu_campaign traced it, and what a kernel's name says of it.

A library names its kernels after tiles and layouts, so that names and operators meet in groups, not kernel by kernel.
"""

from __future__ import annotations

import dataclasses
import json
import lzma
from collections.abc import Iterator
from pathlib import Path

from latpred.datasets.gpu_campaign import FOLDER

SUFFIX = "_kernels.jsonl.xz"
PRODUCT = "convolution or matrix product"
OTHER = "point-wise and the rest"

# Groups, what their kernels' names hold, and which cost kinds they are. The first that fits counts: copies into another
# order of an image's dimensions are a convolution's.
_GROUPS: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    ("batch norm", ("bn_fw", "batch_norm"), ("batch_norm",)),
    ("layer norm", ("layer_norm",), ("layer_norm",)),
    ("depth-wise convolution", ("conv_depthwise2d", "conv2d_c1_k1"), ("conv_depthwise",)),
    ("attention", ("fmha", "flash"), ("attention",)),
    ("softmax", ("softmax", "SoftMax"), ("softmax",)),
    ("concatenation", ("CatArray",), ("concat",)),
    ("pooling and reduction", ("pool", "reduce_kernel"), ("pool", "reduce")),
    (
        PRODUCT,
        ("Nhwc", "Nchw", "genericTranspose", "gemm", "gemv", "nvjet", "xmma", "cutlass", "fprop", "splitK", "conv"),
        ("conv", "conv_1x1", "conv_grouped", "matmul", "batch_matmul"),
    ),
)


@dataclasses.dataclass(frozen=True)
class Trace:
    """One call; its kernels by the name that CUDA gives them, in order, with their seconds."""

    recipe: str
    batch: int
    precision: str
    device: str
    kernels: tuple[tuple[str, float], ...]

    @property
    def group_s(self) -> dict[str, float]:
        """Seconds by group."""
        result: dict[str, float] = {}
        for name, taken_s in self.kernels:
            group = group_of_name(name)
            result[group] = result.get(group, 0.0) + taken_s
        return result


def read(data: Path) -> Iterator[Trace]:
    """All traces under `data`/gpu_campaign."""
    for path in sorted((data / FOLDER).glob(f"*{SUFFIX}")):
        for line in lzma.decompress(path.read_bytes()).decode().splitlines():
            fields = json.loads(line)
            kernels = tuple((kernel["name"], kernel["latency_s"]) for kernel in fields["kernels"])
            yield Trace(fields["recipe"], fields["batch"], fields["precision"], fields["device"], kernels)


def group_of_name(name: str) -> str:
    """Of a kernel that CUDA named."""
    return next((group for group, parts, _ in _GROUPS if any(part in name for part in parts)), OTHER)


def group_of_kind(kind: str) -> str:
    """Of a kernel of ours, by its cost kind."""
    return next((group for group, _, kinds in _GROUPS if kind in kinds), OTHER)

"""Image networks in TensorRT engines on A100 and TITAN RTX, from TensorRT's engine explorer (Apache-2.0).

Each engine is one row: the time of the whole. Its file names the layers that were fused, and their times.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from pathlib import Path

from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

SOURCE = "TensorRT a892d222"
LICENCE = "Apache-2.0"
PROTOCOL = "median of trtexec's GPU compute time in 3 s, replayed from a CUDA graph, without copies"
FOLDER = "TensorRT/trex"
MEDIAN = 3  # place in trtexec's summaries: smallest, largest, mean, median, percentiles

DEVICES = {"NVIDIA A100 80GB PCIe": "A100-PCIe-80GB", "NVIDIA TITAN RTX": "TITAN RTX"}


@dataclasses.dataclass(frozen=True)
class _Engine:
    profile: str  # what trtexec wrote, under FOLDER
    recipe: str
    family: str
    precision: str  # of all its layers


# The engines that hold one precision throughout. The networks were told by their weights: 11,678,912 and 3,469,760 in
# convolutions and products. At "FP32" TensorRT takes TF32.
_RESNET = "22.07/examples/pytorch/resnet/A100"
_MOBILENET = "22.07/tests/inputs/mobilenet_v2_residuals.qat.onnx.engine.profile.metadata.json"
ENGINES = (
    _Engine(f"{_RESNET}/fp32/resnet.onnx.engine.profile.metadata.json", "timm:resnet18@224", "timm-resnet", "tf32"),
    _Engine(f"{_RESNET}/fp16/resnet.onnx.engine.profile.metadata.json", "timm:resnet18@224", "timm-resnet", "fp16"),
    _Engine(
        f"{_RESNET}/qat-residual-qgap/resnet-qat-residual-qgap.onnx.engine.profile.metadata.json",
        "timm:resnet18@224",
        "timm-resnet",
        "int8",
    ),
    _Engine(_MOBILENET, "timm:mobilenetv2_100@224", "timm-efficientnet", "int8"),
)
BATCH_IN_SHAPE = re.compile(r".+=(?P<batch>\d+)x.+")


def _batch(options: dict[str, str]) -> int:
    shape = BATCH_IN_SHAPE.fullmatch(options.get("Input inference shape", ""))
    return int(shape["batch"]) if shape else int(options["Batch"])


def read(data: Path) -> Iterator[Row]:
    """A row for each of ENGINES under `data`/TensorRT/trex."""
    for engine in ENGINES:
        profile = json.loads((data / FOLDER / engine.profile).read_text(encoding="utf-8"))
        times_ms = profile["performance_summary"]["GPU Compute Time"]
        yield Row(
            recipe=engine.recipe,
            family=engine.family,
            batch=_batch(profile["inference_options"]),
            input="3,224,224",
            device=DEVICES[profile["device_information"]["Selected Device"]],
            runtime="tensorrt",
            runtime_version=f"engine explorer {engine.profile.partition('/')[0]}",
            precision=engine.precision,
            value=times_ms[MEDIAN] * MILLISECOND,
            source=SOURCE,
            licence=LICENCE,
            protocol=PROTOCOL,
        )

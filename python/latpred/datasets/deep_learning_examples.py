"""Image networks and BERT under three runtimes, from NVIDIA's DeepLearningExamples (BSD-3-Clause and Apache-2.0)."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

SOURCE = "DeepLearningExamples 729963dd"
LICENCES = {"ConvNets": "BSD-3-Clause", "BERT": "Apache-2.0"}
PROTOCOLS = {
    "ConvNets": "batch / throughput of the examples' own loop, what feeds it may be inside; 'Latency Avg' is not used: "
    "with the first batch in, it is above its own 99th percentile",
    "BERT": "batch / throughput of a whole evaluation",
    "Triton": "compute part of one client's requests: Triton's infer and output times, rounded to 0.1 ms; PyTorch's "
    "calls return early, and output waits for the device",
}

# The cards as headings write them.
DEVICES = {
    "A30": "A30",
    "T4": "T4",
    "DGX-1 (1x V100 16GB)": "V100-SXM2-16GB",
    "V100 (1x V100 16GB)": "V100-SXM2-16GB",
    "DGX-1 (1x V100 32GB)": "V100-SXM2-32GB",
    "DGX A100 (1x A100 80GB)": "A100-SXM4-80GB",
}

CONVNETS = "PyTorch/Classification/ConvNets"
# The networks by folder, or by column "Model", and timm's names.
NETWORKS = {
    "resnet50v1.5": ("timm:resnet50@224", "timm-resnet"),
    "resnext101-32x4d": ("timm:resnext101_32x4d@224", "timm-resnet"),
    "se-resnext101-32x4d": ("timm:seresnext101_32x4d@224", "timm-resnet"),
    "efficientnet-b0": ("timm:efficientnet_b0@224", "timm-efficientnet"),
    "efficientnet-b4": ("timm:efficientnet_b4@380", "timm-efficientnet"),
}
CONVNET_HEADING = re.compile(r"Inference performance: NVIDIA (?P<device>.+)")
# Half precision ran with channels last, as the examples' configurations say.
CONVNET_PRECISIONS = {
    "FP32 Inference Latency": ("fp32", "nchw"),
    "Mixed Precision Inference Latency": ("amp", "nhwc"),
}

SEQUENCE = 384  # of SQuAD
BERT = "PyTorch/LanguageModeling/BERT/README.md"
TRITON_HEADING = re.compile(
    r"Offline: NVIDIA (?P<device>.+), (?P<backend>NVIDIA TensorRT|ONNX Runtime|PyTorch) with FP16"
    r"(?P<tensorrt>, Backend accelerator TensorRT)?"
)
BACKENDS = {"NVIDIA TensorRT": "tensorrt", "ONNX Runtime": "onnxruntime", "PyTorch": "eager"}
TRITON_FOLDER = "PyTorch/LanguageModeling/BERT/triton"
TRITON_NETWORKS = {"large": ("large", {}), "dist6l": ("distilled", {"layers": "6", "width": "768"})}


def _bert(name: str, parameters: dict[str, str], runtime: str) -> str:
    """PyTorch ran attention as products, before it had an operator for it."""
    attention = {} if runtime == "tensorrt" else {"attention": "products"}
    return str(Recipe("bert", name, parameters | {"seq": str(SEQUENCE)} | attention))


def _convnets(entry: dict[str, Any]) -> Iterator[Row]:
    folder = entry["file"].split("/")[-2]
    cells, heading = entry["row"], entry["heading"]
    network = NETWORKS.get(cells.get("Model", folder))
    device = CONVNET_HEADING.fullmatch(heading[-2])
    if network is None or device is None or heading[-1] not in CONVNET_PRECISIONS:
        return
    precision, layout = CONVNET_PRECISIONS[heading[-1]]
    batch = int(cells["Batch Size"])
    images_per_s = float(cells["Throughput Avg"].removesuffix(" img/s"))
    yield Row(
        recipe=network[0],
        family=network[1],
        batch=batch,
        input="",
        device=DEVICES[device["device"]],
        runtime="eager",
        runtime_version="",
        precision=precision,
        layout=layout,
        value=batch / images_per_s,
        source=SOURCE,
        licence=LICENCES["ConvNets"],
        protocol=PROTOCOLS["ConvNets"],
    )


def _bert_table(entry: dict[str, Any]) -> Iterator[Row]:
    """One line: 32/32 sequences, and so many of them a second at TF32 and in halves."""
    cells = {column.replace("\\", ""): value for column, value in entry["row"].items()}
    batches = next(value for column, value in cells.items() if column.startswith("Batch Size")).split("/")
    columns = [column for column in cells if column.startswith("Throughput - ")]
    for precision, batch, column in zip(("tf32", "fp16"), batches, columns[:2], strict=True):
        yield Row(
            recipe=_bert("large", {}, "eager"),
            family="bert",
            batch=int(batch),
            input="",
            device="A100-SXM4-80GB",
            runtime="eager",
            runtime_version="",
            precision=precision,
            value=int(batch) / float(cells[column]),
            source=SOURCE,
            licence=LICENCES["BERT"],
            protocol=PROTOCOLS["BERT"],
        )


def _triton(entry: dict[str, Any]) -> Iterator[Row]:
    match = TRITON_HEADING.fullmatch(entry["heading"][-1])
    network = TRITON_NETWORKS.get(entry["file"].split("/")[-2])
    cells = entry["row"]
    if match is None or network is None or cells["Concurrency"] != "1":
        return
    runtime = "tensorrt" if match["tensorrt"] else BACKENDS[match["backend"]]
    compute_ms = float(cells["Server Compute Infer (ms)"]) + float(cells["Server Compute Output (ms)"])
    yield Row(
        recipe=_bert(*network, runtime),
        family="bert",
        batch=int(cells["Batch"]),
        input="",
        device=DEVICES[match["device"]],
        runtime=runtime,
        runtime_version="tensorrt in onnxruntime" if match["tensorrt"] else "",
        precision="fp16",
        value=compute_ms * MILLISECOND,
        source=SOURCE,
        licence=LICENCES["BERT"],
        protocol=PROTOCOLS["Triton"],
    )


# What reads the lines of which files.
RULES: tuple[tuple[re.Pattern[str], Callable[[dict[str, Any]], Iterator[Row]]], ...] = (
    (re.compile(f"{CONVNETS}/[^/]+/README.md"), _convnets),
    (re.compile(BERT), _bert_table),
    (re.compile(f"{TRITON_FOLDER}/[^/]+/README.md"), _triton),
)


def read(data: Path) -> Iterator[Row]:
    """The rows under `data`/DeepLearningExamples of networks that a recipe rebuilds."""
    with gzip.open(data / "DeepLearningExamples" / "inference_tables.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            for file, rule in RULES:
                if file.fullmatch(entry["file"]):
                    yield from rule(entry)

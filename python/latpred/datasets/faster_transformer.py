"""BERT, ViT and Swin on T4, V100, A10, A100 and slices of it, in PyTorch and by hand-fused kernels, from
FasterTransformer's guides (Apache-2.0).

Its own kernels are taken as TensorRT's: its attention is TensorRT's, what it fuses beside is what TensorRT fuses, and
on BERT both have the same times within what TensorRT's versions differ by.
"""

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

SOURCE = "FasterTransformer df4a7534"
LICENCE = "Apache-2.0"
TRACED = "mean of 100 calls after 100 of a module traced by torch.jit, which they found close to eager"
CALLED = "mean of 100 calls after 10"
FUSED = "mean of 100 calls of FasterTransformer's kernels"
SLICED = f"{FUSED}; all seven slices busy with the same"
FUSED_VERSION = "fastertransformer 5"

# The guides name clocks and hosts: the text's A100 is a DGX's with 1593 MHz of memory clock, its V100 that of a DGX-1;
# the images' A100 has 1215 MHz and a Xeon without PCIe 4.
TEXT_DEVICES = {"A100": "A100-SXM4-80GB", "V100": "V100-SXM2-16GB", "T4": "T4", "A10": "A10"}
IMAGE_DEVICES = {"A100": "A100-PCIe-40GB", "T4": "T4", "A10": "A10"}
SLICE = ("A100-SXM4-80GB", "1g.10gb")
PRECISIONS = {"FP32": "fp32", "TF32": "tf32", "FP16": "fp16", "INT8-v2": "int8"}

# Below as many tokens the kernels wait for the framework that calls them, and no runtime here waits as it does; a
# slice has a seventh of the device.
LEAST_TOKENS = 1024
SLICES = 7

BERT = re.compile(r"BERT performance on (?P<device>\w+) and (?P<framework>\w+)")
IMAGES = re.compile(r"(?:ViT|Swin) Performance on (?P<device>\w+)")
SWIN = re.compile(r"Swin-(?P<version>V[12]) (?P<precision>\w+)")
# The traced networks have the masks of their windows stored; transformers makes them in each call, in some ninety
# small kernels, which only large batches hide.
LEAST_WINDOWED_BATCH = 16
SWIN_RECIPES = {
    "V1": Recipe("hf", "swin", {"attention": "products"}),
    "V2": Recipe("hf", "swinv2", {"window": "8", "size": "256", "attention": "products"}),
}
VIT_FUSED = re.compile(r"(?P<size>[BL])_16-224 \((?P<precision>FP16|INT8)\)")
VIT_SIZES = {"B": "base16", "L": "large16"}

Entry = dict[str, Any]


def _row(
    recipe: Recipe, family: str, device: str, cells: dict[str, str], column: str, precision: str, **more: Any
) -> Row:
    batch = cells.get("Batch_size") or cells["Batch Size"]
    return Row(
        recipe=str(recipe),
        family=family,
        batch=int(batch),
        input="",
        device=device,
        precision=precision,
        value=float(cells[column]) * MILLISECOND,
        source=SOURCE,
        licence=LICENCE,
        **more,
    )


def _traced(recipe: Recipe, family: str, device: str, cells: dict[str, str], column: str, precision: str) -> Row:
    more = {"runtime": "eager", "runtime_version": "torchscript", "protocol": TRACED}
    return _row(recipe, family, device, cells, column, precision, **more)


def _is_number(text: str) -> bool:
    return re.fullmatch(r"\d+(\.\d+)?", text) is not None


def _layers(seq: int, **more: str) -> Recipe:
    return Recipe("bert", "base", {"seq": str(seq), "embedded": "1"} | more)


def _bert_fused(
    cells: dict[str, str], seq: int, column: str, precision: str, device: str, partition: str = ""
) -> Iterator[Row]:
    """`seq` is without the padding, half of what the table says where it is removed."""
    batch = int(cells.get("Batch_size") or cells["Batch Size"])
    least = LEAST_TOKENS / (SLICES if partition else 1)
    if _is_number(cells[column]) and batch * seq >= least:
        yield _row(
            _layers(seq),
            "bert",
            device,
            cells,
            column,
            precision,
            runtime="tensorrt",
            runtime_version=FUSED_VERSION,
            partition=partition,
            protocol=SLICED if partition else FUSED,
        )


def _bert(entry: Entry) -> Iterator[Row]:
    cells, heading = entry["row"], entry["heading"][-1]
    if "with MIG mode" in heading:
        seq, precision = int(cells['Sequence Length"']) // 2, PRECISIONS[cells["Precision"]]
        for name, device in (*TEXT_DEVICES.items(), ("A100 MIG", "")):
            column = f"{name} Latency"
            if column in cells:
                where = (device, "") if device else SLICE
                yield from _bert_fused(cells, seq, column, precision, *where)
        return
    match = BERT.fullmatch(heading)
    if match is None or "Seq_len" not in cells:
        return
    device, seq = TEXT_DEVICES[match["device"]], int(cells["Seq_len"])
    for column in cells:
        words = column.removesuffix(" Latency (ms)")
        if words == column:
            continue
        name, _, stated = words.partition("-")  # "TorchScript-FP16", "FT-INT8-v2", "EFF-FT-INT8-v2", "FT"
        if name == "EFF":
            _, _, stated = stated.partition("-")
        known = PRECISIONS.get(stated or cells["Precision"])
        if name == "TorchScript" and known is not None:
            yield _traced(_layers(seq, attention="products"), "bert", device, cells, column, known)
        elif name in ("FT", "EFF") and known in ("fp16", "int8"):
            yield from _bert_fused(cells, seq // 2 if name == "EFF" else seq, column, known, device)


def _swin(entry: Entry) -> Iterator[Row]:
    place, match = IMAGES.fullmatch(entry["heading"][-2]), SWIN.fullmatch(entry["heading"][-1])
    cells = entry["row"]
    if place is None or match is None or not _is_number(cells["torch.jit.trace"]):
        return
    if int(cells["Batch_size"]) < LEAST_WINDOWED_BATCH:
        return
    device, precision = IMAGE_DEVICES[place["device"]], PRECISIONS[match["precision"]]
    yield _traced(SWIN_RECIPES[match["version"]], "swin", device, cells, "torch.jit.trace", precision)


def _vit(entry: Entry) -> Iterator[Row]:
    place, cells = IMAGES.fullmatch(entry["heading"][-2]), entry["row"]
    if place is None:
        return
    device = IMAGE_DEVICES[place["device"]]
    for column in cells:
        fused = VIT_FUSED.match(column)
        if column == "torch latency(ms)":
            recipe = Recipe("vit", "base16", {"size": "384", "attention": "products"})
            precision = PRECISIONS[entry["heading"][-1]]
            more = {"runtime": "eager", "runtime_version": "", "protocol": CALLED}
            yield _row(recipe, "vit", device, cells, column, precision, **more)
        elif fused is not None:
            recipe = Recipe("vit", VIT_SIZES[fused["size"]], {"size": "224"})
            more = {"runtime": "tensorrt", "runtime_version": FUSED_VERSION, "protocol": FUSED}
            yield _row(recipe, "vit", device, cells, column, fused["precision"].lower(), **more)


_GUIDES: dict[str, Callable[[Entry], Iterator[Row]]] = {"bert_guide": _bert, "swin_guide": _swin, "vit_guide": _vit}


def read(data: Path) -> Iterator[Row]:
    """The rows under `data`/FasterTransformer of networks that a recipe rebuilds."""
    with gzip.open(data / "FasterTransformer" / "inference_tables.jsonl.gz", "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            rule = _GUIDES.get(Path(entry["file"]).stem)
            if rule is not None:
                yield from rule(entry)

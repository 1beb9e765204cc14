"""Latency and memory of Stable Diffusion on A10 to H100 and MIG slices, from lambda-diffusers (MIT): for checks only.

Whole calls of a pipeline, and no table to train on: one network, on which memory is modelled and not learnt.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import GIGABYTE

SOURCE = "lambda-diffusers 8571d8d4"
LICENCE = "MIT"
LATENCY_PROTOCOL = (
    "torch.utils.benchmark.Timer, mean of 3 calls of the pipeline after 2, cache of the allocator emptied before each"
)
MEMORY_PROTOCOL = "torch.cuda.memory_reserved() behind the first call of the pipeline: without the context"
VERSION = "torch 1.13 cuda 11.8 diffusers 0.11.0"
FILES = ("benchmark.csv", "benchmark_no_xformers.csv", "benchmark_H100_MIG.csv")

DEVICES = {
    "NVIDIA A10": "A10",
    "NVIDIA A100-PCIE-40GB": "A100-PCIe-40GB",
    "NVIDIA A100-SXM4-40GB": "A100-SXM4-40GB",
    "NVIDIA A100 80GB PCIe": "A100-PCIe-80GB",
    "NVIDIA H100 PCIe": "H100-PCIe-80GB",
    "NVIDIA RTX A6000": "RTX A6000",
    "Tesla V100-SXM2-16GB": "V100-SXM2-16GB",
}
# NVIDIA's container, which they ran in, lets products of matrices be TF32 where the device has it.
WITHOUT_TF32 = ("V100-SXM2-16GB",)
# 30 steps of the network's own scheduler (PNDM), which calls it twice in one of them.
UNET_CALLS = 31
LARGEST_WHOLE = 16  # from there on the benchmark decodes one image after the other
# On the device and never called: the autoencoder's encoder.
UNUSED_PARAMETERS = 34_163_664


def _row(entry: Any) -> Row:
    """The row of a line, of its latency."""
    name, _, partition = entry.device.partition(" MIG ")
    device = DEVICES[name]
    images = int(entry.n_samples)
    parameters = {"calls": str(UNET_CALLS), "attention": "fused" if entry.xformers else "products"}
    if images > LARGEST_WHOLE:
        parameters["slices"] = str(images)
    single = "fp32" if device in WITHOUT_TF32 else "tf32"
    return Row(
        recipe=str(Recipe("sd", "pipeline", parameters)),
        family="stable-diffusion",
        batch=images,
        input="",
        device=device,
        partition=partition,
        runtime="eager",
        runtime_version=VERSION,
        precision={"half": "fp16", "single": single}[entry.precision],
        value=entry.latency,
        source=SOURCE,
        licence=LICENCE,
        protocol=LATENCY_PROTOCOL,
    )


def _entries(data: Path) -> Iterator[Any]:
    import pandas as pd

    for name in FILES:
        # One heading ends with a comma more than its lines.
        table = pd.read_csv(data / "lambda-diffusers" / "benchmarks" / name, index_col=False)
        yield from table.itertuples(index=False)


def read(data: Path) -> Iterator[Row]:
    """Two rows for each line under `data`/lambda-diffusers that ran: latency_s and memory_bytes."""
    for entry in _entries(data):
        if entry.latency > 0:
            row = _row(entry)
            yield row
            yield dataclasses.replace(
                row, quantity="memory_bytes", value=entry.memory * GIGABYTE, protocol=MEMORY_PROTOCOL
            )


def read_out_of_memory(data: Path) -> Iterator[Row]:
    """What did not fit its device: rows of quantity "out_of_memory" with the value 1."""
    for entry in _entries(data):
        if entry.latency < 0:
            yield dataclasses.replace(_row(entry), quantity="out_of_memory", value=1.0)

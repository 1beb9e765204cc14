"""Prompts of language models on A100, H100 and GH200 under TensorRT-LLM and vLLM, from LLM-Inference-Bench
(BSD-3-Clause); and the power of whole requests, for checks only.

A prompt of 1024 words for each of 16 users keeps the device busy for longer than the host takes: its time is that of
the kernels. Whole requests run a network of another size for each word, and are no rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLIWATT

SOURCE = "LLM-Inference-Bench 4211f5d4"
LICENCE = "BSD-3-Clause"
FOLDER = Path("LLM-Inference-Bench") / "Plots"
PROMPT_PROTOCOL = "request for one word: time to first token"
POWER_PROTOCOL = "mean power over a request with as many words out as in, nearly all single tokens"

# Argonne's A100 have 40 GB and sit on SXM boards; H100 reach what no PCIe board does.
DEVICES = {
    "Nvidia A100 GPU": "A100-SXM4-40GB",
    "Nvidia H100 GPU": "H100-SXM5-80GB",
    "Nvidia GH200 GPU": "GH200-96GB",
}
MODELS = {
    "meta-llama/Llama-2-7b-hf": "llama2-7b",
    "meta-llama/Meta-Llama-3-8B": "llama3-8b",
    "mistralai/Mistral-7B-v0.1": "mistral-7b",
}
# The stack's own runtime, without the host.
RUNTIMES = {"TensorRT-LLM": "tensorrt", "vLLM": "kernel"}


def _row(entry: dict[str, Any], recipe: Recipe, runtime: str, value: float, protocol: str, quantity: str) -> Row:
    return Row(
        recipe=str(recipe),
        family="llm",
        batch=int(entry["Batch Size"]),
        input="",
        device=DEVICES[entry["Hardware"]],
        runtime=runtime,
        runtime_version=entry["Framework"].lower(),
        precision="fp16",
        value=value,
        quantity=quantity,
        source=SOURCE,
        licence=LICENCE,
        protocol=protocol,
    )


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    """The lines about one device that the device table has, and a network that can be built."""
    import pandas as pd

    for entry in pd.read_csv(path, skip_blank_lines=True).to_dict("records"):
        if entry["Hardware"] in DEVICES and entry["Model"] in MODELS and entry["Num of Hardware"] == 1:
            yield entry


def read(data: Path) -> Iterator[Row]:
    """The prompts under `data`/LLM-Inference-Bench."""
    for entry in _entries(data / FOLDER / "Fig_21" / "all_results_TTFT.csv"):
        runtime = RUNTIMES.get(entry["Framework"])
        if runtime is not None:
            recipe = Recipe("llm", MODELS[entry["Model"]], {"seq": str(entry["Input Length"])})
            yield _row(entry, recipe, runtime, entry["Latency"], PROMPT_PROTOCOL, "latency_s")


def read_power(data: Path) -> Iterator[Row]:
    """mean_power_w of the step of one token, half-way through a request."""
    for entry in _entries(data / FOLDER / "Fig_16_a_b" / "power_results.csv"):
        length = int(entry["Input Output Length"])
        recipe = Recipe("llm", MODELS[entry["Model"]], {"seq": "1", "past": str(length + length // 2)})
        yield _row(entry, recipe, "eager", entry["avg_power"] * MILLIWATT, POWER_PROTOCOL, "mean_power_w")

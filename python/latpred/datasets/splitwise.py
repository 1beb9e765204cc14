"""Time and power of Llama 2 70B and BLOOM 176B on A100 and H100, from splitwise-sim (MIT): for checks only.

A prompt and the step of one token are two networks; each row is about one of the equal shares that the workers run.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "splitwise-sim 8f99e7dc"
LICENCE = "MIT"
LATENCY_PROTOCOL = "median of repeated requests, tensor-parallel: what the workers tell each other is inside"
PEAK_PROTOCOL = "highest power of one worker during a request, reached in the prompt; stated as a share of the limit"
MEAN_PROTOCOL = "mean power of one worker over a request, nearly all single tokens; stated as a share of the limit"

# With the power limit of the data sheet. The third kind, capped H100, has a limit that the device table lacks.
DEVICES = {"a100-80gb": ("A100-SXM4-80GB", 400.0), "h100-80gb": ("H100-SXM5-80GB", 700.0)}
SETTINGS = ("model", "hardware", "prompt_size", "batch_size", "token_size", "tensor_parallel")
# Means below this share of the limit are those of a board that waits: Llama's longest prompts have 0.17, all other
# requests 0.4 to 0.8.
LOWEST_MEAN = 0.25


def _row(setting: tuple[str, str, int, int, int, int], phase: str, quantity: str, value: pd.Series) -> Row:
    model, hardware, prompt, batch, tokens, workers = setting
    sizes = {"prompt": {"seq": prompt}, "token": {"seq": 1, "past": prompt + tokens // 2}}[phase]
    protocol = {"latency_s": LATENCY_PROTOCOL, "peak_power_w": PEAK_PROTOCOL, "mean_power_w": MEAN_PROTOCOL}[quantity]
    return Row(
        recipe=str(Recipe("llm", model, {key: str(size) for key, size in (sizes | {"workers": workers}).items()})),
        family="llm",
        batch=int(batch),
        input="",
        device=DEVICES[hardware][0],
        runtime="eager",
        runtime_version="vllm",
        precision="fp16",
        value=float(value.median()),
        quantity=quantity,
        noise=float(value.std() / value.mean()) if len(value) > 1 else None,
        samples=len(value),
        source=SOURCE,
        licence=LICENCE,
        protocol=protocol,
    )


def read(data: Path) -> Iterator[Row]:
    """Rows under `data`/splitwise-sim: latency_s of the prompt and of the token half-way; where power was measured,
    peak_power_w with the prompt and mean_power_w with the token."""
    import pandas as pd

    table = pd.read_csv(data / "splitwise-sim" / "data" / "perf_model.csv")
    for setting, runs in table[table.hardware.isin(DEVICES)].groupby(list(SETTINGS)):
        limit_w = DEVICES[setting[1]][1]
        yield _row(setting, "prompt", "latency_s", runs.prompt_time * MILLISECOND)
        yield _row(setting, "token", "latency_s", runs.token_time * MILLISECOND)
        if runs.peak_power.min() > 0:  # 0: not measured
            yield _row(setting, "prompt", "peak_power_w", runs.peak_power * limit_w)
        if runs.average_power.min() > LOWEST_MEAN:
            yield _row(setting, "token", "mean_power_w", runs.average_power * limit_w)

"""The shipped checkpoint on a few networks that ship with their graphs: what a change must not make worse."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import kernel_residual
from latpred.fitting.kernel_terms import lower
from latpred.fitting.measurements import is_clear_of_floor, is_latency
from latpred.fitting.split import TEST

MIN_ROWS = 5
SPREADS = 1.0  # an error may be above the committed one by so many of its spreads
RESAMPLES = 200


def quick_errors(rows_file: Path, graphs_file: Path, recipes_file: Path) -> dict[str, dict[str, Any]]:
    """For each device and runtime the error on the networks of `recipes_file`, and its standard error by drawing
    networks again."""
    rows = pd.read_parquet(rows_file)
    recipes = json.loads(recipes_file.read_text(encoding="utf-8"))
    rows = rows[rows.recipe.isin(recipes) & is_latency(rows, on_gpu=True)]
    table = lower(rows, GraphCache(graphs_file).graph)
    checkpoint = resources.files("latpred") / "data" / "predictors" / f"{kernel_residual.NAME}.safetensors"
    with resources.as_file(checkpoint) as path:
        predicted = kernel_residual.load(path).predict(table)
    answers = table.rows.assign(error=100 * np.abs(predicted / table.latency_s - 1))
    answers = answers[is_clear_of_floor(answers) & (answers.part != TEST)]
    random = np.random.default_rng(0)
    found: dict[str, dict[str, Any]] = {}
    for (device, runtime), part in answers.groupby(["device", "runtime"]):
        if len(part) < MIN_ROWS:
            continue
        errors = part.error.to_numpy()
        drawn = [errors[random.integers(len(errors), size=len(errors))].mean() for _ in range(RESAMPLES)]
        found[f"{device}, {runtime}"] = {
            "rows": len(part),
            "mape_percent": float(errors.mean()),
            "median_percent": float(np.median(errors)),
            "spread_percent": float(np.std(drawn)),
        }
    return found


def compared(found: dict[str, dict[str, Any]], committed: dict[str, dict[str, Any]]) -> list[str]:
    """What got worse, one sentence each."""
    worse = [f"{name}: no error found, one is committed" for name in sorted(set(committed) - set(found))]
    for name, line in found.items():
        if name not in committed:
            worse.append(f"{name}: no error is committed; 'networks.py --quick --accept' writes it")
            continue
        limit = committed[name]["mape_percent"] + SPREADS * committed[name]["spread_percent"]
        if line["mape_percent"] > limit:
            worse.append(
                f"{name}: MAPE {line['mape_percent']:.1f} % on {line['rows']} rows, "
                f"at most {limit:.1f} % was expected (committed: {committed[name]['mape_percent']:.1f} %)"
            )
    return worse

"""Writes what a fit found as the checkpoint that C++ reads."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core, checkpoint_file
from latpred.checkpoint_file import read
from latpred.fitting.errors import summarise
from latpred.fitting.evaluate import Fit, Fitted, Term, interval_terms
from latpred.fitting.measurements import ARITHMETICS, KINDS, SEED, Samples, load, lower

if TYPE_CHECKING:
    import pandas as pd

# A kind counts as measured by a row in which it takes this share of the roofline: less teaches nothing about it.
SHARE_THAT_TEACHES = 0.02
OPERATOR_RECIPES = "op:"

__all__ = ["make_manifest", "measured_batches", "read", "run", "write"]


def write(path: Path, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Puts `manifest` and `arrays` into one file, as float64: C++ reads no other type."""
    checkpoint_file.write(path, manifest, {name: np.asarray(values, "<f8") for name, values in arrays.items()})


def _rows_by_kind(samples: Samples) -> dict[str, dict[str, int]]:
    """How many samples teach about each kind at each arithmetic."""
    roofline = np.maximum(samples.compute_s, samples.memory_s) * samples.repeat
    cells = len(KINDS) * len(ARITHMETICS)
    cell = samples.kind * len(ARITHMETICS) + samples.arithmetic
    shares = np.bincount(samples.sample * cells + cell, roofline, samples.size * cells).reshape(samples.size, cells)
    shares = shares / shares.sum(axis=1, keepdims=True)
    counts = (shares >= SHARE_THAT_TEACHES).sum(axis=0).reshape(len(KINDS), len(ARITHMETICS))
    return {
        kind: {
            arithmetic: int(counts[row, column]) for column, arithmetic in enumerate(ARITHMETICS) if counts[row, column]
        }
        for row, kind in enumerate(KINDS)
        if counts[row].any()
    }


def measured_batches(rows: pd.DataFrame) -> dict[str, int]:
    """The range of whole networks: a single operator's "batch" is a number of rows or elements."""
    batches = rows.batch[~rows.recipe.str.startswith(OPERATOR_RECIPES)]
    return {"smallest_batch": int(batches.min()), "largest_batch": int(batches.max())}


def make_manifest(
    predictor: str,
    fitted: Fitted,
    table: pd.DataFrame,
    samples: Samples,
    terms: dict[str, Term],
    sources: list[str],
    is_fitted: bool,
) -> dict[str, Any]:
    """Everything that the predictor's answers can be judged by; `samples` are the rows of `table`, lowered."""
    is_training = ~samples.is_left_out & samples.is_clear
    training = samples.select(is_training)
    test = samples.select(samples.is_left_out & samples.is_clear)
    errors = {"all": test} | {family: test.select(test.family == family) for family in np.unique(test.family)}
    return {
        **_core.checkpoint_format(),
        "predictor": predictor,
        "device_factors": list(getattr(fitted, "devices", ())),
        "evidence": {
            "is_fitted": is_fitted,
            "devices": sorted(set(training.device)),
            "runtimes": sorted(set(training.runtime)),
            "precisions": sorted(set(training.precision)),
            **measured_batches(table[is_training]),
            "rows": _rows_by_kind(training),
        },
        "interval_terms": {name: {"value": term.value, "source": term.source} for name, term in terms.items()},
        "errors_on_blocks_left_out": {
            name: vars(summarise(fitted.predict(part), part.latency_s)) for name, part in errors.items()
        },
        "sources": sources,
        "samples": training.size,
        "seed": SEED,
    }


def run(predictor: str, fit: Fit, is_fitted: bool = True) -> None:
    """The command of one fit."""
    parser = argparse.ArgumentParser(description=f"Fits the predictor '{predictor}' and writes its checkpoint.")
    parser.add_argument("--data", type=Path, help="folder with the public tables; left out: the table that ships")
    parser.add_argument("--out", type=Path, required=True, help="checkpoint to write")
    arguments = parser.parse_args()
    table = load(arguments.data)
    samples = lower(table)
    fitted = fit(samples.select(~samples.is_left_out))
    terms = interval_terms(fit, samples)
    sources = sorted(f"{source} ({licence})" for source, licence in set(zip(table.source, table.licence, strict=True)))
    manifest = make_manifest(predictor, fitted, table, samples, terms, sources, is_fitted)
    write(arguments.out, manifest, fitted.arrays())
    for name, term in terms.items():
        print(f"{name:15} {term.value:7.3f}  {term.source}")
    test = samples.select(samples.is_left_out & samples.is_clear)
    print(f"{arguments.out}: {summarise(fitted.predict(test), test.latency_s)}")

"""Writes what a fit found as the checkpoint that C++ reads: safetensors layout, manifest in its metadata."""

from __future__ import annotations

import argparse
import json
import struct
from pathlib import Path
from typing import Any

import numpy as np

from latpred import _core
from latpred.fitting.errors import summarise
from latpred.fitting.evaluate import Fit, Fitted, Term, interval_terms
from latpred.fitting.measurements import ARITHMETICS, KINDS, SEED, Samples, load, lower

# A kind counts as measured by a row in which it takes this share of the roofline: less teaches nothing about it.
SHARE_THAT_TEACHES = 0.02
ALIGNMENT = 8


def write(path: Path, manifest: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Puts `manifest` and the float64 `arrays` into one file; the same content gives the same bytes."""
    header: dict[str, object] = {"__metadata__": {"manifest": json.dumps(manifest)}}
    data = b""
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name], dtype="<f8")
        header[name] = {
            "dtype": "F64",
            "shape": list(values.shape),
            "data_offsets": [len(data), len(data) + values.nbytes],
        }
        data += values.tobytes()
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The manifest and the arrays of a file that write() wrote."""
    content = path.read_bytes()
    (size,) = struct.unpack_from("<Q", content)
    header = json.loads(content[8 : 8 + size])
    manifest: dict[str, Any] = json.loads(header.pop("__metadata__")["manifest"])
    arrays = {}
    for name, entry in header.items():
        first, last = (8 + size + offset for offset in entry["data_offsets"])
        arrays[name] = np.frombuffer(content[first:last], "<f8").reshape(entry["shape"])
    return manifest, arrays


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


def make_manifest(
    predictor: str, fitted: Fitted, samples: Samples, terms: dict[str, Term], sources: list[str], is_fitted: bool
) -> dict[str, Any]:
    """Everything that the predictor's answers can be judged by."""
    training = samples.select(~samples.is_left_out & samples.is_clear)
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
            "smallest_batch": int(training.batch.min()),
            "largest_batch": int(training.batch.max()),
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
    write(arguments.out, make_manifest(predictor, fitted, samples, terms, sources, is_fitted), fitted.arrays())
    for name, term in terms.items():
        print(f"{name:15} {term.value:7.3f}  {term.source}")
    test = samples.select(samples.is_left_out & samples.is_clear)
    print(f"{arguments.out}: {summarise(fitted.predict(test), test.latency_s)}")

"""How far off the default predictor, which is fitted on GPUs, is on CPUs with the factors of the other CPUs.

python benchmarks/accuracy/cpus.py --data data/measurements --graphs data/measurements/graphs.xz --json FILE
    [--docs docs/accuracy.md]
python benchmarks/accuracy/cpus.py --json FILE --docs docs/accuracy.md     draws the table again
"""

from __future__ import annotations

import dataclasses
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import checkpoint, cpus, kernel_residual, ship
from latpred.fitting.errors import summarise

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docs_table

MARK = "benchmarks/accuracy/cpus.py"
ROOFLINE = "roofline"


def _lines(folder: Path, graphs_path: Path) -> dict[str, Any]:
    rows = pd.read_parquet(folder / "rows.parquet")
    rows = rows[cpus.is_on_cpu(rows)].reset_index(drop=True)
    graphs = GraphCache(graphs_path)
    path = ship.checkpoint_path(kernel_residual.NAME)
    entry = checkpoint.read(path)[0]["cpu"]
    told = cpus.Factors(entry["kernels"]["value"], entry["launches"]["value"])
    answers = cpus.answers(kernel_residual.NAME, path, rows, graphs, told)
    physics = cpus.answers(ROOFLINE, ship.checkpoint_path(ROOFLINE), rows, graphs)
    found, untold = cpus.measure(answers), cpus.Factors(1.0, 1.0)
    lines = {}
    for device, summary in found.of_cpus.items():
        is_there = np.asarray(rows.device == device)
        value = np.asarray(rows.value[is_there])
        lines[device] = {
            **dataclasses.asdict(summary),
            "runtimes": ", ".join(sorted(set(rows.runtime[is_there]))),
            "families": int(rows.family[is_there].nunique()),
            "covers": found.covers[device],
            "without_factors": summarise(untold.latency_s(answers[is_there]), value).mape_percent,
            "roofline": summarise(untold.latency_s(physics[is_there]), value).mape_percent,
        }
    return {"kernels": told.kernels, "launches": told.launches, "half_width": found.half_width, "lines": lines}


def markdown(result: dict[str, Any]) -> str:
    """The table and what it was made with."""
    headings = ["left out", "by", "families", "rows", *docs_table.ERRORS, "without factors", "roofline"]
    rows = [
        [
            device,
            line["runtimes"],
            str(line["families"]),
            str(line["rows"]),
            *docs_table.error_cells(line),
            f"{line['without_factors']:.0f}",
            f"{line['roofline']:.0f}",
        ]
        for device, line in result["lines"].items()
    ]
    return (
        f"With all of them: kernels x {result['kernels']:.2f}, launches x {result['launches']:.2f}, interval "
        f"x/{math.exp(result['half_width']):.2f}.\n\n" + docs_table.table(headings, rows)
    )


if __name__ == "__main__":
    docs_table.command(__doc__, MARK, _lines, markdown)

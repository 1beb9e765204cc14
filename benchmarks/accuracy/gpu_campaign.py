"""How far off answers are on what benchmarks/gpu_campaign measured and no fit sees: networks of plain PyTorch, their
memory, joules of a call, and each kind of kernel in traces of networks that do teach the default predictor.

python benchmarks/accuracy/gpu_campaign.py --data data/measurements --graphs data/measurements/graphs.xz --json FILE
    [--docs docs/accuracy.md]
python benchmarks/accuracy/gpu_campaign.py --json FILE --docs docs/accuracy.md     draws the tables again
"""

from __future__ import annotations

import dataclasses
import sys
from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # before this folder, which has a networks.py too

import docs_table
import latpred
from latpred.datasets import gpu_campaign, kernel_traces
from latpred.datasets.graph_cache import GraphCache, graph_of
from latpred.datasets.rows import Row
from latpred.fitting.errors import summarise
from networks import NETWORKS, RECURRENT

MARK = "benchmarks/accuracy/gpu_campaign.py"
PREDICTORS = ("kernel_residual", "analytic", "linear", "roofline")
BATCHES = (1, 8, 32, 128)
PLAIN = "plain:"


class _Networks:
    """Graphs of the campaign's recipes."""

    def __init__(self, graphs: Path) -> None:
        self._cache = GraphCache(graphs)
        self._plain = {network.recipe: network for network in (*NETWORKS, *RECURRENT)}
        self.graph = lru_cache(None)(self._graph)

    def _graph(self, recipe: str, batch: int) -> latpred.Graph:
        network = self._plain.get(recipe)
        return graph_of(recipe, batch, self._cache) if network is None else network.graph(batch)

    def predict(self, row: Row, predictor: str = PREDICTORS[0]) -> latpred.Prediction:
        """What is said of what `row` measured."""
        return latpred.predict(
            graph=self.graph(row.recipe, row.batch), device=row.device, precision=row.precision, runtime=row.runtime,
            predictor=predictor,
        )  # fmt: skip


def _line(name: str, predicted: Iterable[float], ends: Iterable[tuple[float, float]], value: Any) -> dict[str, Any]:
    low, high = np.array(list(ends)).T
    covers = float(np.mean((low <= value) & (value <= high)))
    return {"what": name, **dataclasses.asdict(summarise(np.array(list(predicted)), value)), "covers": covers}


def _plain(networks: _Networks, rows: list[Row]) -> list[dict[str, Any]]:
    lines = []
    for batch in BATCHES:
        chosen = [row for row in rows if row.batch == batch and row.quantity == "latency_s"]
        value = np.array([row.value for row in chosen])
        for predictor in PREDICTORS:
            answers = [networks.predict(row, predictor) for row in chosen]
            ends = [np.array(answer.intervals["latency_ms"]) / 1e3 for answer in answers]
            lines.append(_line(f"batch {batch}, {predictor}", [answer.latency_s for answer in answers], ends, value))
    return lines


def _memory(networks: _Networks, rows: list[Row]) -> dict[str, Any]:
    chosen = [row for row in rows if row.quantity == "memory_bytes"]
    answers = [networks.predict(row) for row in chosen]
    value = np.array([row.value for row in chosen]) / 1e6
    ends = [answer.intervals["memory_mb"] for answer in answers]
    return _line("memory of the process", [answer.memory_mb for answer in answers], ends, value)


def _energy(networks: _Networks, data: Path) -> list[dict[str, Any]]:
    chosen, taken = zip(*gpu_campaign.read_energy(data), strict=True)
    answers = [networks.predict(row) for row in chosen]
    value = np.array([row.value for row in chosen])
    energy = [answer.energy_j for answer in answers]
    of_energy = _line("energy of a call", energy, [answer.intervals["energy_j"] for answer in answers], value)
    power = np.array([answer.mean_power_w for answer in answers])
    return [of_energy, {"what": "mean power", **dataclasses.asdict(summarise(power, value / np.array(taken)))}]


def _kernels(networks: _Networks, data: Path) -> list[dict[str, Any]]:
    measured, predicted = Counter[str](), Counter[str]()
    for trace in kernel_traces.read(data):
        measured.update(trace.group_s)
        graph = networks.graph(trace.recipe, trace.batch)
        answer = latpred.predict(graph=graph, device=trace.device, precision=trace.precision, runtime="eager")
        for row in answer.kernels:
            if row.kind != "host_wait":
                predicted[kernel_traces.group_of_kind(row.kind)] += row.latency_ms * row.repeat / 1e3
    return [
        {"kind": kind, "measured_s": taken, "predicted_s": predicted[kind]} for kind, taken in measured.most_common()
    ]


def run(data: Path, graphs: Path) -> dict[str, Any]:
    """All tables."""
    networks = _Networks(graphs)
    rows = [row for row in gpu_campaign.read_all(data) if not row.partition]
    plain = [row for row in rows if row.recipe.startswith(PLAIN)]
    return {
        "lines": [*_plain(networks, plain), _memory(networks, rows), *_energy(networks, data)],
        "kernels": _kernels(networks, data),
    }


def _cells(line: dict[str, Any]) -> list[str]:
    *errors, covers = docs_table.error_cells({"covers": 0.0, **line})
    return [line["what"], str(line["rows"]), *errors, covers if "covers" in line else ""]


def markdown(result: dict[str, Any]) -> str:
    """Both tables."""
    lines = [_cells(line) for line in result["lines"]]
    kinds = [
        [
            line["kind"],
            f"{1e3 * line['measured_s']:.1f}",
            f"{1e3 * line['predicted_s']:.1f}",
            f"{line['predicted_s'] / line['measured_s']:.2f}",
        ]
        for line in result["kernels"]
    ]
    return (
        docs_table.table(["what", "rows", *docs_table.ERRORS], lines)
        + "\n"
        + docs_table.table(["kernels", "measured ms", "predicted ms", "predicted / measured"], kinds)
    )


if __name__ == "__main__":
    docs_table.command(__doc__, MARK, run, markdown)

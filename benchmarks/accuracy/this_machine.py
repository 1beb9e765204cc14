"""How far off answers about device="cpu" are: networks in eager PyTorch on all cores of the machine that this runs on,
beside what each predictor says of them.

python benchmarks/accuracy/this_machine.py --out FOLDER --json FILE [--docs docs/accuracy.md]
python benchmarks/accuracy/this_machine.py --json FILE --docs docs/accuracy.md    draws the table again

The committed list of networks (benchmarks/networks.py), at most LONGEST_S a call by the first predictor. FOLDER keeps
what has been measured: the same command goes on. Let nothing else run: a quarter of an hour on two cores.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # before this folder, which has a networks.py too

import docs_table
import latpred
from latpred import _core
from latpred.fitting.errors import summarise
from networks import NETWORKS

MARK = "benchmarks/accuracy/this_machine.py"
PREDICTORS = ("kernel_residual", "analytic", "linear", "roofline")
BATCHES = (1, 8)
LONGEST_S = 3.0  # of a call


def _answers(graph: latpred.Graph) -> dict[str, tuple[float, float, float]]:
    """By predictor: seconds, and the ends of their interval, to as many digits as a page may need."""
    found = {}
    for predictor in PREDICTORS:
        answer = latpred.predict(graph=graph, device="cpu", predictor=predictor)
        low, high = answer.intervals["latency_ms"]
        found[predictor] = (_rounded(answer.latency_ms / 1e3), _rounded(low / 1e3), _rounded(high / 1e3))
    return found


def _rounded(seconds: float) -> float:
    return float(f"{seconds:.5g}")


def measure(folder: Path) -> dict[str, Any]:
    """Every network that is not too long, with what is said of it; a line on the way for each."""
    import torch
    from gpu_campaign.journal import Journal
    from gpu_campaign.measuring import Bench
    from gpu_campaign.settings import Part, Setting

    part = Part("this_machine", "networks on all cores", list)
    bench, journal = Bench("cpu", is_smoke=False), Journal(folder / "this_machine.jsonl")
    answers = {}
    for network in NETWORKS:
        graph = network.graph()
        for batch in BATCHES:
            setting, found = Setting(network.recipe, batch), _answers(graph.with_batch(batch))
            if found[PREDICTORS[0]][0] > LONGEST_S:
                continue
            answers[setting.key] = found
            if setting.key not in journal.keys:
                journal.add(bench.measure(part, setting))
                print(f"{len(journal.keys)}: {setting.key}", flush=True)
    measured = {result.key: result for result in journal.results() if result.key in answers}
    for result in measured.values():
        if result.error:
            raise SystemExit(f"{result.key}: {result.error}")
    rows = [
        {
            "network": row.recipe,
            "family": row.family,
            "batch": row.batch,
            "measured_s": _rounded(row.value),
            **answers[key],
        }
        for key, result in measured.items()
        for row in result.rows
    ]
    version = f"torch {torch.__version__}, {torch.get_num_threads()} threads"
    return {"machine": _core.host_facts().fingerprint, "version": version, "rows": rows}


def lines(result: dict[str, Any]) -> list[dict[str, Any]]:
    """The errors of each predictor at each batch."""
    found = []
    for batch in BATCHES:
        rows = [row for row in result["rows"] if row["batch"] == batch]
        value = np.array([row["measured_s"] for row in rows])
        for predictor in PREDICTORS:
            predicted, low, high = np.array([row[predictor] for row in rows]).T
            found.append(
                {
                    "batch": batch,
                    "predictor": predictor,
                    **dataclasses.asdict(summarise(predicted, value)),
                    "covers": float(np.mean((low <= value) & (value <= high))),
                    "width": float(np.median(np.sqrt(high / low))),
                    "least": float(np.min(predicted / value)),
                    "most": float(np.max(predicted / value)),
                }
            )
    return found


def markdown(result: dict[str, Any]) -> str:
    """The table and what it was made on; least and most are of predicted / measured."""
    headings = ["batch", "predictor", "networks", *docs_table.ERRORS, "interval", "least", "most"]
    cells = [
        [
            str(line["batch"]),
            line["predictor"],
            str(line["rows"]),
            *docs_table.error_cells(line),
            f"x/{line['width']:.2f}",
            f"{line['least']:.2f}",
            f"{line['most']:.2f}",
        ]
        for line in lines(result)
    ]
    return f"On {result['machine']}; {result['version']}.\n\n{docs_table.table(headings, cells)}"


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="folder of the measurements; without it --json is read")
    parser.add_argument("--json", type=Path, required=True, help="file with the result")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    arguments = parser.parse_args()
    result = None if arguments.out is None else measure(arguments.out)
    docs_table.show(MARK, markdown, result, arguments.json, arguments.docs)


if __name__ == "__main__":
    main()

"""The shipped predictor "pmgns": taught by the default predictor, and how well it repeats it.

python benchmarks/accuracy/dippm_student.py --train --work FOLDER    python/latpred/data/trained/pmgns.safetensors
python benchmarks/accuracy/dippm_student.py [--docs docs/dippm.md]   what its manifest says, as a table

Its labels are modelled (data/measurements/families_modelled.parquet): the figures say how like its teacher it is, and
nothing about measurements.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from latpred import fusion
from latpred.datasets import families, load
from latpred.fusion import graph_arrays, pmgns

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docs_table

MARK = "benchmarks/accuracy/dippm_student.py"

# Ours of dippm.py but smaller, for search loops; three targets at once.
CONFIG = {
    "width": 64, "layers": 3, "dense_width": 128, "readout": "mean", "input_scale": "log", "scale": "log",
    "loss": "l1", "schedule": "one_cycle", "learning_rate": 3e-3, "batch_graphs": 16, "epochs": 25,
}  # fmt: skip
SPLIT = "architecture"
COVERED = 0.8


def train(work: Path, epochs: int | None) -> None:
    """Trains on the train part, and writes what the other parts say into the manifest."""
    data = load("families", labels=families.MODELLED)
    work.mkdir(parents=True, exist_ok=True)
    path = work / "modelled.npz"
    if not path.is_file():
        np.savez(path, **data.arrays())
    arrays = pmgns.with_bases(dict(np.load(path)), families.MODELLED_DEVICE)
    parts = {part: np.flatnonzero(data.parts(SPLIT) == part) for part in families.PARTS}
    training, validation = (graph_arrays.part(arrays, parts[part]) for part in ("train", "validation"))
    config = fusion.recipe("pmgns", **(CONFIG | ({} if epochs is None else {"epochs": epochs})))
    network = fusion.train(
        config,
        fusion.sizes_of(training, 0),
        training,
        validation,
        state=work / "pmgns.training",
        epoch_done=lambda epoch, loss, score: print(f"epoch {epoch}: {loss:.4f}, {score:.4f}", flush=True),
    )
    errors = np.log(network.predict(arrays)["targets"] / arrays["targets"])
    # Where the teacher's interval ends, and how far the student is from it on networks that it never saw.
    teacher = data.rows[[f"{name}_half_width" for name in families.TARGETS]].median().to_numpy()
    apart = np.quantile(np.abs(errors[parts["validation"]]), COVERED, axis=0)
    network.trained_on |= {
        "device": families.MODELLED_DEVICE,
        "runtime": str(data.rows.runtime.iloc[0]),
        "precision": str(data.rows.precision.iloc[0]),
        "teacher": str(data.rows.protocol.iloc[0]).removeprefix("answer of ").partition(",")[0],
        "labels": str(data.rows.protocol.iloc[0]),
        "log_half_widths": [float(value) for value in np.hypot(teacher, apart)],
        "mape_percent_of_teacher": {
            part: [float(value) for value in 100 * np.abs(np.expm1(errors[places])).mean(axis=0)]
            for part, places in parts.items()
        },
    }
    network.save(pmgns.CHECKPOINT)


def markdown() -> str:
    """How like its teacher the shipped network is."""
    network = pmgns.load()
    facts = network.trained_on
    rows = [[part, *(f"{value:.1f}" for value in values)] for part, values in facts["mape_percent_of_teacher"].items()]
    size = pmgns.CHECKPOINT.stat().st_size
    return (
        f"{network.config.layers} x GraphSAGE {network.config.width}, {len(network.history)} epochs on "
        f"{facts['graphs']} graphs; {size / 1e6:.1f} MB. MAPE against its teacher in percent, split by architecture "
        f"({facts['labels']}):\n\n"
    ) + docs_table.table(["part", "latency", "memory", "energy"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", action="store_true")
    parser.add_argument("--work", type=Path)
    parser.add_argument("--epochs", type=int, help="another number than the recipe's")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    arguments = parser.parse_args()
    if arguments.train:
        if arguments.work is None:
            parser.error("--train needs --work FOLDER")
        train(arguments.work, arguments.epochs)
    print(markdown())
    if arguments.docs is not None:
        docs_table.replace(arguments.docs, MARK, markdown())


if __name__ == "__main__":
    main()

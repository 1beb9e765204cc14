"""The shipped predictor "pmgns": taught by the default predictor, and how well it repeats it.

python benchmarks/accuracy/dippm_student.py --train --work FOLDER    python/latpred/data/trained/pmgns.safetensors
python benchmarks/accuracy/dippm_student.py [--docs docs/dippm.md]   what its manifest says, as a table
python benchmarks/accuracy/dippm_student.py --time --work FOLDER     graphs that it answers in a second of one core,
                                                                    and one network by it and by its teacher

Its labels are modelled (data/measurements/families_modelled.parquet): the figures say how like its teacher it is, and
nothing about measurements.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import latpred
import numpy as np
from latpred import fusion
from latpred.datasets import families, families_modelled, load
from latpred.fusion import graph_arrays, pmgns

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docs_table

MARK = "benchmarks/accuracy/dippm_student.py"

# Ours of dippm.py but smaller, for search loops; three targets at once.
CONFIG = {
    "width": 32, "layers": 1, "dense_width": 128, "readout": "mean", "input_scale": "log", "scale": "log",
    "loss": "l1", "schedule": "one_cycle", "learning_rate": 5e-3, "batch_graphs": 16, "epochs": 25,
}  # fmt: skip
SPLIT = "architecture"
COVERED = 0.8
ROUNDS = 7
ANSWERS = 50
ONE_NETWORK = Path(__file__).resolve().parents[2] / "examples" / "resnet50.onnx"


def folder_of_teacher(data: families.Families, work: Path) -> Path:
    """Where `work` keeps what one checkpoint of the teacher answered, and a training on that."""
    folder = work / data.rows.protocol.iloc[0].rpartition(" ")[2]
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def arrays_of(data: families.Families, work: Path) -> graph_arrays.Arrays:
    """What it reads of all graphs and its teacher's answers; kept in `work`."""
    path = folder_of_teacher(data, work) / "modelled.npz"
    if not path.is_file():
        np.savez(path, **data.arrays())
    return pmgns.with_bases(dict(np.load(path)), families_modelled.DEVICE)


def graphs_per_second(arrays: graph_arrays.Arrays) -> float:
    """The median of some passes over all graphs, in the thread's own time."""
    network, graphs = pmgns.load(), len(arrays["first_node"]) - 1
    rates = []
    for _ in range(ROUNDS):
        start = time.thread_time()
        network.predict(arrays)
        rates.append(graphs / (time.thread_time() - start))
    return float(np.median(rates))


def one_network_ms(predictor: str | None) -> float:
    """The median of predict() on a network that is loaded."""
    graph = latpred.load(ONE_NETWORK, batch=32)
    seconds = []
    for _ in range(ANSWERS):
        start = time.perf_counter()
        latpred.predict(graph=graph, device=families_modelled.DEVICE, predictor=predictor)
        seconds.append(time.perf_counter() - start)
    return 1e3 * float(np.median(seconds))


def train(work: Path, epochs: int | None) -> None:
    """Trains on the train part, and writes what the other parts say into the manifest."""
    data = load("families", labels=families.MODELLED)
    arrays = arrays_of(data, work)
    parts = {part: np.flatnonzero(data.parts(SPLIT) == part) for part in families.PARTS}
    training, validation = (graph_arrays.part(arrays, parts[part]) for part in ("train", "validation"))
    config = fusion.recipe("pmgns", **(CONFIG | ({} if epochs is None else {"epochs": epochs})))
    network = fusion.train(
        config,
        fusion.sizes_of(training, 0),
        training,
        validation,
        state=folder_of_teacher(data, work) / "pmgns.training",
        epoch_done=lambda epoch, loss, score: print(f"epoch {epoch}: {loss:.4f}, {score:.4f}", flush=True),
    )
    errors = np.log(network.predict(arrays)["targets"] / arrays["targets"])
    # Where the teacher's interval ends, and how far the student is from it on networks that it never saw.
    teacher = data.rows[[f"{name}_half_width" for name in families.TARGETS]].median().to_numpy()
    apart = np.quantile(np.abs(errors[parts["validation"]]), COVERED, axis=0)
    network.trained_on |= {
        "device": families_modelled.DEVICE,
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
    parser.add_argument("--time", action="store_true")
    parser.add_argument("--work", type=Path, help="folder for graphs and an unfinished training")
    parser.add_argument("--epochs", type=int, help="another number than the recipe's")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    arguments = parser.parse_args()
    if (arguments.train or arguments.time) and arguments.work is None:
        parser.error("--train and --time need --work FOLDER")
    if arguments.train:
        train(arguments.work, arguments.epochs)
    if arguments.time:
        arrays = arrays_of(load("families", labels=families.MODELLED), arguments.work)
        nodes = len(arrays["nodes"]) / (len(arrays["first_node"]) - 1)
        print(f"{graphs_per_second(arrays):.0f} graphs of {nodes:.0f} nodes a second")
        print(f"ResNet-50: {one_network_ms(pmgns.NAME):.1f} ms, its teacher {one_network_ms(None):.1f} ms\n")
    print(markdown())
    if arguments.docs is not None:
        docs_table.replace(arguments.docs, MARK, markdown())


if __name__ == "__main__":
    main()

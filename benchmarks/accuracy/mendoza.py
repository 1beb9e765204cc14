"""Mendoza and Wang's regressors on flattened nets, and ours beside them: the tables of their section 5, or the
trainings; then the tables of networks that share a device (colocation.py).

python benchmarks/accuracy/mendoza.py [--json FILE] [--docs docs/mendoza.md] [--plot docs/mendoza_depths.png]
python benchmarks/accuracy/mendoza.py --train          the trainings, which can be interrupted

Without --train everything comes from committed files.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from latpred.datasets.measured_nets import MeasuredNets, mixed, read
from latpred.training import loop, train
from latpred.training.net_errors import NetErrors, errors_of
from latpred.training.search import without_search
from latpred.training.trainable import trainable_row
from latpred.training.trained import Trained, load

sys.path.insert(0, str(Path(__file__).resolve().parent))

import colocation
import docs_table
import khan

MARK = "benchmarks/accuracy/mendoza.py"
ROOT = Path(__file__).resolve().parents[2]
MEASUREMENTS = ROOT / "data" / "measurements"
DENSE, CNNS, OTHER_SIZES = (MEASUREMENTS / f"{name}.parquet" for name in ("khan", "mendoza_cnn", "mendoza_cnn_sizes"))
FOLDER = Path(__file__).resolve().parent / "mendoza"
SHIPPED = {("layer_sum", "mixed")}  # what predict(predictor="layer_sum") answers with
SEEDS = 3
OURS, DNN, LINE = "layer_sum", "flat_dnn", "flat_linear"
NAMES = (OURS, DNN, LINE)


@dataclasses.dataclass(frozen=True)
class Paper:
    """A row of their tables, in seconds on their machines."""

    predictor: str
    mae_s: float
    depth: int | None = None


@dataclasses.dataclass(frozen=True)
class Part:
    """One of their data sets."""

    name: str
    title: str
    make: Callable[[MeasuredNets, MeasuredNets], MeasuredNets]
    split: str
    paper_mean_s: float
    paper: tuple[Paper, ...]
    paper_gpu: str
    epochs: dict[str, int]  # at most: a small set needs more of them for as many steps


PARTS = (
    Part("nets", "Feed-forward nets", lambda dense, cnns: dense, "80-10-10", 0.02132,
         (Paper("DNN", 0.00282, 13), Paper("linear regression", 0.01619)),
         "DNN 0.11 ms (13 layers), linear regression 0.16 ms; standard deviation of the latency 0.2 ms",
         {OURS: 40, DNN: 60}),
    Part("cnn", "Plain CNNs", lambda dense, cnns: cnns, "70-15-15", 0.39026,
         (Paper("DNN", 0.01801, 19), Paper("linear regression", 0.02225)),
         "DNN 0.41 ms (5 layers), linear regression 0.59 ms at a mean of 17.11 ms, standard deviation 3.51 ms",
         {OURS: 160, DNN: 200}),
    Part("mixed", "Both mixed", mixed, "85-7.5-7.5, as many of each kind in what validates and in what tests", 0.20636,
         (Paper("DNN", 0.01312, 13), Paper("linear regression", 0.01937)),
         "19 layers chosen, errors in a picture only", {OURS: 100, DNN: 100}),
)  # fmt: skip


def checkpoint_path(folder: Path, name: str, part: str, seed: int) -> Path:
    """Where the checkpoint of a predictor, a data set and a seed lies; seeds above 0 are not committed."""
    if seed == 0 and folder == FOLDER and (name, part) in SHIPPED:
        return khan.SHIPPED / f"{name}.safetensors"
    return folder / f"{name}-{part}{f'-{seed}' if seed else ''}.safetensors"


def train_all(sets: dict[str, MeasuredNets], options: argparse.Namespace) -> None:
    """Trains what is not there yet, says how long each took, and keeps the errors of all seeds."""
    options.checkpoints.mkdir(parents=True, exist_ok=True)
    errors: dict[str, dict[str, list[dict[str, Any]]]] = {part: {} for part in sets}
    for part, data in sets.items():
        of_part = next(row.epochs for row in PARTS if row.name == part)
        for name in options.only:
            row = trainable_row(name)
            epochs = 1 if row.epochs == 1 else options.epochs or of_part[name]
            for seed in khan.seeds_of(row, options.seeds):
                path = checkpoint_path(options.checkpoints, name, part, seed)
                start = time.monotonic()
                if seed and row.search:  # the depth that the first seed chose
                    chosen = load(checkpoint_path(options.checkpoints, name, part, 0)).search["chosen"]
                    found = loop.run(
                        without_search(row, chosen), data, path, epochs, seed, resume=True, is_shown=not options.quiet
                    )
                else:
                    found = train(name, dataset=data, out=path, epochs=epochs, seed=seed, progress=not options.quiet)
                print(f"{path.name}: {time.monotonic() - start:.0f} s, {path.stat().st_size} bytes", flush=True)
                test = data.part("test")
                line = errors_of(found.predict_nets(test.nets), test.latency_s)
                errors[part].setdefault(name, []).append(line.to_dict())
    seeds_file(options.checkpoints).write_text(json.dumps(errors, indent=1) + "\n", encoding="utf-8")


def seeds_file(folder: Path) -> Path:
    """Test errors of every seed that was trained."""
    return folder / "seeds.json"


def load_all(options: argparse.Namespace, part: str) -> dict[str, Trained]:
    """The checkpoints of a data set; those that are missing are named."""
    found = {}
    for name in options.only:
        path = checkpoint_path(options.checkpoints, name, part, 0)
        if path.is_file():
            found[name] = load(path)
        else:
            print(f"{name}: no {path.name}; --train makes it", file=sys.stderr)
    return found


def layers_text(count: int) -> str:
    """ "1 layer", "2 layers" """
    return f"{count} layer{'s' if count > 1 else ''}"


def shown_name(trained: Trained) -> str:
    """With the depth, where it was searched for."""
    if "searched" in trained.manifest:
        return f"{trained.name} ({layers_text(trained.search['chosen'])})"
    return trained.name


def lines_of(data: MeasuredNets, trained: dict[str, Trained], seeds: dict[str, list[NetErrors]]) -> list[khan.Line]:
    """Test errors of each predictor: of the checkpoint, with the spread of all seeds."""
    test = data.part("test")
    lines = []
    for name, one in trained.items():
        own = errors_of(one.predict_nets(test.nets), test.latency_s)
        lines.append(khan.Line.of(shown_name(one), [own, *seeds.get(name, [])[1:]]))
    return lines


def part_table(part: Part, data: MeasuredNets, trained: dict[str, Trained], seeds: dict[str, list[NetErrors]]) -> str:
    """Of one data set: ours, the floor, and theirs."""
    test = data.part("test")
    lines = lines_of(data, trained, seeds)
    floor = khan.floor_lines(data)
    rows = [khan.cells(line) for line in (*lines, khan.mean_line(data.part("train"), test), *floor[:1])]
    for paper in part.paper:
        depth = f", {paper.depth} layers" if paper.depth else ""
        name = f"their {paper.predictor}{depth}, 16-core CPU, mean {1e3 * part.paper_mean_s:g} ms"
        percent = f"{100 * paper.mae_s / part.paper_mean_s:.1f} %"
        rows.append([name, f"{1e3 * paper.mae_s:g}", percent, "", "", ""])
    text = [f"### {part.title}\n", f"Split {part.split}: {khan.about(data, test)}"]
    text.append(docs_table.table(khan.HEADINGS, rows))
    text += [f"{verdict(name, line, floor[0])}\n" for name, line in zip(trained, lines, strict=True) if floor]
    if DNN in trained:
        text.append(f"{depth_text(trained[DNN])}\n")
    text.append(
        f"Their V100: {part.paper_gpu}. No GPU rows of ours: part `small` of `benchmarks/gpu_campaign` has not run.\n"
    )
    return "\n".join(text)


def verdict(name: str, line: khan.Line, floor: khan.Line) -> str:
    """How far a predictor is from what the labels allow."""
    mae = line.errors.mae_percent_of_mean / floor.errors.mae_percent_of_mean
    median = line.errors.median_percent / floor.errors.median_percent
    word = "within" if max(mae, median) <= khan.FACTOR_OF_FLOOR else "not within"
    return (
        f"{name}: {mae:.2f} times the floor in MAE / mean, {median:.2f} times in the median error: {word} "
        f"{khan.FACTOR_OF_FLOOR} times."
    )


def depth_text(dnn: Trained) -> str:
    """The curve in words."""
    curve = {line["value"]: 100 * line["validation_error"] for line in dnn.search["curve"]}
    shown = [depth for depth in (1, 2, 5, 10, 15, 20) if depth in curve]
    return (
        f"Depth by validation MAE / mean: {layers_text(dnn.search['chosen'])} ({curve[dnn.search['chosen']]:.1f} %); "
        + ", ".join(f"{depth}: {curve[depth]:.1f} %" for depth in shown)
        + "."
    )


def sizes_table(data: MeasuredNets, trained: dict[str, Trained]) -> str:
    """CNNs on larger images than those of the training."""
    rows = []
    places = np.unique(data.nets.positions)
    for count in places:
        those = data.select(data.nets.positions == count)
        size = int(np.sqrt(count))
        for name, one in trained.items():
            line = khan.Line.of(name, [errors_of(one.predict_nets(those.nets), those.latency_s)])
            rows.append([f"{size} x {size}", str(len(those)), *khan.cells(line)])
        rows += [[f"{size} x {size}", str(len(those)), *khan.cells(line)] for line in khan.floor_lines(those)[:1]]
    return (
        "### CNNs on larger images\n\nNone of that size was trained on. Flattened features do not know the size of an "
        "image.\n\n" + docs_table.table(("images", "nets", *khan.HEADINGS), rows)
    )


def plot(curves: dict[str, Trained], file: Path) -> None:
    """Validation error by depth, a line for each data set."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 3.5))
    for part, dnn in curves.items():
        curve = dnn.search["curve"]
        depths, errors = ([line[name] for line in curve] for name in ("value", "validation_error"))
        (drawn,) = axes.plot(depths, 100 * np.array(errors), ".-", label=part)
        chosen = dnn.search["chosen"]
        axes.plot([chosen], [100 * errors[depths.index(chosen)]], "o", color=drawn.get_color(), fillstyle="none", ms=9)
    axes.set(xlabel="hidden layers of 100 units", ylabel="validation MAE / mean, %", yscale="log")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.yaxis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter("{x:g}")
    axes.legend()
    figure.tight_layout()
    figure.savefig(file, dpi=110, metadata={"Software": None})


def to_json(part: Part, data: MeasuredNets, trained: dict[str, Trained], lines: Sequence[khan.Line]) -> dict[str, Any]:
    """The numbers of a table."""
    return {
        "conditions": dataclasses.asdict(data.conditions),
        "split": part.split,
        "nets": len(data),
        "test": {
            name: line.errors.to_dict() | {"spread": line.spread} for name, line in zip(trained, lines, strict=True)
        },
        "noise_floor": [line.errors.to_dict() for line in khan.floor_lines(data)],
        "depth": trained[DNN].search if DNN in trained else None,
    }


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--dense", type=Path, default=DENSE, help="feed-forward nets (default: %(default)s)")
    parser.add_argument("--cnns", type=Path, default=CNNS, help="plain CNNs")
    parser.add_argument("--other-sizes", type=Path, default=OTHER_SIZES, help="CNNs that no training sees")
    parser.add_argument("--checkpoints", type=Path, default=FOLDER, help="folder of the checkpoints")
    parser.add_argument("--only", nargs="+", default=NAMES, choices=NAMES, metavar="NAME", help=", ".join(NAMES))
    parser.add_argument("--sets", nargs="+", default=[part.name for part in PARTS], metavar="SET",
                        choices=[part.name for part in PARTS], help=", ".join(part.name for part in PARTS))  # fmt: skip
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of predictors that start from random numbers")
    parser.add_argument("--train", action="store_true", help="train first; goes on where it was interrupted")
    parser.add_argument("--epochs", type=int, help="of --train, for a quick look")
    parser.add_argument("--quiet", action="store_true", help="show no progress")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--docs", type=Path, help="write the tables into this page")
    parser.add_argument("--plot", type=Path, help="draw the search for the depth here")
    options = parser.parse_args()
    start = time.monotonic()
    dense, cnns = read(options.dense), read(options.cnns)
    sets = {part.name: part.make(dense, cnns) for part in PARTS if part.name in options.sets}
    if options.train:
        train_all(sets, options)
        print(f"trained in {time.monotonic() - start:.0f} s")
    stored = json.loads(seeds_file(options.checkpoints).read_text(encoding="utf-8"))
    text, numbers, curves = [], {}, {}
    for part in PARTS:
        if part.name not in sets:
            continue
        data = sets[part.name]
        trained = load_all(options, part.name)
        seeds = {name: [NetErrors(**line) for line in lines] for name, lines in stored.get(part.name, {}).items()}
        text.append(part_table(part, data, trained, seeds))
        numbers[part.name] = to_json(part, data, trained, lines_of(data, trained, seeds))
        if DNN in trained:
            curves[part.name] = trained[DNN]
        if part.name == "cnn" and options.other_sizes.is_file():
            text.append(sizes_table(read(options.other_sizes), trained))
    tables = "\n".join(text)
    print(tables)
    if options.json:
        options.json.write_text(json.dumps(numbers, indent=1) + "\n", encoding="utf-8")
    if options.docs:
        docs_table.replace(options.docs, MARK, tables)
    if options.plot:
        plot(curves, options.plot)
    print(colocation.tables())
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

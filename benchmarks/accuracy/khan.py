"""Khan's transformer and what it is compared with, on measured feed-forward nets: the tables, or the trainings.

python benchmarks/accuracy/khan.py [--json FILE] [--docs docs/training.md]     the tables, from committed files
python benchmarks/accuracy/khan.py --train                                     the trainings, which can be interrupted

Another set of nets (--data, --out-of-range) wants a folder of its own for its checkpoints (--checkpoints).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from latpred.datasets.measured_nets import MeasuredNets, read
from latpred.training import train
from latpred.training.net_errors import NetErrors, by_band, errors_of, noise_floor
from latpred.training.trainable import TRAINABLE, TrainableRow
from latpred.training.trained import Trained, load

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docs_table

MARK = "benchmarks/accuracy/khan.py"
ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "data" / "measurements" / "khan.parquet"
OUT_OF_RANGE = ROOT / "data" / "measurements" / "khan_out_of_range.parquet"
SHIPPED = ROOT / "python" / "latpred" / "data" / "trained"  # of seed 0: what predict(predictor=NAME) answers with
OTHER_SEEDS = Path(__file__).resolve().parent / "khan"
SEEDS = 3

PAPER_MAE_PERCENT_OF_MEAN = 9.5  # 0.0038 s of 0.0400 s, on another machine
FACTOR_OF_FLOOR = 1.5  # what ours is asked to be within
MEAN = "mean of all"
FLOOR = "timed again"

OF_MENDOZA = ("layer_sum", "flat_dnn", "flat_linear")  # mendoza.py trains them, on these nets too

NUMBERS = ("mae_percent_of_mean", "mape_percent", "median_percent", "p90_percent")


@dataclasses.dataclass(frozen=True)
class Line:
    """Errors of one predictor on one band; where it was trained from several seeds, their mean and spread."""

    predictor: str
    errors: NetErrors
    spread: dict[str, float] | None  # standard deviation over the seeds, by the names in NUMBERS and mae_s

    @classmethod
    def of(cls, predictor: str, by_seed: Sequence[NetErrors]) -> Line:
        """The mean of the seeds' errors."""
        names = ("mae_s", *NUMBERS)
        values = {name: np.array([getattr(errors, name) for errors in by_seed]) for name in names}
        means = dataclasses.replace(by_seed[0], **{name: float(found.mean()) for name, found in values.items()})
        spread = {name: float(found.std(ddof=1)) for name, found in values.items()} if len(by_seed) > 1 else None
        return cls(predictor, means, spread)

    def cell(self, name: str) -> str:
        """A number in percent, with its spread."""
        tail = f" ± {self.spread[name]:.1f}" if self.spread else ""
        return f"{getattr(self.errors, name):.1f}{tail} %"


def seeds_of(row: TrainableRow, count: int) -> range:
    """A fit in closed form is the same for all seeds."""
    return range(count if row.epochs > 1 else 1)


def checkpoint_path(folder: Path | None, name: str, seed: int) -> Path:
    """Where the checkpoint of a predictor and a seed lies."""
    if folder is not None:
        return folder / f"{name}-{seed}.safetensors"
    return SHIPPED / f"{name}.safetensors" if seed == 0 else OTHER_SEEDS / f"{name}-{seed}.safetensors"


def train_all(data: Path, folder: Path | None, names: Sequence[str], seeds: int, epochs: int | None) -> None:
    """Trains what is not there yet, and says how long each took."""
    for row in TRAINABLE:
        for seed in seeds_of(row, seeds) if row.name in names else ():
            path = checkpoint_path(folder, row.name, seed)
            start = time.monotonic()
            found = train(row.name, dataset=data, out=path, epochs=epochs if row.epochs > 1 else None, seed=seed)
            print(
                f"{path.name}: {found.manifest['epochs_done']} epochs, {time.monotonic() - start:.0f} s, "
                f"{path.stat().st_size} bytes",
                flush=True,
            )


def load_all(folder: Path | None, names: Sequence[str], seeds: int) -> dict[str, list[Trained]]:
    """The checkpoints of each predictor; those that are missing are named."""
    found: dict[str, list[Trained]] = {}
    for row in TRAINABLE:
        if row.name not in names:
            continue
        paths = [checkpoint_path(folder, row.name, seed) for seed in seeds_of(row, seeds)]
        missing = [path.name for path in paths if not path.is_file()]
        if missing:
            print(f"{row.name}: no {', '.join(missing)}; --train makes it", file=sys.stderr)
        else:
            found[row.name] = [load(path) for path in paths]
    return found


def lines_by_band(predictors: dict[str, list[Trained]], measured: MeasuredNets) -> dict[str, list[Line]]:
    """For each predictor that takes these nets its lines: all of them, then each band."""
    most = int(measured.nets.lengths.max())
    sizes = measured.nets.weight_bytes()
    found: dict[str, list[Line]] = {}
    for name, of_seeds in predictors.items():
        if of_seeds[0].manifest["max_nodes"] is not None and of_seeds[0].manifest["max_nodes"] < most:
            continue
        tables = [by_band(one.predict_nets(measured.nets), measured.latency_s, sizes) for one in of_seeds]
        found[name] = [Line.of(name, bands) for bands in zip(*tables, strict=True)]
    return found


def mean_line(training: MeasuredNets, measured: MeasuredNets) -> Line:
    """What one number for all nets is off by."""
    constant = np.full(len(measured), training.latency_s.mean())
    return Line.of(MEAN, [errors_of(constant, measured.latency_s)])


HEADINGS = ("predictor", "MAE ms", "MAE / mean", "MAPE", "median", "90th percentile")


def cells(line: Line) -> list[str]:
    """A row under HEADINGS."""
    return [line.predictor, f"{1e3 * line.errors.mae_s:.4g}", *(line.cell(name) for name in NUMBERS)]


def floor_lines(measured: MeasuredNets) -> list[Line]:
    """By band; the whole first. Empty where no net was timed twice."""
    return [Line(FLOOR, errors, None) for errors in noise_floor(measured)]


def tables(data: MeasuredNets, beyond: MeasuredNets | None, predictors: dict[str, list[Trained]]) -> str:
    """Everything as Markdown."""
    test = data.part("test")
    lines = lines_by_band(predictors, test)
    floor = floor_lines(data)
    text = [about(data, test)]
    rows = [cells(of_bands[0]) for of_bands in lines.values()]
    rows += [cells(mean_line(data.part("train"), test)), *(cells(line) for line in floor[:1])]
    rows.append(["Khan's paper, on its machine", "3.8", f"{PAPER_MAE_PERCENT_OF_MEAN} %", "", "", ""])
    text.append(docs_table.table(HEADINGS, rows))
    text += [verdict(lines["transformer"][0], floor[0])] if "transformer" in lines and floor else []
    text.append(f"{inside_text(predictors, test)}\n")
    for name, of_bands in [*lines.items(), (FLOOR, floor)]:
        if of_bands:
            text.append(f"{name}, by the size of the weights:\n\n{band_table(of_bands)}")
    if beyond is not None:
        rows = [cells(of_bands[0]) for of_bands in lines_by_band(predictors, beyond).values()]
        rows += [cells(line) for line in floor_lines(beyond)[:1]]
        text.append(f"Out of range, {about(beyond, beyond)}\n{docs_table.table(HEADINGS, rows)}")
    return "\n".join(text)


def band_table(lines: Sequence[Line]) -> str:
    """One predictor's errors by weight size."""
    headings = ("weights", "nets", "mean ms", "std ms", *HEADINGS[1:])
    rows = []
    for line in lines:
        errors = line.errors
        latency = [f"{1e3 * value:.4g}" for value in (errors.mean_s, errors.std_s)]
        rows.append([errors.band, str(errors.nets), *latency, *cells(line)[1:]])
    return docs_table.table(headings, rows)


def about(data: MeasuredNets, shown: MeasuredNets) -> str:
    """What was measured, in a sentence."""
    conditions = data.conditions
    mean, deviation, median = (1e3 * float(take(shown.latency_s)) for take in (np.mean, np.std, np.median))
    words = [
        f"{len(shown)} of {len(data)} nets",
        f"{conditions.device_fingerprint}; {conditions.runtime} ({conditions.runtime_version})",
        f"{conditions.precision}; {conditions.protocol}",
        f"mean {mean:.4g} ms, standard deviation {deviation:.4g} ms, median {median:.4g} ms",
    ]
    first = data.first_run_s / data.latency_s
    if np.isfinite(first).any():
        words.append(f"the first run takes {np.nanmedian(first):.2f} times as long (median)")
    return "; ".join(words) + ".\n"


def verdict(ours: Line, floor: Line) -> str:
    """How far the transformer is from what the labels allow."""
    mae = ours.errors.mae_percent_of_mean / floor.errors.mae_percent_of_mean
    median = ours.errors.median_percent / floor.errors.median_percent
    word = "within" if max(mae, median) <= FACTOR_OF_FLOOR else "not within"
    return (
        f"transformer: {mae:.2f} times the floor in MAE / mean, {median:.2f} times in the median error: {word} "
        f"{FACTOR_OF_FLOOR} times.\n"
    )


def inside_text(predictors: dict[str, list[Trained]], test: MeasuredNets) -> str:
    """How often 80 % intervals held."""
    shares = []
    for name, of_seeds in predictors.items():
        predicted = of_seeds[0].predict_nets(test.nets)
        inside = np.abs(np.log(test.latency_s / predicted)) <= np.log(of_seeds[0].interval_factors(predicted))
        shares.append(f"{name} {inside.mean():.0%}")
    return f"Within their 80 % interval: {', '.join(shares)}."


def to_json(data: MeasuredNets, beyond: MeasuredNets | None, predictors: dict[str, list[Trained]]) -> dict[str, Any]:
    """The numbers of the tables."""

    def plain(lines: Sequence[Line]) -> list[dict[str, Any]]:
        return [line.errors.to_dict() | {"spread": line.spread} for line in lines]

    test = data.part("test")
    found = {name: plain(lines) for name, lines in lines_by_band(predictors, test).items()}
    result: dict[str, Any] = {
        "conditions": dataclasses.asdict(data.conditions),
        "nets": len(data),
        "test": found | {MEAN: plain([mean_line(data.part("train"), test)])},
        "noise_floor": plain(floor_lines(data)),
    }
    if beyond is not None:
        result["out_of_range"] = {name: plain(lines) for name, lines in lines_by_band(predictors, beyond).items()}
    return result


def main() -> None:
    """See above."""
    names = [row.name for row in TRAINABLE if row.name not in OF_MENDOZA]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=DATA, help="measured nets (default: %(default)s)")
    parser.add_argument("--out-of-range", type=Path, default=OUT_OF_RANGE, help="more of them, which no training sees")
    parser.add_argument(
        "--checkpoints", type=Path, help="folder of all checkpoints (default: where they are committed)"
    )
    parser.add_argument(
        "--only", nargs="+", default=names, choices=names, metavar="NAME", help="of: " + ", ".join(names)
    )
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of predictors that start from random numbers")
    parser.add_argument("--train", action="store_true", help="train first; goes on where it was interrupted")
    parser.add_argument("--epochs", type=int, help="of --train, for a quick look")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--docs", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    start = time.monotonic()
    if options.train:
        train_all(options.data, options.checkpoints, options.only, options.seeds, options.epochs)
        print(f"trained in {time.monotonic() - start:.0f} s")
    data = read(options.data)
    beyond = read(options.out_of_range) if options.out_of_range.is_file() else None
    predictors = load_all(options.checkpoints, options.only, options.seeds)
    text = tables(data, beyond, predictors)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(to_json(data, beyond, predictors), indent=1) + "\n", encoding="utf-8")
    if options.docs:
        docs_table.replace(options.docs, MARK, text)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

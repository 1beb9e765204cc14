"""Co-location: errors of all predictors on networks that shared this machine's cores and on public GPU data.

python benchmarks/accuracy/colocation.py [--docs docs/colocation.md]     the tables, from committed files
python benchmarks/accuracy/colocation.py --train                         the dense networks, of which files keep answers
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from latpred import _core
from latpred.colocation import fits, table
from latpred.colocation.combination import APPLICATIONS
from latpred.colocation.fit import gpu_terms, left_out_predictions, read_graphs
from latpred.colocation.networks import graph_of
from latpred.colocation.rows import (
    GROUPS,
    STREAMS,
    LabelledMember,
    Profiles,
    core_model,
    labelled,
)
from latpred.datasets import colocation as shared_gpus

sys.path.insert(0, str(Path(__file__).resolve().parent))

import colocation_slots as slots
import docs_table

MARK = "benchmarks/accuracy/colocation.py"
DATA = Path(__file__).resolve().parents[2] / "data" / "measurements"
OWN, GRAPHS, GPUS = (DATA / name for name in ("colocation.parquet", "colocation_graphs.xz", "colocation_gpus.parquet"))
ANSWERS = Path(__file__).resolve().parent / "colocation_dense.json"
FOLDS = 5
SEED = 0
NONE, MEAN, LINE, DENSE, OURS, FLOOR = (
    "no interference", "mean of the network", "linear regression (paper)", "dense network (paper)", "ours",
    "measured again",
)  # fmt: skip
MIG_LIMIT = 0.03
Answer = Callable[[np.ndarray, np.ndarray], np.ndarray]  # rows trained on, rows asked for -> slow-downs


@dataclasses.dataclass(frozen=True)
class Set:
    """Rows whose labels are by one clock, with all that predictors need."""

    rows: list[LabelledMember]
    terms: list[list[float]]
    features: np.ndarray  # of slots
    sharing: str

    @property
    def slow_downs(self) -> np.ndarray:
        return np.array([row.slow_down for row in self.rows])

    @property
    def alone_s(self) -> np.ndarray:
        return np.array([row.alone_s for row in self.rows])


def sets_of(measured: table.Measured) -> list[Set]:
    """One for members on cores of their own, one for those that take turns. Streams have no graph for a slot: they are
    rows of our own fits alone."""
    graphs = read_graphs(GRAPHS)
    profiles = Profiles(graphs, core_model(measured, graphs))
    points = slots.coordinates({name: graph_of(f"timm:{name}@224", 1, graphs) for name in APPLICATIONS})
    found = []
    rows = [row for row in labelled(measured) if row.repeat == 0]
    for sharing, shares_core in (("cores", False), ("time_slicing", True)):
        own = [row for row in rows if row.shares_core == shares_core]
        plain = [row for row in own if row.group != STREAMS]
        columns = slots.features(plain, points)
        empty = np.zeros((len(own) - len(plain), columns.shape[1]))
        own = [*plain, *(row for row in own if row.group == STREAMS)]
        found.append(Set(own, [profiles.terms(row)[1] for row in own], np.vstack([columns, empty]), sharing))
    return found


def splits_of(rows: Sequence[LabelledMember]) -> dict[str, list[np.ndarray]]:
    """By split the folds: which rows are tested. A combination is on one side, whatever its batches and cores."""
    keys = [row.found.key for row in rows]
    order = np.random.default_rng(SEED).permutation(sorted(set(keys)))
    fold_of = {key: place % FOLDS for place, key in enumerate(order)}
    folds = np.array([fold_of[key] for key in keys])
    networks = [row.networks for row in rows]
    return {
        "combinations left out": [folds == fold for fold in range(FOLDS)],
        "networks left out": [np.array([name in found for found in networks]) for name in APPLICATIONS],
    }


def no_interference(data: Set) -> Answer:
    return lambda train, test: np.ones(int(test.sum()))


def mean_of_network(data: Set) -> Answer:
    """Of the target's rows that are trained on; of all of them where it has none."""
    names = np.array([row.network for row in data.rows])

    def answer(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        found = {name: data.slow_downs[train & (names == name)].mean() for name in set(names[train])}
        return np.array([found.get(name, data.slow_downs[train].mean()) for name in names[test]])

    return answer


def line(data: Set) -> Answer:
    """The label is the degradation in seconds, as in the paper."""
    is_plain = np.array([row.group != STREAMS for row in data.rows])
    delays_s = data.alone_s * (data.slow_downs - 1)

    def answer(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        own = train & is_plain
        found_s = slots.straight_line(data.features[own], delays_s[own], data.features[test])
        return 1 + found_s / data.alone_s[test]

    return answer


def ours(data: Set) -> Answer:
    terms = np.array(data.terms)

    def answer(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        found = _core.fit_interference(terms[train].tolist(), data.slow_downs[train].tolist())
        return 1 + terms[test] @ np.array(found)

    return answer


PREDICTORS: dict[str, Callable[[Set], Answer]] = {
    NONE: no_interference, MEAN: mean_of_network, LINE: line, OURS: ours,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Errors:
    """Of one predictor on rows that it did not see."""

    slow_down: float  # mean |predicted - measured|
    delay_ms: float
    delay_share: float  # of the mean |degradation| of the same rows


def errors_of(predicted: np.ndarray, slow_downs: np.ndarray, alone_s: np.ndarray) -> Errors:
    error_s = np.abs(predicted - slow_downs) * alone_s
    mean_s = np.mean(np.abs(slow_downs - 1) * alone_s)
    return Errors(
        float(np.abs(predicted - slow_downs).mean()), 1e3 * float(error_s.mean()), float(error_s.mean() / mean_s)
    )


def evaluate(data: Set, answer: Answer, folds: Sequence[np.ndarray], counted: np.ndarray) -> Errors:
    """Over all folds; rows of combinations of two networks are tested once for each that is left out."""
    parts = []
    for test in folds:
        own = test & counted
        if own.any():
            parts.append((answer(~test, own), data.slow_downs[own], data.alone_s[own]))
    return errors_of(*(np.concatenate([part[place] for part in parts]) for place in range(3)))


def repeat_errors(measured: table.Measured, group: str) -> Errors | None:
    """The second times against the first ones."""
    rows = [row for row in labelled(measured) if row.group == group]
    first = {(str(row.found), row.index): row for row in rows if row.repeat == 0}
    pairs = [
        (first[str(row.found), row.index], row) for row in rows if row.repeat and (str(row.found), row.index) in first
    ]
    if not pairs:
        return None
    a, b = (np.array([row.slow_down for row in part]) for part in zip(*pairs, strict=True))
    return errors_of(b, a, np.array([row.alone_s for row, _ in pairs]))


def dense_errors(group: str, split: str) -> Errors | None:
    """Of the answers that --train kept."""
    if not ANSWERS.is_file():
        return None
    found = json.loads(ANSWERS.read_text(encoding="utf-8"))["errors"].get(f"{group}, {split}")
    return None if found is None else Errors(**found)


def cells(name: str, found: Sequence[Errors | None]) -> list[str]:
    row = [name]
    for errors in found:
        row += ["", "", ""] if errors is None else [
            f"{errors.slow_down:.4f}", f"{errors.delay_ms:.3g}", f"{errors.delay_share:.0%}",
        ]  # fmt: skip
    return row


HEADINGS = ("predictor", *(
    f"{what}, {split}" for split in ("combinations left out", "networks left out")
    for what in ("MAE of the slow-down", "MAE ms", "MAE / mean degradation")
))  # fmt: skip


def group_table(data: Set, measured: table.Measured, group: str) -> str:
    """Every predictor on the rows of a group, trained on the whole set's others."""
    counted = np.array([row.group == group for row in data.rows])
    splits = splits_of(data.rows)
    rows = []
    for name, make in PREDICTORS.items():
        if group == STREAMS and name == LINE:
            continue
        answer = make(data)
        rows.append(cells(name, [evaluate(data, answer, folds, counted) for folds in splits.values()]))
        dense = [dense_errors(group, split) for split in splits]
        if name == LINE and any(dense):
            rows.append(cells(DENSE, dense))
    floor = repeat_errors(measured, group)
    rows += [] if floor is None else [cells(FLOOR, [floor, floor])]
    own = data.slow_downs[counted]
    clock = "wall clock" if data.sharing == "time_slicing" else "CPU time"
    about = (
        f"{group}, by {clock}: {counted.sum()} labels, slow-down {own.mean():.3f} on average, "
        f"{np.quantile(own, 0.05):.3f} to {np.quantile(own, 0.95):.3f} (5 to 95 %).\n\n"
    )
    return about + docs_table.table(HEADINGS, rows)


def own_tables() -> str:
    """Of what was measured on one machine's cores."""
    measured = table.read(OWN)
    machine = measured.machine
    rows = [row for row in labelled(measured) if row.repeat == 0]
    count, drifted = len({str(row.found) for row in rows}), len(labelled(measured, only_steady=False))
    steady = len(labelled(measured))
    about = (
        f"{count} combinations of {len(APPLICATIONS)} networks on {machine['processor']} "
        f"({machine['logical_cores']} cores), {machine['runtime']}, fp32, one thread each; {steady} of {drifted} "
        "labels, those whose times alone, before and after, are within 5 % of each other.\n"
    )
    text = [about]
    for data in sets_of(measured):
        for group in GROUPS:
            if any(row.group == group for row in data.rows):
                text.append(group_table(data, measured, group))
    return "\n".join(text)


def pair_errors(rows: pd.DataFrame, sharing: str) -> list[list[str]]:
    """Of training jobs in pairs; a job is left out whatever its batch."""
    slow_downs = (rows.beside_s / rows.alone_s).to_numpy()
    names = rows.network.to_numpy()
    terms = gpu_terms(rows, sharing)
    groups = [frozenset(pair) for pair in zip(rows.network, rows.neighbour, strict=True)]
    left_out = left_out_predictions(terms, slow_downs.tolist(), groups)
    means = np.zeros(len(rows))
    for name in set(names):
        is_other = (names != name) & (rows.neighbour.to_numpy() != name)
        means[names == name] = slow_downs[is_other].mean()
    found = [(NONE, np.ones(len(rows))), (MEAN, means), (OURS, left_out)]
    return [
        [name, f"{np.abs(predicted - slow_downs).mean():.3f}", f"{np.abs(predicted / slow_downs - 1).mean():.1%}"]
        for name, predicted in found
    ]


def mig_table(rows: pd.DataFrame) -> str:
    """Neighbours on the other slices."""
    learnt = fits.shipped().fit("mig", fits.GPU)
    predicted = _core.slow_down(list(learnt.coefficients), gpu_terms(rows[:1], "mig")[0])
    lines = []
    for row in rows.itertuples(index=False):
        found = row.beside_s / row.alone_s
        lines.append([row.network, f"{found:.4f}", f"{predicted:.4f}", f"{predicted / found - 1:+.1%}"])
    word = "within" if predicted - 1 <= MIG_LIMIT else "not within"
    return (
        f"Neighbours on the other six MIG slices of an {rows.device.iloc[0]} (MLPerf inference, TensorRT): predicted "
        f"{predicted - 1:.1%} slower, {word} {MIG_LIMIT:.0%} of none.\n\n"
        + docs_table.table(("network", "measured slow-down", "predicted", "error"), lines)
    )


def slice_table(rows: pd.DataFrame) -> str:
    """Training jobs on slices, by what they use of the whole GPU."""
    whole = rows[rows.partition == "7g.40gb"].set_index(["network", "batch"]).alone_s
    part = rows[rows.partition != "7g.40gb"]
    keys = list(zip(part.network, part.batch, strict=True))
    is_known = np.array([key in whole.index for key in keys])
    part = part[is_known]
    measured = part.alone_s.to_numpy() / np.array(
        [whole[key] for key, known in zip(keys, is_known, strict=True) if known]
    )
    shares = np.array([_core.partition(part.device.iloc[0], name).sm_share for name in part.partition])
    predicted = {
        "no slow-down": np.ones(len(part)),
        "1 / share of the SMs": 1 / shares,
        "SM use / share, at least 1": np.maximum(1, part.sm_share.to_numpy() / shares),
    }
    lines = [
        [name, f"{np.abs(values - measured).mean():.2f}", f"{np.median(np.abs(values / measured - 1)):.0%}"]
        for name, values in predicted.items()
    ]
    return (
        f"Training jobs alone on a MIG slice of an A100 against the whole of it (MISO): {len(part)} rows, slow-down "
        f"{np.median(measured):.2f} (median).\n\n"
        + docs_table.table(("predictor", "MAE of the slow-down", "median error"), lines)
    )


def gpu_tables() -> str:
    """Of public data."""
    rows = pd.read_parquet(GPUS)
    pairs = rows[rows.kind == shared_gpus.PAIR]
    text = []
    for (device, sharing), part in pairs.groupby(["device", "sharing"]):
        values = part.beside_s / part.alone_s
        text.append(
            f"Pairs of training jobs on one {device} (gavel, read as {sharing}): {len(part)} labels, slow-down "
            f"{values.mean():.2f} on average; jobs left out.\n\n"
            + docs_table.table(("predictor", "MAE of the slow-down", "MAPE"), pair_errors(part, sharing))
        )
    text.append(mig_table(rows[rows.kind == shared_gpus.MIG_NEIGHBOURS]))
    text.append(slice_table(rows[rows.kind == shared_gpus.SLICE]))
    return "\n".join(text)


def tables() -> str:
    """Everything as Markdown."""
    return f"{own_tables()}\n{gpu_tables()}"


def train() -> None:
    """The paper's dense networks: the depth by a search on a part of the rows, then an answer for each fold."""
    found: dict[str, object] = {}
    curves, errors = {}, {}
    for data in sets_of(table.read(OWN)):
        plain = np.array([row.group != STREAMS for row in data.rows])
        delays_s = data.alone_s * (data.slow_downs - 1)
        folds = splits_of(data.rows)["combinations left out"]
        dev, rest = folds[0] & plain, ~folds[0] & ~folds[1] & plain
        depth, curve = slots.search_depth(data.features[rest], delays_s[rest], data.features[dev], delays_s[dev])
        curves[data.sharing] = {"depth": depth, "dev_mae_ms": [1e3 * value for value in curve]}
        print(f"{data.sharing}: {depth} layers", flush=True)

        def answer(train: np.ndarray, test: np.ndarray, data: Set = data, depth: int = depth) -> np.ndarray:
            own = train & np.array([row.group != STREAMS for row in data.rows])
            delay_s = data.alone_s * (data.slow_downs - 1)
            predicted_s = slots.dense_network(data.features[own], delay_s[own], data.features[test], depth)
            return 1 + predicted_s / data.alone_s[test]

        for split, parts in splits_of(data.rows).items():
            predicted = {place: answer(~test, test & plain) for place, test in enumerate(parts)}
            for group in GROUPS:
                counted = np.array([row.group == group for row in data.rows])
                if group == STREAMS or not counted.any():
                    continue
                rows = [
                    (
                        predicted[place][counted[test & plain]],
                        data.slow_downs[test & counted],
                        data.alone_s[test & counted],
                    )
                    for place, test in enumerate(parts)
                ]
                errors[f"{group}, {split}"] = dataclasses.asdict(
                    errors_of(*(np.concatenate([part[place] for part in rows]) for place in range(3)))
                )
            print(f"  {split}: done", flush=True)
    found = {"search": curves, "errors": errors}
    ANSWERS.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", action="store_true", help="train the dense networks first (LibTorch)")
    parser.add_argument("--docs", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    start = time.monotonic()
    if options.train:
        train()
    text = tables()
    print(text)
    if options.docs:
        docs_table.replace(options.docs, MARK, text)
    print(f"{time.monotonic() - start:.0f} s")


if __name__ == "__main__":
    main()

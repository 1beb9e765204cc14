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
from latpred.colocation import table
from latpred.colocation.combination import APPLICATIONS
from latpred.colocation.fit import fit_terms, read_graphs
from latpred.colocation.rows import (
    GROUPS,
    STREAMS,
    LabelledMember,
    Profiles,
    core_model,
    labelled,
)
from latpred.datasets.graph_cache import graph_of

sys.path.insert(0, str(Path(__file__).resolve().parent))

import colocation_gpus
import colocation_slots as slots
import docs_table
from colocation_errors import BASELINES, LEAD, MEAN, NONE, OURS, SEED, Errors, Lead, errors_of, lead_of

MARK = "benchmarks/accuracy/colocation.py"
DATA = Path(__file__).resolve().parents[2] / "data" / "measurements"
OWN, GRAPHS, GPUS = (DATA / name for name in ("colocation.parquet", "colocation_graphs.xz", "colocation_gpus.parquet"))
ANSWERS = Path(__file__).resolve().parent / "colocation_dense.json"
FOLDS = 5
LINE, DENSE = "linear regression (paper)", "dense network (paper)"
FLOOR, DRIFT = "measured again", "a perfect answer"
COMBINATIONS, NETWORKS = "combinations left out", "networks left out"
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
        COMBINATIONS: [folds == fold for fold in range(FOLDS)],
        NETWORKS: [np.array([name in found for found in networks]) for name in APPLICATIONS],
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
    groups = [frozenset(row.networks) for row in data.rows]

    def answer(train: np.ndarray, test: np.ndarray) -> np.ndarray:
        seen = [groups[place] for place in np.flatnonzero(train)]
        found = fit_terms(terms[train].tolist(), data.slow_downs[train].tolist(), seen)
        return 1 + terms[test] @ np.array(found)

    return answer


PREDICTORS: dict[str, Callable[[Set], Answer]] = {
    NONE: no_interference, MEAN: mean_of_network, LINE: line, OURS: ours,
}  # fmt: skip


def left_out(data: Set, answer: Answer, folds: Sequence[np.ndarray], counted: np.ndarray) -> tuple[np.ndarray, ...]:
    """Rows and what was predicted for them, over all folds: a row is tested once for each of its networks."""
    tests = [test & counted for test in folds]
    rows = np.concatenate([np.flatnonzero(own) for own in tests])
    predicted = [answer(~test, own) for test, own in zip(folds, tests, strict=True) if own.any()]
    return rows, np.concatenate(predicted)


def evaluate(data: Set, found: tuple[np.ndarray, ...]) -> Errors:
    rows, predicted = found
    return errors_of(predicted, data.slow_downs[rows], data.alone_s[rows])


def leads(data: Set, group: str) -> dict[str, Lead]:
    """Over each baseline, with networks left out."""
    folds, counted = splits_of(data.rows)[NETWORKS], np.array([row.group == group for row in data.rows])
    rows, own = left_out(data, ours(data), folds, counted)
    keys = [data.rows[row].found.key for row in rows]
    return {
        name: lead_of(own, left_out(data, PREDICTORS[name](data), folds, counted)[1], data.slow_downs[rows], keys)
        for name in BASELINES
    }


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


def noise_of_labels(data: Set, counted: np.ndarray) -> Errors:
    """What an answer without error would have, by the two times alone: for three times with one spread, |beside - mean
    of two| is sqrt(3) / 2 of |before - after| on average."""
    drifts = np.sqrt(3) / 2 * np.array([row.drift for row in data.rows])[counted]
    return errors_of(data.slow_downs[counted] + drifts, data.slow_downs[counted], data.alone_s[counted])


def dense_errors(group: str, split: str) -> Errors | None:
    """Of the answers that --train kept."""
    if not ANSWERS.is_file():
        return None
    found = json.loads(ANSWERS.read_text(encoding="utf-8"))["errors"].get(f"{group}, {split}")
    return None if found is None else Errors(**found)


def cells(name: str, found: Sequence[Errors | None], lead: str = "") -> list[str]:
    row = [name]
    for errors in found:
        row += ["", "", ""] if errors is None else [
            f"{errors.slow_down:.4f}", f"{errors.delay_ms:.3g}", f"{errors.delay_share:.0%}",
        ]  # fmt: skip
    return [*row, lead]


HEADINGS = ("predictor", *(
    f"{what}, {split}" for split in (COMBINATIONS, NETWORKS)
    for what in ("MAE of the slow-down", "MAE ms", "MAE / mean degradation")
), LEAD)  # fmt: skip


def group_table(data: Set, measured: table.Measured, group: str) -> str:
    """Every predictor on the rows of a group, trained on the whole set's others."""
    counted = np.array([row.group == group for row in data.rows])
    splits = splits_of(data.rows)
    ahead = leads(data, group)
    rows = []
    for name, make in PREDICTORS.items():
        if group == STREAMS and name == LINE:
            continue
        answer = make(data)
        errors = [evaluate(data, left_out(data, answer, folds, counted)) for folds in splits.values()]
        rows.append(cells(name, errors, str(ahead.get(name, ""))))
        dense = [dense_errors(group, split) for split in splits]
        if name == LINE and any(dense):
            rows.append(cells(DENSE, dense))
    noise = noise_of_labels(data, counted)
    rows.append(cells(DRIFT, [noise, noise]))
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


def tables() -> str:
    """Everything as Markdown."""
    return f"{own_tables()}\n{colocation_gpus.tables(pd.read_parquet(GPUS))}"


def train() -> None:
    """The paper's dense networks: the depth by a search on a part of the rows, then an answer for each fold."""
    found: dict[str, object] = {}
    curves, errors = {}, {}
    for data in sets_of(table.read(OWN)):
        plain = np.array([row.group != STREAMS for row in data.rows])
        delays_s = data.alone_s * (data.slow_downs - 1)
        folds = splits_of(data.rows)[COMBINATIONS]
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

"""DIPPM's predictor of whole graphs, its four rivals and what they are compared with: the tables, or the trainings.

python benchmarks/accuracy/dippm.py [--docs docs/dippm.md] [--plot docs/dippm.png]      the tables, from committed files
python benchmarks/accuracy/dippm.py --train --work FOLDER [--only NAME ...] [--seeds N] [--budget-minutes M]

Networks are timm's on an RTX 4090 (eager PyTorch 2.9.1, autocast), a row for each network and image size, at the batch
that timm chose. Each fit ends in a file of its own in benchmarks/accuracy/dippm/, with its answers for all rows; FOLDER
keeps graphs and unfinished trainings, so that the same command goes on. All fits of one seed take about two hours of
one core.

Two outputs, latency and the memory of the process, are of calls that this project measured on one core.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from latpred.datasets import families

sys.path.insert(0, str(Path(__file__).resolve().parent))

import dippm_mig
import docs_table
from dippm_data import ALL, HERE, LATENCY, ROWS, TEN, Data, read, short
from dippm_fits import (
    BASELINE_TITLES,
    BASELINES,
    PUBLISHED,
    RATES,
    RECIPES,
    Fit,
    Spent,
    ask_host,
    ask_shipped,
    find_rates,
    plan,
    run_baselines,
    take_left_out,
    train,
)

MARK = "benchmarks/accuracy/dippm.py"

# DIPPM's Table 4: train, validation, test; its three outputs pooled, its data, ten epochs.
PAPER = {
    "pmgns_gat": (49.7, 37.9, 36.7),
    "pmgns_gcn": (21.2, 17.8, 17.5),
    "pmgns_gin": (48.8, 39.4, 38.2),
    "pmgns_mlp": (37.1, 38.7, 36.6),
    "pmgns": (18.2, 15.9, 16.0),
}


def errors_percent(answers: Sequence[float], rows: pd.DataFrame, target: str = LATENCY) -> np.ndarray:
    """[rows] of each."""
    return np.abs(np.array(answers) / rows[target].to_numpy() - 1) * 100


def _cell(values: Sequence[float]) -> str:
    tail = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{tail}" if len(values) else ""


def _found(data: Data, names: Sequence[str], rows_name: str) -> list[dict[str, Any]]:
    rows = data.of(rows_name).rows
    return [answers for name in names if (answers := read(name, rows)) is not None]


def _masks(data: Data, rows_name: str, split: str) -> dict[str, np.ndarray]:
    """[calls] of each part, and of the family that the ten do not have."""
    calls, is_in = data.of(rows_name), data.is_in(rows_name)
    parts = calls.parts(split)
    masks = {part: is_in & (parts == part) for part in families.PARTS}
    if rows_name != ALL:
        masks["unseen"] = (calls.rows.family == families.UNSEEN).to_numpy()
    return masks


def _line(data: Data, found: Sequence[dict[str, Any]], rows_name: str, split: str) -> list[str]:
    """MAPE of train, validation and test, median and 90th percentile of test, ConvNeXt; over the seeds in `found`."""
    masks, rows = _masks(data, rows_name, split), data.of(rows_name).rows
    errors = [errors_percent(answers[LATENCY], rows) for answers in found]
    cells = [_cell([error[mask].mean() for error in errors]) for mask in masks.values()]
    test = masks["test"]
    return cells + [_cell([float(np.quantile(error[test], share)) for error in errors]) for share in (0.5, 0.9)]


def _line_of_outputs(data: Data, found: Sequence[dict[str, Any]], rows_name: str, split: str) -> list[str]:
    """MAPE of train, validation and test pooled over the outputs, of test for each; and of the family never seen."""
    masks, rows = _masks(data, rows_name, split), data.of(rows_name).rows
    targets = ROWS[rows_name].source.targets
    errors = [np.stack([errors_percent(told[name], rows, name) for name in targets]) for told in found]
    pooled = [_cell([float(error[:, mask].mean()) for error in errors]) for mask in masks.values()]
    each = [_cell([float(error[place, masks["test"]].mean()) for error in errors]) for place in range(len(targets))]
    return pooled + each


def table(data: Data, settings: Sequence[str], rows_name: str, split: str, seeds: int) -> str:
    """One split: the five architectures by each of the settings, and what they stand beside."""
    targets = ROWS[rows_name].source.targets
    if len(targets) > 1:
        parts = ["train", "validation", "test", "ConvNeXt"]
        columns = [*(f"{part}, pooled" for part in parts), *(f"test, {name}" for name in targets)]
        line = _line_of_outputs
    else:
        unseen = ["ConvNeXt"] if rows_name == TEN else []
        columns = ["train", "validation", "test", *unseen, "test median", "test p90"]
        line = _line
    rows = []
    for name in settings:
        for recipe, title in RECIPES.items():
            fits = [Fit(recipe, name, rows_name, split, seed).name for seed in range(seeds)]
            if found := _found(data, fits, rows_name):
                cells = line(data, found, rows_name, split)
                rows.append([f"{title}, {name.replace('_', ' ')}", str(found[0]["epochs"]), *cells, str(len(found))])
    for name, title in BASELINE_TITLES.items():
        label = f"{name}-{short(rows_name)}-{split}" if name in BASELINES else name
        if found := _found(data, [label], rows_name):
            rows.append([title, "", *line(data, found, rows_name, split), ""])
    return docs_table.table(["predictor", "epochs", *columns, "seeds"], rows)


def order_found(data: Data, seeds: int) -> str:
    """Who is first by the paper's settings, with the spread, and who in the paper; the rates that a finder gives."""
    calls = data.of(TEN)
    test = data.is_in(TEN) & (calls.parts("random") == "test")
    scored = []
    for recipe, title in RECIPES.items():
        found = _found(data, [Fit(recipe, "paper", TEN, "random", seed).name for seed in range(seeds)], TEN)
        if not found:
            return ""
        means = [float(errors_percent(answers[LATENCY], calls.rows)[test].mean()) for answers in found]
        scored.append((float(np.mean(means)), f"{title} {_cell(means)}"))
    ours = ", ".join(text for _, text in sorted(scored))
    published = sorted(PAPER.items(), key=lambda item: item[1][2])
    theirs = ", ".join(f"{RECIPES[recipe]} {values[2]}" for recipe, values in published)
    text = f"\nOrder found on test: {ours}. DIPPM's, on its own data and three outputs: {theirs}.\n"
    if (found := read(RATES, calls.rows)) is None:
        return text
    rates = ", ".join(f"{title} {' / '.join(found['rates'][recipe])}" for recipe, title in RECIPES.items())
    return f"{text}Rates where the loss falls fastest (100 batches, by seed), where DIPPM found 2.754e-05: {rates}.\n"


def markdown(data: Data, seeds: int) -> str:
    """All tables."""
    text = "MAPE in percent, of the latency unless another output is named; medians and 90th percentiles of the "
    text += "percentage errors of the test part.\n"
    counts = {name: int(data.is_in(name).sum()) for name in ROWS}
    text += f"\n### DIPPM's Table 4: its ten families, {counts[TEN]} networks, its random split, its settings\n\n"
    text += table(data, ("paper", "paper_mse", PUBLISHED), TEN, "random", seeds) + order_found(data, seeds)
    for split, title in (("architecture", "by architecture"), ("family", "with families left out")):
        text += f"\n### The same {title}\n\n" + table(data, ("paper",), TEN, split, seeds)
    text += f"\n### Two outputs, measured here: ten families, {counts[HERE]} calls on one core, random split\n\n"
    text += table(data, ("paper", "tuned"), HERE, "random", seeds)
    titles = {"random": "rows at random", "architecture": "by architecture", "family": "families left out"}
    for split, title in titles.items():
        text += f"\n### Ours, all {counts[ALL]} networks, {title}\n\n" + table(data, ("tuned",), ALL, split, seeds)
    return text


def plot(data: Data, path: Path) -> None:
    """Predicted against measured, DIPPM's Figure 4: test rows of the random split and of families left out."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = (
        ("PMGNS, paper, random", Fit("pmgns", "paper", TEN, "random")),
        ("PMGNS, tuned, families left out", Fit("pmgns", "tuned", ALL, "family")),
    )
    figure, axes = plt.subplots(1, len(shown), figsize=(5 * len(shown), 4.6))
    for axis, (title, fit) in zip(axes, shown, strict=True):
        calls = data.of(fit.rows)
        found = read(fit.name, calls.rows)
        if found is None:
            continue
        test = data.is_in(fit.rows) & (calls.parts(fit.split) == "test")
        measured, predicted = calls.rows[LATENCY].to_numpy()[test], np.array(found[LATENCY])[test]
        axis.loglog(1e3 * measured, 1e3 * predicted, ".", markersize=4)
        ends = 1e3 * np.array([measured.min(), measured.max()])
        axis.loglog(ends, ends, color="0.5", linewidth=1)
        axis.set(title=title, xlabel="measured ms", ylabel="predicted ms")
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", action="store_true", help="make the fits that are missing")
    parser.add_argument("--work", type=Path, help="folder for graphs and unfinished trainings")
    parser.add_argument("--only", nargs="+", help="fits whose names contain one of these words")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget-minutes", type=float, default=float("inf"), help="of processor time; then it stops")
    parser.add_argument("--left-out", type=Path, help="the --work folder of networks.py: left-out answers are taken")
    parser.add_argument("--docs", type=Path, help="page whose tables are replaced")
    parser.add_argument("--plot", type=Path, help="picture of predicted against measured")
    arguments = parser.parse_args()
    data = Data(arguments.work)
    if arguments.train:
        if arguments.work is None:
            parser.error("--train needs --work FOLDER: it keeps unfinished trainings")
        arguments.work.mkdir(parents=True, exist_ok=True)
        if arguments.left_out is not None:
            take_left_out(data, arguments.left_out)
        run_baselines(data)
        find_rates(data, arguments.seeds)
        limit = time.process_time() + 60 * arguments.budget_minutes
        for fit in plan(arguments.seeds):
            is_wanted = arguments.only is None or any(word in fit.name for word in arguments.only)
            if not is_wanted or read(fit.name, data.of(fit.rows).rows) is not None:
                continue
            try:
                train(fit, data, arguments.work, lambda: time.process_time() > limit)
            except Spent:
                print(f"{fit.name}: goes on later; the minutes are used up")
                break
            if time.process_time() > limit:
                break
        if time.process_time() <= limit:
            ask_shipped(data)
            ask_host(data)
    text = markdown(data, arguments.seeds) + dippm_mig.markdown()
    print(text)
    if arguments.docs is not None:
        docs_table.replace(arguments.docs, MARK, text)
    if arguments.plot is not None:
        plot(data, arguments.plot)


if __name__ == "__main__":
    main()

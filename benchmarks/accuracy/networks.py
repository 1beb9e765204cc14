"""Errors of the predictor kernel_residual on what its fit had not seen, beside simple laws fitted on the same rows.

python benchmarks/accuracy/networks.py --work FOLDER [--rows FILE] [--graphs FILE] [--seeds N] [--situations fold ...]
    [--score-only] [--json benchmarks/accuracy/networks.json] [--docs docs/accuracy.md] [--plot docs/accuracy.svg]
python benchmarks/accuracy/networks.py --quick [--json benchmarks/accuracy/networks.json] [--accept]

Left out in turn: folds of families, families, chips, networks of chips whose operators were timed too, versions of the
framework, a tenth of all recipes, blocks of operator shapes; and once the families that no choice looks at. A fit takes
one to two minutes; FOLDER keeps its answers. --score-only draws the tables of those that are there. --quick asks the
shipped checkpoint about a few networks and fails where an error is above the one in the JSON file by more than its
spread; --accept writes it there.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import docs_table
import numpy as np
import pandas as pd
import scores
from baselines import BASELINES, has_trees
from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import conformal, left_out, ship
from latpred.fitting.kernel_residual import NAME
from latpred.fitting.kernel_terms import KernelTable
from quick import compared, quick_errors
from rich.progress import Progress

MEASUREMENTS = Path(__file__).resolve().parents[2] / "data" / "measurements"
MARK = "benchmarks/accuracy/networks.py"
TREES = "gradient-boosted trees"
TITLES = {
    "fold": "Families left out (five folds), device measured",
    "test": "The families that no choice looked at, device measured",
    "family": "Search spaces left out whole, device measured",
    "known": "Families known: a tenth of the recipes left out",
    "chip": "Chips left out with all their boards",
    "network": "Networks of chips left out whose single operators were measured",
    "version": "Versions of the framework left out",
    "block": "Operators: blocks of shapes left out",
}


def kept_baselines(table: KernelTable, work: Path, situation: str, part: str, names: list[str]) -> pd.DataFrame | None:
    """[N rows left out] their ids and what each baseline says; None: not answered yet, or of other rows."""
    path = left_out.part_file(work, "base", situation, part)
    if not path.is_file():
        return None
    _, asked = left_out.masks(table.rows, situation, part)
    kept = pd.read_parquet(path)
    return kept if set(names) <= set(kept.columns) and set(kept.id) == set(table.rows.id[asked]) else None


def answer_baselines(folder: Path, work: Path, situation: str, part: str, names: list[str]) -> str:
    """Keeps what each baseline says like the fits' answers, in a process of its own; `folder` has the table."""
    table = left_out.load(folder)
    seen, asked = left_out.masks(table.rows, situation, part)
    training, test = table.select(seen).of_operators(), table.select(asked)
    beside_s, test = test.beside_s, test.of_operators()  # which every one knows
    answers = test.rows[["id"]].assign(**{name: BASELINES[name](training, test) + beside_s for name in names})
    left_out.write(left_out.part_file(work, "base", situation, part), answers)
    return f"{situation} {part}"


def score(table: KernelTable, work: Path, wanted: list[str]) -> list[dict[str, Any]]:
    """The lines of all tables, of the answers that `work` has."""
    names = [name for name in BASELINES if name != TREES or has_trees()]
    if TREES not in names:
        print("scikit-learn is not there: no gradient-boosted trees", file=sys.stderr)
    answers = conformal.read_rows(work)
    answers = answers[answers.situation.isin(wanted)]
    answers["what"] = answers.what.str.replace("_", " ")
    parts = [
        cell
        for cell in left_out.plan(table.rows, wanted)
        if ((answers.situation == cell[0]) & (answers.what == cell[1])).any()
    ]
    kept = {cell: kept_baselines(table, work, *cell, names) for cell in parts}
    missing = [cell for cell in parts if kept[cell] is None]
    calls = [partial(answer_baselines, situation=situation, part=part, names=names) for situation, part in missing]
    with Progress() as progress:
        task = progress.add_task("baselines", total=len(missing))
        for name in left_out.side_by_side(table, work, calls):
            progress.update(task, advance=1, description=f"baselines {name}")
    kept |= {cell: kept_baselines(table, work, *cell, names) for cell in missing}
    found = []
    for situation, part in parts:
        of_part = answers[(answers.situation == situation) & (answers.what == part)]
        others = kept[situation, part]
        assert others is not None
        found.append(of_part.merge(others[["id", *names]], on="id"))
    rows = scores.with_intervals(pd.concat(found, ignore_index=True), conformal.read_hosts(work), ship.kept_terms())
    lines = []
    for situation in wanted:
        lines += scores.lines_of(rows[rows.situation == situation], situation, [scores.OURS, *names])
    return [line | {"predictor": NAME if line["predictor"] == scores.OURS else line["predictor"]} for line in lines]


def _number(value: float | None, digits: int) -> str:
    return "" if value is None or np.isnan(value) else f"{value:.{digits}f}"


def _error(of_coverage: float | None) -> str:
    return "(one family)" if of_coverage is None else f"± {of_coverage:.2f}"


def _row(line: dict[str, Any], others: dict[str, float], names: list[str]) -> list[str]:
    spread = "" if line.get("spread_percent") is None else f" ± {line['spread_percent']:.1f}"
    covers = "" if line.get("covers") is None else f"{line['covers']:.2f} {_error(line['covers_error'])}"
    factor = "" if line.get("interval_factor") is None else f"x/{line['interval_factor']:.2f}"
    return [
        line["group"],
        str(line["rows"]),
        f"**{line['mape_percent']:.1f}**{spread}",
        _number(line.get("ensemble_percent"), 1),
        _number(line["median_percent"], 1),
        _number(line["p90_percent"], 1),
        _number(line["spearman"], 3),
        _number(line["bias"], 2),
        covers,
        factor,
        *(_number(others.get(name), 1) for name in names),
    ]


def markdown(result: dict[str, Any]) -> str:
    """The tables as docs/accuracy.md shows them."""
    lines = result["lines"]
    names = [name for name in BASELINES if any(line["predictor"] == name for line in lines)]
    text = (
        f"Made by `{result['command']}`, {result['rows']} rows. MAPE is the mean over the seeds; together: of their "
        "mean, as what ships answers.\n"
    )
    headings = [
        "left out",
        "rows",
        "MAPE %",
        "together",
        "median %",
        "p90 %",
        "Spearman",
        "bias",
        "covers",
        "interval",
        *names,
    ]
    for situation, title in TITLES.items():
        of_situation = [line for line in lines if line["situation"] == situation]
        if not of_situation:
            continue
        others: dict[str, dict[str, float]] = {}
        for line in of_situation:
            others.setdefault(line["group"], {})[line["predictor"]] = line["mape_percent"]
        rows = [_row(line, others[line["group"]], names) for line in of_situation if line["predictor"] == NAME]
        seeds = max(line["seeds"] for line in of_situation)
        text += f"\n### {title}\n\nSeeds of each fit: {seeds}.\n\n" + docs_table.table(headings, rows)
    return text


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="the shipped checkpoint on a few networks; no fit")
    parser.add_argument("--accept", action="store_true", help="with --quick: write its figures instead of comparing")
    parser.add_argument("--work", type=Path, help="folder that keeps the answers of the fits")
    parser.add_argument("--rows", type=Path, default=MEASUREMENTS / "rows.parquet")
    parser.add_argument("--graphs", type=Path, default=MEASUREMENTS / "graphs.xz")
    parser.add_argument("--seeds", type=int, default=1, help="fits of each situation (default 1)")
    parser.add_argument("--situations", nargs="+", choices=left_out.LEFT_OUT, default=list(left_out.LEFT_OUT))
    parser.add_argument("--score-only", action="store_true", help="fit nothing")
    parser.add_argument("--json", type=Path, help="file of figures")
    parser.add_argument("--docs", type=Path, help="page whose tables are replaced")
    parser.add_argument("--plot", type=Path, help="SVG or PNG of predicted against measured, families left out")
    arguments = parser.parse_args()
    if arguments.quick:
        return quick(arguments)
    if arguments.work is None:
        parser.error("--work FOLDER is missing: it keeps the answers of the fits")

    start = time.perf_counter()
    rows, graphs = pd.read_parquet(arguments.rows), GraphCache(arguments.graphs)
    with Progress() as progress:
        task = progress.add_task("lowering", total=None)
        table = left_out.lowered(
            rows, graphs, arguments.work, lambda done, of: progress.update(task, completed=done, total=of)
        )
        left_out.keep_apart(arguments.work, table)
        if not arguments.score_only:
            fits = progress.add_task("fits", total=None)
            for done, of, name in left_out.run(table, arguments.work, arguments.situations, arguments.seeds):
                progress.update(fits, completed=done, total=of, description=f"fits {name}")
    report(table, arguments.work, arguments, time.perf_counter() - start)
    return 0


def report(table: KernelTable, work: Path, arguments: argparse.Namespace, seconds: float) -> None:
    """Scores what `work` has, and writes it where the arguments say."""
    lines = score(table, work, arguments.situations)
    old = json.loads(arguments.json.read_text(encoding="utf-8")) if arguments.json and arguments.json.is_file() else {}
    result = {
        "command": "python benchmarks/accuracy/networks.py --work FOLDER",
        "rows": table.size,
        "seconds": seconds,
        "lines": lines,
    }
    print(markdown(result))
    if arguments.json is not None:
        kept = {"quick": old["quick"]} if "quick" in old else {}
        arguments.json.write_text(json.dumps(result | kept, indent=1) + "\n", encoding="utf-8")
    if arguments.docs is not None:
        docs_table.replace(arguments.docs, MARK, markdown(result))
    if arguments.plot is not None:
        scores.plot(conformal.ensemble(conformal.read_rows(work)), arguments.plot)


def quick(arguments: argparse.Namespace) -> int:
    """Compares the shipped checkpoint's errors with the committed ones, or writes them."""
    found = quick_errors(arguments.rows, arguments.graphs, MEASUREMENTS / "quick.json")
    path = arguments.json or Path(__file__).with_suffix(".json")
    content = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
    if arguments.accept:
        path.write_text(json.dumps(content | {"quick": found}, indent=1) + "\n", encoding="utf-8")
    worse = [] if arguments.accept else compared(found, content["quick"])
    for name, line in found.items():
        print(f"{name:40} {line['rows']:5} rows, MAPE {line['mape_percent']:5.1f} % ± {line['spread_percent']:.1f}")
    for text in worse:
        print(text, file=sys.stderr)
    return 1 if worse else 0


if __name__ == "__main__":
    sys.exit(main())

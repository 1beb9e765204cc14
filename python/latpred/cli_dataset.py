"""latpred dataset: one table of rows from folders of raw tables, and what such a table holds."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred.cli_output import add_json_option, console, count
from latpred.cli_progress import progress
from latpred.errors import InvalidArgumentError
from latpred.optional import need

if TYPE_CHECKING:
    import pandas as pd
    from rich.console import Console


def add_commands(commands: Any) -> None:
    """Adds "dataset" and its commands to what add_subparsers gave."""
    parser = commands.add_parser("dataset", help="make one table of the public measurements, or show one")
    parts = parser.add_subparsers(required=True, metavar="COMMAND")

    build = parts.add_parser("build", help="read raw tables and record the networks that they measured")
    build.add_argument("--data", type=Path, required=True, metavar="FOLDER", help="holds a folder for each source")
    build.add_argument(
        "--out", type=Path, required=True, metavar="DIR", help="gets rows.parquet, graphs.sqlite, dropped.csv"
    )
    build.add_argument("--jobs", type=count, metavar="N", help="processes that record networks (default: all cores)")
    build.add_argument("--only", nargs="+", default=[], metavar="SOURCE", help="these sources alone, by folder")
    build.add_argument(
        "--without-frameworks", action="store_true", help="leave out the rows of networks that are not recorded yet"
    )
    build.set_defaults(command=_build)

    show = parts.add_parser("show", help="count what a table holds")
    show.add_argument("path", type=Path, metavar="PATH", help="folder of dataset build, or a file of rows")
    add_json_option(show)
    show.set_defaults(command=_show)


def _build(options: argparse.Namespace) -> None:
    need("pandas", "data", "latpred dataset")
    need("pyarrow", "data", "latpred dataset")
    from latpred.datasets.assemble import DROPPED_FILE, ROWS_FILE, assemble

    terminal = console()
    with progress(terminal) as show:
        for step in assemble(
            options.data, options.out, options.only, options.jobs, with_frameworks=not options.without_frameworks
        ):
            show(step)
    _show_folder(terminal, options.out)
    files = f"{options.out / ROWS_FILE}; what was dropped, row by row: {options.out / DROPPED_FILE}"
    terminal.print(files, markup=False)


def _show(options: argparse.Namespace) -> None:
    need("pandas", "data", "latpred dataset")
    need("pyarrow", "data", "latpred dataset")
    if options.json:
        print(json.dumps(_counts(_read_rows(options.path)), indent=2))
        return
    if options.path.is_dir():
        _show_folder(console(), options.path)
    else:
        _print_counts(console(), _read_rows(options.path))


def _read_rows(path: Path) -> pd.DataFrame:
    import pandas as pd

    from latpred.datasets.assemble import ROWS_FILE
    from latpred.datasets.rows import COLUMNS

    file = path / ROWS_FILE if path.is_dir() else path
    if not file.is_file():
        raise InvalidArgumentError(f"'{file}': no such file; 'latpred dataset build' writes one")
    try:
        table = pd.read_parquet(file)
    except (OSError, ValueError) as error:  # pyarrow's errors are either
        raise InvalidArgumentError(f"'{file}' is no table of rows: {error}") from error
    if missing := [name for name in COLUMNS if name not in table.columns]:
        raise InvalidArgumentError(f"'{file}' is no table of rows: it lacks {', '.join(missing)}")
    return table


def _counts(table: pd.DataFrame) -> list[dict[str, Any]]:
    """Of each source, device, runtime and precision: rows, networks, families."""
    keys = ["source", "licence", "device", "runtime", "precision", "quantity"]
    grouped = table.groupby(keys).agg(
        rows=("id", "size"), recipes=("recipe", "nunique"), families=("family", "nunique")
    )
    return list(grouped.reset_index().to_dict("records"))


def _print_counts(terminal: Console, table: pd.DataFrame) -> None:
    _print_records(terminal, "Rows of each source", _counts(table))
    terminal.print(
        f"{len(table)} rows of {table.recipe.nunique()} networks and operators in {table.family.nunique()} families on "
        f"{table.device.nunique()} devices"
    )


def _show_folder(terminal: Console, folder: Path) -> None:
    import pandas as pd

    from latpred.datasets.assemble import DROPPED_FILE, GRAPHS_FILE
    from latpred.datasets.graph_cache import GraphCache

    _print_counts(terminal, _read_rows(folder))
    graphs = folder / GRAPHS_FILE
    if graphs.is_file():
        cache = GraphCache(graphs)
        terminal.print(f"{len(cache.recipes())} networks recorded, {len(cache.failures())} failed")
    if (folder / DROPPED_FILE).is_file():
        dropped = pd.read_csv(folder / DROPPED_FILE).groupby(["reason", "source"])
        counts = dropped.agg(rows=("id", "size"), recipes=("recipe", "nunique")).reset_index()
        _print_records(terminal, "Rows dropped", list(counts.to_dict("records")))


def _print_records(terminal: Console, title: str, records: Iterable[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    terminal.print(Text(title, style="bold"))
    table = Table()
    for record in records:
        if not table.columns:
            for name, value in record.items():
                table.add_column(name, justify="left" if isinstance(value, str) else "right")
        table.add_row(*(Text(str(value)) for value in record.values()))
    terminal.print(table if table.columns else "none")

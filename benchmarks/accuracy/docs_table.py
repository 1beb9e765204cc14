"""A table in a page of docs/, between two comments, and the commands that make one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

END = "<!-- end -->"
ERRORS = ("MAPE %", "median %", "p90 %", "Spearman", "bias", "covers")


def begin(mark: str) -> str:
    """The comment before the table that `mark` makes."""
    return f"<!-- {mark} -->"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def error_cells(line: Mapping[str, Any]) -> list[str]:
    """What stands under ERRORS, to whole per cents: of an ErrorSummary and "covers"."""
    return [
        f"**{line['mape_percent']:.0f}**",
        f"{line['median_percent']:.0f}",
        f"{line['p90_percent']:.0f}",
        f"{line['spearman']:.3f}",
        f"{line['bias']:.2f}",
        f"{line['covers']:.2f}",
    ]


def shown(page: str, mark: str) -> str:
    """What `page` holds between the comments of `mark`."""
    _, found, rest = page.partition(f"{begin(mark)}\n")
    body, closed, _ = rest.partition(END)
    if not found or not closed:
        raise ValueError(f"no table between '{begin(mark)}' and '{END}'")
    return body


def replace(path: Path, mark: str, text: str) -> None:
    """Writes `text` between the comments of `mark` in the page at `path`."""
    page = path.read_text(encoding="utf-8")
    old = shown(page, mark)
    opening = f"{begin(mark)}\n"
    path.write_text(page.replace(f"{opening}{old}{END}", f"{opening}{text}{END}"), encoding="utf-8")


def command(
    description: str | None,
    mark: str,
    run: Callable[[Path, Path], dict[str, Any]],
    markdown: Callable[[dict[str, Any]], str],
) -> None:
    """Runs a benchmark on the public tables, or reads its last result, and shows it in its page."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder with the public tables; without it --json is read")
    parser.add_argument("--graphs", type=Path, help="graph cache that holds timm's networks")
    parser.add_argument("--json", type=Path, required=True, help="file with the result")
    parser.add_argument("--docs", type=Path, help="page whose tables are replaced")
    arguments = parser.parse_args()
    result = None if arguments.data is None else run(arguments.data, arguments.graphs)
    show(mark, markdown, result, arguments.json, arguments.docs)


def show(
    mark: str,
    markdown: Callable[[dict[str, Any]], str],
    result: dict[str, Any] | None,
    json_path: Path,
    page: Path | None,
) -> None:
    """Keeps a new result in `json_path`, or reads the last one there; prints it and shows it in its page."""
    if result is None:
        result = json.loads(json_path.read_text(encoding="utf-8"))
    else:
        json_path.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    print(markdown(result))
    if page is not None:
        replace(page, mark, markdown(result))

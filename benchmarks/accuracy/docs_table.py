"""A table in a page of docs/, between two comments."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

END = "<!-- end -->"


def begin(mark: str) -> str:
    """The comment before the table that `mark` makes."""
    return f"<!-- {mark} -->"


def table(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


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

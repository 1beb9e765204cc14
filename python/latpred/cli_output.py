"""What the commands share: counts in, tables out."""

from __future__ import annotations

import argparse
import contextlib
import sys
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from latpred.checks import check_positive

if TYPE_CHECKING:
    from rich.console import Console

    from latpred.tables import Table


def count(text: str) -> int:
    """An option's value that counts something."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected an integer >= 1, got {text!r}")
    return value


def minutes(text: str) -> float:
    """An option's value that is a time."""
    try:
        return check_positive("minutes", float(text))
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number of minutes above 0, got {text!r}") from None


def add_json_option(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")


def console() -> Console:
    from rich.console import Console

    # A pipe or a file gets whole rows, not those of an 80-column terminal.
    console = Console(highlight=False, soft_wrap=False)
    return console if console.is_terminal else Console(highlight=False, width=160)


@contextlib.contextmanager
def one_line_warnings() -> Iterator[None]:
    """Warnings are printed as errors are, without the line of code that Python shows beside them."""

    def show(message: Warning | str, *_: object, **__: object) -> None:
        line = "".join(letter if letter.isprintable() else " " for letter in str(message))
        print(f"latpred: warning: {line}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def print_table(console: Console, title: str, table: Table[Any]) -> None:
    from rich.text import Text

    console.print(Text(title, style="bold"))
    console.print(table.to_rich())


def print_pairs(console: Console, pairs: list[tuple[str, str]]) -> None:
    from rich.table import Table as RichTable
    from rich.text import Text

    grid = RichTable.grid(padding=(0, 2))
    for heading, text in pairs:
        grid.add_row(Text(heading, style="bold"), Text(text))
    console.print(grid)

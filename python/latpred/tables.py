"""Lists of rows that show as a table: in a terminal, in Jupyter, in rich, as a pandas frame."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, TypeVar, overload

from latpred._core import unknown_name_message
from latpred.errors import InvalidArgumentError
from latpred.optional import need

if TYPE_CHECKING:
    import pandas
    import rich.table


Row = TypeVar("Row")
UNKNOWN = "-"  # what is not known is shown as this, never as 0
_MAX_SHOWN_ROWS = 40  # of a repr; the rows themselves are all there


def number(value: float | None, digits: int = 3) -> str:
    """Three significant digits, thousands apart: "0.0123", "21.3", "1 530"."""
    if value is None:
        return UNKNOWN
    if abs(value) < 10**digits and value == int(value):
        return str(int(value))
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}".replace(",", " ")
    text = f"{value:#.{digits}g}"
    return f"{value:.1e}" if "e" in text else text.rstrip(".")


def scaled(value: float | None, unit: str = "") -> str:
    """With the SI prefix that leaves one to three digits before the point: "4.09 G"."""
    if value is None:
        return UNKNOWN
    for factor, prefix in ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= factor:
            return f"{number(value / factor)} {prefix}{unit}"
    return f"{number(value)} {unit}".rstrip()


@dataclass(frozen=True)
class Column(Generic[Row]):
    """One column: its name in to_dicts and pandas, its heading, the value of a row and how it is printed."""

    name: str
    value: Callable[[Row], Any]
    heading: str = ""
    text: Callable[[Any], str] = str
    is_shown: bool = True  # False: in to_dicts and pandas only
    is_left: bool = False  # aligned left: words

    @property
    def title(self) -> str:
        return self.heading or self.name.replace("_", " ")

    def cell(self, row: Row) -> str:
        value = self.value(row)
        return UNKNOWN if value is None else self.text(value)


class Table(Sequence[Row]):
    """Rows in order; table["..."] finds one by its name, or by its first column where rows have no name."""

    def __init__(self, rows: Sequence[Row], columns: Sequence[Column[Row]], title: str = "", *, what: str = "row"):
        self._rows = list(rows)
        self._columns = list(columns)
        self._title = title
        self._what = what

    @overload
    def __getitem__(self, index: int | str) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> Table[Row]: ...
    def __getitem__(self, index: int | str | slice) -> Row | Table[Row]:
        if isinstance(index, slice):
            return Table(self._rows[index], self._columns, self._title, what=self._what)
        if isinstance(index, str):
            return self._find(index)
        return self._rows[index]

    def _find(self, name: str) -> Row:
        key = next((column for column in self._columns if column.name == "name"), self._columns[0])
        names = [str(key.value(row)) for row in self._rows]
        if name in names:
            return self._rows[names.index(name)]
        raise InvalidArgumentError(unknown_name_message(self._what, name, names), valid=names)

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Row]:
        return iter(self._rows)

    def to_dicts(self) -> list[dict[str, Any]]:
        """One dictionary for each row, values unrounded."""
        return [{column.name: column.value(row) for column in self._columns} for row in self._rows]

    def to_pandas(self) -> pandas.DataFrame:
        """A frame, values unrounded. Needs latpred[data]."""
        pandas = need("pandas", "data", "to_pandas()")
        return pandas.DataFrame(self.to_dicts(), columns=[column.name for column in self._columns])

    def _shown(self) -> list[Column[Row]]:
        return [column for column in self._columns if column.is_shown]

    def _left_out(self) -> str:
        left_out = len(self._rows) - _MAX_SHOWN_ROWS
        return f"... and {left_out} more rows" if left_out > 0 else ""

    def __repr__(self) -> str:
        columns = self._shown()
        rows = [[column.cell(row) for column in columns] for row in self._rows[:_MAX_SHOWN_ROWS]]
        widths = [max(map(len, cells)) for cells in zip([column.title for column in columns], *rows, strict=True)]
        lines = [self._title] if self._title else []
        for cells in [[column.title for column in columns], ["-" * width for width in widths], *rows]:
            aligned = (
                cell.ljust(width) if column.is_left else cell.rjust(width)
                for cell, width, column in zip(cells, widths, columns, strict=True)
            )
            lines.append("  ".join(aligned).rstrip())
        if self._left_out():
            lines.append(self._left_out())
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        columns = self._shown()
        rows = [[column.cell(row) for column in columns] for row in self._rows[:_MAX_SHOWN_ROWS]]
        return html_table(
            rows,
            [column.title for column in columns],
            title=self._title,
            is_left=[column.is_left for column in columns],
            footer=self._left_out(),
        )

    def to_rich(self, max_rows: int | None = None) -> rich.table.Table:
        """A table for rich's console; the command line prints it."""
        import rich.box
        import rich.table
        from rich.text import Text

        table = rich.table.Table(title=self._title or None, title_justify="left", box=rich.box.SIMPLE_HEAD)
        for column in self._shown():
            table.add_column(column.title, justify="left" if column.is_left else "right", overflow="fold")
        rows = self._rows if max_rows is None else self._rows[:max_rows]
        for row in rows:
            # Text: names from a file may look like rich's markup.
            table.add_row(*(Text(column.cell(row)) for column in self._shown()))
        return table

    __rich__ = to_rich


def html_table(
    rows: Sequence[Sequence[str]],
    headings: Sequence[str] = (),
    *,
    title: str = "",
    is_left: Sequence[bool] = (),
    footer: str = "",
) -> str:
    """A small table that follows the notebook's own style. Everything is escaped."""
    from html import escape

    def cells(tag: str, row: Sequence[str]) -> str:
        aligned = is_left or [True] * len(row)
        return "".join(
            f'<{tag} style="text-align:{"left" if left else "right"}">{escape(cell)}</{tag}>'
            for cell, left in zip(row, aligned, strict=True)
        )

    parts = ["<table>"]
    if title:
        parts.append(f'<caption style="text-align:left;caption-side:top">{escape(title)}</caption>')
    if headings:
        parts.append(f"<thead><tr>{cells('th', headings)}</tr></thead>")
    parts.append("<tbody>" + "".join(f"<tr>{cells('td', row)}</tr>" for row in rows) + "</tbody></table>")
    if footer:
        parts.append(f"<p>{escape(footer)}</p>")
    return "".join(parts)


# Columns of results are made of functions that can be pickled: attrgetter, partial, those of a module.


def text_column(name: str, heading: str = "", *, is_shown: bool = True) -> Column[Any]:
    return Column(name, attrgetter(name), heading, is_left=True, is_shown=is_shown)


def number_column(name: str, heading: str = "", text: Callable[[Any], str] = number, **options: Any) -> Column[Any]:
    return Column(name, attrgetter(name), heading, text, **options)


def percent_text(share: float, digits: int = 0) -> str:
    return f"{share:.{digits}%}"


def yes_or_no(value: bool) -> str:
    return "yes" if value else "no"

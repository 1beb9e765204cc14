import io
import math

import pytest
from latpred.tables import Column, Table, number, scaled


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0"),
        (0.0, "0"),
        (7.0, "7"),
        (250, "250"),
        (21.34, "21.3"),
        (99.96, "100"),
        (1530.4, "1 530"),
        (1234567, "1 234 567"),
        (0.012345, "0.0123"),
        (-3.14159, "-3.14"),
        (1.234e-9, "1.2e-09"),
    ],
)
def test_three_significant_digits(value, text):
    assert number(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "-"),
        (0, "0 B"),
        (4_089_184_256, "4.09 GB"),
        (999, "999 B"),
        (1e3, "1 kB"),
        (312e12, "312 TB"),
        (1.5e15, "1.50 PB"),
    ],
)
def test_prefixes(value, text):
    assert scaled(value, "B") == text


def test_infinity_is_shown():
    assert number(math.inf) == "inf"


def table(count):
    columns = [
        Column("name", str, is_left=True),
        Column("square", lambda row: row**2),
        Column("none", lambda row: None),
    ]
    return Table(range(count), columns, "squares")


def test_columns_are_aligned():
    assert repr(table(11)[9:]).splitlines() == [
        "squares",
        "name  square  none",
        "----  ------  ----",
        "9         81     -",
        "10       100     -",
    ]


def test_long_tables_say_what_they_leave_out():
    assert repr(table(100)).splitlines()[-1] == "... and 60 more rows"
    assert "... and 60 more rows" in table(100)._repr_html_()
    assert len(table(100).to_dicts()) == 100


def test_rich_shows_the_same_cells():
    from rich.console import Console

    printed = io.StringIO()
    Console(width=80, file=printed).print(table(3))
    for word in ("squares", "square", "4", "-"):
        assert word in printed.getvalue()

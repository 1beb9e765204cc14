"""latpred dataset: raw tables in, one table of rows out, and what did not fit with its reason."""

import io
import json

import pytest
from latpred import cli_dataset, cli_progress
from latpred.cli import main
from latpred.datasets import assemble, recorded, unified
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.rows import Row

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
torch = pytest.importorskip("torch")


def row(recipe, batch=1, value=1e-3, **others):
    names = {"device": "T4", "runtime": "eager", "runtime_version": "", "precision": "fp32"}
    return Row(
        recipe=recipe, family="linear", batch=batch, input="", value=value, source="tiny 1", licence="MIT",
        protocol="stopwatch", **(names | others),
    )  # fmt: skip


# A source whose networks torch alone builds: layers of 8 and 2000 inputs and outputs. Parameters are in millions.
STATED = [
    (row("linear:8"), 0.000072, None),
    (row("linear:8", batch=4), 0.000072, 64e-9),
    (row("linear:2000"), 4.002, 0.004),
    (row("linear:2000", batch=2), 5.002, 0.004),  # another number of parameters
    (row("linear:2000", batch=3), 4.002, 0.04),  # another number of MACs
    (row("linear:2000", batch=9, value=0.0), 4.002, 0.004),
    (row("linear:wide"), 1.0, None),  # no such network
    (row("linear:8", value=2e-3), 0.000072, None),  # the first once more
]
CHECKS = [row("op:relu?h=8", value=20.0, quantity="power_w")]
OTHERS = [row("op:relu?h=8"), row("op:relu?h=8", device="L4")]


@pytest.fixture
def data(tmp_path, monkeypatch):
    def build(recipe):
        return torch.nn.Linear(int(recipe.name), int(recipe.name), device="meta"), recipe.name

    monkeypatch.setitem(recorded.BUILDERS, "linear", recorded.Builder("torch", build))
    sources = {"tiny": lambda data: (row for row, _, _ in STATED), "operators": lambda data: iter(OTHERS)}
    monkeypatch.setattr(unified, "SOURCES", sources)
    monkeypatch.setattr(unified, "CHECKS", {"operators": lambda data: iter(CHECKS)})
    monkeypatch.setattr(unified, "STATED", {"tiny": lambda data: iter(STATED)})
    for name in sources:
        (tmp_path / "data" / name).mkdir(parents=True)
    return tmp_path / "data"


def build(data, out, *words):
    return main(["dataset", "build", "--data", str(data), "--out", str(out), "--jobs", "1", *words])


def test_rows_that_fit_are_kept_and_the_others_listed_with_their_reason(data, tmp_path, capsys):
    out = tmp_path / "out"
    assert build(data, out) == 0
    table = pd.read_parquet(out / assemble.ROWS_FILE)
    assert sorted(zip(table.recipe, table.batch, table.device, table.value, strict=True)) == [
        ("linear:2000", 1, "T4", 1e-3),
        ("linear:8", 1, "T4", 1e-3),
        ("linear:8", 4, "T4", 1e-3),
        ("op:relu?h=8", 1, "L4", 1e-3),
        ("op:relu?h=8", 1, "T4", 1e-3),
    ]
    assert list(pd.read_parquet(out / assemble.CHECKS_FILE).value) == [20.0]  # not among the others
    dropped = pd.read_csv(out / assemble.DROPPED_FILE, keep_default_na=False)
    assert sorted(zip(dropped.reason, dropped.recipe, dropped.batch, dropped.detail, strict=True)) == [
        ("cannot be rebuilt", "linear:wide", 1, dropped.detail[dropped.recipe == "linear:wide"].item()),
        ("no positive value", "linear:2000", 9, ""),
        ("rebuilt otherwise than its table states", "linear:2000", 2,
         "4.00 million parameters when rebuilt, the table states 5.00"),
        ("rebuilt otherwise than its table states", "linear:2000", 3, "0.00 GMACs when rebuilt, the table states 0.04"),
        ("stands in its source again", "linear:8", 1, ""),
    ]  # fmt: skip
    assert "ValueError: invalid literal" in dropped.detail[dropped.recipe == "linear:wide"].item()

    printed = capsys.readouterr()
    assert "5 rows of 3 networks and operators in 1 families on 2 devices" in printed.out
    assert "2 networks recorded, 1 failed" in printed.out
    assert [line for line in printed.err.splitlines() if line.startswith("record networks: 3 of 3")]
    assert GraphCache(out / assemble.GRAPHS_FILE).graph("linear:8", 5).macs == 5 * 64


def test_a_second_run_writes_the_same_and_records_nothing_again(data, tmp_path, capsys):
    out = tmp_path / "out"
    texts = []
    for _ in range(2):
        assert build(data, out) == 0
        texts.append([(out / name).read_bytes() for name in (assemble.ROWS_FILE, assemble.DROPPED_FILE)])
    assert texts[0] == texts[1]
    # What failed is tried again.
    assert "record networks: 1 of 1 (linear:wide)" in capsys.readouterr().err


def test_missing_frameworks_are_named_and_can_be_done_without(data, tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(recorded.BUILDERS, "linear", recorded.Builder("no_such_framework", lambda recipe: (None, None)))
    out = tmp_path / "out"
    assert build(data, out) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert "recording 3 networks (linear:) needs the package no_such_framework" in error
    assert 'pip install "latpred[architectures]"' in error
    assert "--without-frameworks" in error

    assert build(data, out, "--without-frameworks") == 0
    assert set(pd.read_parquet(out / assemble.ROWS_FILE).recipe) == {"op:relu?h=8"}
    dropped = pd.read_csv(out / assemble.DROPPED_FILE)
    assert (dropped.reason == "its framework is left out").sum() == 6


def test_only_some_sources(data, tmp_path, capsys):
    assert build(data, tmp_path / "out", "--only", "operators") == 0
    assert set(pd.read_parquet(tmp_path / "out" / assemble.ROWS_FILE).recipe) == {"op:relu?h=8"}
    assert build(data, tmp_path / "out", "--only", "operator") == 2
    assert "unknown source 'operator'; did you mean 'operators'?" in capsys.readouterr().err
    (data / "tiny").rmdir()
    assert build(data, tmp_path / "out", "--only", "tiny") == 2
    assert "has no 'tiny'" in capsys.readouterr().err
    (data / "operators").rmdir()
    assert build(data, tmp_path / "out") == 2
    assert "has none of the folders operators, tiny" in capsys.readouterr().err


def test_show_counts_a_folder_and_a_file(data, tmp_path, capsys):
    out = tmp_path / "out"
    build(data, out)
    capsys.readouterr()
    assert main(["dataset", "show", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "Rows dropped" in printed
    assert "stands in its source again" in printed
    assert main(["dataset", "show", "--json", str(out / assemble.ROWS_FILE)]) == 0
    counts = json.loads(capsys.readouterr().out)
    assert [(count["device"], count["rows"], count["recipes"], count["licence"]) for count in counts] == [
        ("L4", 1, 1, "MIT"),
        ("T4", 4, 3, "MIT"),
    ]


def test_what_is_no_table_of_rows_is_refused(tmp_path, capsys):
    for name, content in (("absent", None), ("text.parquet", b"rows"), ("other.parquet", pd.DataFrame({"a": [1]}))):
        if isinstance(content, bytes):
            (tmp_path / name).write_bytes(content)
        elif content is not None:
            content.to_parquet(tmp_path / name)
        assert main(["dataset", "show", str(tmp_path / name)]) == 2
    errors = capsys.readouterr().err.splitlines()
    assert "no such file" in errors[0]
    assert "is no table of rows" in errors[1]
    assert "it lacks id, recipe" in errors[2]


def test_a_terminal_gets_bars_with_the_time_left():
    from rich.console import Console

    terminal = Console(force_terminal=True, width=120, file=io.StringIO())
    with cli_progress.progress(terminal) as show:
        for done in (1, 2, 3):
            show(assemble.Step(assemble.RECORD, done, 3, f"linear:{done}"))
    shown = terminal.file.getvalue()
    assert "record networks" in shown
    assert "3/3" in shown
    assert "linear:3" in shown
    assert "0:00:00" in shown


def test_the_path_of_a_table_is_shown_as_it_is(monkeypatch, tmp_path, capsys):
    """Brackets are no markup."""
    monkeypatch.setattr(assemble, "assemble", lambda *_, **__: [])
    monkeypatch.setattr(cli_dataset, "_show_folder", lambda *_: None)
    out = tmp_path / "[bold]out[/x]"
    assert main(["dataset", "build", "--data", str(tmp_path), "--out", str(out)]) == 0
    assert str(out / assemble.ROWS_FILE) in capsys.readouterr().out.replace("\n", "")

"""Sets of labels while they are made: which graph a recipe stands for, and what a journal says."""

import sqlite3
from contextlib import closing

import pytest
from latpred.datasets.graph_cache import graph_of
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.labels import collect, networks
from latpred.labels.networks import Listed, Networks


class Cache:
    """A network of timm at one size."""

    def __init__(self, path):
        self.kept = {"timm:tiny@32": "cnn:3-8-8?size=32", "timm:tiny@32?fast_norm=1": "cnn:3-4?size=32"}

    def recipes(self):
        return list(self.kept)

    def __contains__(self, recipe):
        return recipe in self.kept

    def graph(self, recipe, batch):
        return graph_of(self.kept[recipe], batch)


@pytest.fixture
def found(monkeypatch, tmp_path):
    """Networks of the cache above; what they do not have is its own name."""
    monkeypatch.setattr(networks, "GraphCache", Cache)
    monkeypatch.setattr(networks, "graph_of", lambda recipe, batch: f"{recipe}, batch {batch}")
    return Networks([tmp_path])


def test_a_recorded_network_is_read_at_the_size_of_the_recipe(found):
    assert found.graph("timm:tiny@32", 2).hash == graph_of("cnn:3-8-8?size=32", 2).hash
    assert found.graph("timm:tiny@64", 2).hash == graph_of("cnn:3-8-8?size=64", 2).hash
    assert found.graph("timm:tiny@32?fast_norm=1", 2).hash == graph_of("cnn:3-4?size=32", 2).hash


@pytest.mark.parametrize("recipe", ["timm:tiny", "timm:tiny@64?fast_norm=1", "timm:tiny?fast_norm=1", "timm:tiny@big"])
def test_other_recipes_are_built_as_they_are(found, recipe):
    assert found.graph(recipe, 2) == f"{recipe}, batch 2"


def test_failures_are_of_a_journal_that_is_there(tmp_path):
    out = tmp_path / "labels.parquet"
    journal = collect.journal_of(out)
    with pytest.raises(InvalidArgumentError, match=r"parquet\.journal' is not there: .*name that table") as caught:
        collect.failures(out)
    assert caught.value.path == str(journal)
    assert not journal.exists()
    journal.write_bytes(b"no database at all" * 100)
    with pytest.raises(InvalidArgumentError, match="cannot be read: file is not a database"):
        collect.failures(out)


@pytest.mark.parametrize("name", ["labels.parquet", "nowhere/labels.parquet"])
def test_a_journal_that_cannot_be_written_is_told(tmp_path, run, name):
    damaged, out = collect.journal_of(tmp_path / "labels.parquet"), tmp_path / name
    damaged.write_bytes(b"no database at all" * 100)
    plan = collect.Plan([Listed("cnn:3-4?size=8", "cnn", ())], "onnxruntime")
    is_there = out.parent.exists()
    reason = "file is not a database; .*another --out" if is_there else "No such file or directory; name a file in"
    with pytest.raises(InvalidArgumentError, match=f"cannot be written.*: {reason}") as caught:
        list(collect.collect(plan, out, Networks([])))
    assert caught.value.path == str(collect.journal_of(out))
    assert [path.name for path in tmp_path.rglob("*")] == [damaged.name]
    (tmp_path / "nets.txt").write_text("cnn:3-4?size=8 cnn\n")
    code, printed, err = run("label", "--onnxruntime", "--recipes", tmp_path / "nets.txt", "--out", out)
    assert (code, printed, err.count("\n")) == (2, "", 1)


def test_a_precision_that_the_runtime_lacks_begins_no_journal(tmp_path):
    plan = collect.Plan([Listed("cnn:3-4?size=8", "cnn", ())], "onnxruntime", precision="int8")
    with pytest.raises(InvalidArgumentError, match="unknown precision for runtime 'onnxruntime' 'int8'"):
        list(collect.collect(plan, tmp_path / "labels.parquet", Networks([])))
    assert not list(tmp_path.iterdir())


NETS = tuple(Listed(f"cnn:3-{width}?size=8", "cnn", ()) for width in (4, 5, 6))


def items_of(out):
    """(recipe, error, passes) in the journal beside a table."""
    with closing(sqlite3.connect(collect.journal_of(out))) as connection:
        return connection.execute("SELECT recipe, error, passes FROM items ORDER BY recipe").fetchall()


@pytest.fixture
def steps(monkeypatch, tmp_path):
    """Labels NETS in so many passes; `happens`, by place, is raised instead of labelling."""
    pytest.importorskip("onnxruntime")
    label = collect.label

    def work(passes=1, happens=None):
        count = 0

        def label_or_not(source, **settings):
            nonlocal count
            count += 1
            if happens and count in happens:
                raise happens[count]
            return label(source, **settings)

        monkeypatch.setattr(collect, "label", label_or_not)
        plan = collect.Plan(NETS, "onnxruntime", runs=1, passes=passes)
        return collect.collect(plan, tmp_path / "labels.parquet", Networks([]))

    return work


@pytest.mark.parametrize("signal", [KeyboardInterrupt, SystemExit])
def test_a_network_that_was_interrupted_is_labelled_the_next_time(steps, tmp_path, signal):
    out = tmp_path / "labels.parquet"
    with pytest.raises(signal):
        list(steps(happens={3: signal()}))
    assert items_of(out) == [(network.recipe, None, 1) for network in NETS[:2]]
    with pytest.raises(signal):  # in the second pass, of which the first one stays
        list(steps(passes=2, happens={3: signal()}))
    assert [passes for _, _, passes in items_of(out)] == [2, 1, 1]
    assert [step.done for step in steps(passes=2)] == [4, 5, 6]
    assert items_of(out) == [(network.recipe, None, 2) for network in NETS]
    assert collect.failures(out) == {}


def test_a_network_that_killed_the_process_is_not_tried_again(steps, tmp_path):
    out = tmp_path / "labels.parquet"
    with pytest.raises(AssertionError):  # as near to a crash as a test comes: nobody answers for it
        list(steps(happens={2: AssertionError()}))
    assert [step.done for step in steps()] == [2, 3]
    assert collect.failures(out) == {f"{NETS[1].recipe}, batch 1": "started"}


def test_a_disk_that_is_full_in_the_middle_is_told_and_what_was_labelled_stays(steps, tmp_path, monkeypatch):
    begin = collect._begin

    def begin_on_a_full_disk(connection, *others):
        connection.execute("PRAGMA page_size = 512")  # one row takes more
        begin(connection, *others)
        size = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {size}")

    with monkeypatch.context() as patched:
        patched.setattr(collect, "_begin", begin_on_a_full_disk)
        with pytest.raises(InvalidArgumentError, match=r"parquet\.journal' cannot be written: .* full; make room"):
            list(steps(passes=2))
    kept = sum(passes for _, _, passes in items_of(tmp_path / "labels.parquet"))
    assert kept < 6
    assert [step.done for step in steps(passes=2)][-1] == 6


def test_another_database_than_the_journal_is_not_taken_for_it(steps):
    with pytest.raises(sqlite3.DatabaseError, match="of graphs"):
        list(steps(happens={2: sqlite3.DatabaseError("of graphs")}))


def test_two_processes_do_not_label_into_one_table(steps):
    first = steps()
    next(first)
    with pytest.raises(LatpredError, match=r"labels\.parquet' is written by another latpred label now"):
        list(steps())
    assert [step.done for step in first] == [1, 2, 3]
    assert [step.done for step in steps()] == [3]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"runs": -1}, "runs must be an integer >= 0, got -1"),
        ({"passes": 0}, "passes must be an integer >= 1, got 0"),
        ({"neighbour": 1.5}, "neighbour must be an integer >= 0, got 1.5"),
        ({"batches": (0,)}, "batches must be an integer >= 1, got 0"),
    ],
)
def test_a_plan_counts(settings, message):
    with pytest.raises(InvalidArgumentError) as caught:
        collect.Plan(NETS, "onnxruntime", **settings)
    assert str(caught.value) == message


@pytest.mark.parametrize("minutes", [-1, 0, float("nan")])
def test_minutes_are_above_zero(tmp_path, minutes):
    plan = collect.Plan(NETS, "onnxruntime")
    with pytest.raises(InvalidArgumentError, match="minutes must be a finite number above 0"):
        list(collect.collect(plan, tmp_path / "labels.parquet", Networks([]), minutes=minutes))
    assert not list(tmp_path.iterdir())


def test_a_list_may_begin_with_a_mark_of_its_encoding(tmp_path):
    (tmp_path / "nets.txt").write_text("cnn:3-4?size=8 cnn\n", encoding="utf-8-sig")
    assert networks.read_list(tmp_path / "nets.txt") == [NETS[0]]

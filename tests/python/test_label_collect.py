"""Sets of labels while they are made: which graph a recipe stands for, and what a journal says."""

import pytest
from latpred.datasets.graph_cache import graph_of
from latpred.errors import InvalidArgumentError
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
    reason = "file is not a database" if out.parent.exists() else "unable to open database file"
    with pytest.raises(InvalidArgumentError, match=f"cannot be written: {reason}; .* choose another --out") as caught:
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

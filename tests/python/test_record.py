"""The local record: what goes in, who may write at once, and what is read out of it."""

import json
import sqlite3
import subprocess
import sys
from pathlib import Path

import latpred
import pytest
from latpred import InvalidArgumentError, record
from latpred.cli import main
from latpred.record import MEASUREMENT, PREDICTION, Entry


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv(record.VARIABLE, raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def graph():
    net = latpred.GraphBuilder()
    net.output(net.apply("relu", net.input("x", (16,))))
    return net.build(4)


def measurement(name="net", value=1e-3, **fields):
    return Entry(MEASUREMENT, name, 1, "cpu", "latency_s", value, **fields)


def test_nothing_is_there_before_something_was_kept(folder):
    assert len(latpred.history()) == 0
    assert not record.path().exists()


def test_measurements_are_kept_and_come_newest_first(folder):
    record.add([measurement("a", recorded_at=10.0), measurement("b", recorded_at=30.0)])
    record.add([measurement("c", recorded_at=20.0)])
    assert [entry.name for entry in latpred.history()] == ["b", "c", "a"]
    assert [entry.name for entry in latpred.history(last=1)] == ["b"]


def test_every_field_comes_back(folder):
    entry = measurement(
        graph_hash="ab12", device_fingerprint="a processor", partition="half", runtime="eager",
        runtime_version="torch 2", precision="fp32", threads=2, noise=0.01, samples=7, low=0.5, high=2.0,
        predictor="p", how="khan", recorded_at=5.0,
    )  # fmt: skip
    record.add([entry])
    assert list(latpred.history()) == [entry]


def test_a_filter_leaves_the_others_out(folder, graph):
    record.add([measurement("a", graph_hash=graph.hash), measurement("b", graph_hash="other")])
    record.add([Entry(MEASUREMENT, "c", 1, "T4", "memory_bytes", 5e6)])
    assert [entry.name for entry in latpred.history(graph)] == ["a"]
    assert [entry.name for entry in latpred.history("other")] == ["b"]
    assert [entry.name for entry in latpred.history(device="T4")] == ["c"]
    assert [entry.name for entry in latpred.history(quantity="memory_bytes")] == ["c"]
    assert [entry.name for entry in latpred.history(name="b", kind=MEASUREMENT)] == ["b"]
    with pytest.raises(InvalidArgumentError, match="unknown kind of entry 'measured'; valid: measurement, prediction"):
        latpred.history(kind="measured")
    with pytest.raises(InvalidArgumentError, match="last must be an integer >= 1, got 0"):
        latpred.history(last=0)


def test_a_device_is_found_by_every_name_that_it_has(folder):
    for device in ("A100-SXM4-40GB", "cpu", "cuda:0", "my accelerator"):
        record.add([Entry(MEASUREMENT, device, 1, device, "latency_s", 1e-3)])
    for words, name in (
        ("A100", "A100-SXM4-40GB"),
        ("A100-SXM4-40GB",) * 2,
        *((word,) * 2 for word in ("cpu", "cuda:0")),
    ):
        assert [entry.name for entry in latpred.history(device=words)] == [name]
    assert [entry.name for entry in latpred.history(device="my accelerator")] == ["my accelerator"]
    assert len(latpred.history(device="cuda:1")) == len(latpred.history(device="T4")) == 0
    with pytest.raises(InvalidArgumentError, match="unknown device 'A1000'; did you mean 'A100'"):
        latpred.history(device="A1000")


def test_a_quantity_that_is_none_is_refused(folder):
    """Also where there is no record yet."""
    with pytest.raises(InvalidArgumentError, match=r"unknown quantity 'latency'; .*'latency_s'") as caught:
        latpred.history(quantity="latency")
    assert caught.value.valid == ("latency_s", "memory_bytes", "energy_j", "kernels_s")
    assert len(latpred.history(quantity="energy_j")) == 0
    record.add(
        [Entry(MEASUREMENT, "net", 1, "cpu", "kernels_s", 0.0123), Entry(MEASUREMENT, "net", 1, "cpu", "mine", 1)]
    )
    assert "12.3 ms" in repr(latpred.history(quantity="kernels_s"))
    assert len(latpred.history(quantity="mine")) == 1


@pytest.mark.parametrize(("words", "kinds"), [("off", 0), ("measurements", 1), ("all", 2), ("", 1)])
def test_the_variable_says_what_is_kept(folder, monkeypatch, words, kinds):
    monkeypatch.setenv(record.VARIABLE, words)
    record.add([measurement(), Entry(PREDICTION, "net", 1, "T4", "latency_s", 1e-3)])
    assert len(latpred.history()) == kinds


def test_a_word_that_the_variable_does_not_know_is_refused(folder, monkeypatch):
    monkeypatch.setenv(record.VARIABLE, "everything")
    with pytest.raises(InvalidArgumentError, match=r"unknown value of \$LATPRED_RECORD 'everything'.*off"):
        record.add([measurement()])


def test_predictions_are_kept_when_asked_for_alone(folder, monkeypatch, graph):
    latpred.predict(graph=graph, device="T4")
    assert not record.path().exists()
    monkeypatch.setenv(record.VARIABLE, "all")
    answer = latpred.predict(graph=graph, device="T4")
    latpred.predict_many([graph], devices=["A100", "T4"])
    assert len(latpred.history(graph, device="T4", quantity="latency_s")) == 2
    (first,) = latpred.history(graph, quantity="memory_bytes", device="A100-SXM4-40GB")
    assert first.value > 0
    entry = latpred.history(graph, device="T4", quantity="latency_s")[1]
    assert entry.value == pytest.approx(answer.latency_s)
    assert (entry.low * 1e3, entry.high * 1e3) == pytest.approx(answer.intervals["latency_ms"])
    assert (entry.kind, entry.predictor, entry.how) == (PREDICTION, answer.predictor, answer.provenance["latency_ms"])


def test_no_more_than_names_and_numbers_is_kept(folder, monkeypatch, tmp_path):
    """A folder's name says who somebody is and what he works on."""
    monkeypatch.setenv(record.VARIABLE, "all")
    net = latpred.GraphBuilder()
    net.output(net.apply("relu", net.input("secret input", (16,))))
    secret = tmp_path / "secret folder"
    secret.mkdir()
    net.build(1).to_onnx(secret / "net.onnx")
    latpred.predict(secret / "net.onnx")
    assert {entry.name for entry in latpred.history()} == {"net.onnx"}
    with sqlite3.connect(record.path()) as connection:
        assert "secret" not in "\n".join(connection.iterdump())
    connection.close()


WRITER = """
import sys
from latpred import record
for number in range(100):
    record.add([record.Entry(record.MEASUREMENT, sys.argv[1], number, "cpu", "latency_s", 1.0)] * 2)
"""


def test_processes_write_at_once_and_nothing_is_lost(folder):
    names = ["a", "b", "c", "d"]
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, name]) for name in names]
    assert [writer.wait() for writer in writers] == [0, 0, 0, 0]
    found = [(entry.name, entry.batch) for entry in latpred.history()]
    assert sorted(found) == sorted((name, number) for name in names for number in range(100) for _ in range(2))


def test_a_record_that_cannot_be_written_is_a_warning(monkeypatch, tmp_path):
    (tmp_path / "latpred").write_text("a file where the folder should be")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv(record.VARIABLE, raising=False)
    with pytest.warns(UserWarning, match=r"the record .* cannot be written: .*LATPRED_RECORD=off does without"):
        record.add([measurement()])


def test_a_record_of_another_version_is_left_alone(folder):
    record.add([measurement()])
    with sqlite3.connect(record.path()) as connection:
        connection.execute("PRAGMA user_version = 9")
    connection.close()
    with pytest.raises(latpred.LatpredError, match="is of version 9, this latpred reads 1; move it away"):
        latpred.history()


def test_a_damaged_record_is_told_with_its_path(folder, capsys):
    record.path().parent.mkdir(parents=True)
    record.path().write_bytes(b"no database at all" * 100)
    message = r"the record '.*record\.sqlite' cannot be read: file is not a database; .*move a damaged one away"
    with pytest.raises(latpred.LatpredError, match=message) as caught:
        latpred.history()
    assert caught.value.path == str(record.path())
    assert main(["history"]) == 2
    assert "file is not a database" in capsys.readouterr().err
    with pytest.warns(UserWarning, match="cannot be written: file is not a database"):
        assert record.add([measurement()]) == 0


KILLED = """
import os
from latpred import record
with record._opened():  # held open, so that nothing goes from the log beside the file into it
    record.add([record.Entry(record.MEASUREMENT, "b", 1, "cpu", "latency_s", 1.0)])
    os._exit(1)
"""


def test_who_reads_sees_what_a_killed_writer_left_and_cannot_write(folder):
    assert record.add([measurement("a"), Entry(PREDICTION, "p", 1, "T4", "latency_s", 1e-3)]) == 1  # what is kept
    assert subprocess.run([sys.executable, "-c", KILLED], check=False).returncode == 1
    assert record.path().with_name("record.sqlite-wal").stat().st_size > 0
    assert [entry.name for entry in latpred.history()] == ["b", "a"]
    with pytest.raises(sqlite3.OperationalError, match="readonly"), record._opened(is_read_only=True) as connection:
        connection.execute("DELETE FROM entries")


def test_it_prints_as_a_table_and_converts(folder):
    pandas = pytest.importorskip("pandas")
    record.add([measurement(value=0.0123, runtime="eager", threads=1, how="khan")])
    shown = repr(latpred.history()).splitlines()[2].split("  ")
    assert [part.strip() for part in shown if part][1:] == [
        "measurement", "net", "1", "cpu eager 1 thread", "12.3 ms", "khan",
    ]  # fmt: skip
    table = latpred.history().to_pandas()
    assert isinstance(table, pandas.DataFrame)
    assert table.value.item() == 0.0123


def test_the_command(folder, capsys):
    assert main(["history"]) == 0
    assert "nothing yet" in capsys.readouterr().out
    record.add([measurement("a"), measurement("b")])
    assert main(["history", "--name", "b", "--json"]) == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["name"], entry["value"]) == ("b", 1e-3)
    assert main(["history"]) == 0
    shown = capsys.readouterr().out
    assert "1 ms" in shown.replace("1.00 ms", "1 ms")
    assert str(record.path()) in shown


def test_without_a_home_directory_a_measurement_is_a_warning(no_home, monkeypatch, capsys):
    monkeypatch.delenv(record.VARIABLE, raising=False)
    with pytest.warns(UserWarning, match=r"the record cannot be written: .*set \$XDG_DATA_HOME"):
        assert record.add([measurement()]) == 0
    with pytest.raises(latpred.LatpredError, match=r"set \$XDG_DATA_HOME"):
        latpred.history()
    assert main(["history"]) == 2
    assert "set $XDG_DATA_HOME" in capsys.readouterr().err


@pytest.mark.parametrize("argument", ["name", "device", "kind", "quantity"])
def test_what_is_no_text_is_refused(folder, argument):
    with pytest.raises(InvalidArgumentError, match=f"{argument} must be text, got 5"):
        latpred.history(**{argument: 5})


@pytest.mark.parametrize("given", [5, Path("net.onnx"), ["ab12"], "net.onnx"])
def test_what_is_neither_a_graph_nor_a_hash_is_refused(folder, given):
    """A file's name would find nothing, and a list be said to damage the record."""
    record.add([measurement("net.onnx", graph_hash="ab12")])
    with pytest.raises(
        InvalidArgumentError, match=r"graph must be a Graph, .* or its \.hash; .*got .*(5|ab12|net.onnx)"
    ):
        latpred.history(given)
    assert len(latpred.history("0123456789abcdef")) == 0


def test_a_path_is_shown_as_it_is(monkeypatch, tmp_path, capsys):
    """Brackets are no markup."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "[bold]data[/x]"))
    monkeypatch.delenv(record.VARIABLE, raising=False)
    assert main(["history"]) == 0
    assert str(record.path()) in capsys.readouterr().out

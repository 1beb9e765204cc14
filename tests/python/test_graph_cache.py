"""Networks recorded with their framework, kept in a file, and read back at any batch."""

import importlib.util
import os
import pickle
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest
from latpred.datasets import recipe, recorded, timm_networks
from latpred.datasets.graph_cache import GraphCache, build_cache, write_archive
from latpred.errors import InvalidArgumentError, MissingDependencyError

torch = pytest.importorskip("torch")

# A kind of recipes that needs torch alone: "linear:8" has one layer of that width. Used here and in other processes.
TINY = """
import time
import torch
from latpred.datasets import recorded

def tiny(recipe):
    time.sleep(float(recipe.parameters.get("wait", 0)))
    if recipe.name == "deadly":
        os._exit(9)
    return torch.nn.Linear(int(recipe.name), int(recipe.name), device="meta"), recipe.name

recorded.BUILDERS["linear"] = recorded.Builder("torch", tiny)
"""
BUILD = f"""
import os, sys
from pathlib import Path
{TINY}
if __name__ == "__main__":
    from latpred.datasets.graph_cache import build_cache
    for line in build_cache(Path(sys.argv[1]), sys.argv[3:], int(sys.argv[2])):
        print(*line, flush=True)
"""


@pytest.fixture
def tiny(monkeypatch):
    monkeypatch.setattr(recorded, "BUILDERS", dict(recorded.BUILDERS))
    exec(TINY, {})


def start_build(folder, workers, recipes):
    script = folder / "build.py"
    script.write_text(BUILD)
    command = [sys.executable, str(script), str(folder / "graphs.sqlite"), str(workers), *recipes]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_a_cache_gives_recorded_and_built_networks_at_any_batch(tmp_path, tiny):
    path = tmp_path / "graphs.sqlite"
    steps = list(build_cache(path, ["linear:8", "linear:4", "op:relu?h=3", "linear:8"], workers=1))
    assert steps == [(1, 2, "linear:4"), (2, 2, "linear:8")]
    cache = GraphCache(path)
    assert cache.recipes() == ["linear:4", "linear:8"]
    assert "linear:4" in cache
    assert "linear:5" not in cache
    assert [cache.graph("linear:8", batch).macs for batch in (1, 8)] == [64, 8 * 64]
    assert cache.graph("op:relu?h=3", 7).inputs[0].shape == (7, 3)
    of_another_process = pickle.loads(pickle.dumps(cache.graph))
    assert of_another_process("linear:8", 8).macs == 8 * 64
    with pytest.raises(InvalidArgumentError, match="no network 'linear:5': it was never built"):
        cache.graph("linear:5", 1)
    assert list(build_cache(path, ["linear:8"], workers=1)) == []


def test_a_cache_whose_writer_was_killed_inside_a_transaction_is_read(tmp_path, tiny):
    path = tmp_path / "graphs.sqlite"
    list(build_cache(path, ["linear:3"], workers=1))
    killed = tmp_path / "killed.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA cache_size = 1")  # what does not fit is written at once, and the journal before it
        for place in range(200):
            connection.execute("INSERT INTO networks (recipe, document) VALUES (?, ?)", (f"x{place}", bytes(4096)))
        for end in ("", "-journal"):
            shutil.copy(f"{path}{end}", f"{killed}{end}")
    assert GraphCache(killed).recipes() == ["linear:3"]


def test_what_cannot_be_built_is_kept_with_its_reason_and_tried_again(tmp_path, tiny):
    path = tmp_path / "graphs.sqlite"
    for _ in range(2):
        assert len(list(build_cache(path, ["linear:wide"], workers=1))) == 1
    cache = GraphCache(path)
    assert cache.recipes() == []
    assert "ValueError: invalid literal" in cache.failures()["linear:wide"]
    with pytest.raises(InvalidArgumentError, match="ValueError: invalid literal"):
        cache.graph("linear:wide", 1)


def test_a_missing_framework_is_no_failure_of_a_network(tmp_path, monkeypatch):
    builder = recorded.Builder("no_such_framework", lambda recipe: (None, None))
    monkeypatch.setitem(recorded.BUILDERS, "other", builder)
    with pytest.raises(MissingDependencyError, match=r"latpred\[architectures\]"):
        list(build_cache(tmp_path / "graphs.sqlite", ["other:net"], workers=1))
    assert GraphCache(tmp_path / "graphs.sqlite").failures() == {}


def test_a_missing_cache_says_how_to_make_one(tmp_path):
    with pytest.raises(InvalidArgumentError, match="latpred dataset build"):
        GraphCache(str(tmp_path / "graphs.sqlite"))


def test_kinds_that_no_framework_builds_are_refused():
    with pytest.raises(InvalidArgumentError, match="no framework builds 'op'; valid: timm"):
        recorded.record(recipe.parse("op:relu?h=3"))


def children(pid):
    found = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=False)
    return [int(word) for word in found.stdout.split()]


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_killed_build_goes_on_where_it_stopped_and_leaves_no_process(tmp_path, tiny):
    recipes = [f"linear:{width}?wait=0.2" for width in range(10, 26)]
    with start_build(tmp_path, 2, recipes) as process:
        seen = {process.stdout.readline().split()[2] for _ in range(3)}
        workers = children(process.pid)
        assert len(workers) >= 2
        os.kill(process.pid, signal.SIGKILL)
        seen |= {line.split()[2] for line in process.stdout.read().splitlines()}
    deadline = time.monotonic() + 20
    while any(is_alive(pid) for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(is_alive(pid) for pid in workers)

    before = set(GraphCache(tmp_path / "graphs.sqlite").recipes())
    assert seen <= before < set(recipes)
    process = start_build(tmp_path, 2, recipes)
    output, errors = process.communicate()
    assert process.returncode == 0, errors
    again = {line.split()[2] for line in output.splitlines()}
    assert again == set(recipes) - before
    cache = GraphCache(tmp_path / "graphs.sqlite")
    assert cache.recipes() == sorted(recipes)
    assert {cache.graph(text, 1).macs for text in recipes} == {width * width for width in range(10, 26)}


def test_a_worker_that_is_killed_ends_the_build_with_a_sentence(tmp_path):
    process = start_build(tmp_path, 2, ["linear:deadly", "linear:8"])
    _, errors = process.communicate()
    assert process.returncode != 0
    assert "a process that records networks was killed" in errors


def test_networks_of_timm_are_rebuilt_or_refused_by_name():
    text = recipe.parse("timm:resnet18@224")
    if importlib.util.find_spec("timm") is None:
        with pytest.raises(MissingDependencyError, match="needs the package timm"):
            recorded.record(text)
        return
    from latpred import _core

    graph = _core.resolve(recorded.record(text).program(), 2)
    assert timm_networks.is_as_stated(graph, 11.69, 1.82)
    assert not timm_networks.is_as_stated(graph, 12.69, 1.82)
    assert not timm_networks.is_as_stated(graph, 11.69, 2.82)
    with pytest.raises(InvalidArgumentError, match="no network 'resnet19'"):
        recorded.record(recipe.parse("timm:resnet19@224"))
    with pytest.raises(InvalidArgumentError, match="names no image size"):
        recorded.record(recipe.parse("timm:resnet18"))


def test_an_archive_gives_what_its_cache_gives(tmp_path, tiny, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    recipes = ["linear:8", "linear:4", "linear:6"]
    list(build_cache(tmp_path / "graphs.sqlite", recipes, workers=1))
    cache = GraphCache(tmp_path / "graphs.sqlite")
    assert list(write_archive(tmp_path / "graphs.xz", cache, recipes[:2])) == recipes[:2]
    for _ in range(2):  # unpacked, then there
        archive = GraphCache(tmp_path / "graphs.xz")
        assert archive.recipes() == ["linear:4", "linear:8"]
        assert archive.recorded("linear:8") == cache.recorded("linear:8")
        assert archive.graph("linear:4", 3).hash == cache.graph("linear:4", 3).hash
    assert len(list((tmp_path / "home" / "latpred").iterdir())) == 1
    with pytest.raises(InvalidArgumentError, match=r"graphs.xz' has no network 'linear:6'"):
        archive.graph("linear:6", 1)


def test_a_cut_archive_leaves_no_half_cache(tmp_path, tiny, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    list(build_cache(tmp_path / "graphs.sqlite", ["linear:8"], workers=1))
    archive = tmp_path / "graphs.xz"
    list(write_archive(archive, GraphCache(tmp_path / "graphs.sqlite"), ["linear:8"]))
    archive.write_bytes(archive.read_bytes()[:-40])
    with pytest.raises(InvalidArgumentError, match=r"graphs.xz.*damaged"):
        GraphCache(archive)
    assert list((tmp_path / "home" / "latpred").iterdir()) == []

"""Campaigns of real processes: what they write, how they stop and go on, and what failures become."""

import dataclasses
import importlib
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import latpred
import pytest
from latpred import InvalidArgumentError, LatpredError, record
from latpred.campaign import Campaign, health, noise, run, worker
from latpred.campaign.journal import Journal
from latpred.campaign.run import journal_of
from latpred.campaign.schedule import MEASURE, RETIME
from latpred.campaign.table import read_facts
from latpred.cli import main
from latpred.errors import ProfilerError
from latpred.workloads import child, memory
from latpred.workloads.workload import Setting

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

COUNT = 40
TINY = Campaign(
    recipes=tuple(f"work:{1000 + number}" for number in range(COUNT)),
    runtimes=("tiny",),
    protocol="khan",
    imports=("campaign_workloads",),
    health_threshold=1e6,  # whatever else this machine does
)
COLUMNS = (
    "recipe", "batch", "input", "device_fingerprint", "runtime", "precision", "threads", "quantity", "protocol",
)  # fmt: skip


def keys(table):
    """In the order of the file."""
    return list(table[list(COLUMNS)].itertuples(index=False, name=None))


def go(campaign, out, **options):
    return run(campaign, out, **({"measure_machine": False} | options))


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory):
    return go(TINY, tmp_path_factory.mktemp("undisturbed") / "nets.parquet")


def test_the_table_has_a_warm_and_a_first_row_of_each_network(undisturbed):
    assert (undisturbed.items, undisturbed.wanted, undisturbed.rows) == (COUNT, COUNT, 2 * COUNT)
    assert undisturbed.is_complete
    table = pd.read_parquet(undisturbed.path)
    assert table.id.is_unique
    warm, first = table[::2], table[1::2]
    assert list(warm.recipe) == list(first.recipe) == list(TINY.recipes)  # the campaign's order
    assert set(warm.protocol) == {str(worker.protocol_of("khan", next(TINY.items())))}
    assert list(first.protocol) == [f"{protocol}, first run" for protocol in warm.protocol]
    assert (table.value > 0).all()
    assert (table.error == "").all()
    assert set(table.device_fingerprint) == {worker.machine("cpu")[0]}
    assert set(table.runtime_version) == {"tiny 1.0"}
    assert warm.samples.between(1, 5).all()  # of 5 runs those that kept their core
    assert warm.samples.max() == 5
    assert set(first.samples) == {1}


def test_some_items_are_timed_twice_and_their_spread_is_in_the_file(undisturbed):
    table = pd.read_parquet(undisturbed.path)
    twice = table[table.retimed_value.notna()]
    facts = read_facts(undisturbed.path)
    assert undisturbed.noise.pairs == len(twice) == noise.FEWEST == facts["noise"]["pairs"]
    expected = (twice.value - twice.retimed_value).abs().mean() / twice.value.mean()
    assert undisturbed.noise.mae_over_mean == pytest.approx(expected)
    assert facts["noise"] == facts["steady_noise"] == dataclasses.asdict(undisturbed.noise)
    assert facts["campaign"]["protocol"] == "khan"
    assert list(facts["machines"]) == list(set(table.device_fingerprint))


def test_rows_go_into_the_users_record_once(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv(record.VARIABLE, "measurements")
    campaign = dataclasses.replace(TINY, recipes=(*TINY.recipes[:2], "raise:x"))
    go(campaign, tmp_path / "a.parquet")
    go(None, tmp_path / "a.parquet")
    found = latpred.history()
    assert sorted(entry.name for entry in found) == ["work:1000", "work:1001"]
    table = pd.read_parquet(tmp_path / "a.parquet")
    table = table[~table.protocol.str.endswith(", first run")]  # cold: no latency that anybody asks for
    assert sorted(entry.value for entry in found) == sorted(table.value.dropna())
    assert {(entry.runtime, entry.threads, entry.runtime_version) for entry in found} == {("tiny", 1, "tiny 1.0")}
    assert {entry.how for entry in found} == set(table.protocol)


def test_memory_and_kernels_stand_beside_the_latency(tmp_path):
    """Work 7 has no kernels: that is its failure, and its other numbers are there."""
    quantities = ("latency_s", "memory_bytes", "kernels_s")
    campaign = dataclasses.replace(TINY, recipes=("work:6", "work:7"), quantities=quantities)
    summary = go(campaign, tmp_path / "a.parquet")
    assert summary.rows == 8
    table = pd.read_parquet(summary.path)
    found = {
        key: row
        for key, *row in zip(zip(table.recipe, table.quantity, strict=True), table.value, table.error, strict=True)
    }
    assert found["work:6", "memory_bytes"] == found["work:7", "memory_bytes"] == [7.0, ""]
    assert found["work:6", "kernels_s"] == [pytest.approx(3e-3), ""]
    assert found["work:7", "kernels_s"][1] == "this runtime does not tell the times of its kernels"
    assert found["work:7", "latency_s"][1] == ""
    kernels = pd.read_parquet(summary.kernels_path)
    assert list(kernels.recipe) == ["work:6", "work:6"]
    assert list(zip(kernels.place, kernels.name, kernels.latency_s, strict=True)) == [(0, "a", 2e-3), (1, "b", 1e-3)]
    assert [node["name"] for node in json.loads(kernels.nodes[0])] == ["first", "second"]
    assert json.loads(kernels.nodes[1]) == []


def test_every_sample_is_in_the_journal(undisturbed):
    with Journal(journal_of(undisturbed.path), is_read_only=True) as journal:
        rows = list(journal.rows())
        probes = journal.probes("worker 0", worker.machine("cpu")[0])
    samples = json.loads(rows[0]["details"])["samples"]
    assert len(samples) == 5
    walls = sorted(wall_ns for wall_ns, cpu_ns, switches, waits in samples)
    assert walls[0] - 1 <= rows[0]["value"] * 1e9 <= walls[-1] + 1
    assert len(probes) >= 3


def test_a_finished_campaign_measures_nothing_again(undisturbed):
    before = pd.read_parquet(undisturbed.path)
    again = go(None, undisturbed.path)
    assert again.rows == undisturbed.rows
    pd.testing.assert_frame_equal(pd.read_parquet(undisturbed.path), before)


def test_a_longer_one_goes_on_and_a_shorter_one_was_its_beginning(undisturbed, tmp_path):
    out = tmp_path / "nets.parquet"
    short = dataclasses.replace(TINY, count=10)
    assert go(short, out).items == 10
    first = pd.read_parquet(out)
    assert keys(first) == keys(pd.read_parquet(undisturbed.path))[:20]
    assert go(TINY, out).items == COUNT
    table = pd.read_parquet(out)
    assert keys(table) == keys(pd.read_parquet(undisturbed.path))
    assert list(table.value[:20]) == list(first.value)


def test_a_campaign_that_has_begun_does_not_shrink(tmp_path):
    out = tmp_path / "nets.parquet"
    assert go(dataclasses.replace(TINY, count=4), str(out)).items == 4
    with pytest.raises(InvalidArgumentError, match=r"holds a campaign of 4 networks, and this one is of 3: .* count 4"):
        go(dataclasses.replace(TINY, count=3), out)
    assert go(None, out).is_complete


def test_time_is_up_and_what_is_there_is_the_beginning(tmp_path):
    quarter_of_an_hour = tuple(f"sleep:{20 + number}" for number in range(500))
    sleepy = dataclasses.replace(TINY, recipes=quarter_of_an_hour)
    summary = go(sleepy, tmp_path / "a.parquet", minutes=4 / 60)
    with Journal(journal_of(summary.path), is_read_only=True) as journal:
        ((started_at, ended_at, _, ended_by),) = journal.runs()
    assert ended_at - started_at < 120  # a busy machine takes its time to start, and for what it had begun
    assert ended_by == "the time limit"
    assert 0 < summary.items < 500
    assert not summary.is_complete
    assert list(pd.read_parquet(summary.path).recipe[::2]) == list(sleepy.recipes[: summary.items])


def test_failures_are_rows_with_their_reason(tmp_path):
    mixed = dataclasses.replace(TINY, recipes=("work:1000", "raise:x", "crash:y", "op:none", "work:1001"))
    summary = go(mixed, tmp_path / "a.parquet")
    table = pd.read_parquet(summary.path)
    assert keys(table) == [
        (recipe, 1, "", worker.machine("cpu")[0], "tiny", "fp32", 1, "latency_s", protocol)
        for recipe in mixed.recipes
        for protocol in (table.protocol[0], table.protocol[1])
    ]
    errors = dict(zip(table.recipe, table.error, strict=True))
    assert errors["work:1000"] == errors["work:1001"] == ""
    assert errors["raise:x"] == "ValueError: no such network as x"
    assert errors["crash:y"] == "the process that measured it: killed by SIGSEGV"
    assert table.value.isna().equals(table.error != "")
    assert sum(summary.failures.values()) == 3


def test_an_item_that_takes_too_long_is_ended(tmp_path):
    slow = dataclasses.replace(TINY, recipes=("work:1000", "hang:1", "work:1001"), item_timeout_s=5.0)
    summary = go(slow, tmp_path / "a.parquet")
    assert summary.failures == {"the process that measured it: it took longer than 5 s and was ended": 1}
    assert list(pd.read_parquet(summary.path).recipe[::2]) == list(slow.recipes)


def test_failures_are_tried_again_when_asked(tmp_path):
    """The plugin of the second run builds what that of the first one could not."""
    campaign = dataclasses.replace(TINY, recipes=("work:1000", "raise:x"))
    out = tmp_path / "a.parquet"
    assert sum(go(campaign, out).failures.values()) == 1
    with Journal(journal_of(out), is_read_only=True) as journal:
        first = journal.attempts()
    assert sum(go(None, out).failures.values()) == 1
    with Journal(journal_of(out), is_read_only=True) as journal:
        assert journal.attempts() == first
    go(None, out, retry_failed=True)
    with Journal(journal_of(out), is_read_only=True) as journal:
        assert journal.attempts()[1][0] == 2
        assert journal.attempts()[0] == first[0]


def test_a_worker_that_cannot_start_ends_the_campaign_with_a_sentence(tmp_path):
    with pytest.raises(LatpredError, match=r"worker 0 of the campaign cannot go on: .*no_such_module"):
        go(dataclasses.replace(TINY, imports=("no_such_module",)), tmp_path / "a.parquet")
    with pytest.raises(LatpredError, match="cannot go on: unknown runtime 'tiney'; did you mean 'tiny'"):
        go(dataclasses.replace(TINY, runtimes=("tiney",)), tmp_path / "b.parquet")
    with pytest.raises(InvalidArgumentError, match=r"unknown device to measure on 'cpus'; did you mean 'cpu'"):
        go(dataclasses.replace(TINY, device="cpus"), tmp_path / "c.parquet")
    with pytest.raises(LatpredError, match="cannot go on: unknown protocol 'kahn'; did you mean 'khan'"):
        go(dataclasses.replace(TINY, protocol="kahn"), tmp_path / "b.parquet")
    assert go(dataclasses.replace(TINY, count=2), tmp_path / "b.parquet").is_complete  # corrected


def test_more_workers_than_cores_are_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match="need 9999 cores of their own"):
        go(TINY, tmp_path / "a.parquet", workers=9999)


def test_another_campaign_does_not_go_into_the_same_file(undisturbed, tmp_path):
    with pytest.raises(InvalidArgumentError, match="holds another campaign: batches is 2, was 1; give another --out"):
        go(dataclasses.replace(TINY, batches=(2,)), undisturbed.path)
    with pytest.raises(InvalidArgumentError, match="no campaign was started"):
        go(None, tmp_path / "none.parquet")
    with pytest.raises(InvalidArgumentError, match=r"ends in \.parquet"):
        go(TINY, tmp_path / "a.csv")
    (tmp_path / "alone.parquet").write_bytes(undisturbed.path.read_bytes())
    with pytest.raises(InvalidArgumentError, match=r"its journal .* is not: nothing can be added"):
        go(TINY, tmp_path / "alone.parquet")


def test_rows_of_another_machine_stay_alone(tmp_path):
    out = tmp_path / "nets.parquet"
    short = dataclasses.replace(TINY, count=3)
    Journal.create(journal_of(out), short)
    with Journal(journal_of(out)) as journal:
        journal.add_machine("another processor", {})
    with pytest.raises(LatpredError, match=r"is of another machine \(another processor\), this is .*go on there"):
        go(None, out)
    summary = go(short, out)
    assert summary.path != out
    assert summary.path.parent == tmp_path
    assert "is of another machine (another processor)" in summary.notes[0]
    assert str(summary.path) in summary.notes[0]
    assert not out.exists()
    assert set(pd.read_parquet(summary.path).device_fingerprint) == {worker.machine("cpu")[0]}
    assert go(short, out).path == summary.path  # and goes on there the next time


def test_windows_that_were_disturbed_are_measured_again(tmp_path):
    """Half of the probes are set to twice the time by the plugin: no window is ever steady."""
    imports = ("campaign_workloads", "campaign_unsteady")
    campaign = dataclasses.replace(TINY, recipes=TINY.recipes[:6], imports=imports, health_threshold=0.05)
    summary = go(campaign, tmp_path / "a.parquet")
    with Journal(journal_of(summary.path), is_read_only=True) as journal:
        assert journal.attempts() == dict.fromkeys(range(6), (health.MAX_ATTEMPTS, False))
        assert journal.counts()["dropped"] == 6 * 2 * (health.MAX_ATTEMPTS - 1)
    table = pd.read_parquet(summary.path)
    assert len(table) == 12
    assert not table.is_steady.any()
    assert summary.noise.pairs == noise.FEWEST
    assert summary.steady_noise is None
    assert "6 of 6 items were measured while the machine was not steady" in summary.notes[0]


def test_memory_is_measured_once_on_a_machine_that_is_not_steady(tmp_path):
    imports = ("campaign_workloads", "campaign_unsteady")
    changes = {"recipes": TINY.recipes[:6], "imports": imports, "quantities": ("memory_bytes",)}
    summary = go(dataclasses.replace(TINY, health_threshold=0.05, **changes), tmp_path / "a.parquet")
    with Journal(journal_of(summary.path), is_read_only=True) as journal:
        assert journal.attempts() == dict.fromkeys(range(6), (1, True))
    assert not summary.notes


def test_children_import_what_the_campaign_imports(tmp_path, monkeypatch):
    (tmp_path / "imported_first.py").write_text("")
    (tmp_path / "opened_in_a_child.py").write_text(
        "import sys\n"
        "from latpred.errors import ProfilerError\n"
        "class Opener:\n"
        "    imports = staticmethod(lambda: None)\n"
        "    def __init__(self, setting):\n"
        "        raise ProfilerError(f\"{'imported_first' in sys.modules}\")\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for imports, is_there in (([], "False"), (["imported_first"], "True")):
        monkeypatch.setattr(child, "first_imports", imports)
        with pytest.raises(ProfilerError, match=is_there):
            memory.of_fresh_process("opened_in_a_child:Opener", Setting("op:relu?h=8"))


def test_ctrl_c_leaves_what_is_there(tmp_path):
    out = tmp_path / "a.parquet"
    seen = []

    def interrupt(step):
        seen.append(step)
        if step.done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        go(TINY, out, on_step=interrupt)
    with Journal(journal_of(out), is_read_only=True) as journal:
        assert journal.counts()["items"] == 5
        assert journal.runs()[0][3] == "the user"
    assert go(None, out).is_complete


def test_two_workers_share_the_items(tmp_path):
    if len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs two cores")
    summary = go(TINY, tmp_path / "a.parquet", workers=2)
    table = pd.read_parquet(summary.path)
    assert list(table.recipe[::2]) == list(TINY.recipes)
    with Journal(journal_of(summary.path), is_read_only=True) as journal:
        assert all(len(journal.probes(f"worker {index}", table.device_fingerprint[0])) >= 3 for index in (0, 1))


def children(pid):
    """Of a process, by what the kernel says."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_worker_that_is_killed_is_replaced(tmp_path):
    slow = dataclasses.replace(TINY, recipes=tuple(f"sleep:{10 + number}" for number in range(12)))
    killed = []

    def kill(step):
        if step.stage == MEASURE and step.done in (3, 6) and step.done not in killed:
            killed.append(step.done)
            (process,) = [pid for pid in children(os.getpid()) if b"worker_process" in _command(pid)]
            os.kill(process, signal.SIGKILL)

    summary = go(slow, tmp_path / "a.parquet", on_step=kill)
    assert killed == [3, 6]
    assert not summary.failures
    assert list(pd.read_parquet(summary.path).recipe[::2]) == list(slow.recipes)


def _command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


# Required: kill -9 at random points.

STEPS = """
import sys
from pathlib import Path
from latpred.campaign import run, spec
import json

out = Path(sys.argv[1])
campaign = spec.from_dict(json.loads(sys.argv[2]))
run(campaign, out, measure_machine=False, on_step=lambda step: print(step.stage, step.done, flush=True))
"""


SLEEPY = dataclasses.replace(TINY, recipes=tuple(f"sleep:{8 + number}" for number in range(COUNT)))


@pytest.mark.parametrize("kills", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_again_and_again_it_ends_with_the_same_rows_each_once(tmp_path, kills):
    """Random points of both stages, and random moments after them: in the middle of an item, of a transaction."""
    undisturbed = go(SLEEPY, tmp_path / "undisturbed.parquet")
    chance = random.Random(kills)
    out = tmp_path / "nets.parquet"
    num_steps = COUNT + len(_retimed(undisturbed.path)) - 1  # after the last one there is little left to kill
    for point in sorted(chance.randrange(num_steps) for _ in range(kills)):
        process = subprocess.Popen(
            [sys.executable, "-c", STEPS, str(out), json.dumps(SLEEPY.to_dict())],
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        workers = []
        for line in process.stdout:
            stage, done = line.rsplit(" ", 1)
            workers = workers or children(process.pid)
            if int(done) + (COUNT if stage == RETIME else 0) >= point:
                break
        time.sleep(chance.uniform(0, 0.03))
        process.kill()
        process.stdout.close()
        assert process.wait() == -signal.SIGKILL
        _wait_for_the_end_of(workers)
    summary = go(SLEEPY, out)
    assert keys(pd.read_parquet(out)) == keys(pd.read_parquet(undisturbed.path))
    assert summary.is_complete
    assert not summary.failures
    assert _retimed(out) == _retimed(undisturbed.path)
    with Journal(journal_of(out), is_read_only=True) as journal:
        assert sum(ended is None for _, ended, _, _ in journal.runs()) == kills
        assert set(journal.attempts().values()) == {(1, True)}  # nothing that was written was measured again


def _retimed(path):
    with Journal(journal_of(path), is_read_only=True) as journal:
        return sorted(journal.retimed())


def _wait_for_the_end_of(pids):
    deadline = time.monotonic() + 30
    while any(Path(f"/proc/{pid}").exists() and b"worker" in _command(pid) for pid in pids):
        assert time.monotonic() < deadline, "a worker outlives its campaign"
        time.sleep(0.01)


# The command.


def _interrupted(*_, **__):
    raise KeyboardInterrupt


def test_the_commands(tmp_path, capfd):
    nets = tmp_path / "nets.txt"
    nets.write_text("work:1000\nwork:1001\nwork:1002\n")
    out = tmp_path / "[v2]" / "a.parquet"  # no markup
    words = [
        "campaign", "run", "--recipes", str(nets), "--runtimes", "tiny", "--imports", "campaign_workloads",
        "--protocol", "khan", "--count", "2", "--out", str(out),
    ]  # fmt: skip
    assert main(words) == 0
    shown = capfd.readouterr()
    assert "2 of 2, 4 rows" in shown.out
    assert "2 items timed twice" in shown.out
    assert "measure: 0 of 2" in shown.err
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(importlib.import_module("latpred.campaign.run"), "run", _interrupted)
        assert main(words) == 130
    assert f"latpred campaign resume {out}" in capfd.readouterr().out
    assert main(["campaign", "status", str(out), "--json"]) == 0
    status = json.loads(capfd.readouterr().out)
    assert (status["items"], status["wanted"], status["failed"], status["is_running"]) == (2, 2, 0, False)
    assert "read_bytes_per_s" in read_facts(out)["machines"][status["machines"][0]]["speed"]
    words[words.index("--count") + 1] = "3"
    assert main(words) == 0
    assert main(["campaign", "resume", str(out)]) == 0
    assert "3 of 3, 6 rows" in capfd.readouterr().out
    assert main(["campaign", "status", str(out)]) == 0
    assert "not running" in capfd.readouterr().out
    assert main(["campaign", "status", str(tmp_path / "none.parquet")]) == 2
    assert main(["campaign", "run", "--out", str(out)]) == 2
    errors = capfd.readouterr().err
    assert "no campaign was started" in errors
    assert "--recipes is missing" in errors


def test_a_campaign_in_which_all_fails_ends_with_an_error(tmp_path, capfd):
    nets, out = tmp_path / "nets.txt", tmp_path / "a.parquet"
    nets.write_text("raise:x\nraise:y\n")
    words = [
        "campaign", "run", "--recipes", str(nets), "--runtimes", "tiny", "--imports", "campaign_workloads",
        "--protocol", "khan", "--out", str(out),
    ]  # fmt: skip
    assert main(words) == 2
    shown = capfd.readouterr()
    assert "no such network as x" in shown.out
    assert "nothing was measured, each of 2 items failed" in shown.err
    nets.write_text("raise:x\nwork:1000\n")
    words[-1] = str(tmp_path / "b.parquet")
    assert main(words) == 0


def test_status_of_one_that_runs(tmp_path, capsys):
    slow = dataclasses.replace(TINY, recipes=tuple(f"sleep:{10 + number}" for number in range(20)))
    out = tmp_path / "a.parquet"
    is_seen = threading.Event()

    def look(step):
        if step.done == 4 and not is_seen.is_set():
            is_seen.set()
            assert main(["campaign", "status", str(out), "--json"]) == 0

    go(slow, out, on_step=look)
    status = json.loads(capsys.readouterr().out)
    assert (status["is_running"], status["items"]) == (True, 4)
    with pytest.raises(sqlite3.OperationalError), sqlite3.connect(f"file:{journal_of(out)}?mode=ro", uri=True) as found:
        found.execute("DELETE FROM items")
    found.close()

"""Measuring networks side by side: what is asked of the processes, what is kept, and what is made of it."""

from __future__ import annotations

import pytest
from latpred import InvalidArgumentError
from latpred.campaign.journal import Journal
from latpred.colocation import campaign, networks, processes, table
from latpred.colocation.combination import CORES, ONE_CORE, Combination, Member
from latpred.colocation.rows import ONE_CORE_PAIRS, PAIRS, STREAMS, labelled
from latpred.errors import ProfilerError

SMALL, LARGE, STREAM = Member("cnn:3-8?size=16"), Member("cnn:3-16?size=16", 4), Member("stream:50")
COMBINATIONS = [
    Combination(CORES, (SMALL, LARGE)),
    Combination(ONE_CORE, (SMALL, SMALL)),
    Combination(CORES, (LARGE, STREAM)),
]
ALONE_S, BESIDE_S = 2e-3, 3e-3


class FakeProcess:
    """On its core, and nothing runs there."""

    def __init__(self, core):
        self.core = core

    def close(self):
        pass


def summary(seconds):
    names = ("wall_median_s", "wall_mean_s", "cpu_median_s", "cpu_mean_s")
    return {"calls": 5} | {name: seconds * (2 if name.startswith("wall") else 1) for name in names}


@pytest.fixture
def measured(monkeypatch):
    """Combinations are measured at once; what was asked is listed."""
    asked = []

    def time_together(members, opens, holders):
        asked.append([(member.core, request["kind"]) for member, request in zip(members, opens, strict=True)])
        before, beside, after = ([summary(s) for _ in opens] for s in (ALONE_S, BESIDE_S, ALONE_S))
        return dict(zip(processes.PHASES, (before, beside, after), strict=True))

    class OpenVino:
        __version__ = "2026.4.1-build"

    monkeypatch.setattr(processes, "MemberProcess", FakeProcess)
    monkeypatch.setattr(processes, "time_together", time_together)
    monkeypatch.setattr(campaign, "need", lambda *_: OpenVino)
    monkeypatch.setattr(campaign.worker, "machine_speed", lambda: {"fp32_flops_per_s": 1e11})
    monkeypatch.setattr(networks, "prepare", lambda members, folder: dict.fromkeys(members, folder / "x.onnx"))
    monkeypatch.setattr(campaign.os, "sched_getaffinity", lambda _: {0, 1})
    return asked


def test_every_combination_once_and_some_again(measured, tmp_path):
    steps = []
    done = campaign.run(COMBINATIONS, tmp_path / "x.journal", tmp_path, on_step=steps.append)
    assert (done.measured, done.repeated, done.wanted, done.failures) == (3, 1, 3, {})
    assert measured[:3] == [
        [(1, "network"), (0, "network")],
        [(1, "network"), (1, "network")],
        [(1, "network"), (0, "stream")],
    ]
    assert steps[-1].done == steps[-1].total
    assert campaign.run(COMBINATIONS, tmp_path / "x.journal", tmp_path).measured == 3
    assert len(measured) == 4  # the second time there is nothing left


def test_time_limit_leaves_a_beginning_that_goes_on(measured, tmp_path):
    done = campaign.run(COMBINATIONS, tmp_path / "x.journal", tmp_path, minutes=0)
    assert (done.measured, done.repeated) == (0, 0)
    assert campaign.run(COMBINATIONS, tmp_path / "x.journal", tmp_path).measured == 3


def test_other_combinations_are_refused(measured, tmp_path):
    campaign.run(COMBINATIONS, tmp_path / "x.journal", tmp_path)
    with pytest.raises(InvalidArgumentError, match="other combinations"):
        campaign.run(COMBINATIONS[::-1], tmp_path / "x.journal", tmp_path)


def test_a_failure_is_of_its_combination(measured, tmp_path, monkeypatch):
    whole = processes.time_together

    def fails_once(members, opens, holders):
        if not measured:
            measured.append("failed")
            raise ProfilerError("a member's process ended with status -9")
        return whole(members, opens, holders)

    monkeypatch.setattr(processes, "time_together", fails_once)
    done = campaign.run(COMBINATIONS, tmp_path / "x.journal", tmp_path)
    assert done.failures == {"a member's process ended with status -9": 1}
    with Journal(tmp_path / "x.journal", is_read_only=True) as journal:
        assert set(table.from_journal(journal).rows.combination) == {str(part) for part in COMBINATIONS[1:]}


def test_table_and_labels(measured, tmp_path):
    pytest.importorskip("pyarrow")
    campaign.run(COMBINATIONS, tmp_path / "x.journal", tmp_path)
    with Journal(tmp_path / "x.journal", is_read_only=True) as journal:
        table.write(tmp_path / "x.parquet", table.from_journal(journal))
    found = table.read(tmp_path / "x.parquet")
    assert found.machine["runtime"] == "openvino 2026.4.1"
    rows = [row for row in labelled(found) if row.repeat == 0]
    assert [row.group for row in rows] == [PAIRS, PAIRS, ONE_CORE_PAIRS, ONE_CORE_PAIRS, STREAMS]
    # A core for itself: CPU time; in turns: the wall clock.
    assert [row.alone_s for row in rows] == pytest.approx([ALONE_S, ALONE_S, 2 * ALONE_S, 2 * ALONE_S, ALONE_S])
    assert all(row.slow_down == pytest.approx(BESIDE_S / ALONE_S) for row in rows)
    assert rows[-1].neighbours == [STREAM]
    (tmp_path / "y.parquet").write_bytes((tmp_path / "x.parquet").read_bytes())
    found.rows.to_parquet(tmp_path / "plain.parquet")
    with pytest.raises(InvalidArgumentError, match="no table"):
        table.read(tmp_path / "plain.parquet")
    with pytest.raises(InvalidArgumentError, match="no file"):
        table.read(tmp_path / "none.parquet")


def test_cores_are_dealt_out_from_the_last():
    assert processes.cores_of(False, 3, [0, 1]) == [1, 0, 1]
    assert processes.cores_of(True, 2, [0, 1]) == [1, 1]


def test_two_networks_side_by_side(tmp_path, monkeypatch):
    """The whole of it, with small networks."""
    pytest.importorskip("openvino")
    pytest.importorskip("pandas")
    monkeypatch.setattr(processes, "ALONE_S", 0.02)
    monkeypatch.setattr(processes, "BESIDE_S", 0.05)
    done = campaign.run(COMBINATIONS, tmp_path / "x.journal", tmp_path / "files")
    assert (done.measured, done.repeated, done.failures) == (3, 1, {})
    with Journal(tmp_path / "x.journal", is_read_only=True) as journal:
        found = table.from_journal(journal)
    for row in labelled(found):
        assert 0 < row.alone_s < 1
        if row.group == ONE_CORE_PAIRS:
            assert 0 < row.slow_down < 100  # how much is this machine's business: others may have had the core before


def test_files_that_cannot_be_written_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(campaign, "need", lambda *_: None)
    file = tmp_path / "file"
    file.touch()
    for journal, folder in ((file / "x.journal", tmp_path / "nets"), (tmp_path / "x.journal", file / "nets")):
        with pytest.raises(InvalidArgumentError, match="cannot be written"):
            campaign.run(COMBINATIONS[:1], journal, folder)

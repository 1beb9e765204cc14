"""A campaign on a Ray cluster: two workers of a local one, one of them killed on the way. Needs latpred[ray]."""

import os
import signal

import pytest
from latpred.campaign import Campaign, run
from latpred.campaign.journal import Journal
from latpred.campaign.run import journal_of
from latpred.campaign.schedule import MEASURE

pytest.importorskip("ray", reason='needs pip install "latpred[ray]"')
pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

pytestmark = [
    pytest.mark.slow,
    # Ray leaves sockets and files of its own to the end of the process.
    pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"),
]

COUNT = 24


def test_two_workers_one_killed_no_item_twice_and_each_row_with_its_machine(tmp_path, monkeypatch):
    # Ray's processes find modules where this one does.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in __import__("sys").path if path))
    monkeypatch.setenv("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    campaign = Campaign(
        recipes=tuple(f"sleep:{20 + number}" for number in range(COUNT)),
        runtimes=("tiny",),
        protocol="khan",
        imports=("campaign_workloads", "campaign_machines"),
        health_threshold=1e6,
    )
    out = tmp_path / "nets.parquet"
    killed = []

    def kill(step):
        if step.stage == MEASURE and step.done == COUNT // 3 and not killed:
            with Journal(journal_of(out), is_read_only=True) as journal:
                killed.append(next(iter(journal.machines())))
            os.kill(int(killed[0].rpartition(" ")[2]), signal.SIGKILL)

    summary = run(campaign, out, workers=2, ray="local", measure_machine=False, on_step=kill)
    assert len(killed) == 1
    assert summary.is_complete
    assert not summary.failures
    table = pd.read_parquet(out)
    warm = table[::2]
    assert list(warm.recipe) == list(campaign.recipes)  # each once
    assert (warm.device_fingerprint.values == table[1::2].device_fingerprint.values).all()
    with Journal(journal_of(out), is_read_only=True) as journal:
        machines = set(journal.machines())
        assert {count for count, _ in journal.attempts().values()} == {1}
    assert len(machines) == 3  # two, and the one that took the place of the killed one
    assert killed[0] in machines
    assert set(table.device_fingerprint) <= machines
    assert len(set(table.device_fingerprint)) >= 2
    # What a machine that has gone had measured is not timed again by another one.
    twice = warm[warm.retimed_value.notna()]
    assert killed[0] not in set(twice.device_fingerprint)

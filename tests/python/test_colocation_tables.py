"""The tables of docs/colocation.md, from the committed labels: ours is behind no baseline by more than chance."""

import numpy as np
import pytest
from benchmark_modules import benchmark_module
from latpred.colocation.rows import GROUPS, ONE_CORE_PAIRS, PAIRS, TRIOS_IN_TURNS

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

colocation = benchmark_module("accuracy.colocation")
gpus = colocation.colocation_gpus


@pytest.fixture(scope="module")
def leads():
    """By what was measured and baseline, with networks left out."""
    found = {}
    for data in colocation.sets_of(colocation.table.read(colocation.OWN)):
        for group in sorted({row.group for row in data.rows}):
            found[group] = colocation.leads(data, group)
    rows = pandas.read_parquet(colocation.GPUS)
    pairs = rows[rows.kind == gpus.shared_gpus.PAIR]
    for device in sorted(set(pairs.device)):
        found[device] = gpus.job_pairs(pairs, device).leads
    return found


def test_no_line_is_behind_by_more_than_chance(leads):
    behind = {(what, name): lead for what, by_name in leads.items() for name, lead in by_name.items() if lead.high < 0}
    assert not behind
    assert len(leads) == len(GROUPS) + 3


def test_what_is_ahead_stays_ahead(leads):
    """Lines whose lead is larger than its spread."""
    for group in (ONE_CORE_PAIRS, TRIOS_IN_TURNS):
        assert leads[group][colocation.NONE].low > 0
    assert leads[TRIOS_IN_TURNS][colocation.MEAN].low > 0
    assert leads[PAIRS][colocation.MEAN].low > 0
    for device in ("K80", "P100-PCIe-16GB", "V100-SXM2-16GB"):
        assert all(lead.low > 0 for lead in leads[device].values())


def test_pairs_on_two_cores_are_not_behind_no_interference(leads):
    """By the mean alone: the labels' own noise hides the rest."""
    assert leads[PAIRS][colocation.NONE].mean > 0


def test_lead_is_of_whole_combinations():
    """What is measured together is drawn together: its spread is that of two labels, not of two hundred."""
    slow_downs, keys = np.ones(200), ["a"] * 100 + ["b"] * 100
    ours = np.where(np.array(keys) == "a", 1.0, 1.2)
    found = colocation.lead_of(ours, np.full(200, 1.1), slow_downs, keys)
    assert found.mean == pytest.approx(0.0)
    assert (found.low, found.high) == pytest.approx((-0.1, 0.1))


def test_noise_of_labels_is_what_times_alone_say():
    """Three times with one spread: what a perfect answer is wrong by is known from two of them."""
    chance = np.random.default_rng(1)
    before, beside, after = chance.normal(1.0, 0.01, (3, 20_000))
    is_wrong_by = np.abs(beside - (before + after) / 2).mean()
    assert np.sqrt(3) / 2 * np.abs(before - after).mean() == pytest.approx(is_wrong_by, rel=0.05)

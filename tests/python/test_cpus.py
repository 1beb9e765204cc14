"""What a fit on GPUs lacks on CPUs: factors that made the timings are found, and those that ship are measured ones."""

import json

import numpy as np
import pytest
from benchmark_modules import benchmark_module
from example_networks import MEASUREMENTS, REPOSITORY
from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import checkpoint, cpus, kernel_residual, ship

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")

CPUS = ("Xeon Silver 4114", "Xeon Gold 6240", "Core i9-10940X")


def timed(spread=0.0, count=300):
    """Networks of few launches and of many, that took three and six times as long as GPUs let expect."""
    random = np.random.default_rng(0)
    rows = pd.DataFrame(
        {
            "device": random.choice(CPUS, size=count),
            "family": random.choice(["a", "b", "c"], size=count),
            "kernels_s": np.exp(random.uniform(-8, -3, size=count)),
            "launches_s": np.exp(random.uniform(-8, -5, size=count)),
        }
    )
    noise = np.exp(spread * random.standard_normal(count))
    return rows.assign(value=cpus.Factors(3.0, 6.0).latency_s(rows) * noise)


def test_the_factors_that_made_the_timings_are_found():
    found = cpus.fit(timed(spread=0.2))
    assert found.kernels == pytest.approx(3.0, rel=0.1)
    assert found.launches == pytest.approx(6.0, rel=0.1)


def test_the_width_is_what_left_out_cpus_were_off():
    rows = timed(spread=0.2)
    measured = cpus.measure(rows)
    assert measured.half_width == pytest.approx(1.2816 * 0.2, rel=0.15)
    assert np.mean(list(measured.covers.values())) == pytest.approx(0.8, abs=0.06)
    # One CPU is twice as slow as the others: nothing in them says so.
    slow = rows.assign(value=rows.value * np.where(rows.device == CPUS[0], 2.0, 1.0))
    wider = cpus.measure(slow)
    assert wider.half_width > 2 * measured.half_width
    assert wider.of_cpus[CPUS[0]].bias == pytest.approx(0.5, rel=0.1)
    assert wider.covers[CPUS[0]] < 0.4
    assert f"{CPUS[0]}   left out, MAPE" in str(wider)
    assert wider.manifest()["half_width"]["value"] == wider.half_width


def test_every_cpu_and_every_family_on_it_counts_alike():
    rows = pd.DataFrame({"device": ["a", "a", "a", "b"], "family": ["x", "x", "y", "x"]})
    np.testing.assert_allclose(cpus.weights(rows), [0.25, 0.25, 0.5, 1.0])


def test_answers_about_cpus_are_of_the_size_that_was_measured_and_say_how_little_is_known():
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    rows = rows[cpus.is_on_cpu(rows)].groupby(["device", "family"]).head(2).reset_index(drop=True)
    path = ship.checkpoint_path(kernel_residual.NAME)
    entry = checkpoint.read(path)[0]["cpu"]
    told = cpus.Factors(entry["kernels"]["value"], entry["launches"]["value"])
    found = cpus.answers(kernel_residual.NAME, path, rows, GraphCache(MEASUREMENTS / "graphs.xz"), told)
    untold = cpus.Factors(1.0, 1.0).log_ratio(found)
    off = told.log_ratio(found)
    for device in np.unique(rows.device):
        is_there = rows.device == device
        assert abs(np.median(off[is_there])) < 0.6 < np.median(untold[is_there]), device
    assert np.mean(np.abs(off) <= entry["half_width"]["value"]) > 0.7


def test_the_page_shows_what_the_benchmark_found():
    benchmark = benchmark_module("accuracy.cpus")
    committed = json.loads((REPOSITORY / "benchmarks" / "accuracy" / "cpus.json").read_text(encoding="utf-8"))
    page = (REPOSITORY / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert benchmark.docs_table.shown(page, benchmark.MARK) == benchmark.markdown(committed)
    entry = checkpoint.read(ship.checkpoint_path(kernel_residual.NAME))[0]["cpu"]
    for name in ("kernels", "launches", "half_width"):
        assert entry[name]["value"] == pytest.approx(committed[name], rel=1e-6)

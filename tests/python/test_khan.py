"""The benchmark on Khan's nets, on a small set that was really measured."""

import json
import re
import subprocess
import sys

import numpy as np
import pytest
from example_networks import REPOSITORY
from latpred.datasets import fnn, measured_nets
from latpred.training.net_errors import noise_floor

pytest.importorskip("pyarrow")

GOLDEN = REPOSITORY / "tests" / "golden"
DATA, OUT_OF_RANGE = GOLDEN / "khan.parquet", GOLDEN / "khan_out_of_range.parquet"
BASELINES = ["cache_roofline", "linear_weights", "linear_widths"]


@pytest.fixture(scope="module")
def measured():
    return measured_nets.read(DATA)


def run(folder, *words):
    script = REPOSITORY / "benchmarks" / "accuracy" / "khan.py"
    files = ["--data", DATA, "--out-of-range", OUT_OF_RANGE, "--checkpoints", folder]
    return subprocess.run(
        [sys.executable, script, *files, *words], capture_output=True, text=True, check=True
    )  # fmt: skip


def test_the_fixture_is_a_prefix_of_the_generated_nets(measured):
    generated = fnn.generate(0)
    assert measured.recipes == tuple(next(generated) for _ in measured.recipes)
    beyond = measured_nets.read(OUT_OF_RANGE)
    assert beyond.nets.lengths.min() > fnn.MOST_NODES
    assert beyond.conditions == measured.conditions
    assert DATA.stat().st_size < 25 * len(measured)


def test_what_was_measured_is_plausible(measured):
    """No weight can be read faster than a core's caches give it, and cold runs are the slower ones."""
    assert measured.latency_s.min() > 1e-6
    large = measured.nets.weight_bytes() > 2**27
    rate = measured.nets.weight_bytes()[large] / measured.latency_s[large]
    assert 3e9 < np.median(rate) < 1e11
    assert np.nanmedian(measured.first_run_s / measured.latency_s) > 1
    assert noise_floor(measured)[0].nets == np.isfinite(measured.again_s).sum() > 100


def test_baselines_are_trained_and_shown(measured, tmp_path):
    folder = tmp_path / "checkpoints"
    done = run(folder, "--train", "--only", *BASELINES, "--json", tmp_path / "found.json")
    assert re.search(r"cache_roofline-0.safetensors: 1 epochs, \d+ s, \d+ bytes", done.stdout)
    assert re.search(r"trained in \d+ s", done.stdout)
    assert "| Khan's paper, on its machine | 3.8 | 9.5 % |" in done.stdout
    assert "Out of range" in done.stdout
    found = json.loads((tmp_path / "found.json").read_text())
    of_all = {name: bands[0] for name, bands in found["test"].items()}
    assert set(of_all) == {*BASELINES, "mean of all"}
    assert of_all["cache_roofline"]["nets"] == len(measured.part("test"))
    # A roofline that knows caches beats a line in the weights, which beats one in the widths, in the median.
    medians = [of_all[name]["median_percent"] for name in ("cache_roofline", "linear_weights", "mean of all")]
    assert medians == sorted(medians)
    assert of_all["linear_weights"]["mae_percent_of_mean"] < of_all["linear_widths"]["mae_percent_of_mean"]
    assert set(found["out_of_range"]) == {"cache_roofline"}  # the others take ten nodes at most
    assert sum(band["nets"] for band in found["test"]["cache_roofline"][1:]) == of_all["cache_roofline"]["nets"]

    # Without --train: the same tables from the checkpoints; what is missing is named.
    again = run(folder)
    assert "transformer: no transformer-0.safetensors" in again.stderr
    assert again.stdout.splitlines()[:8] == done.stdout.splitlines()[4:12]

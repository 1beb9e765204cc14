"""The benchmark on Mendoza and Wang's regressors: trained on small sets, and shown from what is committed."""

import itertools
import json
import re
import subprocess
import sys

import numpy as np
import pytest
from example_networks import MEASUREMENTS, REPOSITORY
from latpred.datasets import cnn, measured_nets
from measured_nets_maker import by_law

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.torch


def run(*words):
    script = REPOSITORY / "benchmarks" / "accuracy" / "mendoza.py"
    return subprocess.run([sys.executable, script, *words], capture_output=True, text=True, check=True)


def test_small_sets_are_trained_and_shown(tmp_path):
    dense = measured_nets.read(REPOSITORY / "tests" / "golden" / "khan.parquet")
    recipes = list(itertools.islice(cnn.generate(0), 180))
    measured_nets.write(tmp_path / "cnns.parquet", by_law(180, recipes=recipes, conditions=dense.conditions))
    measured_nets.write(tmp_path / "dense.parquet", dense)
    larger = [cnn.recipe_of(cnn.sizes_of(recipe)[0], 64) for recipe in recipes[:20]]
    measured_nets.write(tmp_path / "sizes.parquet", by_law(20, recipes=larger, conditions=dense.conditions))
    files = ["--dense", tmp_path / "dense.parquet", "--cnns", tmp_path / "cnns.parquet"]
    files += ["--other-sizes", tmp_path / "sizes.parquet", "--checkpoints", tmp_path / "checkpoints"]
    options = ["--seeds", "2", "--epochs", "2", "--train", "--quiet"]
    done = run(*files, *options, "--json", tmp_path / "found.json", "--plot", tmp_path / "depths.png")
    assert re.search(r"flat_dnn-mixed-1.safetensors: \d+ s, \d+ bytes", done.stdout)
    found = json.loads((tmp_path / "found.json").read_text())
    assert list(found) == ["nets", "cnn", "mixed"]
    for part in found.values():
        assert set(part["test"]) == {"layer_sum", "flat_dnn", "flat_linear"}
        assert len(part["depth"]["curve"]) == 20
        assert part["test"]["flat_dnn"]["spread"]["mae_s"] > 0
        assert part["test"]["flat_linear"]["spread"] is None
    for words in ("their DNN, 19 layers, 16-core CPU, mean 390.26 ms | 18.01 | 4.6 %", "### CNNs on larger images",
                  "No GPU rows of ours", "timed again", "times the floor in MAE / mean"):  # fmt: skip
        assert words in done.stdout
    assert (tmp_path / "depths.png").stat().st_size > 5000
    # Again: nothing is trained, the same tables.
    again = run(*files)
    assert "bytes" not in again.stdout
    tables = [text[text.index("###") :].rpartition("\n")[0].rpartition("\n")[0] for text in (done.stdout, again.stdout)]
    assert tables[0] == tables[1]


def test_ours_is_within_one_and_a_half_times_the_noise(tmp_path):
    run("--json", tmp_path / "found.json")
    found = json.loads((tmp_path / "found.json").read_text())
    for part in ("nets", "cnn", "mixed"):
        floor, test = found[part]["noise_floor"][0], found[part]["test"]
        for name in ("mae_percent_of_mean", "median_percent"):
            assert test["layer_sum"][name] < 1.5 * floor[name], (part, name)
        assert test["layer_sum"]["mae_s"] < min(test["flat_dnn"]["mae_s"], test["flat_linear"]["mae_s"])


def test_the_measured_cnns_are_those_that_are_generated():
    cnns = measured_nets.read(MEASUREMENTS / "mendoza_cnn.parquet")
    generated = dict.fromkeys(itertools.islice(cnn.generate(1), 3500))
    assert len(cnns) > 3000
    assert set(cnns.recipes) <= set(generated)
    assert np.isfinite(cnns.again_s).sum() > 50
    assert (MEASUREMENTS / "mendoza_cnn.parquet").stat().st_size < 25 * len(cnns)
    # No convolution is faster than the processor's arithmetic, and none a thousand times slower.
    large = cnns.nets.macs.sum(axis=1) > 1e9
    rate = cnns.nets.macs.sum(axis=1)[large] / cnns.latency_s[large]
    assert 1e9 < np.median(rate) < 3e11


def test_larger_images_have_channels_that_no_training_sees():
    larger = measured_nets.read(MEASUREMENTS / "mendoza_cnn_sizes.parquet")
    assert (larger.parts == "test").all()
    sizes = [cnn.sizes_of(recipe)[1] for recipe in larger.recipes]
    assert set(sizes) == {64, 224}

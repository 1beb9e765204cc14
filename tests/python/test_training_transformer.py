"""The transformers among the trainable predictors: LibTorch behind train(), evaluate() and predict()."""

import dataclasses
import os
import signal
import subprocess
import sys
import time

import latpred
import numpy as np
import pytest
from latpred import GraphBuilder, _core, checkpoint_file
from latpred.datasets import fnn, measured_nets
from latpred.datasets.recipe import parse
from latpred.datasets.recipe_builders import build
from latpred.errors import InvalidArgumentError
from latpred.training import trained
from latpred.training.loop import UNFINISHED
from measured_nets_maker import CONDITIONS, by_law

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.torch

NAMES = ["transformer", "transformer_paper"]
COUNT = 300
NOISE = 0.02  # of by_law(), on the logarithm
EPOCHS = 3


@pytest.fixture(scope="module")
def measured():
    return by_law(COUNT, noise=NOISE)


def train(name, measured, out, **words):
    return latpred.train(name, dataset=measured, out=out, progress=False, **{"epochs": EPOCHS} | words)


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_files_and_others_do_not(name, measured, tmp_path):
    for file, seed in (("a", 0), ("b", 0), ("c", 1)):
        train(name, measured, tmp_path / file, seed=seed)
    contents = [(tmp_path / file).read_bytes() for file in "abc"]
    assert contents[0] == contents[1]
    assert checkpoint_file.read(tmp_path / "a")[1].keys() == checkpoint_file.read(tmp_path / "c")[1].keys()
    assert contents[0] != contents[2]


@pytest.mark.parametrize("name", NAMES)
def test_it_learns_and_padding_changes_nothing(name, measured, tmp_path):
    found = train(name, measured, tmp_path / "x.safetensors", epochs=12)
    if name == "transformer":  # its base is the very law, to which it adds nothing but what noise teaches
        assert found.history[-1]["validation_error"] < 2 * NOISE
    else:
        losses = [line["loss"] for line in found.history]
        assert losses[-1] < 0.5 * losses[0]
    # The same nets in wider arrays, and alone.
    nets = measured.nets.select(np.arange(20))
    wide = fnn.Nets(
        np.pad(nets.attributes, ((0, 0), (0, 2), (0, 0)), constant_values=7.0), nets.lengths, nets.positions
    )
    expected = found.predict_nets(nets)
    if name == "transformer":
        np.testing.assert_allclose(found.predict_nets(wide), expected, rtol=1e-5)
    alone = [found.predict_nets(nets.select(np.array([place])))[0] for place in range(20)]
    np.testing.assert_allclose(alone, expected, rtol=1e-5)


def test_a_training_killed_goes_on_and_ends_as_one_that_was_not(measured, tmp_path):
    measured_nets.write(tmp_path / "nets.parquet", measured)
    words = ["train", "transformer", "--dataset", "nets.parquet", "--epochs", "40", "--out", "x.safetensors", "--quiet"]
    command = [sys.executable, "-m", "latpred", *words]
    unfinished = tmp_path / f"x.safetensors{UNFINISHED}"
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.DEVNULL)
    while not unfinished.exists() and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert unfinished.exists()
    assert not (tmp_path / "x.safetensors").exists()
    done = checkpoint_file.read(unfinished)[0]["done"]
    assert 1 <= done < 40
    subprocess.run(command, cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    train("transformer", measured_nets.read(tmp_path / "nets.parquet"), tmp_path / "y.safetensors", epochs=40)
    assert (tmp_path / "x.safetensors").read_bytes() == (tmp_path / "y.safetensors").read_bytes()


def test_only_ours_takes_deeper_nets(measured, tmp_path):
    deeper = fnn.encode([(8,) * 16])
    ours, paper = (train(name, measured, tmp_path / name) for name in NAMES)
    assert ours.predict_nets(deeper)[0] > 0
    with pytest.raises(
        InvalidArgumentError, match="a net has 16 nodes, predictor 'transformer_paper' takes at most 10"
    ):
        paper.predict_nets(deeper)


def test_attention_is_shared_among_the_nodes(measured, tmp_path):
    found = train("transformer", measured, tmp_path / "x.safetensors")
    nets = measured.nets.select(np.arange(5))
    shares = found.attention(nets)
    assert shares.shape[0] == 5
    assert shares.shape[-1] == nets.attributes.shape[1]
    for place, length in enumerate(nets.lengths):
        np.testing.assert_allclose(shares[place, ..., :length, :length].sum(axis=-1), 1, atol=1e-5)
        assert not shares[place, ..., length:].any()
    roofline = latpred.train("cache_roofline", dataset=measured, out=tmp_path / "r.safetensors", progress=False)
    with pytest.raises(InvalidArgumentError, match="is no transformer"):
        roofline.attention(nets)


def test_it_answers_behind_predict(tmp_path):
    facts = _core.host_facts()
    here = dataclasses.replace(CONDITIONS, device_fingerprint=facts.fingerprint)
    path = tmp_path / "x.safetensors"
    found = train("transformer", by_law(COUNT, conditions=here), path)
    net = GraphBuilder()
    build(net, parse("fnn:16-1024-2048-1"))
    p = latpred.predict(graph=net.build(), device="cpu", predictor=path)
    assert p.latency_s == pytest.approx(found.predict_nets(fnn.encode([(16, 1024, 2048, 1)]))[0])
    assert p.provenance["latency_ms"] == "fitted"


def test_a_checkpoint_of_another_form_is_refused(measured, tmp_path):
    path = tmp_path / "x.safetensors"
    train("transformer", measured, path)
    manifest, arrays = checkpoint_file.read(path)
    checkpoint_file.write(path, manifest, {name: values.reshape(-1)[:1] for name, values in arrays.items()})
    with pytest.raises(latpred.LatpredError, match=r"shape|size|has 1 terms"):
        trained.load(path)

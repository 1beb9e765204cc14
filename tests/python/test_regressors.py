"""Regressors on flattened nets after Mendoza and Wang, the search for their depth, and ours beside them."""

import dataclasses
import itertools
import os
import signal
import subprocess
import sys
import time

import latpred
import numpy as np
import pytest
from latpred import GraphBuilder, _core, checkpoint_file
from latpred._torch import predictors_module
from latpred.datasets import cnn, fnn, measured_nets
from latpred.datasets.recipe import parse
from latpred.datasets.recipe_builders import build
from latpred.errors import CheckpointError, InvalidArgumentError
from latpred.training import trainable, trained
from latpred.training.loop import UNFINISHED
from measured_nets_maker import CONDITIONS, by_law, law_s

pytest.importorskip("pyarrow")
pytestmark = pytest.mark.torch

NAMES = ["layer_sum", "flat_dnn", "flat_linear"]
DEPTHS = (1, 2, 4)
MOST_NODES = 10


def both_kinds(count, conditions=CONDITIONS):
    recipes = [*itertools.islice(fnn.generate(0), count), *itertools.islice(cnn.generate(0, size=8), count)]
    return by_law(2 * count, recipes=recipes, conditions=conditions)


@pytest.fixture(scope="module")
def measured():
    return both_kinds(250)


@pytest.fixture
def few_depths(monkeypatch):
    rows = [
        dataclasses.replace(row, search=trainable.Search("hidden_layers", DEPTHS)) if row.search else row
        for row in trainable.TRAINABLE
    ]
    monkeypatch.setattr(trainable, "TRAINABLE", tuple(rows))


def train(name, measured, out, **words):
    epochs = None if name == "flat_linear" else 4
    return latpred.train(name, dataset=measured, out=out, progress=False, **{"epochs": epochs} | words)


def flattened(some):
    """[G, F] by hand: one-hot operation and weight count of each node, then the adjacency matrix."""
    rows = np.zeros((len(some), MOST_NODES * 4 + MOST_NODES**2))
    for net, length in enumerate(some.lengths):
        for node in range(length):
            rows[net, 4 * node + int(some.attributes[net, node, 0])] = 1
            rows[net, 4 * node + 3] = some.weights[net, node]
        matrix = np.zeros((MOST_NODES, MOST_NODES))
        matrix[:length, :length] = np.eye(length, k=1)
        rows[net, 4 * MOST_NODES :] = matrix.reshape(-1)
    return rows


def scaled(rows, arrays, mean="mean", deviation="deviation"):
    return (rows - arrays[mean]) / arrays[deviation]


def test_the_line_is_numpys_of_least_norm(measured, tmp_path):
    found = train("flat_linear", measured, tmp_path / "line.safetensors")
    arrays = checkpoint_file.read(tmp_path / "line.safetensors")[1]
    training = measured.part("train")
    rows = flattened(training.nets)
    deviation = rows.std(axis=0)
    np.testing.assert_allclose(arrays["mean"], rows.mean(axis=0), atol=1e-12, rtol=1e-9)
    np.testing.assert_allclose(arrays["deviation"], np.where(deviation > 0, deviation, 1), rtol=1e-9)
    target = training.latency_s - training.latency_s.mean()
    expected = np.linalg.lstsq(scaled(rows, arrays), target, rcond=None)[0]
    np.testing.assert_allclose(arrays["coefficients"], expected, atol=1e-9 * np.abs(expected).max())
    predicted = scaled(flattened(measured.nets), arrays) @ expected + training.latency_s.mean()
    np.testing.assert_allclose(
        found.predict_nets(measured.nets), np.maximum(predicted, training.latency_s.min()), rtol=1e-8
    )


@pytest.mark.parametrize("depth", [1, 13, 20])
def test_the_forward_pass_is_that_of_torch(depth, measured):
    torch = pytest.importorskip("torch")
    config = predictors_module().dense_config("paper")
    config.hidden_layers, config.epochs = depth, 1
    some = measured.nets.select(np.arange(0, 500, 25))
    arguments = some.attributes, some.lengths, some.positions
    trainer = predictors_module().DenseTrainer(config, 3)
    trainer.fit_epoch(predictors_module().NetArrays(*arguments, None, law_s(some)))
    arrays = trainer.arrays()
    layers = []
    for name in [*(f"hidden_{layer}" for layer in range(depth)), "output"]:
        weight = torch.tensor(arrays[f"{name}_weight"], dtype=torch.float32)
        layers += [torch.nn.Linear(*reversed(weight.shape)), torch.nn.ReLU()]
        layers[-2].weight.data, layers[-2].bias.data = weight, torch.tensor(arrays[f"{name}_bias"], dtype=torch.float32)
    rows = scaled(flattened(some), arrays, "feature_mean", "feature_deviation")
    with torch.no_grad():
        outputs = torch.nn.Sequential(*layers[:-1])(torch.tensor(rows, dtype=torch.float32))[:, 0].numpy()
    found = trainer.predict(predictors_module().NetArrays(*arguments))
    np.testing.assert_allclose((found - arrays["target_mean"]) / arrays["target_deviation"], outputs, atol=1e-5)
    assert trainer.num_parameters == sum(part.numel() for layer in layers for part in layer.parameters())


@pytest.mark.parametrize("name", NAMES)
def test_equal_seeds_give_equal_files_and_the_file_answers_the_same(name, measured, few_depths, tmp_path):
    one = train(name, measured, tmp_path / "a")
    train(name, measured, tmp_path / "b")
    train(name, measured, tmp_path / "c", seed=1)
    contents = [(tmp_path / file).read_bytes() for file in "abc"]
    assert contents[0] == contents[1] != contents[2]
    np.testing.assert_array_equal(
        one.predict_nets(measured.nets), trained.load(tmp_path / "b").predict_nets(measured.nets)
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b", "c"]


def test_ours_carries_the_law_to_nets_that_it_has_not_seen(measured, tmp_path):
    found = train("layer_sum", measured, tmp_path / "x.safetensors", epochs=20)
    assert latpred.evaluate(found, dataset=measured)[0].median_percent < 4
    larger = measured_nets.encode_recipes(["cnn:3-64-64?size=16", "fnn:" + "-".join(["1024"] * 14)])
    np.testing.assert_allclose(found.predict_nets(larger), law_s(larger), rtol=0.3)
    with pytest.raises(InvalidArgumentError, match="a net has 14 nodes, predictor 'flat_linear' takes at most 10"):
        train("flat_linear", measured, tmp_path / "y.safetensors").predict_nets(larger)


def test_the_search_keeps_the_errors_of_all_depths_and_takes_the_best(measured, few_depths, tmp_path):
    found = train("flat_dnn", measured, tmp_path / "x.safetensors")
    curve = found.search["curve"]
    assert [line["value"] for line in curve] == list(DEPTHS)
    best = min(curve, key=lambda line: line["validation_error"])
    assert found.search["chosen"] == best["value"] == found.manifest["hyper_parameters"]["hidden_layers"]
    assert min(line["validation_error"] for line in found.history) == best["validation_error"]
    with pytest.raises(InvalidArgumentError, match="trained without a search"):
        _ = train("flat_linear", measured, tmp_path / "y.safetensors").search
    # A finished one is taken as it is; another one is not.
    before = (tmp_path / "x.safetensors").stat().st_mtime_ns
    train("flat_dnn", measured, tmp_path / "x.safetensors")
    assert (tmp_path / "x.safetensors").stat().st_mtime_ns == before
    with pytest.raises(CheckpointError, match="seed is 0 there and 1 asked for"):
        train("flat_dnn", measured, tmp_path / "x.safetensors", seed=1)
    again = train("flat_dnn", measured, tmp_path / "x.safetensors", seed=1, resume=False)
    assert again.manifest["seed"] == 1


def test_a_search_killed_goes_on_and_ends_as_one_that_was_not(tmp_path):
    measured_nets.write(tmp_path / "nets.parquet", both_kinds(150))
    words = ["train", "flat_dnn", "--dataset", "nets.parquet", "--epochs", "6", "--quiet", "--out"]
    command = [sys.executable, "-m", "latpred", *words]
    folder = tmp_path / f"x.safetensors{UNFINISHED}"
    process = subprocess.Popen([*command, "x.safetensors"], cwd=tmp_path, stdout=subprocess.DEVNULL)
    while len(list(folder.glob("*.safetensors"))) < 2 and process.poll() is None:
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "x.safetensors").exists()
    done = {path.name: path.stat().st_mtime_ns for path in folder.glob("*.safetensors")}
    assert 2 <= len(done) < 20
    subprocess.run([*command, "x.safetensors"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    subprocess.run([*command, "y.safetensors"], cwd=tmp_path, check=True, stdout=subprocess.DEVNULL)
    assert (tmp_path / "x.safetensors").read_bytes() == (tmp_path / "y.safetensors").read_bytes()
    assert not folder.exists()
    assert len(trained.load(tmp_path / "x.safetensors").search["curve"]) == 20


def test_one_depth_that_fails_ends_the_search_and_nothing_is_lost(measured, few_depths, monkeypatch, tmp_path):
    from latpred.training.regressors import Dense

    fit, fails = Dense.fit_epoch, [True]

    def failing(self, some, latency_s):
        if self._config.hidden_layers == DEPTHS[0] and fails:
            raise RuntimeError("the machine is on fire")
        return fit(self, some, latency_s)

    monkeypatch.setattr(Dense, "fit_epoch", failing)
    with pytest.raises(RuntimeError, match="on fire"):
        train("flat_dnn", measured, tmp_path / "x.safetensors")
    assert not (tmp_path / "x.safetensors").exists()
    fails.clear()
    train("flat_dnn", measured, tmp_path / "x.safetensors")
    train("flat_dnn", measured, tmp_path / "y.safetensors")
    assert (tmp_path / "x.safetensors").read_bytes() == (tmp_path / "y.safetensors").read_bytes()


def graph_of(text):
    net = GraphBuilder()
    build(net, parse(text))
    return net.build()


def test_both_kinds_of_graphs_are_answered_for(tmp_path):
    here = dataclasses.replace(CONDITIONS, device_fingerprint=_core.host_facts().fingerprint)
    file = tmp_path / "x.safetensors"
    found = train("layer_sum", both_kinds(200, conditions=here), file)
    for text in ("cnn:3-64-128?size=8", "fnn:16-1024-1"):
        p = latpred.predict(graph=graph_of(text), device="cpu", predictor=file)
        assert p.latency_s == pytest.approx(found.predict_nets(measured_nets.encode_recipes([text]))[0])
        assert (p.provenance["latency_ms"], p.coverage) == ("fitted", [])
    larger = latpred.predict(graph=graph_of("cnn:3-64-128?size=32"), device="cpu", predictor=file)
    assert larger.coverage == ["images of 32 x 32: 8 x 8 were measured"]
    wider = latpred.predict(graph=graph_of("cnn:3-2048-1?size=8"), device="cpu", predictor=file)
    assert wider.coverage == ["a layer of 2048 units: up to 1024 were measured"]
    assert wider.provenance["latency_ms"] == "extrapolated"


def test_nets_of_a_kind_that_was_not_trained_on_are_refused(measured, tmp_path):
    dense = measured.select(np.array([text.startswith("fnn") for text in measured.recipes]))
    cnns = measured.select(np.array([text.startswith("cnn") for text in measured.recipes]))
    found = train("layer_sum", dense, tmp_path / "x.safetensors")
    with pytest.raises(InvalidArgumentError, match="was trained on feed-forward nets, plain CNNs are asked for"):
        found.predict_nets(cnns.nets)
    for name in ("transformer", "trees", "linear_weights"):
        with pytest.raises(
            InvalidArgumentError,
            match=f"predictor '{name}' takes feed-forward nets, the data set has plain CNNs; those are taken by "
            "cache_roofline, layer_sum, flat_dnn, flat_linear",
        ):
            latpred.train(name, dataset=measured, out=tmp_path / "y", progress=False)
    roofline = latpred.train("cache_roofline", dataset=cnns, out=tmp_path / "r", progress=False)
    assert latpred.evaluate(roofline, dataset=cnns)[0].median_percent < 5


def test_weights_are_kept_small_and_near(measured, tmp_path):
    from latpred.training.regressors import _packed, _unpacked

    random = np.random.default_rng(0)
    arrays = {"a_weight": random.normal(size=(5, 7)), "a_bias": random.normal(size=5), "b_weight": np.zeros((2, 2))}
    found = _unpacked(_packed(arrays))
    assert found.keys() == arrays.keys()
    for name, values in arrays.items():
        np.testing.assert_allclose(found[name], values, atol=np.abs(values).max() / 60000)
    assert _packed(arrays)["a_weight"].dtype == np.int16

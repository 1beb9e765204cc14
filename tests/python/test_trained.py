"""Trained predictors behind predict()."""

import dataclasses
import json

import latpred
import pytest
from latpred import GraphBuilder, _core
from latpred.datasets import fnn
from latpred.errors import InvalidArgumentError
from latpred.training import trainable, use
from measured_nets_maker import CONDITIONS, by_law
from recipe_graphs import built

pytest.importorskip("pyarrow")

COUNT = 400
HERE = _core.host_facts()


@pytest.fixture(scope="module")
def measured():
    return by_law(COUNT)


@pytest.fixture(scope="module")
def here():
    """As if measured on this machine."""
    conditions = dataclasses.replace(CONDITIONS, device_fingerprint=HERE.fingerprint)
    return by_law(COUNT, conditions=conditions)


def test_a_trained_predictor_answers_for_this_machine(here, tmp_path):
    path = tmp_path / "roofline.safetensors"
    found = latpred.train("cache_roofline", dataset=here, out=path, progress=False)
    graph = built("fnn:16-1024-2048-1")
    p = latpred.predict(graph=graph, device="cpu", predictor=path)
    assert p.latency_s == found.predict_nets(fnn.encode([(16, 1024, 2048, 1)]))[0]
    low, high = p.intervals["latency_ms"]
    assert low < p.latency_ms < high
    assert (p.device, p.runtime, p.predictor) == (HERE.model_name, "eager", str(path))
    assert (p.provenance["latency_ms"], p.coverage, p.energy_j, p.mig_profile) == ("fitted", [], None, None)
    assert p.memory_mb > graph.weight_bytes / 1e6
    assert p.fits().device == HERE.model_name
    assert json.loads(json.dumps(p.to_dict()))["predictor"] == str(path)
    assert "fitted" in repr(p)
    with pytest.raises(InvalidArgumentError, match="answers for a whole call: it has no times of kernels"):
        _ = p.kernels


def test_predict_many_asks_it_too(here, tmp_path):
    path = tmp_path / "roofline.safetensors"
    latpred.train("cache_roofline", dataset=here, out=path, progress=False)
    graphs = [built("fnn:16-1024-1"), built("fnn:8-8-8")]
    table = latpred.predict_many(graphs, devices=["cpu", "Xeon Gold 6240"], predictor=path)
    alone = [latpred.predict(graph=graph, device="cpu", predictor=path).latency_s for graph in graphs]
    assert [p.latency_s for p in table] == [alone[0], alone[0], alone[1], alone[1]]
    assert [p.provenance["latency_ms"] for p in table] == ["fitted", "extrapolated"] * 2


def test_what_was_not_measured_is_said_and_widens_the_interval(measured, here, tmp_path):
    latpred.train("cache_roofline", dataset=here, out=tmp_path / "here.safetensors", progress=False)
    latpred.train("cache_roofline", dataset=measured, out=tmp_path / "other.safetensors", progress=False)

    def answer(text, file="here.safetensors"):
        return latpred.predict(graph=built(text), device="cpu", predictor=tmp_path / file)

    def width(p):
        return p.intervals["latency_ms"][1] / p.latency_ms

    near = answer("fnn:16-1024-1")
    for p, words in (
        (answer("fnn:16-1024-1", "other.safetensors"), "the predictor was trained on Some CPU, 2 cores"),
        (answer("fnn:" + "-".join(["64"] * 12)), "12 nodes: 3 to 10 were measured"),
        (answer("fnn:16-20000-1"), "a layer of 20000 units: up to 16384"),
    ):
        assert p.provenance["latency_ms"] == "extrapolated"
        assert words in p.coverage[0]
        assert width(p) > 1.5 * width(near)
    with pytest.raises(InvalidArgumentError, match="strict: outside what the predictor was fitted on: 12 nodes"):
        latpred.predict(
            graph=built("fnn:" + "-".join(["64"] * 12)),
            device="cpu",
            predictor=tmp_path / "here.safetensors",
            strict=True,
        )


def test_small_differences_from_measured_nets_are_noted(here, tmp_path):
    path = tmp_path / "roofline.safetensors"
    latpred.train("cache_roofline", dataset=here, out=path, progress=False)
    net = GraphBuilder()
    x = net.apply("linear", [net.input("x", (16,)), net.parameter((8, 16))])
    net.output(net.apply("linear", [net.apply("relu", x), net.parameter((8, 8)), net.parameter((8,))]))
    p = latpred.predict(graph=net.build(), device="cpu", predictor=path)
    assert p.provenance["latency_ms"] == "interpolated"
    assert p.coverage == ["a dense layer without a bias: all measured ones have one"]


def test_what_is_out_of_scope_is_refused(here, tmp_path):
    path = tmp_path / "roofline.safetensors"
    latpred.train("cache_roofline", dataset=here, out=path, progress=False)
    graph = built("fnn:16-1024-1")
    for words, match in (
        ({"device": "A100"}, "'A100' is a GPU"),
        ({"batch": 2}, "was trained at batch 1, the graph has batch 2"),
        ({"runtime": "compiled"}, "leave runtime= out"),
        ({"precision": "bf16"}, "leave precision= out"),
        ({"predictor": 3}, "must be a name or the file"),
        ({"predictor": "none.safetensors"}, "there is no file 'none.safetensors'"),
    ):
        with pytest.raises(InvalidArgumentError, match=match):
            latpred.predict(**{"graph": graph, "device": "cpu", "predictor": path} | words)
    net = GraphBuilder()
    net.output(net.apply("sigmoid", net.input("x", (16,))))
    with pytest.raises(InvalidArgumentError, match="operator 'sigmoid'") as caught:
        latpred.predict(graph=net.build(), device="cpu", predictor=path)
    assert caught.value.operator == "sigmoid"


def test_predictors_are_listed_and_an_untrained_one_says_how(here, monkeypatch, tmp_path):
    names = [row.name for row in latpred.predictors()]
    assert set(trainable.trainable_names()) <= set(names)
    assert len(names) == len(set(names))
    monkeypatch.setattr(use, "shipped", lambda name: tmp_path / name)
    with pytest.raises(InvalidArgumentError, match=r"comes without a checkpoint.*train\('linear_widths'"):
        latpred.predict(graph=built("fnn:16-1024-1"), device="cpu", predictor="linear_widths")

"""predict(predictor="pmgns"): what it answers, what it refuses, what ships."""

from __future__ import annotations

import latpred
import numpy as np
import pytest
from example_networks import REPOSITORY
from latpred import _core, fusion
from latpred.errors import CheckpointError
from latpred.fusion import graph_arrays, pmgns, whole_graph

pytestmark = pytest.mark.torch
pytest.importorskip("torch")

DEVICE = "A100-SXM4-40GB"


def network_of(width: int, batch: int) -> latpred.Graph:
    net = latpred.GraphBuilder()
    x = net.input("x", (3, 32, 32))
    for channels in (3, width):
        x = net.apply("conv", [x, net.parameter((width, channels, 3, 3))], kernel_shape=[3, 3], pads=[1] * 4)
        x = net.apply("relu", x)
    net.output(net.apply("global_average_pool", x))
    return net.build(batch)


@pytest.fixture(scope="module")
def graphs():
    return [network_of(width, batch) for width in (8, 16, 32, 64) for batch in (1, 4, 16)]


@pytest.fixture
def small(graphs, tmp_path, monkeypatch):
    """A network of a few numbers in the place of the shipped one, taught by the default predictor."""
    answers = [latpred.predict(graph=graph, device=DEVICE) for graph in graphs]
    targets = np.array([[one.latency_s, one.memory_mb * 1e6, one.energy_j] for one in answers])
    arrays = pmgns.arrays_of(graphs, DEVICE) | {"targets": targets}
    config = fusion.recipe(
        "pmgns", width=8, layers=1, dense_width=8, input_scale="log", scale="log", epochs=2, batch_graphs=4
    )
    half = graph_arrays.part(arrays, np.arange(6))
    network = fusion.train(config, fusion.sizes_of(arrays, 0), arrays, half)
    network.trained_on |= {
        "device": DEVICE,
        "runtime": "eager",
        "precision": "default",
        "teacher": "kernel_residual",
        "log_half_widths": [0.3, 0.1, 0.4],
    }
    network.save(tmp_path / "pmgns.safetensors")
    monkeypatch.setattr(pmgns, "CHECKPOINT", tmp_path / "pmgns.safetensors")
    pmgns.load.cache_clear()
    yield network
    pmgns.load.cache_clear()


def test_it_answers_all_four(small, graphs):
    found = latpred.predict(graph=graphs[5], predictor="pmgns")
    memory, energy, latency, mig = found
    expected = small.predict(pmgns.arrays_of([graphs[5]], DEVICE))["targets"][0]
    assert (latency / 1e3, memory * 1e6, energy) == pytest.approx(tuple(expected))
    assert mig == "1g.5gb"
    assert found.predictor == "pmgns"
    assert found.device == DEVICE
    assert found.memory_mib == pytest.approx(memory * 1e6 / 2**20)
    assert found.mean_power_w == pytest.approx(energy / latency * 1e3)
    assert set(found.provenance.values()) == {"modelled"}
    assert any("kernel_residual" in sentence for sentence in found.coverage)
    assert (found.memory_parts, found.peak_node) == ({}, None)
    for name, half_width in zip(("latency_ms", "memory_mb", "energy_j"), (0.3, 0.1, 0.4), strict=True):
        low, high = found.intervals[name]
        assert np.log(high / low) == pytest.approx(2 * half_width)
    assert found.to_dict()["memory_mb"] == memory
    assert found.is_of_whole_call
    with pytest.raises(latpred.InvalidArgumentError, match="it has no times of kernels"):
        _ = found.kernels
    assert "pmgns" not in repr(found)
    assert "modelled" in repr(found)


def test_many_are_the_same(small, graphs):
    many = latpred.predict_many(graphs[:3], predictor="pmgns")
    for one, graph in zip(many, graphs, strict=False):
        alone = latpred.predict(graph=graph, predictor="pmgns")
        assert list(one)[:3] == pytest.approx(list(alone)[:3], rel=1e-5)
        assert one.mig_profile == alone.mig_profile


@pytest.mark.parametrize(
    "asked",
    [
        {"device": "RTX 4090"},
        {"device": "A100-SXM4-80GB"},
        {"partition": "1g.5gb"},
        {"runtime": "tensorrt"},
        {"precision": "fp16"},
        {"autograd": True},
    ],
    ids=str,
)
def test_what_it_never_saw_is_refused(small, graphs, asked):
    with pytest.raises(latpred.InvalidArgumentError, match=next(iter(asked))):
        latpred.predict(graph=graphs[0], predictor="pmgns", **asked)


def test_the_profile_goes_by_the_rule(small, graphs, monkeypatch):
    found = latpred.predict(graph=graphs[0], predictor="pmgns", mig_rule="dippm")
    found.take(4.9e9, (4.8e9, 5.2e9), 1.0, (0.5, 2.0))
    assert found.mig_profile == "1g.5gb"
    found.take(6e9, (5.9e9, 6.2e9), 1.0, (0.5, 2.0))
    assert found.mig_profile == "2g.10gb"
    ours = latpred.predict(graph=graphs[0], predictor="pmgns")
    ours.take(6e9, (5.9e9, 6.2e9), 1.0, (0.5, 2.0))
    assert ours.mig_profile == "1g.10gb"


def test_the_rule_of_the_compiled_part_is_used():
    assert _core.pick_mig_profile(DEVICE, "memory", 1e9, 4e9) == "1g.5gb"
    assert _core.pick_mig_profile(DEVICE, "memory", 1e9, 1e12) is None
    with pytest.raises(latpred.InvalidArgumentError, match="dippm"):
        _core.pick_mig_profile(DEVICE, "largest", 1e9, 1e9)


def test_a_lost_checkpoint_is_named(graphs, tmp_path, monkeypatch):
    monkeypatch.setattr(pmgns, "CHECKPOINT", tmp_path / "gone.safetensors")
    pmgns.load.cache_clear()
    with pytest.raises(CheckpointError, match=r"gone\.safetensors"):
        latpred.predict(graph=graphs[0], predictor="pmgns")


def test_it_is_listed():
    assert "pmgns" in [row.name for row in latpred.predictors()]


def test_what_ships_repeats_its_teacher(graphs):
    pmgns.load.cache_clear()
    trained = pmgns.load()
    assert pmgns.CHECKPOINT.stat().st_size < 4e6
    found = trained.trained_on["mape_percent_of_teacher"]["test"]
    assert len(found) == len(whole_graph.TARGETS)
    network = latpred.load(REPOSITORY / "tests" / "fixtures" / "torch" / "resnet50.pt2", batch=8)
    mine = latpred.predict(graph=network, predictor="pmgns")
    teacher = latpred.predict(graph=network)
    for name in ("latency_ms", "memory_mb", "energy_j"):
        low, high = mine.intervals[name]
        assert low < getattr(teacher, name) < high, name

import json
import math

import latpred
import numpy as np
import pytest
from example_networks import RESNET50, small_network
from latpred import _core

KEYS = {"latency_ms", "memory_mb", "energy_j"}


@pytest.fixture(scope="module")
def prediction():
    return latpred.predict(RESNET50, batch=32, device="A100")


def test_unpacks_in_the_order_of_dippm(prediction):
    memory, energy, latency, mig = prediction
    assert (memory, energy, latency, mig) == (
        prediction.memory_mb,
        prediction.energy_j,
        prediction.latency_ms,
        prediction.mig_profile,
    )


def test_units_agree_with_each_other(prediction):
    assert prediction.latency_ms == pytest.approx(prediction.latency_s * 1e3, rel=1e-12)
    assert prediction.throughput_per_s == pytest.approx(32 / prediction.latency_s, rel=1e-12)
    assert prediction.memory_mib == pytest.approx(prediction.memory_mb * 1e6 / 2**20, rel=1e-12)
    assert prediction.mean_power_w == pytest.approx(prediction.energy_j / prediction.latency_s, rel=1e-9)


def test_memory_parts_add_up(prediction):
    assert sum(prediction.memory_parts.values()) == pytest.approx(prediction.memory_mb, rel=1e-9)
    assert prediction.memory_parts["weights_mb"] == pytest.approx(prediction.graph.weight_bytes / 1e6, rel=0.01)
    assert prediction.peak_node in {node.name for node in prediction.graph.nodes}


def test_intervals_hold_the_answer(prediction):
    assert set(prediction.intervals) == KEYS
    for name, (low, high) in prediction.intervals.items():
        assert low <= getattr(prediction, name) <= high
        assert low < high


def test_a_version_that_is_said_narrows_the_interval(prediction):
    said = latpred.predict(RESNET50, batch=32, device="RTX 3090", precision="amp", runtime_version="torch 2.4")
    silent = latpred.predict(RESNET50, batch=32, device="RTX 3090", precision="amp")
    assert (said.runtime_version, silent.runtime_version) == ("torch 2.4.0", None)
    assert said.to_dict()["runtime_version"] == "torch 2.4.0"
    assert "eager (torch 2.4.0) amp" in repr(said)
    assert said.asked()["runtime_version"] == "torch 2.4"
    low, high = said.intervals["latency_ms"]
    widest = silent.intervals["latency_ms"]
    assert high / low < widest[1] / widest[0]
    # The newest one is what answers where none is said.
    newest = latpred.predict(RESNET50, batch=32, device="RTX 3090", precision="amp", runtime_version="torch 2.9")
    assert newest.latency_ms == silent.latency_ms != said.latency_ms


def test_a_version_that_was_not_measured_is_answered_by_the_one_before_it():
    def answer(version):
        return latpred.predict(RESNET50, batch=32, device="RTX 3090", precision="amp", runtime_version=version)

    other, before, silent = answer("torch 2.6.0"), answer("torch 2.4"), answer(None)
    assert (other.latency_ms, other.runtime_version) == (before.latency_ms, "torch 2.4.0")
    assert other.coverage == ["eager by torch 2.6.0 was not measured: torch 2.4.0 stands for it"]
    assert (other.provenance["latency_ms"], before.provenance["latency_ms"]) == ("interpolated", "fitted")
    assert answer("torch 2.11").coverage == ["eager by torch 2.11.0 was measured on other devices only"]
    low, high = other.intervals["latency_ms"]
    narrow, wide = before.intervals["latency_ms"], silent.intervals["latency_ms"]
    assert high / low == pytest.approx(wide[1] / wide[0], rel=1e-3)
    assert high / low > narrow[1] / narrow[0]


def test_tensorrt_differs_by_its_version_and_by_what_runs_its_engines():
    def latency_ms(version):
        return latpred.predict(RESNET50, device="T4", runtime="tensorrt", runtime_version=version).latency_ms

    assert latency_ms("tensorrt 10") == latency_ms(None)
    by_age = [latency_ms(f"tensorrt {number}") for number in ("7.2.1", "8.2.1", "8.5.1", "8.6.1", "10")]
    assert by_age == sorted(by_age, reverse=True)
    assert latency_ms("paddle inference") > by_age[0]


def test_every_quantity_has_a_provenance(prediction):
    assert set(prediction.provenance) == KEYS
    known = {"fitted", "interpolated", "extrapolated", "modelled"}
    assert set(prediction.provenance.values()) <= known
    assert isinstance(prediction.coverage, list)
    assert prediction.unknown_operators == []


@pytest.mark.parametrize("input_on", ["device", "pinned", "pageable"])
def test_kernels_add_up(input_on):
    prediction = latpred.predict(RESNET50, batch=4, device="A100", input_on=input_on)
    kernels = prediction.kernels
    assert math.fsum(kernel.latency_ms for kernel in kernels) == pytest.approx(prediction.latency_ms, rel=1e-9)
    assert math.fsum(kernel.share for kernel in kernels) == pytest.approx(1, rel=1e-9)
    assert ("input_copy" in {kernel.kind for kernel in kernels}) == (input_on != "device")
    names = {node.name for node in prediction.graph.nodes}
    for kernel in kernels:
        assert set(kernel.members) <= names
        assert (kernel.bound == "") == (kernel.kind in ("host_wait", "input_copy"))
    assert kernels is prediction.kernels  # computed once


def test_partitions_list_every_profile(prediction):
    profiles = [profile.name for profile in latpred._core.mig_profiles("A100")]
    assert [row.name for row in prediction.partitions] == profiles
    for row in prediction.partitions:
        on_profile = latpred.predict(graph=prediction.graph, device="A100", partition=row.name)
        assert on_profile.latency_ms == pytest.approx(row.latency_ms, rel=1e-9)
        assert row.latency_ms_low <= row.latency_ms <= row.latency_ms_high
        assert row.fits == bool(prediction.fits("A100", row.name))
    assert prediction.mig_profile == next(row.name for row in prediction.partitions if row.fits)


def test_a_device_without_mig_has_no_profile():
    prediction = latpred.predict(graph=small_network(), device="T4")
    assert prediction.mig_profile is None
    assert len(prediction.partitions) == 0


def test_dippm_rule_stands_beside_ours():
    graph = small_network()
    assert latpred.predict(graph=graph, mig_rule="dippm").mig_profile == "1g.5gb"
    assert latpred.predict(graph=graph, mig_rule="dippm").mig_rule == "dippm"


def test_fits_says_how_much_is_left(prediction):
    here = prediction.fits()
    assert here
    assert here.device == "A100-SXM4-40GB"
    assert here.partition is None
    assert here.margin_mb == pytest.approx(here.usable_mb - here.needed_mb)
    assert here.needed_mb == pytest.approx(prediction.intervals["memory_mb"][1], rel=1e-9)
    assert "to spare" in repr(here)
    large = latpred.predict(RESNET50, batch=2048).fits("A100", "1g.5gb")
    assert not large
    assert large.margin_mb < 0
    assert "does not fit A100-SXM4-40GB 1g.5gb" in repr(large)
    assert "missing" in repr(large)


def test_largest_batch_is_the_last_that_fits(prediction):
    for device, partition in [(None, None), ("A100", "1g.5gb"), ("T4", None)]:
        batch = prediction.largest_batch(device, partition)
        where = {"device": device or "A100", "partition": partition}
        assert latpred.predict(graph=prediction.graph, batch=batch, **where).fits()
        assert not latpred.predict(graph=prediction.graph, batch=batch + 1, **where).fits()


def test_no_batch_above_the_largest_fits_where_memory_falls_with_the_batch():
    asked = {"device": "A100", "precision": "amp"}
    graph = latpred.load(RESNET50, batch=1)
    needed = [latpred.predict(graph=graph, batch=batch, **asked).fits().needed_mb for batch in (256, 257)]
    assert needed[1] < 0.9 * needed[0]
    largest = latpred.predict(graph=graph, **asked).largest_batch()
    for step in range(1, 16):
        assert not latpred.predict(graph=graph, batch=largest + largest * step // 16, **asked).fits()


def test_partition_of_the_request_is_kept_where_the_device_is():
    prediction = latpred.predict(graph=small_network(), partition="2g.10gb")
    assert prediction.partition == "2g.10gb"
    assert prediction.fits().partition == "2g.10gb"
    assert prediction.fits("H100").partition is None
    assert "A100-SXM4-40GB 2g.10gb, batch 1" in repr(prediction)


def test_autograd_keeps_more():
    graph = latpred.load(RESNET50, batch=8)
    without = latpred.predict(graph=graph)
    kept = latpred.predict(graph=graph, autograd=True)
    assert kept.memory_mb > without.memory_mb
    assert kept.latency_ms == without.latency_ms


def test_to_dict_is_json(prediction):
    answer = json.loads(json.dumps(prediction.to_dict()))
    assert answer["latency_ms"] == prediction.latency_ms
    assert answer["intervals"]["memory_mb"] == list(prediction.intervals["memory_mb"])
    assert answer["graph_hash"] == prediction.graph.hash
    assert answer["device"] == "A100-SXM4-40GB"


def test_one_line(prediction):
    line = repr(prediction)
    assert "\n" not in line
    assert line.startswith("resnet50.onnx on A100-SXM4-40GB, batch 32, eager: ")
    assert line.endswith(f"MIG {prediction.mig_profile} [{prediction.provenance['latency_ms']}]")
    assert " ms (" in line
    assert " MB, " in line
    assert " J, " in line


def test_html_is_a_table_and_escaped():
    net = latpred.GraphBuilder()
    net.output(net.apply("relu", net.input("x", (8,)), name="<b>"))
    prediction = latpred.predict(graph=net.build(), device="A100")
    html = prediction._repr_html_()
    assert html.startswith("<table>")
    assert "80 % interval" in html
    assert "<b>" not in prediction.kernels._repr_html_()
    assert "&lt;b&gt;" in prediction.kernels._repr_html_()


def test_to_pandas(prediction):
    pytest.importorskip("pandas")
    frame = prediction.to_pandas()
    assert frame.shape[0] == 1
    assert frame["latency_ms"][0] == prediction.latency_ms
    assert frame["latency_ms_low"][0] == prediction.intervals["latency_ms"][0]
    kernels = prediction.kernels.to_pandas()
    assert kernels["latency_ms"].sum() == pytest.approx(prediction.latency_ms, rel=1e-9)
    table = latpred.predict_many([small_network()], batches=[1, 2], devices=["A100", "T4"])
    assert list(table.to_pandas()["batch"]) == [1, 1, 2, 2]


def test_without_pandas_the_extra_is_named(prediction, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with pytest.raises(latpred.MissingDependencyError, match=r'pip install "latpred\[data\]"'):
        prediction.to_pandas()


def test_strict_refuses_what_the_evidence_does_not_cover():
    extrapolated = next(
        prediction
        for device in latpred.devices()
        if device.is_gpu
        for prediction in [latpred.predict(graph=small_network(), device=device.name)]
        if prediction.provenance["latency_ms"] == "extrapolated"
    )
    assert extrapolated.coverage
    with pytest.raises(latpred.InvalidArgumentError, match="strict"):
        latpred.predict(graph=extrapolated.graph, device=extrapolated.device, strict=True)


def test_a_network_of_views_takes_no_time():
    net = latpred.GraphBuilder()
    net.output(net.apply("flatten", net.input("x", (4, 4)), axis=1))
    prediction = latpred.predict(graph=net.build())
    assert prediction.latency_ms == 0
    assert prediction.throughput_per_s is None
    assert len(prediction.kernels) == 0
    json.dumps(prediction.to_dict(), allow_nan=False)
    assert "0 ms" in repr(prediction)
    assert "<table>" in prediction._repr_html_()


def vgg_head(kind, batch, has_bias=True):
    """VGG's three layers behind its last convolution, as products or as the convolutions that they equal."""
    net = latpred.GraphBuilder()
    x = net.input("features", (512, 7, 7))
    if kind == "linear":
        x = net.apply("flatten", x, name="flatten", axis=1)
    for position, (channels, window, wide) in enumerate([(512, 7, 4096), (4096, 1, 4096), (4096, 1, 1000)]):
        weight = (wide, channels * window**2) if kind == "linear" else (wide, channels, window, window)
        settings = {} if kind == "linear" else {"kernel_shape": [window, window]}
        inputs = [x, net.parameter(weight), *([net.parameter((wide,))] if has_bias else [])]
        x = net.apply(kind, inputs, name=f"fc{position}", **settings)
        if position < 2:
            x = net.apply("relu", x, name=f"relu{position}")
    if kind == "conv":
        x = net.apply("flatten", x, name="flatten", axis=1)
    net.output(x)
    return net.build(batch=batch)


PRECISIONS = ("default", "fp32", "fp16")


def assert_equal(graphs, runtime):
    for precision in PRECISIONS:
        features = [_core.featurize(_core.fuse(graph, runtime, precision), "A100").values for graph in graphs]
        np.testing.assert_array_equal(features[0], features[1])
        for name in ("analytic", "linear", "roofline"):
            settings = {"device": "A100", "runtime": runtime, "precision": precision, "predictor": name}
            answers = [latpred.predict(graph=graph, **settings) for graph in graphs]
            assert answers[0].latency_ms == answers[1].latency_ms
            assert answers[0].energy_j == answers[1].energy_j


@pytest.mark.parametrize(
    ("runtime", "has_bias"),
    [("eager", False), ("compiled", False), ("tensorrt", True), ("onnxruntime", True)],
)
@pytest.mark.parametrize("batch", [1, 64])
def test_fully_connected_layers_are_equal_however_they_are_written(runtime, has_bias, batch):
    graphs = [vgg_head(kind, batch, has_bias) for kind in ("linear", "conv")]
    assert graphs[0].macs == graphs[1].macs == batch * (25088 * 4096 + 4096 * 4096 + 4096 * 1000)
    assert graphs[0].flops == graphs[1].flops
    assert_equal(graphs, runtime)


@pytest.mark.parametrize("batch", [1, 64])
def test_eager_convolutions_add_their_bias_apart(batch):
    """PyTorch calls cuDNN for the convolutions alone, and a product's library adds the bias itself."""
    graphs = [vgg_head(kind, batch) for kind in ("linear", "conv")]
    assert graphs[0].macs == graphs[1].macs
    assert graphs[0].flops == graphs[1].flops
    for precision in PRECISIONS:
        kernels = [_core.fuse(graph, "eager", precision) for graph in graphs]
        is_bias = [np.array([row.name.endswith(".bias") for row in found.rows]) for found in kernels]
        assert (is_bias[0].sum(), is_bias[1].sum()) == (0, 3)
        features = [_core.featurize(found, "A100").values for found in kernels]
        np.testing.assert_array_equal(features[0], features[1][~is_bias[1]])
        for name in ("analytic", "linear", "roofline"):
            settings = {"device": "A100", "runtime": "eager", "precision": precision, "predictor": name}
            answers = [latpred.predict(graph=graph, **settings) for graph in graphs]
            assert answers[0].latency_ms < answers[1].latency_ms


@pytest.mark.parametrize("batch", [1, 64])
def test_compiled_convolutions_leave_their_bias_to_generated_kernels(batch):
    """The activation's kernel adds it where there is one."""
    linear, conv = (_core.fuse(vgg_head(kind, batch), "compiled", "fp16").rows for kind in ("linear", "conv"))
    assert [row.name for row in linear] == ["fc0", "relu0", "fc1", "relu1", "fc2"]
    assert [row.name for row in conv] == ["fc0", "fc0.bias+relu0", "fc1", "fc1.bias+relu1", "fc2", "fc2.bias"]
    moved = [[row.bytes_in + row.bytes_out for row in rows[:5]] for rows in (linear, conv)]
    assert moved[0] == moved[1]


def test_a_table_prints_and_slices():
    table = latpred.predict_many([small_network()], batches=[1, 2, 4], devices=["A100"])
    assert isinstance(table[1:], latpred.PredictionTable)
    assert [p.batch for p in table[1:]] == [2, 4]
    lines = repr(table).splitlines()
    assert len(lines) == 2 + 3
    assert lines[0].split() == ["network", "batch", "device", "ms", "low", "ms", "high", "ms", "per", "s", "MB", "J",
                                "MIG", "provenance"]  # fmt: skip
    assert "A100-SXM4-40GB" in table._repr_html_()

import latpred
import pytest
from example_networks import RESNET50, small_network
from latpred import explain


@pytest.fixture(scope="module")
def prediction():
    return latpred.predict(RESNET50, batch=8, input_on="pinned")


def test_kinds_add_up_to_the_whole(prediction):
    rows = explain.time_by_kind(prediction)
    assert sum(row.share for row in rows) == pytest.approx(1, rel=1e-9)
    assert sum(row.latency_ms for row in rows) == pytest.approx(prediction.latency_ms, rel=1e-9)
    assert sum(row.flops for row in rows) == pytest.approx(sum(kernel.flops for kernel in prediction.kernels))
    assert [row.latency_ms for row in rows] == sorted((row.latency_ms for row in rows), reverse=True)
    assert rows["input_copy"].kernels == 0
    assert 0 < rows["conv"].compute_bound_share <= 1


def test_memory_parts_add_up(prediction):
    rows = explain.memory_parts(prediction)
    assert sum(row.size_mb for row in rows) == pytest.approx(prediction.memory_mb, rel=1e-9)
    assert sum(row.share for row in rows) == pytest.approx(1, rel=1e-9)


def test_alternatives_are_predictions_with_one_thing_changed(prediction):
    rows = explain.alternatives(prediction)
    assert rows[0].latency_ms == prediction.latency_ms
    for row in rows:
        assert row.note in {"fitted", "interpolated", "extrapolated", "modelled"}
    words = [row.change for row in rows]
    assert words[0] == "as asked"
    assert {"precision fp16", "runtime tensorrt", "batch 4", "batch 16", "batch 32"} <= set(words)
    assert "runtime openvino" not in words
    assert "runtime eager" not in words
    half = latpred.predict(RESNET50, batch=8, input_on="pinned", precision="fp16")
    assert rows[words.index("precision fp16")].latency_ms == half.latency_ms


def test_another_runtime_has_no_version_of_the_first():
    rows = explain.alternatives(latpred.predict(graph=small_network(), runtime_version="torch 2.4"))
    (tensorrt,) = [row for row in rows if row.change == "runtime tensorrt"]
    assert tensorrt.latency_ms == latpred.predict(graph=small_network(), runtime="tensorrt").latency_ms


def test_a_refused_change_says_why():
    rows = explain.alternatives(latpred.predict(graph=small_network(), device="T4"))
    (refused,) = [row for row in rows if row.change == "precision bf16"]
    assert refused.latency_ms is None
    assert refused.note.startswith("refused: ")
    assert "bf16" in refused.note


def test_this_machine_is_explained_whatever_its_processor_is_called(name_host):
    name_host("somebody's")
    found = latpred.predict(graph=small_network(), device="cpu")
    assert sum(row.share for row in explain.time_by_kind(found)) == pytest.approx(1, rel=1e-9)
    rows = {row.change: row for row in explain.alternatives(found)}
    assert rows["as asked"].latency_ms == found.latency_ms
    assert rows["batch 2"].latency_ms == latpred.predict(graph=small_network(2), device="cpu").latency_ms
    assert {"runtime onnxruntime", "runtime openvino"} <= set(rows)
    assert "runtime tensorrt" not in rows


@pytest.mark.torch
def test_a_change_that_another_predictor_answers_names_it(known_host):
    pytest.importorskip("torch")
    eager, learnt = (latpred.predict(graph=small_network(), device="cpu", runtime=name) for name in (None, "openvino"))
    (of_learnt,) = [row for row in explain.alternatives(eager) if row.change == "runtime openvino"]
    assert of_learnt.latency_ms == pytest.approx(learnt.latency_ms)
    assert of_learnt.note == "extrapolated, by lilou"
    rows = {row.change: row for row in explain.alternatives(learnt)}
    assert rows["as asked"].note == "extrapolated"
    assert rows["runtime eager"].latency_ms == eager.latency_ms
    assert rows["runtime eager"].note == "extrapolated, by kernel_residual"


@pytest.fixture(scope="module")
def timings():
    """Of two networks, half as long again as predicted."""
    graphs = [latpred.load(RESNET50, batch=64), small_network(batch=4096, channels=256)]
    asked = {"device": "RTX 4090", "precision": "amp"}
    return [(graph, graph.batch, 1.5 * latpred.predict(graph=graph, **asked).latency_s) for graph in graphs]


def test_a_calibration_is_left_out_where_it_was_made_for_something_else(timings):
    graph, asked = latpred.load(RESNET50, batch=32), {"device": "RTX 4090", "precision": "amp"}
    calibration = latpred.calibrate(timings, **asked)
    prediction = latpred.predict(graph=graph, **asked, calibration=calibration)
    rows = {row.change: row for row in explain.alternatives(prediction)}
    for change, changed in (
        ("as asked, uncalibrated", {}),
        ("precision fp16", {"precision": "fp16"}),
        ("runtime compiled", {"runtime": "compiled"}),
    ):
        assert rows[change].latency_ms == latpred.predict(graph=graph, **(asked | changed)).latency_ms
        assert rows[change].note.endswith("ed, without your timings")
    assert list(rows)[:2] == ["as asked", "as asked, uncalibrated"]
    assert rows["as asked"].latency_ms == prediction.latency_ms > 1.2 * rows["as asked, uncalibrated"].latency_ms
    double = latpred.predict(graph=graph.with_batch(64), **asked, calibration=calibration)
    assert rows["batch 64"].latency_ms == double.latency_ms
    for change in ("as asked", "batch 16", "batch 64", "batch 128"):
        assert "without" not in rows[change].note
    assert not [row for row in rows.values() if "was made for" in row.note]


def test_a_calibration_of_any_precision_stays(timings):
    calibration = latpred.calibrate(timings, device="RTX 4090", precision=None)
    asked = {"graph": latpred.load(RESNET50, batch=32), "device": "RTX 4090", "calibration": calibration}
    rows = {row.change: row for row in explain.alternatives(latpred.predict(**asked, precision="amp"))}
    assert rows["precision fp16"].latency_ms == latpred.predict(**asked, precision="fp16").latency_ms
    assert "without" not in rows["precision fp16"].note
    assert rows["runtime compiled"].note.endswith("without your timings")


def test_without_its_calibration_the_same_predictor_answers(timings):
    calibration = latpred.calibrate(timings, device="RTX 4090", precision="amp", predictor="roofline")
    asked = {"graph": latpred.load(RESNET50, batch=32), "device": "RTX 4090", "precision": "amp"}
    rows = explain.alternatives(latpred.predict(**asked, calibration=calibration))
    assert rows[1].latency_ms == latpred.predict(**asked, predictor="roofline").latency_ms

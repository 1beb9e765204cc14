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

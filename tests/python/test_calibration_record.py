"""calibrate(from_record=True): timings of the local record."""

import json

import latpred
import pytest
from example_networks import RESNET50
from latpred import InvalidArgumentError, record
from latpred.calibration.probes import NETWORKS, probe_graph
from latpred.record import MEASUREMENT, Entry

DEVICE = "RTX 4090"
FINGERPRINT = f"{latpred.devices()[DEVICE].vendor_name}; sm_89; 128 SMs; driver 580, CUDA 13.0"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv(record.VARIABLE, raising=False)
    return tmp_path


def timing(graph, name, factor=1.3, batch=64, **fields):
    """As profile() writes it, so many times what is predicted."""
    words = {"device": "cuda", "device_fingerprint": FINGERPRINT, "runtime": "eager", "precision": "default"} | fields
    return Entry(
        MEASUREMENT, name, batch, quantity="latency_s", graph_hash=graph.hash, threads=1, noise=0.01,
        value=factor * latpred.predict(graph=graph, device=DEVICE).latency_s, **words,
    )  # fmt: skip


def probes(count=3):
    return [(probe_graph(name, 64), name) for name in NETWORKS[:count]]


def test_networks_that_recipes_name_are_found(folder):
    record.add([timing(graph, name) for graph, name in probes()])
    found = latpred.calibrate(from_record=True, device=DEVICE)
    assert found.scale == pytest.approx(1.3, rel=0.01)
    assert found.num_rows == 3
    assert found.fingerprint == FINGERPRINT
    assert found.records[0].spread == pytest.approx(0.01)
    assert (
        latpred.predict(graph=probes()[0][0], device=DEVICE, calibration=found).provenance["latency_ms"] == "measured"
    )


def test_what_was_measured_elsewhere_stays_out(folder):
    graph, name = probes(1)[0]
    odd = [
        {"device_fingerprint": "NVIDIA H100 80GB HBM3; sm_90"},
        {"device_fingerprint": FINGERPRINT.replace(";", " D;", 1)},  # a vendor's name that begins alike
        {"runtime": "compiled"},
        {"precision": "amp"},
        {"device": "cpu"},
        {"partition": "32sm"},
    ]
    record.add([timing(graph, name, 9, **fields) for fields in odd] + [timing(graph, name)])
    record.add([timing(graph, name, 1.3, device=DEVICE, device_fingerprint="as campaigns name it")])
    found = latpred.calibrate(from_record=True, device=DEVICE)
    assert found.num_rows == 1
    assert found.scale == pytest.approx(1.3, rel=0.01)
    assert found.fingerprint is None
    other = latpred.calibrate(from_record=True, device=DEVICE, precision="amp")
    assert other.records[0].latency_s == pytest.approx(found.records[0].latency_s * 9 / 1.3)


def test_networks_may_be_given(folder):
    graph, name = probes(1)[0]
    file = latpred.load(RESNET50, batch=64)
    record.add([timing(graph, name), timing(file, "resnet50.onnx", 1.5), timing(file.with_batch(8), "x", 1.5, batch=8)])
    found = latpred.calibrate([RESNET50], from_record=True, device=DEVICE)
    assert [row.batch for row in found.records] == [8, 64]
    assert {row.batch for row in latpred.calibrate(file, from_record=True, device=DEVICE).records} == {8, 64}
    assert latpred.calibrate([graph, file], from_record=True, device=DEVICE).num_rows == 3
    assert latpred.calibrate([name], from_record=True, device=DEVICE).num_rows == 1
    with pytest.raises(InvalidArgumentError, match=f"no timing of '{probes()[1][1]}'"):
        latpred.calibrate([probes()[1][1]], from_record=True, device=DEVICE)
    with pytest.raises(InvalidArgumentError, match="a network is a Graph, a file or a recipe, got int"):
        latpred.calibrate([5], from_record=True, device=DEVICE)


def test_networks_that_only_their_owner_has_are_told(folder):
    graph, name = probes(1)[0]
    record.add([timing(graph, "net.onnx"), timing(graph, "fnn:16-8")])
    with pytest.raises(InvalidArgumentError, match=r"of fnn:16-8, net\.onnx the record keeps no more than timings"):
        latpred.calibrate(from_record=True, device=DEVICE)
    record.add([timing(graph, name)])
    with pytest.warns(UserWarning, match="1 other timings are used"):
        assert latpred.calibrate(from_record=True, device=DEVICE).num_rows == 1


def test_a_call_that_was_timed_again_is_one_row(folder):
    graph, name = probes(1)[0]
    record.add([timing(graph, name, factor) for factor in (1.2, 1.3, 1.4)])
    found = latpred.calibrate(from_record=True, device=DEVICE)
    assert found.num_rows == 1
    assert found.scale == pytest.approx(1.3, rel=0.01)
    assert found.records[0].spread == pytest.approx(0.1 / 1.3, rel=0.01)


def test_processors_by_their_threads(folder):
    graph, name = probes(1)[0]
    xeon = "Xeon Gold 6240"
    where = {"device": "cpu", "device_fingerprint": f"{latpred.devices()[xeon].vendor_name} (family 6), 18 cores"}
    slower = latpred.predict(graph=graph, device=xeon, partition="1cores").latency_s
    slower /= latpred.predict(graph=graph, device=DEVICE).latency_s
    record.add([timing(graph, name, slower, precision="fp32", **where)])
    with pytest.raises(InvalidArgumentError, match="it has timings on cpu eager fp32 1 thread"):
        latpred.calibrate(from_record=True, device=xeon)
    assert latpred.calibrate(from_record=True, device=xeon, partition="1cores").num_rows == 1


def test_an_empty_record_says_so(folder):
    with pytest.raises(InvalidArgumentError, match="it holds no timing at all"):
        latpred.calibrate(from_record=True, device=DEVICE)
    with pytest.raises(InvalidArgumentError, match="needs timings, or from_record=True"):
        latpred.calibrate(device=DEVICE)


def test_command(folder, run):
    graph, name = probes(1)[0]
    record.add([timing(graph, name)])
    for networks in ([], [name]):
        code, out, err = run("calibrate", "--device", DEVICE, "--json", "--from-record", *networks)
        assert (code, err) == (0, "")
        assert json.loads(out)["scale"] == pytest.approx(1.3, rel=0.01)
    for words in (["timings.csv", "--from-record"], [], ["--probe", "--from-record"]):
        assert run("calibrate", "--device", DEVICE, *words)[0] != 0

"""calibrate(from_record=True): timings of the local record."""

import json
import math

import latpred
import pytest
from example_networks import RESNET50
from latpred import InvalidArgumentError, record
from latpred.calibration.from_record import rows_from_record
from latpred.calibration.probes import NETWORKS, probe_graph
from latpred.datasets.graph_cache import graph_of as recipe_graph
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
    assert found.scale == pytest.approx(1.3, rel=0.03)
    assert found.num_rows == 3
    assert found.fingerprint == FINGERPRINT
    assert found.records[0].spread == pytest.approx(0.01)
    assert {row.network for row in found.records} == {name for _, name in probes()}
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
    assert found.scale == pytest.approx(1.3, rel=0.03)
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
    assert found.scale == pytest.approx(1.3, rel=0.03)
    assert found.records[0].spread == pytest.approx(math.hypot(0.1 / 1.3, 0.01))


def test_first_runs_in_the_record_are_no_timings(folder):
    """As campaigns once wrote them, of the same call."""
    graph, name = probes(1)[0]
    first = timing(graph, name, 9, how="khan, first run")
    record.add([first])
    with pytest.raises(InvalidArgumentError, match="it holds no timing at all"):
        latpred.calibrate(from_record=True, device=DEVICE)
    record.add([first, timing(graph, name, how="khan")])
    assert latpred.calibrate(from_record=True, device=DEVICE).scale == pytest.approx(1.3, rel=0.03)


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


def measured_rows(networks, runtime):
    """What calibrate() takes of this machine's record."""
    return rows_from_record(networks, device="cpu", partition="1cores", runtime=runtime, precision="default")[0]


@pytest.mark.parametrize("runtime", ["onnxruntime", "openvino"])
def test_a_profiled_file_without_weights_is_found_again(folder, tmp_path, known_host, runtime):
    """What runs has weights, and a Reshape in the place of its Flatten."""
    pytest.importorskip("onnx")
    pytest.importorskip(runtime)
    net = latpred.GraphBuilder()
    flat = net.apply("flatten", net.apply("global_average_pool", net.input("x", (8, 4, 4))))
    net.output(net.apply("gemm", [flat, net.parameter((4, 8)), net.parameter((4,))], transB=1))
    net.build(1).to_onnx(tmp_path / "net.onnx")
    latpred.profile(tmp_path / "net.onnx", runtime=runtime, batch=2, protocol="khan")
    (row,) = measured_rows([str(tmp_path / "net.onnx")], runtime)
    assert row.graph.hash == latpred.load(tmp_path / "net.onnx", batch=2).hash
    assert row.latency_s == latpred.history()[0].value


@pytest.mark.parametrize(("runtime", "package"), [("eager", "torch"), ("onnxruntime", "onnxruntime")])
@pytest.mark.parametrize("recipe", ["cnn:3-4-4?size=8", "fnn:16-8-1"])
def test_profiled_recipes_are_found_again(folder, known_host, recipe, runtime, package):
    """Whatever the nodes of the module or file that runs."""
    pytest.importorskip(package)
    latpred.profile(recipe, runtime=runtime, batch=2, protocol="khan")
    (row,) = measured_rows(None, runtime)
    assert row.latency_s == latpred.history(recipe_graph(recipe, 2))[0].value


@pytest.mark.torch
def test_a_recipe_at_other_sizes_is_refused_and_leaves_no_timing(folder):
    pytest.importorskip("torch")
    with pytest.raises(InvalidArgumentError, match="says all sizes; leave input= out"):
        latpred.profile("cnn:3-4-4?size=8", runtime="eager", input="3,16,16", protocol="khan")
    assert len(latpred.history()) == 0


def test_timings_of_what_no_prediction_is_of_are_refused(folder, run):
    words = ["calibrate", "--from-record", "--device", "cpu", "--partition", "1cores", "--runtime", "libtorch"]
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert "timings under runtime 'libtorch' correct nothing" in err
    assert "under one of eager, compiled, openvino, onnxruntime" in err
    assert err.count("\n") == 1


@pytest.mark.filterwarnings("default")
def test_what_is_left_out_is_one_line(folder, run):
    graph, name = probes(1)[0]
    record.add([timing(graph, name), timing(graph, "net.onnx")])
    code, _, err = run("calibrate", "--device", DEVICE, "--from-record")
    assert code == 0
    assert err.startswith("latpred: warning: of net.onnx the record keeps no more than timings")
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["device", "partition", "runtime", "precision"])
def test_words_are_text(folder, name):
    with pytest.raises(InvalidArgumentError, match=f"{name} must be text, got 5"):
        latpred.calibrate(from_record=True, **({"device": DEVICE} | {name: 5}))
    with pytest.raises(InvalidArgumentError, match="device must be text, got None"):
        latpred.calibrate(from_record=True, device=None)


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
        assert json.loads(out)["scale"] == pytest.approx(1.3, rel=0.03)
    for words in (["timings.csv", "--from-record"], [], ["--probe", "--from-record"]):
        assert run("calibrate", "--device", DEVICE, *words)[0] != 0

"""The device "cpu": this machine, answered for by what was measured on it."""

import dataclasses
import json

import latpred
import pytest
from benchmark_modules import benchmark_module
from example_networks import REPOSITORY, small_network
from latpred import _core, host_device
from latpred.request import make_request

FAST = ((1e4, 50e9, 80e9), (1e9, 50e9, 80e9))


@pytest.fixture(scope="module")
def graph():
    return small_network()


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Where the user's data would be, with no machine in it."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    return tmp_path / "latpred"


@pytest.fixture
def never_measured(monkeypatch):
    def measure(*_):
        raise AssertionError("this machine was measured")

    monkeypatch.setattr(host_device, "_measure", measure)


def described(**changes):
    cores = len(_core.allowed_cores())
    known = host_device.Speed(_core.host_facts().fingerprint, cores, "2026-01-31", 100e9, FAST)
    return dataclasses.replace(known, **changes)


def write(folder, known):
    file = host_device.speed_file(folder, known.fingerprint, known.cores)
    host_device._write(file, known)
    return file


@pytest.mark.slow
def test_what_is_measured_is_what_host_says(folder):
    found = host_device.speed(folder)
    alone = latpred.host(measure=True)
    assert found.cores == len(_core.allowed_cores())
    assert found.fp32_flops_per_s == pytest.approx(alone.speed.fp32_flops_per_s * found.cores, rel=0.5)
    assert [read[0] for read in found.reads] == [point.working_set_bytes for point in alone.bandwidth]
    for _, one, together in found.reads:
        assert together < 3 * found.cores * one
    assert host_device._read(host_device.speed_file(folder, found.fingerprint, found.cores)) == found


def test_the_default_answers_for_any_graph(folder, graph, never_measured):
    write(folder, described())
    p = latpred.predict(graph=graph, device="cpu")
    assert p.predictor == latpred.predictors()[0].name
    assert latpred.predict(graph=graph, device="CPU").to_dict() == p.to_dict()
    (of_many,) = latpred.predict_many([graph], devices="Cpu")
    assert of_many.to_dict() == p.to_dict()
    assert p.device == _core.host_facts().model_name
    assert p.provenance["latency_ms"] == "extrapolated"
    assert latpred.predict(graph=graph, device="cpu", predictor="roofline").provenance["latency_ms"] == "modelled"
    assert "measured here on 2026-01-31: 100 GFLOP/s" in p.coverage[-1]
    assert p.intervals["latency_ms"][0] < p.latency_ms < p.intervals["latency_ms"][1]
    assert sum(kernel.latency_ms for kernel in p.kernels) == pytest.approx(p.latency_ms)
    assert p.energy_j is None
    assert p.fits().fits
    assert p.largest_batch() > 1
    assert latpred.predict(graph=graph, device="cpu", predictor="linear").predictor == "linear"
    table = latpred.predict_many([graph], devices=["cpu", "A100"])
    assert {row.predictor for row in table} == {latpred.predictors()[0].name}
    assert table[0].latency_s == p.latency_s


def test_a_core_is_a_part(folder, graph, never_measured):
    write(folder, described())
    whole, part = (latpred.predict(graph=graph, device="cpu", partition=part) for part in (None, "1cores"))
    assert part.latency_s > whole.latency_s or len(_core.allowed_cores()) == 1


def test_the_bandwidth_is_that_of_the_bytes_of_a_call(folder, never_measured):
    def seconds(units):
        net = latpred.GraphBuilder()
        x = net.input("x", (units,))
        net.output(net.apply("gemm", [x, net.parameter((units, units))], transB=1))
        return latpred.predict(graph=net.build(1), device="cpu", predictor="roofline").kernels[0].latency_ms / 1e3

    cores = len(_core.allowed_cores())
    write(folder, described(fp32_flops_per_s=1e18, reads=((1e5 / cores, 60e9, 60e9), (1e8 / cores, 1e9, 1e9))))
    assert seconds(100) == pytest.approx((4 * 100**2 + 800) / 60e9, rel=1e-6)
    assert seconds(10000) == pytest.approx((4 * 10000**2 + 80000) / 1e9, rel=1e-6)


def test_a_machine_is_measured_once(folder, monkeypatch):
    asked = []

    def measure(fingerprint, cores):
        asked.append(cores)
        return described()

    monkeypatch.setattr(host_device, "_measure", measure)
    assert host_device.speed(folder) == host_device.speed(folder) == described()
    host_device._speed.cache_clear()  # as another process
    assert host_device.speed(folder) == described()
    assert len(asked) == 1
    file = host_device.speed_file(folder, described().fingerprint, described().cores)
    for text in ("{", "[]", json.dumps({"format": 1}), json.dumps({"format": 2, **dataclasses.asdict(described())})):
        file.write_text(text)
        host_device._speed.cache_clear()
        assert host_device.speed(folder) == described()
    assert len(asked) == 5
    assert host_device._read(file) == described()


def test_where_it_cannot_be_kept_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(host_device, "_measure", lambda *_: described())
    (tmp_path / "file").touch()
    with pytest.warns(UserWarning, match="measured anew each time"):
        host_device.speed(tmp_path / "file")


def test_trained_predictors_need_no_speed(folder, never_measured):
    asked = dict.fromkeys(("partition", "runtime"))
    request = make_request(
        **asked, device="cpu", precision="default", input_on="device", autograd=False, predictor="mine.safetensors",
        mig_rule="memory", strict=False,
    )  # fmt: skip
    assert request.device_name == _core.host_facts().model_name


def test_the_page_shows_how_far_off_answers_about_a_machine_were():
    pytest.importorskip("scipy")
    benchmark = benchmark_module("accuracy.this_machine")
    committed = json.loads((REPOSITORY / "benchmarks" / "accuracy" / "this_machine.json").read_text(encoding="utf-8"))
    page = (REPOSITORY / "docs" / "accuracy.md").read_text(encoding="utf-8")
    assert benchmark.docs_table.shown(page, benchmark.MARK) == benchmark.markdown(committed)
    of_default, *of_others = benchmark.lines(committed)[: len(benchmark.PREDICTORS)]
    assert of_default["predictor"] == latpred.predictors()[0].name
    assert all(of_default["mape_percent"] < line["mape_percent"] for line in of_others)


def test_without_a_home_directory_it_is_measured_for_this_process(no_home, graph, monkeypatch):
    asked = []

    def measure(fingerprint, cores):
        asked.append(cores)
        return described()

    monkeypatch.setattr(host_device, "_measure", measure)
    for _ in range(2):
        with pytest.warns(UserWarning, match=r"set \$XDG_DATA_HOME .* measured anew each time"):
            assert latpred.predict(graph=graph, device="cpu").latency_ms > 0
    assert len(asked) == 1
    host_device._speed.cache_clear()

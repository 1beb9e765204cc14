"""latpred.profile: what it says of known work, and what it keeps."""

import gc
import json
import os
import re
import subprocess
import sys
import time
import types

import latpred
import pytest
from example_networks import REPOSITORY
from latpred import _core
from latpred.errors import InvalidArgumentError, ProfilerError
from latpred.profiling import make_protocol
from latpred.profiling_check import check_instrument

HAS_CUDA = _core.cuda_unavailable_reason() == ""


def quick(**changes):
    return make_protocol("khan", **changes)


def test_known_work_is_measured_within_two_percent_of_an_independent_clock():
    checks = check_instrument(samples=60)
    assert [check.name for check in checks] == ["sleep", "fma", "stream"]
    for check in checks:
        if check.used == 0:
            pytest.skip(f"the scheduler interrupted every run of {check.name}")
        assert abs(check.difference) < 0.02, check
    assert checks["sleep"].measured_s >= 0.05  # a thread may be woken late, never early


def test_a_sleep():
    measured = latpred.profile(lambda: time.sleep(0.02), protocol=quick())
    assert measured.statistics.min >= 0.02
    assert len(measured.samples) == 5
    assert all(sample.cpu_s < 0.01 and sample.is_kept for sample in measured.samples)
    assert measured.first_run.wall_s >= 0.02
    assert measured.latency_ms == 1e3 * measured.latency_s


def test_the_protocol_is_obeyed():
    calls = []
    measured = latpred.profile(lambda: calls.append(time.sleep(0.001)), protocol="dippm")
    assert len(calls) == 5 + 30
    assert measured.measurement.protocol == "dippm: 5 warm-up, 30 samples, label mean"
    assert measured.label == "mean wall clock of 30 runs"
    assert measured.latency_s == pytest.approx(sum(sample.wall_s for sample in measured.samples) / 30)


def test_what_varies_is_measured_again_and_all_of_it_kept():
    durations = iter([0.001] + [0.001, 0.05] * 2 + [0.01] * 4)
    protocol = quick(min_samples=4, max_samples=4, threshold=4.0, max_repetitions=2)
    measured = latpred.profile(lambda: time.sleep(next(durations)), protocol=protocol)
    assert [sample.is_kept for sample in measured.samples] == [False] * 4 + [True] * 4
    assert [sample.repetition for sample in measured.samples] == [1] * 4 + [2] * 4
    assert measured.statistics.max < 0.05


def test_what_never_stops_varying_is_marked():
    durations = iter([0.001, 0.001, 0.02] * 10)
    protocol = quick(warm_up=0, min_samples=3, max_samples=3, threshold=3.0, max_repetitions=2)
    measured = latpred.profile(lambda: time.sleep(next(durations)), protocol=protocol)
    assert not measured.is_stable
    assert "more than the protocol allows" in repr(measured)


def test_short_functions_are_timed_several_at_a_time():
    calls = []
    measured = latpred.profile(lambda: calls.append(None), protocol=quick())
    assert measured.latency_s < 20e-6
    assert re.search(r"5 samples of \d+ runs", measured.measurement.protocol)
    assert len(calls) > 5 * 5
    # The first of all, not the first of the second measurement.
    assert measured.first_run.wall_s > 0


def test_the_collector_rests_meanwhile():
    seen = []
    latpred.profile(lambda: seen.append((gc.isenabled(), time.sleep(0.0005))), protocol=quick())
    assert not any(enabled for enabled, _ in seen)
    assert gc.isenabled()


def test_the_thread_is_kept_on_a_core_meanwhile():
    before = os.sched_getaffinity(0)
    core = max(before)
    seen = []
    measured = latpred.profile(
        lambda: seen.append((os.sched_getaffinity(0), time.sleep(0.0005))), protocol=quick(), core=core
    )
    assert {frozenset(cores) for cores, _ in seen} == {frozenset({core})}
    assert measured.core == core
    assert os.sched_getaffinity(0) == before


def test_several_threads_have_a_wall_clock_only():
    measured = latpred.profile(lambda: time.sleep(0.001), protocol=quick(), threads=2)
    assert measured.label == "median wall clock of 5 runs"
    assert measured.core is None


def test_the_answer_shows_itself():
    measured = latpred.profile(_core.reference_run("fma", 0.001), protocol=quick())
    assert measured.headline().startswith("fma on cpu: ")
    lines = repr(measured).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "latency", "spread", "samples", "protocol", "clock", "machine", "versions"
    ]  # fmt: skip
    assert latpred.host().fingerprint in repr(measured)
    assert "<table>" in measured._repr_html_()
    plain = json.loads(json.dumps(measured.to_dict()))
    assert plain["latency_s"] == measured.latency_s
    assert plain["statistics"]["count"] == len(_core.choose_label(measured.measurement.samples, quick()).times_s)
    assert set(plain["versions"]) == {"latpred", "Python"}
    assert plain["device_fingerprint"] == latpred.host().fingerprint
    frame = measured.to_pandas()
    assert list(frame.columns) == ["repetition", "is_kept", "wall_s", "cpu_s", "context_switches", "waits"]
    assert len(frame) == 5


def test_errors_of_the_function_pass():
    def broken():
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        latpred.profile(broken)
    assert gc.isenabled()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "gpu"}, "unknown device to measure on 'gpu'.*Valid: cpu, cuda; a second GPU is cuda:1"),
        ({"device": "cpu:1"}, "unknown device to measure on 'cpu:1'"),
        ({"device": 0}, "device must be a name, got int"),
        ({"threads": 0}, "threads must be an integer >= 1, got 0"),
        ({"threads": 2, "core": 0}, "core=0 is for one thread, and threads=2"),
        ({"core": "0"}, "core must be an integer >= 0, got '0'"),
        ({"core": -1}, "core must be an integer >= 0, got -1"),
        ({"protocol": "khann"}, "unknown protocol 'khann'; did you mean 'khan'"),
        ({"protocol": 5}, r"protocol must be the name of one in protocols\(\), or one, got 5"),
        ({"batch": 2}, "batch= says how a network runs; a function is called as it is: leave it out"),
        ({"kernels": True}, "kernels= and memory= are known of networks; a function is none"),
    ],
)
def test_refusals(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        latpred.profile(lambda: None, **arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"runtime": 5}, "runtime must be text, got 5"),
        ({"precision": 5}, "precision for runtime 'eager' must be text, got 5"),
    ],
)
def test_refusals_of_networks(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        latpred.profile("fnn:16-128-1", **arguments)


def test_refusals_of_settings():
    with pytest.raises(InvalidArgumentError, match="unknown setting of a protocol 'timeout'; did you mean 'timeout_s'"):
        make_protocol(timeout=3)
    with pytest.raises(InvalidArgumentError, match="protocol: min_samples cannot be 'ten'"):
        make_protocol(min_samples="ten")
    with pytest.raises(ProfilerError, match="cannot be kept on core 4097; it may use: "):
        latpred.profile(lambda: None, core=4097)


def test_a_changed_protocol_says_so():
    assert make_protocol("khan").name == "khan"
    assert make_protocol("khan", warm_up=2).name == "khan, changed"
    assert make_protocol("khan", warm_up=2, name="mine").name == "mine"
    assert _core.protocol("khan").warm_up == 1  # rows stay as they are


@pytest.mark.skipif(HAS_CUDA, reason="a CUDA driver is here")
def test_without_a_driver_one_sentence_at_once():
    times = []
    for _ in range(20):
        start = time.perf_counter()
        with pytest.raises(ProfilerError) as refusal:
            latpred.profile(lambda: None, device="cuda")
        times.append(time.perf_counter() - start)
    assert min(times) < 1e-3
    assert "\n" not in str(refusal.value)
    assert str(refusal.value) == _core.cuda_unavailable_reason()


@pytest.mark.torch
def test_a_recipe():
    measured = latpred.profile("fnn:16-128-1", runtime="libtorch", protocol="khan")
    assert measured.headline().startswith("fnn:16-128-1 on cpu, libtorch default, batch 1: ")
    assert "torch" in measured.versions
    assert measured.core is None


@pytest.mark.torch
def test_a_network_is_kept_in_the_record(monkeypatch, tmp_path):
    monkeypatch.setenv("LATPRED_RECORD", "measurements")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    latpred.profile(lambda: None, protocol="khan")  # no network
    measured = latpred.profile("fnn:16-8-1", runtime="libtorch", batch=2, protocol="khan")
    (kept,) = latpred.history()
    assert (kept.name, kept.batch, kept.runtime, kept.samples) == ("fnn:16-8-1", 2, "libtorch", 5)
    assert kept.value == measured.latency_s
    assert len(kept.graph_hash) > 0
    assert kept.device_fingerprint == latpred.host().fingerprint


@pytest.mark.torch
def test_a_module():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.ReLU())
    measured = latpred.profile(module, input="8", batch=4, protocol="khan")
    assert (measured.name, measured.runtime, measured.batch) == ("Sequential", "eager", 4)
    assert len(measured.measurement.samples) == 5


def test_where_torch_has_no_cuda_the_default_stream_is_timed(monkeypatch):
    class Asked(Exception):
        """In the place of a clock."""

    def current_stream(index):
        raise AssertionError("Torch not compiled with CUDA enabled")  # as torch does

    def clock(gpu, stream):
        raise Asked(gpu, stream)

    cuda = types.SimpleNamespace(is_available=lambda: False, current_stream=current_stream)
    torch = types.SimpleNamespace(cuda=cuda, nn=types.SimpleNamespace(Module=()))
    monkeypatch.setitem(sys.modules, "torch", torch)
    monkeypatch.setattr(_core, "cuda_unavailable_reason", lambda: "")
    monkeypatch.setattr(_core, "Gpu", lambda index: f"GPU {index}")
    monkeypatch.setattr(_core, "CudaClock", clock)
    with pytest.raises(Asked) as asked:
        latpred.profile(lambda: None, device="cuda:1")
    assert asked.value.args == ("GPU 1", 0)


def test_tables():
    assert [row.name for row in latpred.protocols()] == ["default", "entropy", "khan", "mendoza", "dippm", "warm"]
    assert latpred.protocols()["khan"].protocol.max_samples == 5
    assert [row.name for row in _core.criteria()] == ["count", "relative_standard_deviation", "entropy"]
    assert _core.samples_wanted("relative_standard_deviation", [1.0, 1.0, 1.0, 1.0, 1.0, 1.0]) == 5
    assert _core.samples_wanted("count", [1.0] * 4) is None


# Documentation.


PAGE = (REPOSITORY / "docs" / "profiling.md").read_text()
BLOCKS = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def headings(text):
    """The first word of each line, and a table's whole heading: what does not change from run to run."""
    return [line.split()[0].rstrip(":") for line in text.splitlines() if line.strip()]


def test_every_block_of_the_page_is_run_but_those_that_need_a_gpu():
    assert len(BLOCKS) + PAGE.count("from latpred.gpu import") == PAGE.count("```python\n")
    assert BLOCKS


@pytest.mark.parametrize(("code", "output"), BLOCKS, ids=range(len(BLOCKS)))
def test_blocks_of_the_page_print_what_they_show(code, output):
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert headings(done.stdout) == headings(output)

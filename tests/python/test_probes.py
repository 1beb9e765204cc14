"""Which networks to time, and how they are timed."""

import itertools
import math
import types

import latpred
import numpy as np
import pytest
from latpred import InvalidArgumentError, ProfilerError
from latpred.calibration import probes, timing
from latpred.calibration.fit import NUM_PARAMETERS
from latpred.cli import main
from latpred.request import make_request


def request_for(device, precision="default"):
    return make_request(
        device=device, partition=None, runtime=None, precision=precision, input_on="device", autograd=False,
        predictor=None, mig_rule="memory", strict=False,
    )  # fmt: skip


def chosen(device, count=5, precision="default"):
    return probes.choose_probes(request_for(device, precision), latpred.api.session(), count)


@pytest.mark.parametrize("network", probes.NETWORKS)
def test_every_network_is_recorded(network):
    graph = probes.probe_graph(network, 8)
    size = int(network.rpartition("@")[2])
    assert [tensor.shape for tensor in graph.inputs] == [(8, 3, size, size)]
    assert graph.num_parameters > 1e6
    assert not latpred.graph.unknown_operators(graph)


def test_each_choice_is_the_largest_gain_in_information():
    """Against the determinant itself, by trying every row."""
    shares = np.random.default_rng(3).uniform(0, 1, (12, NUM_PARAMETERS))
    expected_sd = np.linspace(0.1, 0.3, NUM_PARAMETERS)
    information = np.diag(expected_sd**-2.0)
    left = set(range(12))
    for index, narrowed, spread in probes.most_telling(shares, expected_sd, 5):
        gains = {
            row: np.linalg.slogdet(information + np.outer(shares[row], shares[row]) / probes._NETWORK_SD**2)[1]
            for row in left
        }
        assert index == max(gains, key=gains.get)
        before = np.diag(np.linalg.inv(information))
        information = information + np.outer(shares[index], shares[index]) / probes._NETWORK_SD**2
        covariance = np.linalg.inv(information)
        assert narrowed == np.argmin(np.diag(covariance) / before)
        assert spread == pytest.approx(math.sqrt(np.mean(np.diag(shares @ covariance @ shares.T))))
        left.remove(index)


@pytest.mark.parametrize("device", ["A100", "T4", "H100"])
def test_kernels_and_host_come_first(device):
    table = chosen(device)
    assert {probe.teaches for probe in table[:2]} == {"kernels", "host"}
    assert {probe.batch for probe in table} >= {1, 64}
    left = [probe.spread_left for probe in table]
    assert left == sorted(left, reverse=True)
    assert len({(probe.network, probe.batch) for probe in table}) == len(table) == 5
    for probe in table:
        assert latpred.predict(graph=probes.probe_graph(probe.network, probe.batch), device=device).latency_ms == (
            pytest.approx(probe.predicted_ms, rel=1e-9)
        )


def test_the_choice_is_computed_for_the_device():
    tables = {tuple((p.network, p.batch) for p in chosen(name)) for name in ("A100", "T4", "V100", "H100", "RTX 4090")}
    assert len(tables) > 1
    assert len(chosen("A100", 12)) == 12
    with pytest.raises(InvalidArgumentError, match="999 probes were asked for"):
        chosen("A100", 999)


def test_chosen_rows_recover_what_they_were_chosen_for():
    """A machine whose kernels, host and classes all differ: the chosen five do better than five at one batch."""
    random = np.random.default_rng(0)
    names = list(latpred.calibration.fit.CLASSES.values())
    truth = {kind: factor for kinds in names for factor in [math.exp(random.normal(0, 0.15))] for kind in kinds}

    def seconds(graph):
        answer = latpred.predict(graph=graph, device="A100")
        device_s = sum(k.latency_ms / 1e3 * 1.4 * truth[k.kind] for k in answer.kernels if k.kind in truth)
        return float(latpred._core.join_host_s(device_s, answer._answer.host_s * 2))

    def error(calls):
        rows = [(graph, graph.batch, seconds(graph)) for graph in (probes.probe_graph(*call) for call in calls)]
        calibration = latpred.calibrate(rows, device="A100")
        others = [probes.probe_graph(name, batch) for name in probes.NETWORKS for batch in (1, 8, 64)]
        return np.mean(
            [
                abs(latpred.predict(graph=g, device="A100", calibration=calibration).latency_s / seconds(g) - 1)
                for g in others
                if (g.hash not in {record.graph_hash for record in calibration.records})
            ]
        )

    probed = error([(probe.network, probe.batch) for probe in chosen("A100")])
    assert probed < 0.12
    assert probed < error([(name, 64) for name in probes.NETWORKS[:5]])


# Timing.


class Ticking:
    """A clock whose calls take what they are told."""

    def __init__(self, seconds):
        self.time, self.seconds, self.calls, self.waits = 0.0, seconds, 0, 0

    def call(self):
        self.time += self.seconds(self.calls)
        self.calls += 1

    def wait(self):
        self.waits += 1

    def clock(self):
        return timing.Clock("test", self.wait, lambda: self.time)


def test_the_median_of_warm_calls_is_measured():
    # Slow while it warms up, and one interrupted call of 3 s.
    ticking = Ticking(lambda call: 0.1 if call < 10 else 3.0 if call == 25 else 0.01 + 1e-4 * (call % 3))
    measured = timing.measure(ticking.call, ticking.clock())
    assert measured.seconds == pytest.approx(0.0101, rel=1e-3)
    assert 0 < measured.spread < 0.02
    assert measured.calls >= 10
    assert ticking.waits == 2 * ticking.calls


def test_fast_calls_are_not_timed_for_ever():
    measured = timing.measure((ticking := Ticking(lambda _: 1e-6)).call, ticking.clock())
    assert measured.calls == 2000
    with pytest.raises(ProfilerError, match="does not advance"):
        timing.measure((ticking := Ticking(lambda _: 0.0)).call, ticking.clock())


@pytest.fixture
def fast(monkeypatch):
    monkeypatch.setattr(timing, "_WARM_SECONDS", 0.01)
    monkeypatch.setattr(timing, "_TIMED_SECONDS", 0.01)


def test_a_tiny_module_is_timed_on_the_cpu(fast):
    torch = pytest.importorskip("torch")
    seen = []

    class Tiny(torch.nn.Module):
        def forward(self, image):
            seen.append((tuple(image.shape), torch.is_inference_mode_enabled(), self.training))
            return image.mean()

    measured = timing.measure_module(Tiny(), (3, 8, 8), 4, timing.Clock("cpu", lambda: None))
    assert 0 < measured.seconds < 1
    assert set(seen) == {((4, 3, 8, 8), True, False)}
    assert measured.calls <= len(seen)


def test_amp_is_autocast(fast):
    torch = pytest.importorskip("torch")
    linear = torch.nn.Linear(8, 8)
    found = []
    linear.register_forward_hook(lambda module, inputs, output: found.append(output.dtype))
    timing.measure_module(linear, (8,), 4, timing.Clock("cpu", lambda: None), "amp")
    timing.measure_module(linear, (8,), 4, timing.Clock("cpu", lambda: None))
    assert set(found) == {torch.float16, torch.float32}
    with pytest.raises(InvalidArgumentError, match="--run times precision default or amp, got 'fp16'"):
        timing.measure_module(linear, (8,), 4, timing.Clock("cpu", lambda: None), "fp16")


@pytest.fixture
def gpu(monkeypatch, fast):
    """A machine with a T4 whose every network is one small layer, by a clock on which its calls take 0.1 s."""
    torch = pytest.importorskip("torch")

    def create_model(name):
        assert f"timm:{name}@" in " ".join(probes.NETWORKS)
        return torch.nn.Flatten()

    monkeypatch.setitem(__import__("sys").modules, "timm", types.SimpleNamespace(create_model=create_model))
    seconds = itertools.accumulate(itertools.cycle((0.100, 0.101, 0.102)))
    monkeypatch.setattr(timing, "cuda_clock", lambda: timing.Clock("cpu", lambda: None, lambda: next(seconds)))
    monkeypatch.setattr(timing, "cuda_device_name", lambda: "Tesla T4")


def test_probes_are_run_and_calibrated(gpu, capsys, tmp_path):
    words = ["calibrate", "--probe", "3", "--run", "--out", str(tmp_path / "t4.json"), "--name", "t4"]
    assert main(words) == 0
    printed = capsys.readouterr()
    assert "3 of 3: timm:" in printed.err
    assert "error before" in printed.out
    calibration = latpred.calibration.load_calibration(tmp_path / "t4.json")
    assert (calibration.name, calibration.device, calibration.num_rows) == ("t4", "T4", 3)
    assert calibration.fingerprint.startswith("Tesla T4, torch ")
    assert all(record.spread is not None for record in calibration.records)


def test_calls_that_differ_by_more_than_they_take_are_no_timing(gpu, capsys, monkeypatch):
    seconds = itertools.accumulate(itertools.cycle((0.001, 0.100, 0.001, 0.001)))
    monkeypatch.setattr(timing, "cuda_clock", lambda: timing.Clock("cpu", lambda: None, lambda: next(seconds)))
    assert main(["calibrate", "--probe", "2", "--run"]) != 0
    assert "which is no timing; stop what else runs on this machine's GPU" in capsys.readouterr().err


def test_a_gpu_that_the_table_does_not_know_needs_a_device(gpu, capsys, monkeypatch, tmp_path):
    monkeypatch.setattr(timing, "cuda_device_name", lambda: "Tesla T4 of another board")
    assert main(["calibrate", "--probe", "2", "--run"]) == 2
    assert "--device says which one this machine's GPU is" in capsys.readouterr().err
    assert main(["calibrate", "--probe", "2", "--run", "--device", "T4", "--out", str(tmp_path / "t4.json")]) == 0
    assert latpred.calibration.load_calibration(tmp_path / "t4.json").device == "T4"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--device", "A100"], "this machine's GPU is T4"),
        (["--precision", "int8"], "--run times precision default or amp"),
        (["--runtime", "tensorrt"], "got --runtime tensorrt"),
        (["--partition", "50%"], "got --partition 50%"),
        (["--input-on", "pinned"], "got --input-on pinned"),
    ],
)
def test_what_is_not_timed_is_refused(gpu, capsys, words, message):
    assert main(["calibrate", "--probe", "--run", *words]) == 2
    assert message in capsys.readouterr().err


def test_without_a_gpu_it_says_so(capsys):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has one")
    assert main(["calibrate", "--probe", "--run"]) == 2
    assert "torch finds none" in capsys.readouterr().err

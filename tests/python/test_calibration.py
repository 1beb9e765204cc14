"""Corrections from a user's own timings: fitted, kept, applied, shown."""

import dataclasses
import json
import math
import os

import latpred
import numpy as np
import pytest
from example_networks import REPOSITORY, RESNET50, small_network
from hypothesis import given, settings
from hypothesis import strategies as st
from latpred import Calibration, InvalidArgumentError, _core
from latpred.calibration import fit, levels, load_calibration
from latpred.calibration.probes import NETWORKS, probe_graph
from latpred.calibration.rows import read_timings

GOLDEN = REPOSITORY / "tests" / "golden" / "calibration.json"
GOLDEN_RECORD = json.loads(GOLDEN.read_text())["records"][0]
A100 = "A100-SXM4-40GB"
DEFAULT = latpred.predictors()[0].name
LARGE = 512  # a batch at which no network waits for its host
# A GPU without measurements behind the predictor, on which networks wait for kernels.
NEW = next(
    device.name
    for device in latpred.devices()
    if device.is_gpu
    and device.memory_bytes >= 16e9
    and device.name not in latpred.api.session().evidence(DEFAULT).devices
)


def timed(networks, batches, factor, **where):
    """Rows as the predictor would give them, times `factor(network, batch)`."""
    return [
        (graph, batch, latpred.predict(graph=graph, **where).latency_s * factor(network, batch))
        for network in networks
        for batch in batches
        for graph in [probe_graph(network, batch)]
    ]


def with_other_host(networks, batches, device, kernels=1.0, host=1.0):
    """Rows of a machine whose kernels and launches take other times than predicted."""
    rows = []
    for network in networks:
        for batch in batches:
            graph = probe_graph(network, batch)
            answer = latpred.predict(graph=graph, device=device)._answer
            device_s = answer.latency_s - answer.host_wait_s
            rows.append((graph, batch, float(latpred._core.join_host_s(device_s * kernels, answer.host_s * host))))
    return rows


def noisy(sd, seed=0):
    random = np.random.default_rng(seed)
    return lambda network, batch: math.exp(random.normal(0, sd))


def recovers(factor, rel=0.01):
    return pytest.approx(factor, rel=rel)


def nearly_recovers(factor, rel=0.03):
    """By one or two timings, which are drawn to what is expected by a few per cent."""
    return recovers(factor, rel)


# What the factors come from.


@pytest.mark.parametrize("device", ["A100", "V100"])
@pytest.mark.parametrize("count", [1, 2, 5])
def test_a_common_factor_is_recovered(device, count):
    calibration = latpred.calibrate(timed(NETWORKS[:count], [LARGE], lambda *_: 1.3, device=device), device=device)
    assert calibration.scale <= 1.3
    assert calibration.scale == (recovers(1.3) if count == 5 else nearly_recovers(1.3))
    assert calibration.level == "scale"
    assert calibration.host_scale is None
    assert calibration.error_before.mean == pytest.approx(1 - 1 / 1.3, rel=1e-6)
    assert (calibration.error_after is None) == (count == 1)
    if count > 1:
        assert calibration.error_after.mean < (0.01 if count == 5 else 0.03)


@pytest.mark.parametrize("factor", [0.25, 0.6, 4.0])
def test_factors_far_from_one_are_recovered(factor):
    rows = with_other_host(NETWORKS[:5], [64], "T4", kernels=factor)
    assert latpred.calibrate(rows, device="T4").scale == recovers(factor)


@pytest.mark.parametrize("log_off", [0.1, 0.7])
def test_factors_are_drawn_to_what_is_expected_unless_far(log_off):
    """Five networks that scatter by 0.1, as Bayes has it: device_sd^2 / (device_sd^2 + 0.1^2 / 5) of a small factor."""
    kernels = np.zeros((5, len(fit.CLASSES)))
    kernels[:, 0] = 1
    design = fit.Design(kernels, host_s=np.zeros(5), copy_s=np.zeros(5))
    log_measured = log_off + 0.1 * np.array([-1.2, -1, 0, 1, 1.2]) / 1.4826  # fit.spread() of these is 0.1

    def scale(device_sd):
        expected = fit.Expected(network_sd=0.1, device_sd=device_sd, host_sd=0.2)
        return fit.fit(design, log_measured, fit.Level("scale", (fit.SCALE,)), expected).parameters[fit.SCALE]

    followed = [scale(device_sd) / log_off for device_sd in (0.05, 0.1, 1.0)]
    assert followed == sorted(followed)
    assert followed[2] == pytest.approx(1, abs=0.02)
    if log_off < 0.2:
        assert 0.3 < followed[0] < 0.8 < followed[1] < 0.95
    else:
        assert followed[0] > 0.96


@pytest.mark.parametrize("host", [0.5, 2.0])
def test_batch_one_tells_of_the_host(host):
    rows = with_other_host(NETWORKS[-8:], [1], "H100", host=host)
    calibration = latpred.calibrate(rows, device="H100")
    assert calibration.host_scale == recovers(host)
    assert calibration.scale is None or calibration.scale == pytest.approx(1, abs=0.02)


def test_two_batches_tell_kernels_from_the_host():
    rows = with_other_host(NETWORKS[:1] + NETWORKS[6:8], [1, 64], "A100", kernels=1.2, host=2)
    calibration = latpred.calibrate(rows, device="A100")
    assert calibration.level == "scale + host"
    assert (calibration.scale, calibration.host_scale) == (recovers(1.2), recovers(2))
    assert calibration.error_after.mean < 0.02
    assert set(calibration.tried) >= {"scale + host"}


@settings(max_examples=25, deadline=None, derandomize=True)
@given(
    kernels=st.floats(0.3, 3),
    host=st.floats(0.4, 3),
    networks=st.sets(st.sampled_from([n for n in NETWORKS if "vgg" not in n]), min_size=2, max_size=4),
    wild=st.one_of(st.none(), st.floats(5, 20)),
)
def test_kernels_and_host_are_recovered_whatever_they_are(kernels, host, networks, wild):
    """Where launches take a share at batch 1; one row of six and more may be far off."""
    rows = with_other_host(sorted(networks), [1, 16, 128], "A100", kernels, host)
    if wild is not None:
        rows[1] = (*rows[1][:2], rows[1][2] * wild)
    calibration = latpred.calibrate(rows, device="A100")
    for graph, batch, seconds in with_other_host(["timm:resnet18@224"], [1, 128], "A100", kernels, host):
        predicted = latpred.predict(graph=graph, device="A100", batch=batch, calibration=calibration)
        assert predicted.latency_s == pytest.approx(seconds, rel=0.02 if wild is None else 0.1)


def test_two_rows_of_one_network_are_enough_for_both():
    rows = with_other_host(["timm:mobilenetv2_100@224"], [1, 64], "A100", kernels=1.2, host=2)
    calibration = latpred.calibrate(rows, device="A100")
    assert (calibration.scale, calibration.host_scale) == (nearly_recovers(1.2, rel=0.05), nearly_recovers(2))
    assert calibration.error_after is None  # the same network at another batch is no other network


def test_ten_rows_tell_classes_apart():
    truth = {"conv_depthwise": 1.5}

    def seconds(network):
        graph = probe_graph(network, LARGE)
        return (
            sum(k.latency_ms * truth.get(k.kind, 1) for k in latpred.predict(graph=graph, device="A100").kernels) / 1e3
        )

    rows = [(probe_graph(network, LARGE), LARGE, seconds(network)) for network in NETWORKS]
    calibration = latpred.calibrate(rows, device="A100")
    assert calibration.level == "scale + classes"
    factors = calibration.kind_factors
    assert calibration.scale * factors["conv_depthwise"] == pytest.approx(1.5, rel=0.1)
    assert calibration.scale * factors["conv"] == pytest.approx(1, rel=0.05)
    assert factors["batch_norm"] == factors["unary"]  # one class
    assert calibration.error_after.mean < 0.5 * calibration.tried["scale"].mean
    assert "depth-wise x 1." in calibration.effect()


def test_classes_are_shrunken_and_noise_makes_none():
    rows = timed(NETWORKS, [64], noisy(0.05), device="A100")
    calibration = latpred.calibrate(rows, device="A100")
    for factor in calibration.kind_factors.values():
        assert factor == pytest.approx(1, abs=0.15)
    assert calibration.error_after.mean < 0.09


@pytest.mark.parametrize("wild", [0.1, 10])
@pytest.mark.parametrize("position", range(5))
def test_one_wild_timing_among_five_hardly_matters(position, wild):
    rows = timed(NETWORKS[:5], [64], noisy(0.03), device="V100")
    clean = latpred.calibrate(rows, device="V100").scale
    network, batch, seconds = rows[position]
    rows[position] = (network, batch, wild * seconds)
    calibration = latpred.calibrate(rows, device="V100")
    assert calibration.scale == pytest.approx(clean, rel=0.05)
    assert [record.is_outlier for record in calibration.records] == [index == position for index in range(5)]
    assert "outlier" in repr(calibration.rows)


def off_by(*factors):
    """Rows of ResNet50 at batches that take so many times what is predicted."""
    return [
        (graph, batch, factor * latpred.predict(graph=graph, device="A100").latency_s)
        for batch, factor in factors
        for graph in [latpred.load(RESNET50, batch=batch)]
    ]


@pytest.mark.parametrize("factor", [0.25, 0.4, 0.6, 1.5, 8])
@pytest.mark.parametrize("batch", [1, 8, 32, 128])
def test_one_timing_is_followed_however_far_it_is(batch, factor):
    rows = off_by((batch, factor))
    calibration = latpred.calibrate(rows, device="A100")
    without_record = dataclasses.replace(calibration, records=())
    answer = latpred.predict(RESNET50, batch=batch, device="A100", calibration=without_record)
    assert answer.latency_s == pytest.approx(rows[0][2], rel=0.06)


def test_an_outlier_among_three_timings_of_one_network_is_left_out():
    calibration = latpred.calibrate(off_by((32, 1.2), (64, 1.2), (128, 12)), device="A100")
    assert [record.is_outlier for record in calibration.records] == [False, False, True]
    assert "1 of 3 timings are farther off" in calibration.reason
    timed, near = (
        latpred.predict(RESNET50, batch=batch, device="A100", calibration=calibration).latency_s for batch in (64, 65)
    )
    assert near == pytest.approx(timed * 65 / 64, rel=0.05)


def test_an_outlier_is_no_answer():
    """Milliseconds for seconds in one row: the call is answered as its neighbours are."""
    calibration = latpred.calibrate(off_by((32, 1.2), (64, 1.2), (128, 1200)), device="A100")
    slipped, near = (
        latpred.predict(RESNET50, batch=batch, device="A100", calibration=calibration) for batch in (128, 127)
    )
    assert slipped.provenance["latency_ms"] == near.provenance["latency_ms"] != "measured"
    assert slipped.latency_s == pytest.approx(near.latency_s * 128 / 127, rel=0.05)


def test_timings_that_contradict_each_other_widen_the_interval():
    rows = off_by((512, 1.2), (1024, 2.4))
    calibration = latpred.calibrate(rows, device="A100")
    low, high = latpred.predict(RESNET50, batch=513, device="A100", calibration=calibration).intervals["latency_ms"]
    assert low < rows[0][2] * 1e3 < rows[1][2] * 1e3 / 2 < high
    assert "1 of 2 timings are farther off" in calibration.reason


@pytest.mark.parametrize("factor", [1e-3, 1 / 30, 30, 1e3])
def test_timings_of_another_unit_are_refused(factor):
    with pytest.raises(InvalidArgumentError, match=r"'resnet50\.onnx' at batch 32 .*seconds.* or milliseconds"):
        latpred.calibrate(off_by((32, factor)), device="A100")


def test_the_jacobian_is_that_of_the_prediction():
    """What the fit changes is what the compiled part applies."""
    graph = probe_graph("timm:mobilenetv2_100@224", 8)
    request = latpred.request.make_request(
        device="A100", partition=None, runtime=None, precision="default", input_on="pageable", autograd=False,
        predictor=None, mig_rule="memory", strict=False,
    )  # fmt: skip
    design = fit.design_of([graph], request, latpred.api.session())
    random = np.random.default_rng(1)
    for _ in range(5):
        parameters = random.normal(0, 0.3, fit.NUM_PARAMETERS)
        every = fit.Level("all", tuple(range(fit.NUM_PARAMETERS)))
        choice = levels.Choice(every, fit.Fitted(parameters, np.ones(1)), np.zeros(1), None, {}, "")
        golden = load_calibration(GOLDEN)
        changed = {
            "scale": levels.factor_of(choice, fit.SCALE),
            "host_scale": levels.factor_of(choice, fit.HOST),
            "kind_factors": levels.kind_factors_of(choice),
            "predictor": DEFAULT,
            "checkpoint": latpred.calibration.checkpoint_digest(DEFAULT),
            "records": (),
        }
        calibration = dataclasses.replace(golden, **changed)
        answer = latpred.predict(graph=graph, device="A100", input_on="pageable", calibration=calibration)
        assert answer.latency_s == pytest.approx(math.exp(design.log_s(parameters)[0]), rel=1e-9)


def test_the_interval_is_what_is_left_over():
    def half_width(prediction):
        low, high = prediction.intervals["latency_ms"]
        return math.log(high / low) / 2

    new = probe_graph("timm:convnext_tiny@224", 64)
    before = latpred.predict(graph=new, device=NEW)
    good = latpred.calibrate(timed(NETWORKS[:8], [64], noisy(0.02), device=NEW), device=NEW)
    bad = latpred.calibrate(timed(NETWORKS[:8], [64], noisy(1.0), device=NEW), device=NEW)
    narrow, wide = (latpred.predict(graph=new, device=NEW, calibration=c) for c in (good, bad))
    assert half_width(narrow) < half_width(before) < half_width(wide)
    known = latpred.api.session().evidence(DEFAULT).terms.known_device
    assert half_width(narrow) >= known * 0.999
    assert before.provenance["latency_ms"] == "extrapolated"
    assert narrow.provenance["latency_ms"] == "interpolated"
    one = latpred.calibrate(timed(NETWORKS[:1], [64], lambda *_: 1.0, device=NEW), device=NEW)
    assert one.log_sd > good.log_sd


def test_strict_takes_what_was_timed():
    calibration = latpred.calibrate(timed(NETWORKS[:3], [1, 64], noisy(0.05), device=NEW), device=NEW)
    graph = probe_graph("timm:resnext50_32x4d@224", 32)
    with pytest.raises(InvalidArgumentError, match=f"{NEW} was not measured"):
        latpred.predict(graph=graph, device=NEW, strict=True)
    assert latpred.predict(graph=graph, device=NEW, strict=True, calibration=calibration).coverage == []


# What it changes.


@pytest.fixture(scope="module")
def calibration():
    return latpred.calibrate(
        with_other_host(NETWORKS[6:9], [1, 64], "A100", kernels=1.3, host=1.8), device="A100", name="mine"
    )


@pytest.mark.parametrize("input_on", ["device", "pageable"])
@pytest.mark.parametrize("batch", [1, 32])
def test_kernels_add_up(calibration, batch, input_on):
    prediction = latpred.predict(RESNET50, batch=batch, device="A100", calibration=calibration, input_on=input_on)
    plain = latpred.predict(RESNET50, batch=batch, device="A100", input_on=input_on)
    assert math.fsum(k.latency_ms for k in prediction.kernels) == pytest.approx(prediction.latency_ms, rel=1e-9)
    assert prediction.latency_ms > plain.latency_ms
    assert prediction.memory_mb == plain.memory_mb
    assert prediction.energy_j > plain.energy_j
    assert plain.calibration is None


def test_a_timed_call_is_answered_with_its_timing(calibration):
    for record, network in zip(calibration.records, [n for n in NETWORKS[6:9] for _ in (1, 64)], strict=True):
        graph = probe_graph(network, record.batch)
        prediction = latpred.predict(graph=graph, device="A100", calibration=calibration)
        assert prediction.provenance["latency_ms"] == "measured"
        assert prediction.latency_s == pytest.approx(record.latency_s, rel=1e-12)
        assert math.fsum(k.latency_ms for k in prediction.kernels) == pytest.approx(prediction.latency_ms, rel=1e-9)
        assert latpred.predict(graph=graph, device="A100").provenance["latency_ms"] != "measured"


def test_every_answer_shows_it(calibration):
    prediction = latpred.predict(graph=small_network(), device="A100", calibration=calibration)
    assert prediction.calibration is calibration
    summary = "mine: kernels x 1.30, host x 1.80, from 6 timings"
    assert summary in repr(prediction)
    assert summary in prediction._repr_html_()
    answer = json.loads(json.dumps(prediction.to_dict()))
    assert answer["calibration"]["name"] == "mine"
    assert answer["calibration"]["scale"] == recovers(1.3)
    assert latpred.predict(graph=small_network(), device="A100").to_dict()["calibration"] is None
    table = latpred.predict_many([small_network()], batches=[1, 2], devices=["A100"], calibration=calibration)
    assert [row["calibration"] for row in table.to_dicts()] == ["mine", "mine"]
    assert table[0].latency_ms == prediction.latency_ms


def test_other_uses_are_refused_naming_both(calibration):
    def message(**where):
        with pytest.raises(InvalidArgumentError, match="calibration 'mine' was made for") as caught:
            latpred.predict(graph=small_network(), **{"device": "A100", "calibration": calibration, **where})
        return str(caught.value)

    assert f"device '{A100}', asked is device 'T4'" in message(device="T4")
    assert "the whole device, asked is partition 2g.10gb" in message(partition="2g.10gb")
    assert "runtime 'eager', asked is runtime 'compiled'" in message(runtime="compiled")
    assert "precision 'default', asked is precision 'fp16'" in message(precision="fp16")
    assert f"predictor '{DEFAULT}', asked is predictor 'roofline'" in message(predictor="roofline")


def test_it_holds_what_its_own_version_does(calibration):
    with pytest.raises(
        InvalidArgumentError, match="'mine' holds what the version that was timed does: leave runtime_v"
    ):
        latpred.predict(graph=small_network(), device=A100, calibration=calibration, runtime_version="torch 2.4")


def test_any_precision_can_be_said():
    rows = timed(NETWORKS[:2], [64], lambda *_: 1.3, device="A100")
    calibration = latpred.calibrate(rows, device="A100", precision=None)
    assert calibration.precision is None
    graph = probe_graph(NETWORKS[3], 64)
    answer = latpred.predict(graph=graph, device="A100", precision="fp16", calibration=calibration)
    assert answer.latency_ms > latpred.predict(graph=graph, device="A100", precision="fp16").latency_ms


def test_a_partition_and_its_predictor_are_kept():
    where = {"device": "A100", "partition": "2g.10gb", "precision": "fp16", "predictor": "roofline"}
    calibration = latpred.calibrate(timed(NETWORKS[:3], [16], lambda *_: 2.0, **where), **where)
    assert (calibration.partition, calibration.predictor) == ("2g.10gb", "roofline")
    graph = probe_graph(NETWORKS[3], 16)
    prediction = latpred.predict(
        graph=graph, device="A100", partition="2g.10gb", precision="fp16", calibration=calibration
    )
    assert prediction.predictor == "roofline"
    assert {row.name: row.latency_ms for row in prediction.partitions}["2g.10gb"] == prediction.latency_ms


# Rows.


def test_rows_take_every_form(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    seconds = latpred.predict(RESNET50, batch=128, device="A100").latency_s * 1.3
    plain = [{"path": str(RESNET50), "batch": 128, "seconds": seconds}]
    frame = pandas.DataFrame([{"path": str(RESNET50), "batch": 128, "input": None, "latency_ms": seconds * 1e3}])
    (tmp_path / "resnet50.onnx").symlink_to(RESNET50)
    relative = [{"path": "resnet50.onnx", "batch": 128, "seconds": seconds}]
    (tmp_path / "rows.json").write_text(json.dumps(relative))
    (tmp_path / "rows.jsonl").write_text(json.dumps(relative[0]) + "\n\n")
    (tmp_path / "rows.csv").write_text(f"path, batch, input, seconds\nresnet50.onnx, 128, , {seconds}\n")
    pandas.DataFrame(relative).to_parquet(tmp_path / "rows.parquet")
    graph = latpred.load(RESNET50, batch=128)
    sources = [
        plain,
        frame,
        [(RESNET50, 128, seconds)],
        [(str(RESNET50), 128, "3,224,224", seconds)],
        [(graph, 128, seconds)],
        [{"graph": graph, "latency_s": seconds}],
        *sorted(tmp_path.glob("rows.*")),
    ]
    assert len(sources) == 10
    for source in sources:
        calibration = latpred.calibrate(source, device="A100")
        assert calibration.scale == nearly_recovers(1.3), source
        assert calibration.records[0].graph_hash == graph.hash
    assert latpred.calibrate(tmp_path / "rows.csv", device="A100").name == "rows"


def test_a_live_model_is_a_row():
    torch = pytest.importorskip("torch")
    module = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU())
    seconds = latpred.predict(model=module, batch=4096, input="512", device="A100").latency_s * 2
    rows = [{"model": module, "batch": 4096, "input": "512", "seconds": seconds}]
    assert latpred.predict(
        model=module, batch=4096, input="512", device="A100", calibration=latpred.calibrate(rows, device="A100")
    ).latency_s == pytest.approx(seconds)


def test_repeated_timings_are_one_with_a_spread():
    calibration = latpred.calibrate([(RESNET50, 32, s) for s in (0.010, 0.011, 0.050)], device="A100")
    assert calibration.num_rows == 1
    assert calibration.records[0].latency_s == 0.011
    assert calibration.records[0].spread > 0.5


def test_equal_timings_have_no_spread():
    for rows in ([{"path": RESNET50, "batch": 32, "seconds": 0.01, "spread": 0}], [(RESNET50, 32, 0.01)] * 2):
        calibration = latpred.calibrate(rows, device="A100")
        assert calibration.records[0].spread == 0
        answer = latpred.predict(RESNET50, batch=32, device="A100", calibration=calibration)
        assert answer.latency_s == pytest.approx(0.01)


@pytest.mark.parametrize(
    ("timed", "spread"),
    [
        ([(0.01, 0.3), (0.01, 0.3)], 0.3),
        ([(0.01, 0.3), (0.01, None)], 0.3),
        ([(0.01, 0.1), (0.01, 0.7)], 0.5),
        ([(0.009, 0.3), (0.011, 0.3)], math.hypot(0.3, math.sqrt(0.02))),
    ],
)
def test_repeated_timings_keep_the_spread_that_they_state(timed, spread):
    rows = [{"path": RESNET50, "batch": 32, "seconds": seconds, "spread": stated} for seconds, stated in timed]
    assert latpred.calibrate(rows, device="A100").records[0].spread == pytest.approx(spread)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("rows.csv", "path,batch,seconds,seconds\nresnet50.onnx,32,0.01,0.05\n"),
        ("rows.json", '[{"path": "resnet50.onnx", "batch": 32, "seconds": 0.01, "seconds": 0.05}]'),
        ("rows.jsonl", '{"path": "resnet50.onnx", "batch": 32, "seconds": 0.01, "seconds": 0.05}\n'),
    ],
)
def test_a_column_that_a_file_has_twice_is_refused(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidArgumentError, match=rf"{name}': .*column 'seconds' is there 2 times"):
        latpred.calibrate(tmp_path / name, device="A100")


def test_a_column_that_a_frame_has_twice_is_refused():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame([[RESNET50, 32, 0.01, 0.05]], columns=["path", "batch", "seconds", "seconds"])
    with pytest.raises(InvalidArgumentError, match="the frame: column 'seconds' is there 2 times"):
        latpred.calibrate(frame, device="A100")


def test_columns_without_a_name_and_cells_are_no_columns(tmp_path):
    (tmp_path / "rows.csv").write_text(f"path,batch,seconds,,\n{RESNET50},32,0.01,,\n")
    assert latpred.calibrate(tmp_path / "rows.csv", device="A100").num_rows == 1


def test_a_file_is_read_once_for_all_of_its_batches(monkeypatch):
    read, paths = _core.read_program, []
    monkeypatch.setattr(_core, "read_program", lambda path, *more: paths.append(path) or read(path, *more))
    timings = read_timings([(RESNET50, batch, 0.01 * batch) for batch in (1, 8, 32)])
    assert paths == [os.fsencode(RESNET50)]
    assert [timing.graph.hash for timing in timings] == [latpred.load(RESNET50, batch=size).hash for size in (1, 8, 32)]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "at least one"),
        (3, "rows must be a list"),
        ([(RESNET50, 32)], "row 1: expected a mapping"),
        ([{"path": RESNET50, "batch": 1, "second": 1}], "did you mean 'seconds'"),
        ([{"path": RESNET50, "seconds": 1}], "batch is missing"),
        ([{"path": RESNET50, "batch": 1}], "exactly one of seconds, latency_s, latency_ms, got none"),
        ([{"path": RESNET50, "batch": 1, "seconds": 1, "latency_ms": 1}], "got seconds and latency_ms"),
        ([{"batch": 1, "seconds": 1}], "exactly one of graph, path, model"),
        ([(RESNET50, 32, 0)], "seconds must be a positive number, got 0"),
        ([(RESNET50, 32, float("inf"))], "seconds must be a positive number, got inf"),
        (
            [{"path": RESNET50, "batch": 1, "seconds": 1, "spread": "2 %"}],
            r"spread must be a share of the time, from 0 to below 1 \(2 %: 0.02\), got '2 %'",
        ),
        ([{"path": RESNET50, "batch": 1, "seconds": 1, "spread": -0.1}], "spread must be a share .*, got -0.1"),
        ([{"path": RESNET50, "batch": 1, "seconds": 1, "spread": 5}], "row 1: spread must be a share .*, got 5"),
        ([{"path": RESNET50, "batch": 1, "seconds": 1, "spread": True}], "spread must be a share .*, got True"),
        ([(RESNET50, 1.5, 1)], "batch must be an integer from 1 to 2147483647, got 1.5"),
        ([{"path": RESNET50, "batch": "1e40", "seconds": 1}], "row 1: batch must be an integer from 1 to"),
        ([{"path": 5, "batch": 1, "seconds": 1}], "row 1: path must be that of a file or one of the probes, got 5"),
        ([{"path": "\ud800", "batch": 1, "seconds": 1}], "row 1: .*surrogates"),
        ([(RESNET50, 1, 10**400)], "seconds must be a positive number"),
        ([(RESNET50, 1, 1), ("missing.onnx", 1, 1)], "row 2: .*missing.onnx"),
        ([("timm:resnet51@224", 1, 1)], "did you mean 'timm:resnet50@224'"),
        ("timings.txt", "timings are read from .csv, .json, .jsonl, .parquet"),
        ("missing.csv", "cannot be read"),
    ],
)
def test_wrong_rows_are_refused(rows, message):
    with pytest.raises(InvalidArgumentError, match=message):
        latpred.calibrate(rows, device="A100")


def test_a_network_of_views_teaches_nothing():
    net = latpred.GraphBuilder()
    net.output(net.apply("flatten", net.input("x", (4, 4)), axis=1))
    with pytest.raises(InvalidArgumentError, match="runs nothing"):
        latpred.calibrate([(net.build(), 1, 1e-3)], device="A100")


# The file.


def test_the_file_round_trips(calibration, tmp_path):
    path = calibration.save(tmp_path / "a100.json")
    again = load_calibration(path)
    assert again == calibration
    assert again.to_dict() == calibration.to_dict()
    graph = small_network(batch=8)
    answers = [latpred.predict(graph=graph, device="A100", calibration=c) for c in (calibration, path, str(path))]
    assert len({answer.latency_ms for answer in answers}) == 1


def test_the_golden_file_is_read():
    """The format of files that users keep: a change of it needs another version."""
    golden = load_calibration(GOLDEN)
    assert golden.to_dict() == json.loads(GOLDEN.read_text())
    assert (golden.name, golden.device, golden.scale, golden.host_scale) == ("golden", A100, 1.25, 1.75)
    assert golden.kind_factors == {"conv": 1.1, "conv_1x1": 1.1, "conv_grouped": 1.1}
    assert golden.records[0].graph_hash == "0123456789abcdef"
    assert golden.records[1].left_out_s is None


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "no calibration of latpred"),
        ({"version": 2}, "version 2 of the format, this latpred reads 1"),
        ({"hostscale": 1.5}, "unknown field 'hostscale'; did you mean 'host_scale'"),
        ({"scale": "1.3"}, "field 'scale' must be int or float or null, got '1.3'"),
        ({"scale": True}, "field 'scale' must be"),
        ({"scale": -1.0}, "scale must be a positive number, got -1"),
        ({"scale": math.nan}, "scale must be a positive number"),
        ({"kind_factors": {"convolution": 1.0}}, "unknown cost kind 'convolution'"),
        ({"timed_kinds": ["con"]}, "unknown cost kind 'con'; did you mean 'conv'"),
        ({"timed_kinds": [1]}, "timed_kinds must be names"),
        ({"kind_factors": {"conv": None}}, "the factor of 'conv' must be a number"),
        ({"records": [{"network": "x"}]}, "record 0: field 'graph_hash' is missing"),
        ({"error_after": {"mean": 1.0}}, "error_after: field 'median' is missing"),
        ({"log_sd": None}, "field 'log_sd' must be"),
        ({"scale": 10**400}, "field 'scale' must be at most"),
        ({"kind_factors": {"conv": 10**400}}, "the factor of 'conv' must be at most"),
        ({"records": [{**GOLDEN_RECORD, "batch": 10**30}]}, "record 0: field 'batch' must be at most"),
        ({"name": "\ud800"}, "is no JSON: .*surrogates"),
    ],
)
def test_damaged_files_are_refused(change, message, tmp_path):
    path = tmp_path / "damaged.json"
    path.write_text(json.dumps({**json.loads(GOLDEN.read_text()), **change}))
    with pytest.raises(InvalidArgumentError, match=message):
        latpred.predict(RESNET50, device="A100", calibration=path)


def test_what_is_no_file_is_refused(tmp_path):
    for text in ("{", "[" * 100_000):
        (tmp_path / "text.json").write_text(text)
        with pytest.raises(InvalidArgumentError, match="is no JSON"):
            load_calibration(tmp_path / "text.json")
        with pytest.raises(InvalidArgumentError, match="is no json file"):
            latpred.calibrate(tmp_path / "text.json", device="A100")
    with pytest.raises(InvalidArgumentError, match="cannot be read"):
        load_calibration(tmp_path / "missing.json")
    with pytest.raises(InvalidArgumentError, match="calibration must be a Calibration"):
        latpred.predict(RESNET50, calibration=1.3)


def test_other_numbers_of_the_predictor_need_another_calibration():
    with pytest.raises(InvalidArgumentError, match="made for other numbers of predictor 'analytic'"):
        latpred.predict(RESNET50, device="A100", calibration=GOLDEN)


def test_names_are_looked_up(calibration, tmp_path, monkeypatch):
    folder = tmp_path / "kept"
    monkeypatch.setenv("LATPRED_CALIBRATIONS", str(folder))
    with pytest.raises(InvalidArgumentError, match=r"unknown calibration 'mine': there is none in .*kept"):
        latpred.predict(RESNET50, device="A100", calibration="mine")
    assert calibration.save() == folder / "mine.json"
    assert latpred.predict(RESNET50, device="A100", calibration="mine").calibration == calibration
    with pytest.raises(InvalidArgumentError, match="did you mean 'mine'"):
        latpred.predict(RESNET50, device="A100", calibration="mint")
    monkeypatch.delenv("LATPRED_CALIBRATIONS")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert calibration.save() == tmp_path / "latpred" / "calibrations" / "mine.json"
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert os.fspath(latpred.calibration.folder_of_names()) == f"{tmp_path}/.config/latpred/calibrations"


def test_names_are_those_of_files():
    for name in ("", "../up", "a/b", ".hidden", 3):
        with pytest.raises(InvalidArgumentError, match=r"letters, digits, spaces, '-', '_' and '\.', no '\.' first"):
            latpred.calibrate([(RESNET50, 32, 0.01)], device="A100", name=name)
    assert latpred.calibrate([(RESNET50, 32, 0.01)], device="A100", name="my card_1.2-a").name == "my card_1.2-a"


def test_calibrate_writes_what_it_is_told(tmp_path):
    calibration = latpred.calibrate(
        [(RESNET50, 32, 0.01)], device="A100", save=tmp_path / "one.json", fingerprint="driver 1"
    )
    assert isinstance(calibration, Calibration)
    assert load_calibration(tmp_path / "one.json") == calibration
    assert "driver 1" in calibration._repr_html_()
    assert "error" in repr(calibration)

"""Networks that share a device: what is predicted, and what that is fitted to."""

from __future__ import annotations

import dataclasses
import json
import math

import latpred
import numpy as np
import pytest
from example_networks import views
from latpred import InvalidArgumentError, _core
from latpred.colocation import combination, fits
from latpred.colocation.combination import Combination, Member
from latpred.colocation.fit import fit_gpus, fit_terms, left_out_predictions
from latpred.colocation.jobs import Jobs

CONVOLUTIONS, DENSE = "cnn:3-64-64-64?size=32", "fnn:1024-4096-1024"


@pytest.fixture
def pair():
    from latpred.datasets.graph_cache import graph_of

    return [graph_of(CONVOLUTIONS, 8), graph_of(DENSE, 8)]


def test_beside_others_everything_is_later(pair):
    for sharing in ("time_slicing", "mps"):
        found = latpred.colocate(pair, device="A100", sharing=sharing)
        assert found.sharing == sharing
        for member, graph in zip(found, pair, strict=True):
            assert member.alone_ms == pytest.approx(latpred.predict(graph=graph, device="A100").latency_ms)
            assert member.slow_down >= 1
            assert member.latency_ms == pytest.approx(member.alone_ms * member.slow_down)
            low, high = member.latency_ms_interval
            assert low < member.latency_ms < high
            assert member.slow_down_interval[0] >= 1
            assert member.meets_slo is None


def test_a_third_network_slows_down_more(pair):
    two, three = (latpred.colocate(networks, device="V100") for networks in (pair, [*pair, pair[0]]))
    assert three[0].slow_down >= two[0].slow_down
    assert three[1].slow_down > two[1].slow_down or two[1].slow_down == 1


def test_mig_neighbours_are_within_3_percent_of_none(pair):
    found = latpred.colocate(pair, device="A100-SXM4-80GB", partition="1g.10gb")
    assert found.sharing == "mig"
    assert all(1 <= member.slow_down <= 1.03 for member in found)
    assert all(member.provenance["slow_down"] == "fitted" for member in found)
    alone = latpred.predict(graph=pair[0], device="A100-SXM4-80GB", partition="1g.10gb")
    assert found[0].alone_ms == pytest.approx(alone.latency_ms)
    other = latpred.colocate(pair, device="H100", partition="1g.10gb")
    assert other[0].provenance["slow_down"] == "modelled"
    assert any("no label" in note for note in other[0].coverage)


def test_labels_of_training_jobs_are_said(pair):
    found = latpred.colocate(pair, device="V100", sharing="mps")
    assert found[0].provenance["slow_down"] == "extrapolated"
    assert any("training jobs" in note for note in found[0].coverage)


def test_objectives(pair):
    alone = latpred.predict(graph=pair[0], device="A100").latency_ms
    found = latpred.colocate(pair, device="A100", slo_ms=[1000 * alone, None])
    assert (found[0].meets_slo, found[1].meets_slo, found.meets_slo) == (True, None, True)
    tight = latpred.colocate(pair, device="A100", slo_ms=alone / 2)
    assert tight[0].meets_slo is False
    assert tight.meets_slo is False


def test_measured_latencies_take_the_place_of_predicted_ones(pair):
    found = latpred.colocate(pair, device="A100", alone_ms=[5.0, None])
    assert found[0].alone_ms == 5.0
    assert found[0].provenance["alone"] == "measured"
    assert found[1].provenance["alone"] != "measured"


def test_shares_of_mps_limit_what_a_network_gets(pair):
    busy = [graph.with_batch(4096) for graph in pair]  # what mostly waits for its host hardly feels a share
    whole = latpred.colocate(busy, device="A100", sharing="mps")
    half = latpred.colocate(busy, device="A100", partition="50%")
    assert half.sharing == "mps"
    assert half[0].alone_ms > whole[0].alone_ms
    assert half[0].slow_down <= whole[0].slow_down


def test_processor_cores(pair):
    found = latpred.colocate(pair, device="cpu")
    turns = latpred.colocate(pair, device="cpu", sharing="time_slicing")
    assert found.sharing == "cores"
    assert all(member.slow_down < 1.6 for member in found)
    assert all(member.slow_down > 1.8 for member in turns)
    asked = latpred.colocate(pair, device="cpu", runtime="openvino")
    assert [member.latency_ms for member in asked] == [member.latency_ms for member in found]
    named = latpred.colocate(pair, device="Xeon Gold 6240")
    assert named[0].provenance == {"alone": "modelled", "slow_down": "modelled"}


@pytest.mark.parametrize(("machine", "factor"), [("another machine", 2.7), (None, 1.0)])
def test_another_processor_makes_the_interval_as_wide_as_in_predict(pair, monkeypatch, machine, factor):
    """Known speeds of that processor or not: the labels are of ours."""
    learnt = fits.shipped()
    core = dataclasses.replace(learnt.core, machine=machine or _core.host_facts().fingerprint)
    monkeypatch.setattr(fits, "shipped", lambda: dataclasses.replace(learnt, core=core))
    for device in ("cpu", *(["Xeon Gold 6240"] if machine else [])):
        for member in latpred.colocate(pair, device=device, precision="fp32"):
            low, high = member.latency_ms_interval
            own = math.hypot(
                core.log_error, math.log(factor), math.log(member.slow_down_interval[1] / member.slow_down)
            )
            assert math.log(high / low) / 2 == pytest.approx(own)


def test_each_mig_slice_holds_its_own_network(pair, capsys):
    """The convolutions at batch 8192 need 10 GB."""
    from latpred.cli import main

    large = pair[0].with_batch(8192)
    fit = latpred.colocate(pair, device="A100", partition="1g.5gb")
    assert ([member.memory_fits for member in fit], fit.memory_fits, fit.memory_notes) == ([True, True], True, [])
    one = latpred.colocate([large, pair[1]], device="A100", partition="1g.5gb")
    assert ([member.memory_fits for member in one], one.memory_fits) == ([False, True], False)
    (note,) = one.memory_notes
    assert f"{one[0].name}, batch 8192, needs " in note
    assert "more than its slice 1g.5gb has" in note
    assert latpred.colocate([large, pair[1]], device="A100", partition=["3g.20gb", "1g.5gb"]).memory_fits is True
    words = ["colocate", CONVOLUTIONS, DENSE, "--batch", "8192", "8", "--partition", "1g.5gb"]
    assert main(words) == 0
    assert "batch 8192, needs" in capsys.readouterr().out
    assert main([*words, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["memory_fits"], [row["memory_fits"] for row in answer["members"]]) == (False, [False, True])


def test_together_they_may_need_more_than_the_device_has(pair):
    large = pair[0].with_batch(16384)  # 20 GB
    alone = latpred.colocate([large, pair[1]], device="A100", sharing="mps")
    assert (alone.memory_fits, alone[0].memory_fits, alone.memory_notes) == (True, None, [])
    both = latpred.colocate([large] * 3, device="A100", sharing="mps")
    assert (both.memory_fits, both.memory_notes) == (False, ["together they need more memory than the device has"])


def test_result_as_table_and_words(pair):
    found = latpred.colocate(pair, device="A100", slo_ms=10)
    frame = found.to_pandas()
    assert list(frame.slow_down) == [member.slow_down for member in found]
    assert "A100-SXM4-40GB" in repr(found)
    assert "slow-down" in repr(found)
    assert found.memory_fits is True


def test_command_line(capsys):
    from latpred.cli import main

    words = ["colocate", CONVOLUTIONS, DENSE, "--device", "A100", "--slo-ms", "5", "--json"]
    assert main(words) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["sharing"] == "time_slicing"
    assert len(answer["members"]) == 2
    assert main(["colocate", CONVOLUTIONS, DENSE, "--device", "T4"]) == 0
    assert "training jobs" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"sharing": "mpss"}, "mps"),
        ({"sharing": "cores"}, "valid: time_slicing"),
        ({"sharing": "mig"}, "a slice"),
        ({"partition": "1g.5gb", "sharing": "mps"}, "is of mig"),
        ({"partition": ["1g.5gb"]}, "1 values for 2 networks"),
        ({"partition": ["1g.5gb", None]}, "a slice"),
        ({"partition": "4g.20gb"}, "more than one"),
        ({"slo_ms": -1}, "above 0"),
        ({"device": "cpu", "partition": "50%"}, "no partitions"),
        ({"device": "A1000"}, "A100"),
        ({"device": "cpu", "runtime": "eager"}, "runtime 'eager': .* fitted on the kernels of 'openvino'; leave"),
        ({"device": "cpu", "runtime": "nonsense"}, "runtime 'nonsense': .* give 'openvino'"),
        ({"device": "Xeon Gold 6240", "runtime": "onnxruntime"}, "fitted on the kernels of 'openvino'"),
        ({"device": "cpu", "precision": "bf16"}, "precision 'bf16': .* in fp32 alone; leave precision= out"),
        ({"device": "Xeon Gold 6240", "precision": "fp99"}, "precision 'fp99': .* give 'fp32'"),
        ({"partition": ["50%", "1g.5gb"]}, "'50%' is of mps and '1g.5gb' of mig, .* one way: give parts of one kind"),
        ({"partition": ["1g.5gb", "32sm"]}, "'32sm' is of mps and '1g.5gb' of mig"),
        ({"partition": [1, 2]}, "partition must be"),
    ],
)
def test_refuses_with_a_sentence(pair, arguments, words):
    with pytest.raises(InvalidArgumentError, match=words):
        latpred.colocate(pair, **{"device": "A100", **arguments})


@pytest.mark.parametrize("device", ["A100", "cpu"])
def test_refuses_a_network_that_takes_no_time(pair, device):
    for alone_ms in (None, [1.0, 1.0]):
        with pytest.raises(InvalidArgumentError, match=r"'graph' runs nothing \(views alone\): leave it out"):
            latpred.colocate([views(), pair[0]], device=device, alone_ms=alone_ms)


def test_refuses_a_single_network(pair):
    for networks in (pair[0], [pair[0]], "file.onnx"):
        with pytest.raises(InvalidArgumentError, match="two or more"):
            latpred.colocate(networks)


def test_shipped_fits_have_every_way_of_sharing():
    learnt = fits.shipped()
    for mode in _core.sharing_modes():
        for kind, is_there in ((fits.GPU, mode.on_gpus), (fits.CPU, mode.on_cpus)):
            assert not is_there or learnt.fit(mode.name, kind).rows > 0
    assert learnt.core.log_error < math.log(2)


def test_fits_survive_a_file(tmp_path):
    fits.write(tmp_path / "fits.json", fits.shipped())
    assert fits.read(tmp_path / "fits.json") == fits.shipped()


def test_left_out_rows_do_not_teach():
    """A network whose label is far off is predicted as the others are."""
    groups = [frozenset({name}) for name in "abcd"]
    found = left_out_predictions([[1.0]] * 4, [1.1, 1.1, 1.1, 9.0], groups)
    assert found == pytest.approx([1.1] * 4, abs=1e-3)


JOB = {
    "kind": "pair", "sharing": "time_slicing", "is_training": True, "batch": 1, "neighbour_batch": 1, "source": "x",
    "licence": "MIT",
}  # fmt: skip


def job_rows(alone_s, beside, device="V100-SXM2-16GB"):
    """A row for each pair of `beside`, whose jobs take `alone_s` alone."""
    return [
        JOB | {"device": device, "network": a, "neighbour": b, "alone_s": alone_s[a], "beside_s": alone_s[a] * factor}
        for (a, b), factor in beside.items()
    ]  # fmt: skip


def test_gpu_fit_is_of_its_rows():
    pandas = pytest.importorskip("pandas")
    alone_s = dict.fromkeys("abc", 1.0)
    rows = job_rows(alone_s, {("a", "b"): 2.0, ("b", "a"): 2.2, ("c", "a"): 1.8, ("c", "b"): 2.0})
    found = fit_gpus(pandas.DataFrame(rows), "pair", "time_slicing")
    assert _core.slow_down(list(found.coefficients), [1.0, 1.0]) == pytest.approx(2.0, abs=0.02)
    assert (found.is_training, found.devices, found.rows) == (True, ("V100-SXM2-16GB",), 4)


def test_a_job_that_no_gpu_shortens_keeps_none_busy():
    pandas = pytest.importorskip("pandas")
    rows = [
        *job_rows({"host": 1.0, "gpu": 3.05, "alone": 1.0}, {("host", "gpu"): 1, ("gpu", "host"): 1}, "K80"),
        *job_rows(
            {"host": 1.0, "gpu": 1.0, "alone": 1.0},
            {("host", "gpu"): 1, ("gpu", "host"): 1, ("alone", "gpu"): 1},
            "P100-PCIe-16GB",
        ),
    ]
    jobs = Jobs(pandas.DataFrame(rows))
    assert jobs.busy_share("P100-PCIe-16GB", "host", 1) < 0.1
    assert jobs.busy_share("P100-PCIe-16GB", "gpu", 1) == pytest.approx(1.0, abs=0.01)
    assert jobs.busy_share("P100-PCIe-16GB", "alone", 1) == 1.0  # it ran on one GPU: unknown
    host, gpu = (jobs.profile("P100-PCIe-16GB", name, 1) for name in ("host", "gpu"))
    assert _core.interference("time_slicing", [gpu, host], 0)[1] < _core.interference("time_slicing", [host, gpu], 0)[1]


def test_laws_are_averaged_unless_one_is_clearly_better():
    chance = np.random.default_rng(1)
    terms = chance.uniform(0.5, 1.0, (60, 2))
    groups = [frozenset({str(place % 6)}) for place in range(60)]
    clear = fit_terms(terms.tolist(), (1 + 0.5 * terms[:, 1]).tolist(), groups)
    assert clear == pytest.approx([0, 0.5], abs=1e-3)
    noise = (1.2 + chance.normal(0, 0.2, 60)).tolist()
    unclear = fit_terms(terms.tolist(), noise, groups)
    assert min(unclear) > 0


def test_combinations_are_recipes():
    found = Combination(combination.CORES, (Member("timm:vgg16@224", 4), Member("cnn:3-8?size=32&x=1", 1)), repeat=1)
    assert combination.parse(str(found)) == found
    assert combination.parse(str(found)).key == "3-8?size=32&x=1+vgg16"
    for text in ("timm:vgg16@224", "together:cores?members=vgg16", "together:cores?members=timm:vgg16@224*4"):
        with pytest.raises(InvalidArgumentError):
            combination.parse(text)


def test_sample_is_all_pairs_in_a_seeded_order():
    found = combination.applications_sample(3)
    assert [str(part) for part in found] == [str(part) for part in combination.applications_sample(3)]
    pairs = [part for part in found if part.placement == "cores" and len(part.members) == 2]
    keys = {part.key for part in pairs if not any(member.is_stream for member in part.members)}
    assert len(keys) == 105
    assert len({str(part) for part in found}) == len(found)
    again = combination.repeats(found)
    assert all(part.repeat == 1 for part in again)
    assert np.isclose(len(again) / len(found), combination.REPEATED_SHARE, atol=0.01)


def test_values_of_numpy_are_numbers():
    net = latpred.GraphBuilder()
    net.output(net.apply("relu", net.input("x", (16,))))
    graphs = [net.build(1)] * 2
    found = latpred.colocate(graphs, batch=np.array([1, 2]), slo_ms=np.float32(20), alone_ms=np.array([0.5, 1.0]))
    assert [member.batch for member in found] == [1, 2]
    assert [member.slo_ms for member in found] == [20.0, 20.0]
    with pytest.raises(latpred.InvalidArgumentError, match=r"batch must be an integer >= 1, got 2\.5"):
        latpred.colocate(graphs, batch=2.5)
    with pytest.raises(latpred.InvalidArgumentError, match="batch has 3 values for 2 networks"):
        latpred.colocate(graphs, batch=np.array([1, 2, 3]))

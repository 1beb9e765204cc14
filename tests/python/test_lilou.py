"""Learnt fusion: what its networks read, the benchmark on a small set, and what the shipped pair answers."""

import json
import subprocess
import sys

import numpy as np
import pytest
from example_networks import REPOSITORY, small_network
from latpred import _core, predict, predictors
from latpred.datasets import kernels
from latpred.errors import InvalidArgumentError, MissingDependencyError
from latpred.fusion import graph_arrays, inputs, learning, lilou
from latpred.fusion.lilou import NAME, is_default

parquet = pytest.importorskip("pyarrow.parquet")

LABELS = REPOSITORY / "data" / "labels"
CONV, RELU, ADD = (next(row.id for row in _core.operators() if row.name == name) for name in ("conv", "relu", "add"))


def residual_block():
    """Two convolutions of one input, added, then a rectifier, in round numbers."""
    return {
        "nodes": np.array([[100, 200, 50, 8e6], [100, 200, 70, 4e6], [400, 200, 0, 200], [200, 200, 0, 200]], float),
        "operators": np.array([CONV, CONV, ADD, RELU]),
        "edges": np.array([[0, 1, 2], [2, 2, 3]]),
        "first_node": np.array([0, 4]),
    }


def test_context_says_who_waits_for_whom():
    found = inputs.in_context(residual_block())
    nodes = found["nodes"]
    consumers, producers, is_last, is_first, wait = nodes[:, 4:9].T
    assert consumers.tolist() == [1, 1, 1, 0]
    assert producers.tolist() == [0, 0, 2, 1]
    assert is_last.tolist() == [0, 1, 1, 0]  # the addition waits for the second convolution
    assert is_first.tolist() == [0, 0, 1, 1]
    assert wait.tolist() == [2, 1, 1, 0]
    before, after = nodes[:, 9 : 9 + len(inputs.KINDS)], nodes[:, 9 + len(inputs.KINDS) :]
    assert found["operators"].tolist() == [inputs.OPERATORS.index(name) for name in ("conv", "conv", "add", "relu")]
    conv, binary, unary = (inputs.KINDS.index(kind) for kind in ("conv", "binary", "unary"))
    assert np.argwhere(before > 0).tolist() == [[2, conv], [3, binary]]
    assert np.argwhere(after > 0).tolist() == [[0, binary], [1, binary], [2, unary]]
    assert np.log1p(before[2, conv]) == 1


def test_every_kind_of_operator_has_a_column():
    assert {row.cost_kind for row in _core.operators()} <= set(inputs.KINDS)
    assert set(inputs.OPERATORS) <= {row.name for row in _core.operators()}
    floor = next(row.id for row in _core.operators() if row.name == "floor")  # has no class of its own: unary
    found = inputs.in_context(residual_block() | {"operators": np.array([CONV, CONV, ADD, floor])})
    assert found["operators"][3] == len(inputs.OPERATORS) + inputs.KINDS.index("unary")
    assert inputs.num_operators("in context") == len(inputs.OPERATORS) + len(inputs.KINDS)


def test_what_nodes_hand_to_each_other_does_not_cross():
    graphs = residual_block()
    whole = graphs | {"nodes": np.tile(graphs["nodes"], (2, 1)), "operators": np.tile(graphs["operators"], 2),
                      "edges": np.concatenate([graphs["edges"], graphs["edges"][:, 2:] + 4], axis=1),
                      "first_node": np.array([0, 4, 8])}  # fmt: skip
    sums = inputs.sums_of(whole)
    assert sums[0].tolist() == [12e6 + 400, 200, 200, 120, 4]
    # In the second graph nothing but the sum is handed on.
    assert sums[1].tolist() == [12e6 + 400, 600, 600, 120, 4]
    bounds = inputs.with_bounds(whole)
    assert bounds["bases"][0, 0] == pytest.approx(inputs.CALL_S + (12e6 + 400) / inputs.PEAK_FLOPS_PER_S)
    assert inputs.largest_of(whole)[0].tolist() == [100, 200, 50, 8e6]
    with pytest.raises(InvalidArgumentError, match="in context"):
        inputs.derive("in contest", whole)


def test_a_kernel_knows_the_network_that_it_stands_in():
    class Network:
        operator_ids = residual_block()["operators"]
        features, edges = residual_block()["nodes"], residual_block()["edges"]

    groups = [(Network(), np.array([0])), (Network(), np.array([1, 2, 3]))]
    graphs = graph_arrays.of_groups(groups)
    assert graphs["networks"].tolist() == [[4, 800, 200, 120, 12e6 + 400]] * 2
    plain, known = (inputs.derive(name, graphs) for name in ("with bounds", inputs.IN_A_NETWORK))
    assert "networks" not in plain, "no network is given what it does not read"
    assert known["columns"].shape[1] == plain["columns"].shape[1] + 5
    np.testing.assert_array_equal(known["columns"][:, -5:], graphs["networks"])
    np.testing.assert_array_equal(known["bases"], plain["bases"])


def test_devices_are_columns_and_another_one_lies_between_them():
    assert inputs.device_columns(["a", "b"], ["a"]) is None
    assert inputs.device_columns(["a"], []) is None
    columns = np.log1p(inputs.device_columns(["b", "a", "c"], ["a", "b"]))
    np.testing.assert_allclose(columns, [[0, 1], [1, 0], [0.5, 0.5]])


@pytest.fixture(scope="module")
def small_labels(tmp_path_factory):
    """One call of each family whose kernels were timed, small ones first, and a few more networks."""
    folder = tmp_path_factory.mktemp("labels")
    for name, most in (("fusion", 24), ("kernels", 12), ("kernels_xeon", 6)):
        table = parquet.read_table(LABELS / f"{name}.parquet")
        nodes = [len(operators) for operators in table["operator"].to_pylist()]
        families = table["family"].to_pylist()
        chosen = {}
        for place in np.argsort(nodes, kind="stable").tolist():
            chosen.setdefault(families[place], place)
        parquet.write_table(
            table.take(sorted(chosen.values(), key=nodes.__getitem__)[:most]), folder / f"{name}.parquet"
        )
    return folder


def run(*words):
    script = REPOSITORY / "benchmarks" / "accuracy" / "lilou.py"
    return subprocess.run([sys.executable, script, *map(str, words)], capture_output=True, text=True, check=True)


@pytest.mark.torch
def test_groups_of_a_call_add_up_to_it(small_labels):
    rows = kernels.load(small_labels / "kernels.parquet")
    apart = learning.groups_of(rows, range(len(rows.networks)), in_network=True)
    calls = apart.calls
    assert calls.first_group.tolist()[0] == 0
    assert calls.first_group[-1] == len(apart.members)
    for call, network in enumerate(rows.networks):
        mine = slice(calls.first_group[call], calls.first_group[call + 1])
        assert all(of is network for of, _ in apart.members[mine])
        executed = rows.latency_s[rows.network == call].sum()  # copies to another layout included
        assert calls.total_s[call] == pytest.approx(executed, rel=1e-6)
        known = np.where(calls.counts[mine] > 0, apart.latency_s[mine], 0.0)
        assert (known * calls.counts[mine]).sum() == pytest.approx(executed, rel=0.1)  # medians of equal ones
    together = learning.groups_of(rows, range(len(rows.networks)))
    assert together.calls is None
    assert len(together.members) < len(apart.members)
    assert together.count.sum() == apart.count.sum()


def test_small_sets_are_fitted_and_shown(small_labels, tmp_path):
    pytest.importorskip("torch")
    pytest.importorskip("sklearn")
    files = ["--labels", small_labels, "--results", tmp_path / "results.jsonl"]
    files += ["--schemes", "model"]
    done = run(*files, "--train", "--epochs", "1", "--json", tmp_path / "found.json")
    assert done.stdout.count("-model-") == 5 * 6
    found = json.loads((tmp_path / "found.json").read_text())["model"]
    assert set(found["edges"]) == {"ours", "paper", "rules"}
    assert len(found["latency"]) == 8  # three with true and with predicted groups, two of the whole
    assert found["edges"]["rules"]["accuracy"][0] > 0.7
    assert 0 < found["kernels"]["rules"]["mape"][0] < 5
    lines = [json.loads(line) for line in (tmp_path / "results.jsonl").read_text().splitlines()]
    # Each network is tested once on each processor.
    linear = [line for line in lines if line["contestant"] == "linear"]
    tested = [(row[0], line["devices"][row[4]]) for line in linear for row in line["latency"]]
    assert len(tested) == len(set(tested)) == 12 + 6
    assert len({device for _, device in tested}) == 2
    again = run(*files, "--train")  # all is there
    assert "-model-" not in again.stdout
    assert again.stdout == done.stdout[done.stdout.index("###") :]
    shipped = run(*files, "--epochs", "1", "--ship", tmp_path)
    assert shipped.stdout.count("bytes") == 2
    kernels_of_both = lilou.load(tmp_path).kernels
    assert set(kernels_of_both.trained_on["log_half_widths"]) == set(kernels_of_both.trained_on["devices"])
    assert len(kernels_of_both.trained_on["devices"]) == 2


@pytest.mark.torch
def test_the_page_shows_the_committed_results_and_ours_leads_where_it_says(tmp_path):
    pytest.importorskip("torch")
    done = run("--json", tmp_path / "found.json")
    assert done.stdout.strip() in (REPOSITORY / "docs" / "lilou.md").read_text()
    for found in json.loads((tmp_path / "found.json").read_text()).values():
        edges, latency = found["edges"], found["latency"]
        assert edges["ours"]["accuracy"][0] > edges["rules"]["accuracy"][0]
        ours = latency["ours, predicted groups"]["mape"][0]
        others = [scores["mape"][0] for title, scores in latency.items() if not title.startswith("ours")]
        assert len(others) >= 3
        assert ours < min(others)


def test_tensorrt_says_that_its_fusion_is_by_rules():
    assert predict(graph=small_network(), device="A100", runtime="tensorrt").fusion == "rules for tensorrt"
    assert predict(graph=small_network(), device="A100").fusion == "eager fuses nothing"


@pytest.mark.torch
def test_openvino_on_this_processor_is_answered_by_the_shipped_pair():
    pytest.importorskip("torch")
    assert NAME in [row.name for row in predictors()]
    found = predict(graph=small_network(), device="cpu", runtime="openvino")
    assert found.predictor == NAME
    assert found.fusion.startswith("fusion learnt from openvino ")
    low, high = found.intervals["latency_ms"]
    assert 0 < low < found.latency_ms < high
    assert found.latency_ms == pytest.approx(1e3 * found.optimized.latency_s)
    assert found.optimized.kernels[0].members == (0, 1)  # the rectifier joins the convolution
    assert found.optimized.kernels[0].type.startswith("Convolution:")
    assert any("kernels measured on" in sentence for sentence in found.coverage)
    # Five nodes are far below all labelled networks: their numbers end there, and the answer says so.
    assert any("labelled networks were unlike: 5 nodes, theirs 50 to" in sentence for sentence in found.coverage)
    assert found.provenance["latency_ms"] == "extrapolated"
    assert high / low > 2.7**2
    # Another predictor, runtime or device is answered as before.
    assert (
        predict(graph=small_network(), device="cpu", runtime="openvino", predictor="roofline").predictor == "roofline"
    )
    with pytest.raises(InvalidArgumentError, match="learnt a processor"):
        predict(graph=small_network(), device="A100", predictor=NAME)
    with pytest.raises(InvalidArgumentError, match="fp32"):
        predict(graph=small_network(), device="cpu", predictor=NAME, runtime="onnxruntime")


@pytest.mark.torch
def test_another_processor_lies_between_those_that_were_measured(monkeypatch):
    pytest.importorskip("torch")
    measured = lilou.load().kernels.trained_on["devices"]
    found = {}
    for device in (*measured, "somebody's"):
        monkeypatch.setattr(lilou, "_asked_device", lambda _, name=device: name)
        found[device] = predict(graph=small_network(), device="cpu", runtime="openvino")
    first, second, other = (answer.latency_s for answer in found.values())
    assert min(first, second) < other < max(first, second)
    notes = "; ".join(found["somebody's"].coverage)
    assert "kernels measured on AMD EPYC" in notes
    assert "Intel(R) Xeon" in notes
    assert "processor somebody's was not measured" in notes
    for device in measured:
        assert any(sentence.endswith(f"kernels measured on {device}") for sentence in found[device].coverage)
    widths = [np.divide(*reversed(answer.intervals["latency_ms"])) for answer in found.values()]
    assert widths[2] > max(widths[:2])


def test_without_torch_it_says_who_answers_instead(monkeypatch):
    def no_torch(path):
        raise MissingDependencyError('needs torch; install it with: pip install "latpred[torch]"')

    monkeypatch.setattr(lilou.network, "load", no_torch)
    lilou.load.cache_clear()
    sentence = r"default for runtime openvino.*latpred\[torch\].*'kernel_residual'"
    with pytest.raises(MissingDependencyError, match=sentence):
        predict(graph=small_network(), device="cpu", runtime="openvino")
    lilou.load.cache_clear()


def test_the_pair_is_the_default_of_one_runtime_only():
    asked = {"predictor": None, "runtime": "openvino", "partition": None, "calibration": None, "precision": "default",
             "device": "cpu"}  # fmt: skip
    assert is_default(asked)
    for name, value in (("predictor", "roofline"), ("runtime", None), ("partition", "50%"), ("device", "A100")):
        assert not is_default(asked | {name: value})


def test_arrays_of_a_graph_fit_the_networks():
    arrays = graph_arrays.of_graph(small_network())
    assert inputs.derive("in context", arrays)["nodes"].shape == (5, 9 + 2 * len(inputs.KINDS))

"""Labels of fusion: groups of nodes, what runtimes say, tables of many networks."""

import json
import math
import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from latpred import _core
from latpred.cli import main
from latpred.datasets import fusion, kernels, label_table
from latpred.datasets.graph_cache import graph_of
from latpred.errors import InvalidArgumentError, ShapeError, UnsupportedOperatorError
from latpred.labels import grouping, neighbour, runtimes, tu_dataset
from latpred.labels.labelled import LabelledKernel, Labels, edges_of, graph_node_of_each
from latpred.labels.networks import Listed, at_size, read_list
from latpred.workloads import standard_onnx
from latpred.workloads.onnx_files import FileNode

RECIPE = "googlenet:v1?depth=1&size=32&width=25"


def edges(*pairs):
    return np.array(pairs, np.int64).reshape(-1, 2).T


DIAMOND = edges((0, 1), (0, 2), (1, 3), (2, 3))


# Groups.


def test_groups_are_numbered_by_their_first_nodes():
    assert grouping.kernel_groups(DIAMOND, np.array([5, 2, 5, 2])).tolist() == [0, 1, 0, 1]
    assert grouping.numbered(np.array([7, 3, 7, 5])).tolist() == [0, 1, 0, 2]


def test_a_group_that_is_left_and_entered_again_is_split():
    """0 -> 1 -> 3 with 2 beside: 3 waits for 2, which waits for 0."""
    assert grouping.kernel_groups(DIAMOND, np.array([0, 0, 1, 0])).tolist() == [0, 0, 1, 2]
    assert grouping.kernel_groups(DIAMOND, np.array([0, 0, 1, 1])).tolist() == [0, 0, 1, 1]
    assert grouping.kernel_groups(DIAMOND, np.array([3, 3, 3, 3])).tolist() == [0, 0, 0, 0]


def test_groups_without_an_edge_are_split():
    assert grouping.kernel_groups(edges((0, 1), (1, 2)), np.array([4, 9, 4])).tolist() == [0, 1, 2]


@given(st.data())
def test_split_groups_are_convex(data):
    count = data.draw(st.integers(2, 9))
    pairs = [(a, b) for b in range(count) for a in range(b) if data.draw(st.booleans())]
    given_groups = np.array([data.draw(st.integers(0, 3)) for _ in range(count)], np.int64)
    graph = edges(*pairs)
    found = grouping.kernel_groups(graph, given_groups)
    reach = np.eye(count, dtype=bool)
    for source, target in sorted(pairs, key=lambda pair: -pair[0]):
        reach[source] |= reach[target]
    for number in set(found.tolist()):
        inside = found == number
        assert len(set(given_groups[inside].tolist())) == 1, "only split, never joined"
        for node in np.flatnonzero(~inside):
            assert not (reach[inside, node].any() and reach[node, inside].any()), "a path leaves and comes back"
    assert grouping.kernel_groups(graph, found).tolist() == found.tolist()


def test_edges_of_groups_give_the_groups_back():
    group = np.array([0, 0, 1, 1])
    labels = grouping.edge_labels(DIAMOND, group)
    assert labels.dtype == np.uint8
    assert labels.tolist() == [1, 0, 0, 1]
    assert grouping.kernel_groups(DIAMOND, group).tolist() == group.tolist()


# From the file that ran to the graph.


def test_nodes_that_a_graph_joins_belong_to_their_last_one():
    names = ["n0_Div", "n1_Erf", "n2_Add", "n3_Mul", "n4_Mul", "n5_Relu"]
    reads = [["x"], ["0"], ["1"], ["x", "2"], ["3"], ["4"]]
    nodes = [FileNode(i, "", name, "", tuple(reads[i]), (str(i),)) for i, name in enumerate(names)]

    class Node:
        def __init__(self, name):
            self.name = name

    class Graph:
        nodes = (Node("n4_Mul"), Node("n5_Relu"))

    assert graph_node_of_each(nodes, Graph) == {0: 0, 1: 0, 2: 0, 3: 0, 4: 0, 5: 1}


# Files that runtimes take.


@pytest.mark.parametrize(
    "recipe",
    [
        RECIPE,
        "googlenet:v1?depth=1&size=32&width=25&norm=1",
        "bert:tiny?layers=1&width=64&seq=8&attention=products",
        "op:attention?heads=2&seq=8&head_size=4",
        "op:attention?heads=2&seq=8&head_size=4&causal=1",
        "op:gelu?h=8",
        "op:layer_norm?h=8",
        "paddle:shufflenetv2?scale=0.25",
        "cnn:3-8-8?size=16",
    ],
)
def test_a_graph_is_written_with_operators_of_onnx(recipe, tmp_path):
    onnx = pytest.importorskip("onnx")
    onnxruntime = pytest.importorskip("onnxruntime")
    import latpred

    graph = graph_of(recipe, 2)
    standard_onnx.write(graph, tmp_path / "net.onnx")
    onnx.checker.check_model(onnx.load(tmp_path / "net.onnx"), full_check=True)
    session = onnxruntime.InferenceSession(tmp_path / "net.onnx", providers=["CPUExecutionProvider"])
    feeds = {
        port.name: np.ones(port.shape, np.int64 if "int64" in port.type else np.float32)
        for port in session.get_inputs()
    }
    outputs = session.run(None, feeds)
    assert [output.shape for output in outputs] == [tensor.shape for tensor in graph.outputs]
    assert all(np.isfinite(output).all() for output in outputs)
    read = latpred.load(str(tmp_path / "net.onnx"), batch=2)
    assert read.macs == graph.macs
    masks = 8 * 8 if "causal" in recipe else 0
    assert read.num_parameters == graph.num_parameters + masks


def test_an_operator_without_a_rule_is_named(tmp_path):
    pytest.importorskip("onnx")
    net = _core.GraphBuilder()
    net.output(net.apply("lrn", [net.input("x", (4, 8, 8))], size=3))
    with pytest.raises(UnsupportedOperatorError, match=r"\(lrn\) cannot be written as ONNX"):
        standard_onnx.write(net.build(2), tmp_path / "net.onnx")


def test_googlenet_is_the_published_network():
    graph = graph_of("googlenet:v1", 1)
    assert graph.num_parameters == 6_998_552  # its paper's table says 6.8 M in modules and layers, without biases
    assert graph.macs == pytest.approx(1.58e9, rel=0.02)
    with pytest.raises(InvalidArgumentError, match="valid: v1"):
        graph_of("googlenet:v9", 1)


# Runtimes.


@pytest.mark.parametrize("runtime", ["openvino", "onnxruntime"])
def test_a_runtime_says_what_it_fuses(runtime):
    pytest.importorskip("onnx")
    pytest.importorskip(runtime)
    from latpred.labels import label

    labels = label(RECIPE, runtime=runtime, runs=3)
    names = [node.operator for node in labels.graph.nodes]
    fused = {
        (names[source], names[target])
        for (source, target), is_fused in zip(labels.edges.T, labels.edge_label, strict=True)
        if is_fused
    }
    assert ("conv", "relu") in fused
    assert not any(target == "conv" for _, target in fused)
    assert grouping.kernel_groups(labels.edges, labels.group).tolist() == labels.group.tolist()
    assert labels.num_unattributed == 0
    convolutions = [kernel for kernel in labels.kernels if kernel.type.startswith(("Conv", "FusedConv"))]
    assert len(convolutions) == names.count("conv")
    assert all(kernel.latency_s > 0 for kernel in convolutions)
    assert "edges fused" in str(labels)
    assert labels.groups[0].nodes[0].operator == "conv"


def test_norms_that_openvino_takes_apart_get_all_their_kernels():
    pytest.importorskip("onnx")
    pytest.importorskip("openvino")
    from latpred.labels import label

    labels = label("op:layer_norm?h=256", runtime="openvino", batch=64)
    assert [kernel.group for kernel in labels.kernels if kernel.type.startswith("MVN")] == [0]
    assert all(kernel.latency_s is None for kernel in labels.kernels)


def test_a_file_is_labelled_like_its_recipe(tmp_path):
    pytest.importorskip("onnx")
    pytest.importorskip("onnxruntime")
    from latpred.labels import label

    standard_onnx.write(graph_of("cnn:3-4-4?size=8", 1), tmp_path / "net.onnx")
    labels = label(tmp_path / "net.onnx", runtime="onnxruntime", batch=3)
    assert labels.graph.batch == 3
    assert labels.group.tolist() == label("cnn:3-4-4?size=8", runtime="onnxruntime").group.tolist() == [0, 0, 1]
    assert labels.groups[0].kernels == list(labels.kernels[:1])


def test_other_runtimes_are_refused():
    from latpred.labels import label

    with pytest.raises(InvalidArgumentError, match="openvino"):
        label(RECIPE, runtime="openvin")
    with pytest.raises(InvalidArgumentError, match="runtime must be text, got None"):
        label(RECIPE, runtime=None)


@pytest.mark.parametrize("runtime", runtimes.LABELLERS)
def test_sizes_of_what_says_its_own_are_refused(runtime):
    from latpred.labels import label

    pytest.importorskip("torch" if runtime == "inductor" else runtime)
    with pytest.raises(InvalidArgumentError, match=r"'cnn:3-4\?size=8' says all sizes; leave input= out"):
        label("cnn:3-4?size=8", runtime=runtime, input=(3, 16, 16))
    if runtime != "inductor":  # which takes no graph
        with pytest.raises(InvalidArgumentError, match="input= says how to read a file; a Graph has been read already"):
            label(graph_of("cnn:3-4?size=8", 1), runtime=runtime, input=(3, 16, 16))


@pytest.mark.parametrize("counts", [{"runs": -1}, {"runs": "3"}, {"neighbour": "50"}, {"neighbour": -1}])
def test_counts_of_a_label_are_integers(counts):
    from latpred.labels import label

    with pytest.raises(InvalidArgumentError, match=f"{next(iter(counts))} must be an integer >= 0"):
        label(RECIPE, runtime="onnxruntime", **counts)


# Tables.


def made_labels():
    """A network with groups of its own making: the first convolution with its activation, all others alone."""
    graph = graph_of(RECIPE, 2)
    group = np.arange(len(graph))
    group[1] = 0
    group = grouping.numbered(group)
    kernel = LabelledKernel(0, 0, "Convolution:jit", "conv", "jit_avx512_f32", "f32", 2e-6, 0.01)
    longer = LabelledKernel(0, 0, "Convolution:gemm", "conv2", "gemm_f32", "f32", 5e-6, 0.02)
    copy = LabelledKernel(-1, 0, "Reorder:jit", "reorder", "jit", "f32", 1e-6, 0.04)
    idle = LabelledKernel(3, 3, "Pooling:jit", "pool", "jit", "f32", None, None)
    direct = np.arange(len(graph)) != 1
    return Labels(graph, "openvino", "2026.4", edges_of(graph), group, direct, (copy, kernel, longer, idle), 0, 0)


def row(recipe="x:y@32"):
    return label_table.row_of(made_labels(), recipe=recipe, family="f", precision="fp32", device_fingerprint="d",
                              state="1 thread", licence="Apache-2.0")  # fmt: skip


@pytest.fixture
def table(tmp_path):
    pytest.importorskip("pyarrow")
    label_table.write(tmp_path / "labels.parquet", [row(), row("x:z@32")])
    return tmp_path / "labels.parquet"


def test_a_table_gives_the_arrays_back(table):
    labels = made_labels()
    network = fusion.load(table)[0]
    graph = labels.graph
    assert (network.recipe, network.batch, network.device_fingerprint) == ("x:y@32", 2, "d")
    assert network.operators == tuple(node.operator for node in graph.nodes)
    assert network.edges.dtype == np.int64
    assert (network.edges == labels.edges).all()
    assert (network.edge_label == labels.edge_label).all()
    assert (network.is_direct == labels.is_direct).all()
    conv = graph.nodes[0]
    assert network.features[0].tolist() == [
        conv.inputs[0].num_elements,
        conv.outputs[0].num_elements,
        conv.weight_bytes / 4,
        conv.flops,
    ]
    assert {operator.id: operator.name for operator in _core.operators()}[network.operator_ids[0]] == "conv"


def test_the_least_of_two_times_stays():
    first, again = row(), row()
    first["kernel_ns"], again["kernel_ns"] = [1000, 2000, None, 7], [900, 2000, 5, None]
    first["kernel_noise"], again["kernel_noise"] = [0.1, 0.2, None, 0.4], [0.5, 0.6, 0.7, None]
    merged = label_table.with_least_times(first, again)
    assert merged["kernel_ns"] == [900, 2000, 5, 7]
    assert merged["kernel_noise"] == [0.5, 0.2, 0.7, 0.4]
    assert {name: merged[name] for name in merged if "kernel_n" not in name} == {
        name: first[name] for name in first if "kernel_n" not in name
    }
    with pytest.raises(InvalidArgumentError, match="another group"):
        label_table.with_least_times(first, again | {"group": again["group"][::-1]})


def test_counts_tell_what_repeats(table):
    counts = fusion.count(fusion.load(table))
    assert (counts.networks, counts.distinct_networks, counts.families) == (2, 1, 1)
    assert counts.edges == 2 * made_labels().edges.shape[1]
    assert counts.distinct_edges <= counts.edges // 2
    assert counts.fused_edges == 2
    assert counts.nodes - counts.direct_nodes == 2


def test_rows_of_kernels_sum_a_group_and_take_the_type_of_the_longest(table):
    rows = kernels.load(table)
    assert len(rows) == 4
    assert rows.types == ("Convolution:gemm", "Reorder:jit")
    assert rows.latency_s[0] == pytest.approx(7e-6)
    assert rows.types[rows.type_id[0]] == "Convolution:gemm"
    assert rows.members(0).tolist() == [0, 1]
    assert (rows.group[1], rows.charged_to[1]) == (-1, 0)
    assert len(rows.members(1)) == 0
    assert rows.size.tolist() == [32] * 4
    assert rows.devices == (("d", "1 thread"),)


def test_tu_files_count_nodes_from_one(table, tmp_path, monkeypatch):
    networks = fusion.load(table)
    monkeypatch.setattr("sys.argv", ["tu_dataset", str(table), str(tmp_path / "tu")])
    tu_dataset.main()
    lines = {path.stem.removeprefix("fusion_"): path.read_text().splitlines() for path in (tmp_path / "tu").glob("f*")}
    count = len(networks[0].operators)
    first = networks[0].edges[:, 0]
    assert lines["A"][0] == f"{first[0] + 1}, {first[1] + 1}"
    assert lines["A"][networks[0].edges.shape[1]] == f"{first[0] + 1 + count}, {first[1] + 1 + count}"
    assert len(lines["edge_labels"]) == len(lines["A"])
    assert lines["graph_indicator"].count("2") == count
    assert len(lines["node_attributes"][0].split(", ")) == 4


def test_other_tables_are_refused(tmp_path):
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"a": [1]}).to_parquet(tmp_path / "a.parquet")
    with pytest.raises(InvalidArgumentError, match="is no table of labels: it lacks"):
        fusion.load(tmp_path / "a.parquet")
    with pytest.raises(InvalidArgumentError, match="no such file"):
        fusion.load(tmp_path / "b.parquet")


def test_a_list_of_recipes_has_two_words_a_line(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("# comment\n\nfnn:4-4 fnn\ncnn:3-8?size=8 cnn 1,2\n")
    assert read_list(path) == [Listed("fnn:4-4", "fnn", ()), Listed("cnn:3-8?size=8", "cnn", (1, 2))]
    path.write_text("fnn:4-4\n")
    with pytest.raises(InvalidArgumentError, match="line 1: expected a recipe and its family"):
        read_list(path)


def test_a_network_is_read_at_another_size():
    given = graph_of("googlenet:v1?depth=1&size=32&norm=1", 1)
    wanted = graph_of("googlenet:v1?depth=1&size=64&norm=1", 3)
    found = at_size(given, 64, 3)
    assert found.hash == wanted.hash
    without = at_size(given, 32, 1, without=("batch_norm",))
    assert without.macs == given.macs
    assert "batch_norm" not in without.operators
    net = _core.GraphBuilder()
    x = net.input("x", (3, 8, 8))
    net.output(net.apply("reshape", [x, net.constant([1, 192])]))
    with pytest.raises(ShapeError):
        at_size(net.build(1), 16, 1)


# The command.


def test_the_command_goes_on_where_it_stopped(tmp_path, capsys, monkeypatch):
    pytest.importorskip("pyarrow")
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    recipes, out = tmp_path / "list.txt", tmp_path / "labels.parquet"
    recipes.write_text(f"{RECIPE} googlenet\ncnn:3-4-4?size=8 cnn\nllm:nobody?seq=1 none\n")
    command = ["label", "--onnxruntime", "--recipes", str(recipes), "--out", str(out)]
    assert main([*command, "--minutes", "0.00001"]) == 0
    assert len(fusion.load(out)) <= 1
    assert main([*command, "--tu", str(tmp_path / "tu")]) == 0
    printed = capsys.readouterr().out
    assert "unknown language model" in printed
    assert [network.family for network in fusion.load(out)] == ["cnn", "googlenet"]
    assert (tmp_path / "tu" / "fusion_A.txt").is_file()
    before = out.read_bytes()
    from latpred.labels import collect

    monkeypatch.setattr(collect, "label", lambda *_, **__: pytest.fail("labelled again"))
    assert main(command) == 0
    assert out.read_bytes() == before
    again, labels = [], runtimes.label
    monkeypatch.setattr(collect, "label", lambda source, **options: again.append(source) or labels(source, **options))
    assert main([*command, "--passes", "2"]) == 0
    assert len(again) == 2  # not what has failed
    assert out.read_bytes() == before
    assert main([*command, "--passes", "2"]) == 0
    assert len(again) == 2
    capsys.readouterr()
    assert main([*command, "--runs", "3"]) == 2
    assert "was begun with runs '0'" in capsys.readouterr().err
    assert main([*command, "--neighbour", "50", "--passes", "2"]) == 2
    assert "leave passes out" in capsys.readouterr().err


def test_the_command_prints_one_network(capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    assert main(["label", "--onnxruntime", "cnn:3-4-4?size=8", "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert [node["operator"] for node in answer["nodes"]] == ["conv", "relu", "conv"]
    assert answer["edges"][0] == {"source": 0, "target": 1, "is_fused": True}
    assert math.isclose(sum(edge["is_fused"] for edge in answer["edges"]), 1)


@pytest.mark.torch
def test_inductor_fuses_what_follows_a_library_call():
    torch = pytest.importorskip("torch")
    from latpred.labels import label

    class Net(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.conv = torch.nn.Conv2d(3, 8, 3, padding=1)
            self.norm = torch.nn.BatchNorm2d(8)
            self.linear = torch.nn.Linear(8, 4)

        def forward(self, x):
            y = torch.nn.functional.gelu(torch.relu(self.norm(self.conv(x))) + 1)
            return torch.softmax(self.linear(y.mean((2, 3))), -1)

    labels = label(Net(), runtime="inductor", batch=2, input="3,16,16")
    groups = [[node.operator for node in group.nodes] for group in labels.groups]
    assert groups == [["conv"], ["batch_norm", "relu", "add", "gelu", "reduce_mean"], ["linear"], ["softmax"]]
    assert [group.type for group in labels.groups] == [
        "extern_kernels.convolution",
        "Loop",
        "extern_kernels.addmm",
        "Loop",
    ]
    assert labels.is_direct.all()
    assert {kernel.latency_s for kernel in labels.kernels} == {None}
    with pytest.raises(InvalidArgumentError, match="leave runs= out"):
        label(Net(), runtime="inductor", input="3,16,16", runs=5)
    with pytest.raises(InvalidArgumentError, match="not a Graph"):
        label(graph_of("cnn:3-4-4?size=8", 1), runtime="inductor")


def test_a_neighbour_has_a_core_of_its_own():
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        pytest.skip("needs two cores")
    assert neighbour.state(0) == "1 thread"
    assert neighbour.state(50) == "1 thread, neighbour 50 %"
    with neighbour.beside(50):
        own = os.sched_getaffinity(0)
        assert own == cores - {min(cores)}
        (child,) = (
            pid
            for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()
            if "member_process" in Path(f"/proc/{pid}/cmdline").read_text()
        )
        before = os.sched_getaffinity(int(child))
        assert before == {min(cores)}
    assert os.sched_getaffinity(0) == cores
    assert not Path(f"/proc/{child}").exists()
    with neighbour.beside(0):
        assert os.sched_getaffinity(0) == cores
    with pytest.raises(InvalidArgumentError, match="0 to 100"), neighbour.beside(101):
        pass

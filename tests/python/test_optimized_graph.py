"""Optimized graphs: kernels by rules, by labels and of given groups; their drawings, traces and differences."""

import itertools
import json
import xml.etree.ElementTree as ElementTree

import latpred
import numpy as np
import pytest
from example_networks import RESNET50, small_network
from latpred import fusion
from latpred.errors import InvalidArgumentError
from latpred.fusion import difference
from latpred.labels.labelled import LabelledKernel, Labels, edges_of

SVG = "{http://www.w3.org/2000/svg}"


def by_rules(network=None, **options):
    graph = small_network() if network is None else network
    return fusion.of_prediction(latpred.predict(graph=graph, **options))


def residual_network(batch=1, with_norm=False):
    """x -> conv -> (norm) -> relu -> add with x."""
    net = latpred.GraphBuilder()
    x = net.input("x", (8, 16, 16))
    y = net.apply("conv", [x, net.parameter((8, 8, 3, 3))], pads=[1, 1, 1, 1])
    if with_norm:
        y = net.apply("batch_norm", [y, *(net.parameter((8,)) for _ in range(4))])
    y = net.apply("relu", y)
    net.output(net.apply("add", [x, y]))
    return net.build(batch)


def test_kernels_by_rules_are_those_of_the_prediction():
    prediction = latpred.predict(RESNET50, batch=8, device="A100", runtime="tensorrt")
    found = fusion.of_prediction(prediction)
    assert found.latency_s == pytest.approx(prediction.latency_ms / 1e3, rel=1e-12)
    assert [kernel.type for kernel in found.kernels] == [row.kind for row in prediction.kernels]
    assert {kernel.bound for kernel in found.kernels if kernel.members} <= {"compute", "memory"}
    members = [node for kernel in found.kernels for node in kernel.members]
    assert len(members) == len(set(members))
    assert max(len(kernel.members) for kernel in found.kernels) > 2
    assert "tensorrt on A100-SXM4-40GB by rules" in found.headline()


def test_edges_pass_through_what_no_kernel_computes():
    graph = small_network()
    names = [node.operator for node in graph.nodes]
    assert names == ["conv", "relu", "global_average_pool", "flatten", "gemm"]
    assert fusion.edges_between(graph, [(0, 1), (2,), (4,)]).tolist() == [[0, 1], [1, 2]]
    assert fusion.edges_between(graph, [(0, 1, 2, 3, 4)]).shape == (2, 0)


def test_traffic_that_stays_inside_is_saved():
    graph = residual_network()
    size = 8 * 16 * 16 * 4  # bytes of each activation
    bounds = fusion.Bounds(graph)
    assert bounds.saved_bytes((0,)) == 0
    assert bounds.saved_bytes((0, 1)) == 2 * size, "the convolution's result is neither written nor read"
    assert bounds.saved_bytes((0, 1, 2)) == 4 * size
    weights = 8 * 8 * 9 * 4
    assert bounds.traffic_bytes((0, 1)) == 2 * size + weights
    assert bounds.traffic_bytes((0, 1, 2)) == 2 * size + weights, "x is read once"
    assert bounds.of((0,)) == ("", None)
    kind, roofline_s = fusion.Bounds(graph, "A100", runtime="tensorrt").of((0, 1, 2))
    assert kind == "memory"
    assert 0 < roofline_s < 1e-6


def test_a_tensor_that_others_read_too_is_written():
    net = latpred.GraphBuilder()
    x = net.input("x", (4,))
    y = net.apply("relu", x)
    net.output(net.apply("sigmoid", y))
    net.output(y)
    assert fusion.Bounds(net.build()).saved_bytes((0, 1)) == 4 * 4, "one read less, still a write"


def test_given_groups_have_types_with_probabilities():
    graph = small_network()
    probabilities = np.array([[0.1, 0.6, 0.3], [0.2, 0.2, 0.6]])
    found = fusion.of_groups(graph, [(0, 1), (2, 3, 4)], [1e-5, 2e-5], probabilities, ("a", "b", "c"), where="learnt")
    assert found.kernels[0].types == (("b", 0.6), ("c", 0.3), ("a", 0.1))
    assert found.kernels[0].type == "b"
    assert found.latency_s == pytest.approx(3e-5)
    assert found.group.tolist() == [0, 0, 1, 1, 1]
    assert found.types(1)[0] == ("c", 0.6)
    assert "b 60%, c 30%" in repr(found)
    frame = found.to_pandas()
    assert frame["latency_us"].tolist() == pytest.approx([10, 20])
    assert frame["members"].tolist() == [[0, 1], [2, 3, 4]]


def make_labels(group, times_s):
    graph = small_network()
    kernels = [
        LabelledKernel(number, number, f"Kind:{number}", f"k{number}", "jit", "f32", time_s, 0.01)
        for number, time_s in enumerate(times_s)
    ]
    copy = LabelledKernel(-1, 0, "Reorder", "r", "jit", "f32", times_s[0], 0.01)
    return Labels(
        graph, "openvino", "1", edges_of(graph), np.array(group), np.ones(5, bool), (copy, *kernels), 0, 0
    )  # fmt: skip


def test_labels_show_as_kernels_too():
    found = fusion.of_labels(make_labels([0, 0, 1, 1, 2], [1e-5, 2e-5, 3e-5]))
    assert [kernel.members for kernel in found.kernels] == [(), (0, 1), (2, 3), (4,)]
    assert [kernel.type for kernel in found.kernels] == ["Reorder", "Kind:0", "Kind:1", "Kind:2"]
    assert found.latency_s == pytest.approx(7e-5)
    untimed = fusion.of_labels(make_labels([0, 0, 1, 1, 2], [None, None, None]))
    assert untimed.latency_s is None
    assert "not timed" in untimed.headline()
    untimed.to_svg()


def test_two_runtimes_differ_in_what_they_fuse():
    eager, fused = by_rules(runtime="eager"), by_rules(runtime="tensorrt")
    found = eager.diff(fused)
    rows = {row.operators: row for row in found.rows}
    assert rows["conv | relu"].change == difference.OTHERWISE
    assert (len(rows["conv | relu"].left), len(rows["conv | relu"].right)) == (2, 1)
    assert rows["gemm"].change == difference.SAME
    total_s = sum(row.added_s for row in found.rows)
    assert total_s == pytest.approx(fused.latency_s - eager.latency_s), "every kernel is in one row"
    assert len(found.to_pandas()) == len(found.rows)
    assert "fused otherwise" in repr(found)


def test_something_else_beside_a_graph_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"diff\(\) takes another optimized graph, .* got int"):
        by_rules(runtime="eager").diff(3)


def test_two_devices_fuse_alike():
    fast, slow = by_rules(device="A100", runtime="tensorrt"), by_rules(device="T4", runtime="tensorrt")
    found = fast.diff(slow)
    assert {row.change for row in found.rows} == {difference.SAME}
    assert sum(row.added_s for row in found.rows) == pytest.approx(slow.latency_s - fast.latency_s)


def test_two_networks_are_laid_side_by_side():
    plain, normed = residual_network(), residual_network(with_norm=True)
    assert difference.same_nodes(plain, normed) == {0: 0, 1: 2, 2: 3}
    found = by_rules(plain, runtime="eager").diff(by_rules(normed, runtime="eager"))
    assert [(row.operators, row.change) for row in found.rows if row.operators in ("conv", "batch_norm", "relu")] == [
        ("conv", difference.SAME),
        ("relu", difference.SAME),
        ("batch_norm", difference.RIGHT_ONLY),
    ]
    assert difference.same_nodes(plain, residual_network(batch=4)) == {0: 0, 1: 1, 2: 2}


def test_the_drawing_has_a_box_for_each_kernel_and_a_line_for_each_edge():
    found = by_rules(residual_network(8192), runtime="eager")  # large enough for kernels to differ
    drawn = [kernel for kernel in found.kernels if kernel.members]
    root = ElementTree.fromstring(found.to_svg())
    assert len(root.findall(f"{SVG}g")) == len(drawn)
    assert len(root.findall(f"{SVG}path")) == found.edges.shape[1]
    fills = [group.find(f"{SVG}rect").get("fill") for group in root.findall(f"{SVG}g")]
    longest = max(range(len(drawn)), key=lambda place: drawn[place].latency_s)
    order = sorted(range(len(drawn)), key=lambda place: drawn[place].latency_s)
    assert fills[longest] == "#990000"
    assert fills[order[0]] != fills[longest]
    assert found.to_svg()._repr_svg_().startswith("<svg")


def test_an_edge_is_drawn_beside_the_boxes_that_it_passes():
    """residual_network behind one more node: what it adds comes from further above."""
    net = latpred.GraphBuilder()
    first = net.apply("sigmoid", net.input("x", (8, 16, 16)))
    y = net.apply("relu", net.apply("conv", [first, net.parameter((8, 8, 3, 3))], pads=[1, 1, 1, 1]))
    net.output(net.apply("add", [first, y]))
    found = by_rules(net.build(1), runtime="eager")
    root = ElementTree.fromstring(found.to_svg())
    boxes = [box.find(f"{SVG}rect") for box in root.findall(f"{SVG}g")]
    end = max(float(box.get("x")) + float(box.get("width")) for box in boxes)
    bends = [float(path.get("d").split()[2].removeprefix("C")) for path in root.findall(f"{SVG}path")]
    assert sum(bend > end for bend in bends) == 1
    assert max(bends) < float(root.get("width"))


def test_a_trace_has_every_kernel_one_after_another(tmp_path):
    found = by_rules(runtime="tensorrt")
    found.save(tmp_path / "trace.json")
    events = [e for e in json.loads((tmp_path / "trace.json").read_text())["traceEvents"] if e["ph"] == "X"]
    assert len(events) == len(found.kernels)
    for event, after in itertools.pairwise(events):
        assert after["ts"] == pytest.approx(event["ts"] + event["dur"])
    assert sum(event["dur"] for event in events) == pytest.approx(found.latency_s * 1e6)


def test_files_are_named_by_their_endings(tmp_path):
    found = by_rules(runtime="tensorrt")
    found.save(tmp_path / "net.dot")
    text = (tmp_path / "net.dot").read_text()
    assert text.count("->") == found.edges.shape[1]
    assert text.startswith("digraph")
    found.save(tmp_path / "net.csv")
    assert len((tmp_path / "net.csv").read_text().splitlines()) == 1 + len(found.kernels)
    with pytest.raises(InvalidArgumentError, match=r"'\.pdf'"):
        found.save(tmp_path / "net.pdf")


def test_a_file_that_cannot_be_written_is_told(tmp_path):
    path = tmp_path / "nowhere" / "net.svg"
    message = "cannot be written to '.*nowhere/net.svg': No such file or directory; name a file in a folder that exists"
    with pytest.raises(InvalidArgumentError, match=message) as caught:
        by_rules(runtime="tensorrt").save(path)
    assert caught.value.path == str(path)

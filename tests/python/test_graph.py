import latpred
import numpy as np
import pytest
from example_networks import RESNET50, small_network
from latpred import InvalidArgumentError, ShapeError, _core


def test_counts_of_a_small_network_are_those_done_by_hand():
    graph = small_network(batch=2, channels=16)
    convolution = 2 * 16 * 32 * 32 * 3 * 3 * 3
    linear = 2 * 10 * 16
    assert graph.macs == convolution + linear
    assert graph.flops > 2 * graph.macs  # relu, pool and bias besides
    assert graph.num_parameters == 16 * 3 * 3 * 3 + 10 * 16 + 10
    assert graph.num_statistics == 0
    assert graph.weight_bytes == 4 * graph.num_parameters
    assert graph.operators == {"conv": 1, "relu": 1, "global_average_pool": 1, "flatten": 1, "gemm": 1}
    assert len(graph) == 5


def test_nodes_and_tensors_say_what_they_are():
    graph = small_network(batch=2)
    node = graph.nodes[0]
    assert (node.name, node.operator, node.family, node.repeat) == ("conv", "conv", "convolution", 1)
    assert node.attributes == {"pads": [1, 1, 1, 1]}
    assert [tensor.kind for tensor in node.inputs] == ["input", "parameter"]
    assert node.outputs[0].shape == (2, 16, 32, 32)
    assert node.outputs[0].size_bytes == 4 * 2 * 16 * 32 * 32
    assert (node.bytes_in, node.bytes_out) == (4 * 2 * 3 * 32 * 32, node.outputs[0].size_bytes)
    assert node.weight_bytes == 4 * 16 * 27
    (image,) = graph.inputs
    assert (image.name, image.shape, image.dtype) == ("image", (2, 3, 32, 32), "float32")
    assert [tensor.shape for tensor in graph.outputs] == [(2, 10)]


def test_rows_keep_the_graph_alive():
    node = small_network().nodes[3]
    assert node.outputs[0].shape == (1, 16)


def test_adjacency_is_the_real_graph():
    net = latpred.GraphBuilder()
    x = net.input("x", (8,))
    a = net.apply("relu", x)
    b = net.apply("sigmoid", a)
    net.output(net.apply("add", [a, b]))
    edges = net.build().adjacency()
    assert edges.dtype == np.int32
    assert edges.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_with_batch_changes_sizes_and_hash_only():
    one = small_network(batch=1)
    eight = one.with_batch(8)
    assert (one.batch, eight.batch) == (1, 8)
    assert eight.macs == 8 * one.macs
    assert eight.weight_bytes == one.weight_bytes
    assert eight.hash != one.hash
    assert eight.with_batch(1).hash == one.hash


@pytest.mark.parametrize(
    "call",
    [
        lambda: _core.fuse(None),
        lambda: _core.with_batch(None, 1),
        lambda: _core.resolve(None),
        lambda: _core.estimate_memory(None, _core.fuse(small_network())),
        lambda: _core.Session("").predict(None, _core.PredictRequest()),
        lambda: _core.Session("").predict_many([small_network(), None], [_core.PredictRequest()]),
    ],
)
def test_none_is_no_graph(call):
    with pytest.raises(TypeError, match=r"incompatible function arguments|a graph is None"):
        call()


def test_hash_is_of_structure_and_shapes():
    assert small_network().hash == small_network().hash
    assert small_network().hash != small_network(channels=17).hash
    assert len(small_network().hash) == 16
    int(small_network().hash, 16)


def test_texts():
    graph = small_network()
    assert "conv: conv(image [1, 3, 32, 32]" in str(graph)
    assert repr(graph).startswith("<Graph graph: batch 1, 5 nodes")
    html = graph._repr_html_()
    assert "image [1, 3, 32, 32] float32" in html


def test_html_is_escaped():
    net = latpred.GraphBuilder()
    net.output(net.apply("relu", net.input("<script>", (8,))))
    assert "<script>" not in net.build()._repr_html_()


def test_a_file_tells_its_source():
    graph = latpred.load(RESNET50, batch=4)
    assert graph.source.framework == "onnx"
    assert graph.source.producer.startswith("latpred")
    assert graph.source.num_nodes == sum(graph.source.operator_counts.values())
    assert graph.source.operator_counts["Conv"] == 53
    assert graph.batch == 4
    assert graph.warnings == []


def test_to_pandas_has_a_row_for_each_node():
    pytest.importorskip("pandas")
    graph = small_network()
    frame = graph.to_pandas()
    assert list(frame["operator"]) == ["conv", "relu", "global_average_pool", "flatten", "gemm"]
    assert frame["macs"].sum() == graph.macs


def test_builder_takes_optional_inputs_and_many_outputs():
    net = latpred.GraphBuilder()
    x = net.input("x", (6, 4))
    first, second = net.apply("split", [x, net.constant([2, 4])], num_outputs=2, axis=1)
    net.output(first)
    net.output(net.apply("clip", [second, None, None]))
    assert [tensor.shape for tensor in net.build(batch=3).outputs] == [(3, 2, 4), (3, 4, 4)]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda net, x: net.apply("convv", x), "did you mean 'conv'"),
        (lambda net, x: net.apply("relu", 17), "variable 17 is not one of this builder's 1 variables"),
        (lambda net, x: net.apply("relu", x, axis={}), "attribute 'axis' must be a number"),
        (lambda net, x: net.apply("relu", x, num_outputs=0), "num_outputs must be >= 1"),
        (lambda net, x: net.input("y", (3,), dtype="float31"), "did you mean 'float32'"),
    ],
)
def test_builder_names_what_is_wrong(make, message):
    net = latpred.GraphBuilder()
    x = net.input("x", (8,))
    with pytest.raises(InvalidArgumentError, match=message.replace("(", r"\(")):
        make(net, x)


def test_builder_reports_the_node_whose_sizes_contradict_each_other():
    net = latpred.GraphBuilder()
    x = net.input("x", (8,))
    net.output(net.apply("matmul", [x, net.parameter((9, 3))], name="product"))
    with pytest.raises(ShapeError) as caught:
        net.build()
    assert caught.value.node == "product"
    assert "product" in str(caught.value)

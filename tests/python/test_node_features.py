"""What graph neural networks read of a graph, as a user gets it."""

import latpred
import numpy as np
import pytest
from latpred import _core
from latpred.errors import InvalidArgumentError


def small_graph():
    net = latpred.GraphBuilder()
    x = net.apply("conv", [net.input("x", (3, 8, 8)), net.parameter((4, 3, 3, 3))], pads=[1, 1, 1, 1])
    y = net.apply("relu", [x])
    net.output(net.apply("add", [x, y]))
    return net.build(batch=2)


def test_dippms_numbers():
    features = latpred.features(small_graph())
    assert repr(features) == "<NodeFeatures dippm: 3 nodes x 32, 3 edges, 5 of the graph>"
    names = [column.name for column in features.set.node_columns]
    assert features.nodes.shape == (3, len(names)) == (3, 32)
    assert len(set(names)) == 32
    assert features.nodes[:, names.index("is_conv2d")].tolist() == [1, 0, 0]
    assert features.nodes[0, names.index("padding_left")] == 1
    assert features.nodes[:, names.index("output_size_0")].tolist() == [2, 2, 2]
    assert features.edges.tolist() == [[0, 0, 1], [1, 2, 2]]
    assert features.adjacency().tolist() == [[0, 1, 1], [0, 0, 1], [0, 0, 0]]
    assert [column.name for column in features.set.graph_columns] == [
        "macs", "batch", "convolutions", "dense_layers", "relus",
    ]  # fmt: skip
    assert features.graph.tolist() == [2 * 4 * 64 * 27, 2, 1, 0, 1]


def test_lilous_numbers_are_those_of_the_labels():
    from latpred.datasets import label_table

    graph = small_graph()
    features = latpred.features(graph, "lilou")
    assert tuple(column.name for column in features.set.node_columns) == label_table.FEATURES
    np.testing.assert_array_equal(features.nodes, label_table.node_features(graph))
    names = [row.name for row in _core.operators()]
    assert [names[place] for place in features.operators] == ["conv", "relu", "add"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["net.onnx"], r"must be a latpred\.Graph, .* got str; a model file goes to load\(\)"),
        ([small_graph(), 3], "set must be text, got 3"),
    ],
)
def test_other_arguments_are_refused(arguments, words):
    with pytest.raises(latpred.InvalidArgumentError, match=words):
        latpred.features(*arguments)


def test_unknown_sets_are_named():
    with pytest.raises(InvalidArgumentError, match="unknown feature set 'dipm'; did you mean 'dippm'"):
        latpred.features(small_graph(), set="dipm")


def test_fusible_edges_make_groups():
    edges = np.array([[0, 0, 1, 2], [1, 2, 3, 3]])
    assert _core.extract_subgraphs(4, edges, [True] * 4).tolist() == [0, 0, 0, 0]
    assert _core.extract_subgraphs(4, edges, [True, False, False, False]).tolist() == [0, 0, 1, 2]
    assert _core.extract_subgraphs(3, [[0, 0, 1], [1, 2, 2]], [False, True, False]).tolist() == [0, 1, 2]
    with pytest.raises(InvalidArgumentError, match="edge 0 goes from node 1 to 0"):
        _core.extract_subgraphs(2, [[1], [0]], [True])

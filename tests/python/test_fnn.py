"""Feed-forward nets: recipes, random ones, Graphs and back, arrays."""

from itertools import islice

import latpred
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latpred import GraphBuilder
from latpred.datasets import fnn
from latpred.errors import InvalidArgumentError
from recipe_graphs import built


def test_recipe_builds_linear_layers_with_relu_between():
    graph = built("fnn:16-128-1")
    assert [node.operator for node in graph.nodes] == ["linear", "relu", "linear"]
    assert graph.num_parameters == 17 * 128 + 129
    assert graph.outputs[0].shape == (1, 1)
    assert built("fnn:16-128-1", 4).macs == 4 * (16 * 128 + 128)


@pytest.mark.parametrize(
    "text", ["fnn:16", "fnn:16-", "fnn:16-0-1", "fnn:16-x", "fnn:16-1?batch=2", "fnn:-16-1", "op:8-8"]
)
def test_other_recipes_are_refused(text):
    with pytest.raises(InvalidArgumentError, match=r"no feed-forward net|no recipe"):
        fnn.widths_of(text)


def test_generated_nets_are_distinct_prefixes_within_the_space():
    nets = list(islice(fnn.generate(7), 4000))
    assert len(set(nets)) == len(nets)
    assert list(islice(fnn.generate(7), 100)) == nets[:100]
    assert list(islice(fnn.generate(8), 100)) != nets[:100]
    widths = [fnn.widths_of(net) for net in nets]
    assert {len(units) for units in widths} == set(range(3, 11))
    assert {unit for units in widths for unit in units} == {2**exponent for exponent in range(15)}


def test_nets_out_of_range_are_deeper_and_no_powers_of_two():
    widths = [fnn.widths_of(net) for net in islice(fnn.generate_out_of_range(7), 300)]
    assert {len(units) for units in widths} == set(range(11, 17))
    assert all(unit & (unit - 1) and 3 <= unit < 2**14 for units in widths for unit in units)


def test_parts_are_eight_to_one_to_one_and_fixed():
    parts = [fnn.part_of(net) for net in islice(fnn.generate(0), 5000)]
    shares = [parts.count(part) / len(parts) for part in fnn.PARTS]
    assert shares == pytest.approx([0.8, 0.1, 0.1], abs=0.02)
    assert [fnn.part_of(net) for net in ("fnn:16-128-1", "fnn:1-1-1", "fnn:2-64-8-1")] == ["train", "train", "train"]


@settings(max_examples=30, deadline=None)
@given(widths=st.lists(st.integers(1, 300), min_size=2, max_size=16))
def test_a_recipe_comes_back_from_its_graph(widths):
    found = fnn.from_graph(built(fnn.recipe_of(widths)))
    assert found == fnn.FeedForward(tuple(widths))


def by_hand(layers, sizes=(16,), dtype="float32"):
    net = GraphBuilder()
    x = net.input("x", sizes, dtype)
    net.output(layers(net, x))
    return net.build()


def test_products_with_an_added_bias_are_dense_layers():
    def layers(net, x):
        x = net.apply("add", [net.apply("matmul", [x, net.parameter((16, 8))]), net.parameter((8,))])
        return net.apply("gemm", [net.apply("relu", x), net.parameter((8, 4)), net.parameter((4,))])

    assert fnn.from_graph(by_hand(layers)) == fnn.FeedForward((16, 8, 4))


def test_views_count_as_nothing():
    def layers(net, x):
        x = net.apply("linear", [net.apply("flatten", x), net.parameter((8, 16)), net.parameter((8,))])
        return net.apply("reshape", [x, net.constant([0, 2, 4])])

    assert fnn.from_graph(by_hand(layers, (4, 4))) == fnn.FeedForward((16, 8))


def test_small_differences_are_noted():
    def layers(net, x):
        x = net.apply("linear", [x, net.parameter((8, 16))])
        return net.apply("relu", net.apply("linear", [x, net.parameter((8, 8)), net.parameter((8,))]))

    notes = fnn.from_graph(by_hand(layers)).notes
    assert len(notes) == 3
    for words in ("without a bias", "without a ReLU", "ReLU after the last"):
        assert any(words in note for note in notes)


def _residual(net, x):
    y = net.apply("linear", [x, net.parameter((16, 16)), net.parameter((16,))])
    return net.apply("add", [x, y])


def _sigmoid(net, x):
    return net.apply("sigmoid", net.apply("linear", [x, net.parameter((8, 16))]))


@pytest.mark.parametrize(
    ("layers", "words"),
    [
        (_residual, "operator 'add'.*does not continue one chain"),
        (_sigmoid, "operator 'sigmoid'.*is no part of such a net"),
        (lambda net, x: net.apply("relu", x), "operator 'relu'"),
        (lambda net, x: net.apply("matmul", [x, net.apply("transpose", x, perm=[1, 0])]), "operator 'transpose'"),
        (lambda net, x: net.apply("identity", x), "no dense layer"),
    ],
)
def test_other_networks_are_out_of_scope_by_name(layers, words):
    with pytest.raises(InvalidArgumentError, match=words):
        fnn.from_graph(by_hand(layers))


def test_other_precisions_are_out_of_scope():
    with pytest.raises(InvalidArgumentError, match="is float16, float32 was measured"):
        fnn.from_graph(by_hand(lambda net, x: net.apply("relu", x), dtype="float16"))


def test_a_file_is_in_scope(tmp_path):
    def layers(net, x):
        x = net.apply("gemm", [x, net.parameter((128, 16)), net.parameter((128,))], transB=1)
        return net.apply("gemm", [net.apply("relu", x), net.parameter((1, 128)), net.parameter((1,))], transB=1)

    by_hand(layers).to_onnx(tmp_path / "net.onnx")
    assert fnn.from_graph(latpred.load(tmp_path / "net.onnx")).widths == (16, 128, 1)


def test_arrays_of_nets():
    nets = fnn.encode([(16, 128, 1), (2, 3, 4, 5)], max_nodes=5)
    assert nets.attributes.shape == (2, 5, 3)
    assert nets.lengths.tolist() == [3, 4]
    assert nets.attributes[0].tolist() == [[0, 0, 16], [1, 17 * 128, 128], [1, 129, 1], [0, 0, 0], [0, 0, 0]]
    assert nets.units[1].tolist() == [2, 3, 4, 5, 0]
    assert nets.weight_bytes()[0] == built("fnn:16-128-1").weight_bytes
    assert nets.select(np.array([1])).lengths.tolist() == [4]
    with pytest.raises(InvalidArgumentError, match="has 4 nodes, at most 3"):
        fnn.encode([(2, 3, 4, 5)], max_nodes=3)

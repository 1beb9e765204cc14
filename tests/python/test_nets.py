"""Plain nets of both kinds: arrays, parts, Graphs read as them."""

import dataclasses
import itertools

import numpy as np
import pytest
from latpred import GraphBuilder
from latpred.datasets import cnn, fnn, measured_nets, nets
from latpred.datasets.plain_graph import PlainGraph, from_graph
from latpred.errors import InvalidArgumentError
from measured_nets_maker import CONDITIONS, by_law
from recipe_graphs import built

BOTH = frozenset({"fnn", "cnn"})


def by_hand(layers, shape=(3, 8, 8)):
    net = GraphBuilder()
    net.output(layers(net, net.input("x", shape)))
    return net.build()


def conv(net, x, units_in=3, units=4, bias=True, window=3, **attributes):
    inputs = [x, net.parameter((units, units_in // attributes.get("group", 1), window, window))]
    inputs += [net.parameter((units,))] if bias else []
    return net.apply("conv", inputs, **{"kernel_shape": [window] * 2, "pads": [1] * 4} | attributes)


@pytest.mark.parametrize("text", ["fnn:16-128-1", "cnn:3-8-16-4?size=10"])
def test_arrays_count_as_the_graph_does(text):
    graph, found = built(text), measured_nets.encode_recipes([text])
    assert found.macs.sum() == graph.macs
    assert found.weights.sum() == graph.num_parameters
    assert found.weight_bytes()[0] == graph.weight_bytes
    assert found.kinds[0] == text[:3]


def test_both_kinds_stand_side_by_side():
    found = measured_nets.encode_recipes(["fnn:16-128-1", "cnn:3-8?size=10"])
    assert found.attributes[1].tolist() == [[0, 0, 3], [2, 224, 8], [0, 0, 0]]
    assert found.positions.tolist() == [1, 100]
    assert found.is_layer.tolist() == [[False, True, True], [False, True, False]]
    assert found.select(np.array([1])).kinds.tolist() == ["cnn"]
    assert nets.words_of(BOTH) == "feed-forward nets and plain CNNs"
    with pytest.raises(InvalidArgumentError, match="'vit:x' is no plain net; expected one of fnn:"):
        measured_nets.encode_recipes(["vit:x"])


def test_parts_have_the_papers_shares():
    dense = list(itertools.islice(fnn.generate(0), 8000))
    cnns = list(itertools.islice(cnn.generate(0), 2500))
    for kinds, expected in ((frozenset({"cnn"}), 0.15), (frozenset({"fnn"}), 0.1)):
        recipes = cnns if "cnn" in kinds else dense
        parts = [nets.part_of(text, kinds) for text in recipes]
        for part in nets.PARTS[1:]:
            assert parts.count(part) / len(parts) == pytest.approx(expected, abs=0.02)
    # 85-7.5-7.5, and as many of each kind.
    parts = [[nets.part_of(text, BOTH) for text in recipes] for recipes in (dense, cnns)]
    for part in nets.PARTS[1:]:
        of_dense, of_cnns = (count.count(part) for count in parts)
        assert (of_dense + of_cnns) / 10500 == pytest.approx(0.075, abs=0.01)
        assert of_dense / of_cnns == pytest.approx(1, abs=0.15)


def test_cnns_that_differ_in_size_alone_are_never_apart():
    for channels in ((3, 4, 8), (3, 64, 2, 1), (3, 1024, 1024, 16)):
        assert len({nets.part_of(cnn.recipe_of(channels, size), BOTH) for size in (32, 64, 224)}) == 1


def test_the_mixed_set_has_the_papers_proportion():
    dense = by_law(400)
    cnns = by_law(100, recipes=list(itertools.islice(cnn.generate(0), 100)))
    found = measured_nets.mixed(dense, cnns)
    assert len(found) == 420
    assert found.recipes == dense.recipes[:320] + cnns.recipes
    assert found.kinds == BOTH
    np.testing.assert_array_equal(found.latency_s[320:], cnns.latency_s)
    with pytest.raises(InvalidArgumentError, match="ask for 320 feed-forward nets, there are 200"):
        measured_nets.mixed(by_law(200), cnns)
    other = measured_nets.make(cnns.recipes, cnns.latency_s, dataclasses.replace(CONDITIONS, batch=2))
    with pytest.raises(InvalidArgumentError, match="measured otherwise: batch is '2' and was '1'"):
        measured_nets.mixed(dense, other)


def test_a_file_of_cnns_is_small_and_comes_back(tmp_path):
    pytest.importorskip("pyarrow")
    cnns = by_law(500, recipes=list(itertools.islice(cnn.generate(0), 500)))
    measured_nets.write(tmp_path / "cnns.parquet", cnns)
    found = measured_nets.read(tmp_path / "cnns.parquet")
    assert found.recipes == cnns.recipes
    assert (tmp_path / "cnns.parquet").stat().st_size < 25 * len(cnns)


@pytest.mark.parametrize("text", ["fnn:16-128-1", "cnn:3-8-16-4?size=10"])
def test_a_graph_is_read_as_the_net_that_it_is(text):
    found = from_graph(built(text))
    assert found.notes == ()
    assert (
        nets.encode([(found.units, found.size)]).attributes.tolist()
        == measured_nets.encode_recipes([text]).attributes.tolist()
    )


def test_small_differences_are_noted():
    found = from_graph(by_hand(lambda net, x: net.apply("relu", conv(net, conv(net, x, bias=False), units_in=4))))
    assert found == PlainGraph(
        (3, 4, 4),
        8,
        (
            "a convolution without a bias: all measured ones have one",
            "two convolutions without a ReLU between them: measured nets have one",
            "a ReLU after the last convolution: measured nets have none",
        ),
    )


@pytest.mark.parametrize(
    ("layers", "shape", "words"),
    [
        (lambda net, x: conv(net, x, strides=[2, 2]), (3, 8, 8), r"operator 'conv' .* has strides \[2, 2\]"),
        (lambda net, x: conv(net, x, pads=[0] * 4), (3, 8, 8), r"has pads \[0, 0, 0, 0\]"),
        (lambda net, x: conv(net, x, window=1, pads=[0] * 4), (3, 8, 8), r"has kernel_shape \[1, 1\]"),
        (lambda net, x: conv(net, x, units_in=4, group=2), (4, 8, 8), "has group 2"),
        (lambda net, x: conv(net, x), (3, 8, 9), r"its input is float32 of shape \(1, 3, 8, 9\)"),
        (lambda net, x: net.apply("sigmoid", conv(net, x)), (3, 8, 8), "operator 'sigmoid' .* is no part"),
        (lambda net, x: net.apply("add", [y := conv(net, x), y]), (3, 8, 8), "does not continue one chain"),
    ],
)
def test_other_networks_are_refused(layers, shape, words):
    with pytest.raises(InvalidArgumentError, match=f"the graph is no plain CNN: .*{words}"):
        from_graph(by_hand(layers, shape))

"""Plain CNNs: their recipes, Graphs and random ones."""

import itertools

import pytest
from latpred.datasets import cnn
from latpred.errors import InvalidArgumentError
from recipe_graphs import built


def test_a_recipe_says_channels_and_size():
    assert cnn.sizes_of("cnn:3-64-128?size=32") == ((3, 64, 128), 32)
    assert cnn.recipe_of((3, 64, 128), 32) == "cnn:3-64-128?size=32"


@pytest.mark.parametrize(
    "text",
    ["cnn:3?size=32", "cnn:3-64", "cnn:3-64?size=0", "cnn:3-064?size=32", "cnn:3--4?size=32", "fnn:3-64?size=32",
     "cnn:3-64?size=32&pad=1"],
)  # fmt: skip
def test_other_texts_are_refused(text):
    with pytest.raises(InvalidArgumentError, match="expected cnn:3-64-128"):
        cnn.sizes_of(text)


def test_the_graph_has_the_work_that_the_sizes_say():
    graph = built("cnn:3-8-16-4?size=10", batch=2)
    assert [node.operator for node in graph.nodes] == ["conv", "relu", "conv", "relu", "conv"]
    assert graph.macs == 2 * 100 * 9 * (3 * 8 + 8 * 16 + 16 * 4)
    assert graph.num_parameters == 9 * (3 * 8 + 8 * 16 + 16 * 4) + 8 + 16 + 4
    assert graph.outputs[0].shape == (2, 4, 10, 10)


def test_random_nets_are_distinct_and_a_shorter_run_is_a_prefix():
    nets = list(itertools.islice(cnn.generate(seed=7), 300))
    assert len(set(nets)) == 300
    assert list(itertools.islice(cnn.generate(seed=7), 20)) == nets[:20]
    assert list(itertools.islice(cnn.generate(seed=8), 20)) != nets[:20]
    sizes = [cnn.sizes_of(net) for net in nets]
    assert {size for _, size in sizes} == {32}
    assert {len(channels) for channels, _ in sizes} == set(range(3, 11))
    assert {width for channels, _ in sizes for width in channels[1:]} == {2**exponent for exponent in range(11)}

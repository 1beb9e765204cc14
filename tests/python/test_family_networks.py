"""Generated networks of DIPPM"s families: they are timm"s where the sizes are, and the draw is the same everywhere."""

from __future__ import annotations

import itertools
from collections import Counter

import pytest
from latpred import GraphBuilder, InvalidArgumentError
from latpred.datasets import family_networks
from latpred.datasets.families import GRAPHS_FILE, shipped_folder
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.recipe import parse
from latpred.datasets.recipe_builders import build

# Sizes of the papers, the network of timm"s that has them, and how far weights and MACs may differ.
SAME = {
    "family:resnet?block=bottleneck&depth=3,4,6,3&width=64&size=224": ("timm:resnet50@224", 0),
    "family:resnet?block=basic&depth=2,2,2,2&width=64&size=224": ("timm:resnet18@224", 0),
    "family:vgg?depth=2,2,3,3,3&width=64&head=4096&norm=0&size=224": ("timm:vgg16@224", 0),
    "family:vgg?depth=2,2,4,4,4&width=64&head=4096&norm=1&size=224": ("timm:vgg19_bn@224", 0),
    "family:densenet?depth=6,12,24,16&growth=32&width=64&size=224": ("timm:densenet121@224", 0),
    "family:mobilenet?width=1.0&depth=1.0&size=224": ("timm:mobilenetv2_100@224", 0),
    "family:mnasnet?width=1.0&depth=1.0&size=224": ("timm:mnasnet_100@224", 0),
    "family:efficientnet?width=1.0&depth=1.0&size=224": ("timm:efficientnet_b0@224", 0),
    "family:vit?layers=12&width=768&heads=12&patch=16&expand=4&size=224": ("timm:vit_base_patch16_224@224", 0.01),
    "family:swin?depth=2,2,6,2&width=96&window=7&expand=4&size=224": ("timm:swin_tiny_patch4_window7_224@224", 0.02),
    "family:poolformer?depth=2,2,6,2&width=64&kernel=3&expand=4&size=224": ("timm:poolformer_s12@224", 0.001),
    "family:visformer?depth=7,4,4&width=384&groups=8&size=224": ("timm:visformer_small@224", 0.001),
    "family:convnext?depth=3,3,9,3&width=96&kernel=7&expand=4&size=224": ("timm:convnext_tiny@224", 0),
}

# What the draw begins with.
FIRST = ("family:efficientnet?width=0.75&depth=1.4&expand=3&kernel=5&size=288", 32)


def graph_of(recipe: str, batch: int = 1):
    net = GraphBuilder()
    build(net, parse(recipe))
    return net.build(batch)


@pytest.mark.parametrize("recipe", SAME)
def test_it_is_timms_network(recipe):
    name, tolerance = SAME[recipe]
    found, expected = graph_of(recipe), GraphCache(shipped_folder() / GRAPHS_FILE).graph(name, 1)
    assert found.num_parameters == pytest.approx(expected.num_parameters, rel=tolerance, abs=0)
    assert found.macs == pytest.approx(expected.macs, rel=tolerance, abs=0)


def test_the_draw_has_the_counts_of_table_2():
    drawn = list(family_networks.graphs())
    counts = Counter(parse(recipe).name for recipe, _ in drawn)
    assert counts == {name: family.count for name, family in family_networks.FAMILIES.items()}
    assert sum(counts.values()) - counts["convnext"] == 10_508
    assert len(set(drawn)) == len(drawn)
    assert {batch for _, batch in drawn} == set(family_networks.BATCHES)
    assert drawn[0] == FIRST, "the same graphs on every machine and in every version"


@pytest.mark.parametrize("name", family_networks.FAMILIES)
def test_what_is_drawn_can_be_built_at_its_batch(name):
    recipes = list(family_networks.graphs([name]))
    for recipe, batch in recipes[:: len(recipes) // 5]:
        graph = graph_of(recipe, batch)
        assert (graph.batch, graph.outputs[0].shape) == (batch, (batch, 1000))
        assert not [node for node in graph.nodes if node.operator == "unknown"]


def test_each_choice_is_seen_in_the_graph():
    """No parameter that a recipe names is without effect."""
    for name, family in family_networks.FAMILIES.items():
        base = {key: str(values[0]) for key, values in family.space.items()}
        for key, values in family.space.items():
            for other in values[1:2]:
                words = [
                    "&".join(f"{k}={v}" for k, v in (base | {key: str(value)}).items()) for value in (values[0], other)
                ]
                first, second = (graph_of(f"family:{name}?{text}") for text in words)
                assert first.hash != second.hash, f"{name}: {key}"


def test_unknown_families_are_errors():
    with pytest.raises(InvalidArgumentError, match="resnet"):
        graph_of("family:alexnet?width=1&size=224")


def test_a_family_can_be_drawn_alone():
    alone = list(itertools.islice(family_networks.graphs(["swin"]), 3))
    assert all(recipe.startswith("family:swin?") for recipe, _ in alone)

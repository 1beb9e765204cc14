"""Transformers that recipes name: built here, and recorded from the transformers package."""

import pytest
from latpred import GraphBuilder, _core
from latpred.datasets import recipe
from latpred.errors import InvalidArgumentError


def graph_of(text, batch=1):
    net = GraphBuilder()
    recipe.build(net, recipe.parse(text))
    return net.build(batch)


@pytest.mark.parametrize("attention", ["fused", "products"])
@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("vit:base16?size=224", 86_567_656),
        ("vit:base16?size=384", 86_859_496),
        ("vit:large16?size=224", 304_326_632),
        ("bert:base?seq=64&embedded=1", 85_054_464),
    ],
)
def test_built_networks_have_the_published_parameters(text, parameters, attention):
    graph = graph_of(f"{text}&attention={attention}")
    assert graph.num_parameters == parameters
    assert graph.macs == graph_of(text).macs
    assert graph_of(f"{text}&attention={attention}", 8).macs == 8 * graph.macs


def test_products_run_as_many_kernels_as_pytorch_does():
    layers = 12
    fused, products = (graph_of(f"vit:base16?size=224&attention={name}") for name in ("fused", "products"))
    launches = [_core.fuse(graph, "eager", "fp16").num_launches for graph in (fused, products)]
    # Two products, the scale, the softmax, three operands and the result put in order, for the one kernel.
    assert launches[1] - launches[0] == 7 * layers


def test_unknown_sizes_and_attentions_are_refused():
    with pytest.raises(InvalidArgumentError, match="unknown size; valid: base16, large16"):
        graph_of("vit:huge14?size=224")
    with pytest.raises(InvalidArgumentError, match="attention is 'flash'; valid: fused, products"):
        graph_of("bert:base?seq=8&attention=flash")

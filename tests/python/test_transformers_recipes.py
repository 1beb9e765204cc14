"""Transformers that recipes name: built here, and recorded from the transformers package."""

import pytest
from latpred import _core
from latpred.datasets import recipe
from latpred.errors import InvalidArgumentError
from recipe_graphs import built


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
    graph = built(f"{text}&attention={attention}")
    assert graph.num_parameters == parameters
    assert graph.macs == built(text).macs
    assert built(f"{text}&attention={attention}", 8).macs == 8 * graph.macs


@pytest.mark.parametrize(("batch", "copies"), [(1, 1), (2, 4)])
def test_products_run_as_many_kernels_as_pytorch_does(batch, copies):
    fused, products = (built(f"vit:base16?size=224&attention={name}", batch) for name in ("fused", "products"))
    launches = [_core.fuse(graph, "eager", "fp16").num_launches for graph in (fused, products)]
    # Two products, the scale and the softmax for the one kernel; the result is put in order, and, where there are
    # several images, so are the three operands.
    assert launches[1] - launches[0] == 12 * (4 + copies - 1)


def test_unknown_sizes_and_attentions_are_refused():
    with pytest.raises(InvalidArgumentError, match="unknown size; valid: base16, large16"):
        built("vit:huge14?size=224")
    with pytest.raises(InvalidArgumentError, match="attention is 'flash'; valid: fused, products"):
        built("bert:base?seq=8&attention=flash")


def recorded(text, batch, recorded_at=None):
    from latpred.datasets import recorded

    found = recorded.record(recipe.parse(text), recorded_at or recorded.RECORDED_BATCH)
    return _core.resolve(found.program(), batch)


@pytest.mark.parametrize(
    ("text", "parameters"),
    [
        ("hf:bert?seq=32", 109_482_240),
        ("hf:bert?seq=32&attention=products", 109_482_240),
        ("hf:bert?layers=24&hidden=1024&seq=32", 335_141_888),
        ("hf:gpt2?seq=32", 124_439_808),
        ("hf:t5_encoder?seq=32", 35_330_816),
        ("hf:vit", 86_567_656),
        ("hf:vit?layers=24&hidden=1024", 304_326_632),
        ("hf:swin", 28_288_354),
        ("hf:swin?attention=products", 28_288_354),
        ("hf:swinv2?window=8&size=256&attention=products", 28_347_154),
        ("hf:llama?layers=2&seq=32", 2 * 202_383_360 + 2 * 32000 * 4096 + 4096),
    ],
)
def test_recorded_networks_have_the_published_parameters_and_any_batch(text, parameters):
    pytest.importorskip("transformers")
    graph = recorded(text, 8)
    assert graph.num_parameters == parameters
    # Recorded at a batch of five and at this one.
    there = recorded(text, 8, recorded_at=8)
    assert (graph.macs, graph.operators) == (there.macs, there.operators)


def test_recorded_and_built_networks_multiply_alike():
    pytest.importorskip("transformers")
    assert recorded("hf:vit", 3).macs == built("vit:base16?size=224", 3).macs
    whole = built("llm:llama2-7b?seq=32").macs
    words = 31 * 32000 * 4096  # transformers' gives numbers for every token, ours for the last
    assert recorded("hf:llama?layers=32&seq=32", 1).macs == pytest.approx(whole + words, rel=1e-6)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("hf:xlnet?seq=8", "unknown architecture; valid: bert, gpt2"),
        ("hf:bert?depth=2&seq=8", "unknown 'depth'; valid: attention, feed_forward"),
        ("hf:bert?layers=two&seq=8", "layers must be a number"),
        ("hf:bert?seq=1024", "512 positions for seq=1024"),
        ("hf:vit?seq=8", "unknown 'seq'"),
        ("hf:bert?seq=8&attention=flash", "valid: fused, products"),
        ("hf:bert", "lacks 'seq'"),
    ],
)
def test_wrong_recipes_of_transformers_are_refused(text, message):
    pytest.importorskip("transformers")
    from latpred.datasets import huggingface

    with pytest.raises(InvalidArgumentError, match=message):
        huggingface.build(recipe.parse(text))

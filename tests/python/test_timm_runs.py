"""What timm's benchmark made of a network before it timed it."""

import pytest
from example_networks import MEASUREMENTS
from latpred import _core
from latpred.datasets import timm, timm_runs, timm_variants
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.recipe import parse
from latpred.datasets.recorded import timm_module
from latpred.errors import InvalidArgumentError

OLDEST, MIDDLE = "torch 1.13 cuda 11.7", "torch 2.1.0 cuda 12.1"
OLD, NEW = "torch 2.4.0 cuda 12.4", "torch 2.9.1 cuda 12.8"


@pytest.fixture(scope="module")
def cache():
    return GraphCache(MEASUREMENTS / "graphs.xz")


@pytest.mark.parametrize(
    ("name", "version", "options"),
    [
        ("resnet50@224", OLD, ""),
        ("resnet50@224", NEW, ""),
        ("resnetv2_50d_gn@224", OLD, "?fast_norm=1"),
        ("resnetv2_50d_gn@224", NEW, "?fast_norm=1"),
        ("resnet50@224", OLDEST, ""),
        ("vit_base_patch16_224@224", OLDEST, "?attention=scaled_scores"),
        ("cait_s24_224@224", OLDEST, "?attention=scaled_queries"),
        ("volo_d1_224@224", MIDDLE, "?attention=scaled_scores"),
        ("volo_d1_224@224", OLD, ""),
        ("vit_base_patch16_224@224", OLD, ""),
        ("vit_base_patch16_224@224", NEW, "?fast_norm=1"),
        ("vit_base_patch16_xp_224@224", OLD, "?fast_norm=1"),
        ("vitamin_base_224@224", OLD, "?fast_norm=1&layer_norm=torch"),
        ("vitamin_base_224@224", NEW, "?fast_norm=1"),
        ("vitamin_base_224@224", OLDEST, "?fast_norm=1&layer_norm=torch&attention=scaled_scores"),
        ("mobileone_s1@224", OLD, ""),
        ("mobileone_s1@224", NEW, "?reparam=1"),
        ("swin_tiny_patch4_window7_224@224", NEW, ""),
    ],
)
def test_a_variant_is_named_where_the_options_change_a_network(name, version, options):
    family = f"timm-{timm.families()[name.partition('@')[0]]}"
    expected = f"timm:{name}{options}" if options else ""
    assert timm_runs.as_run(parse(f"timm:{name}"), family, version) == expected


def test_a_version_of_something_else_is_an_error():
    with pytest.raises(ValueError, match=r"'tensorrt 8.6' names no version of torch"):
        timm_runs.as_run(parse("timm:resnet50@224"), "timm-resnet", "tensorrt 8.6")


def test_variants_are_of_networks_that_have_a_family():
    assert set(timm_runs.variants()) <= set(timm.families())


def test_tables_show_when_networks_called_the_function_for_attention():
    pd = pytest.importorskip("pandas")
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    rows = rows[(rows.source == timm.SOURCE) & (rows.device == "RTX 3090")]
    names = rows.recipe.str.removeprefix("timm:").str.partition("@")
    calls = names[0].map(lambda name: timm_runs.FUSED_ATTENTION in timm_runs.variants().get(name, []))
    rows = rows[calls].assign(image_s=rows.value / rows.batch, size=names[2].astype(int))
    image_s = rows.pivot_table("image_s", ["family", "recipe", "size", "layout"], "runtime_version").reset_index()
    times = image_s[MIDDLE] / image_s[OLD]
    is_volo = image_s.family == "timm-volo"
    assert times[is_volo & (image_s["size"] >= 384)].between(1.4, 2.1).all()
    assert times[~is_volo].max() < 1.3
    vit = image_s[(image_s.recipe == "timm:vit_tiny_patch16_384@384") & (image_s.layout == "nchw")].squeeze()
    assert 1024 * vit[OLDEST] == pytest.approx(0.62, abs=0.005)
    assert 1024 * vit[MIDDLE] == pytest.approx(0.31, abs=0.005)


def bytes_of(graph, kind):
    rows = _core.fuse(graph, "eager", "amp").rows
    return sum(row.bytes_in + row.bytes_out for row in rows if row.kind == kind)


def test_fast_norms_move_half_as_much_and_need_no_casts(cache):
    plain, fast = (cache.graph(f"timm:resnetv2_50d_gn@224{tail}", 8) for tail in ("", "?fast_norm=1"))
    assert fast.macs == plain.macs
    assert bytes_of(fast, "group_norm") == pytest.approx(bytes_of(plain, "group_norm") / 2)
    assert bytes_of(fast, "cast") < bytes_of(plain, "cast") / 10
    in_float32 = [_core.fuse(graph, "eager", "fp32").rows for graph in (plain, fast)]
    assert [row.bytes_in for row in in_float32[0]] == [row.bytes_in for row in in_float32[1]]


@pytest.mark.parametrize(
    ("name", "attention", "scaled"),
    [
        ("vit_base_patch16_224@224", "scaled_scores", 12 * 12 * 197 * 197),  # layers, heads, tokens
        ("beit_base_patch16_224@224", "scaled_queries", 12 * 197 * 768),  # layers, tokens, width
    ],
)
def test_composed_attention_is_of_products_and_a_softmax(cache, name, attention, scaled):
    fast = "fast_norm=1&" if name.startswith("beit") else ""
    composed = cache.graph(f"timm:{name}?{fast}attention={attention}", 8)
    assert composed.num_parameters == cache.graph(f"timm:{name}", 8).num_parameters
    assert bytes_of(composed, "attention") == 0
    assert bytes_of(composed, "batch_matmul") > 0
    multiplied = [node for node in composed.nodes if node.operator == "mul" and not node.inputs[1].shape]
    assert sum(node.outputs[0].num_elements for node in multiplied) == 8 * scaled


def test_softmax_reads_half_precision_and_writes_float32(cache):
    graph = cache.graph("timm:vit_base_patch16_224@224?attention=scaled_scores", 8)
    assert bytes_of(graph, "softmax") == 8 * 12 * 12 * 197 * 197 * (2 + 4)


def test_merged_branches_leave_fewer_kernels_and_weights(cache):
    plain, merged = (cache.graph(f"timm:mobileone_s1@224{tail}", 8) for tail in ("", "?reparam=1"))
    assert len(merged.nodes) < len(plain.nodes) / 2
    assert plain.num_parameters / 1e6 == pytest.approx(4.83, abs=0.005)
    assert merged.num_parameters / 1e6 == pytest.approx(4.76, abs=0.005)


def test_the_committed_variants_are_what_timm_builds():
    pytest.importorskip("timm")
    for name in ("resnetv2_50d_gn", "levit_128", "resnet18", "vit_tiny_patch16_224"):
        assert timm_variants.changes(name) == timm_runs.variants().get(name, [])


def test_an_option_that_means_nothing_is_refused():
    pytest.importorskip("timm")
    with pytest.raises(InvalidArgumentError, match="layer_norm 'keras'; valid: timm, torch"):
        timm_module(parse("timm:vit_tiny_patch16_224@224?fast_norm=1&layer_norm=keras"), 224)
    with pytest.raises(InvalidArgumentError, match="attention 'flash'; valid: fused, scaled_queries, scaled_scores"):
        timm_module(parse("timm:vit_tiny_patch16_224@224?attention=flash"), 224)

"""A network recorded at one batch and asked for at another is the network recorded at that batch."""

import pytest
from latpred import _core
from latpred.datasets import recipe, recorded

pytest.importorskip("timm")
BATCH = 8
# Windows, relative positions, cached tokens, splits of channels: what could take the batch for a size, and plain ones.
RECIPES = (
    "timm:beit_base_patch16_224@224", "timm:coat_lite_mini@224", "timm:crossvit_9_240@240", "timm:edgenext_small@256",
    "timm:efficientnet_b0@224", "timm:fastvit_t8@256", "timm:focalnet_tiny_srf@224", "timm:gcvit_xxtiny@224",
    "timm:hrnet_w18_small@224", "timm:levit_128s@224", "timm:maxvit_tiny_rw_224@224", "timm:mixer_s32_224@224",
    "timm:mobilevit_xxs@256", "timm:mvitv2_tiny@224", "timm:nasnetalarge@331", "timm:poolformer_s12@224",
    "timm:regnetx_002@224", "timm:res2net50_26w_4s@224", "timm:resnet18@224", "timm:shvit_s1@224",
    "timm:swin_tiny_patch4_window7_224@224", "timm:tiny_vit_5m_224@224", "timm:tnt_s_patch16_224@224",
    "timm:volo_d1_224@224", "timm:xcit_nano_12_p16_224@224",
)  # fmt: skip


def costs(graph):
    """Of each node its operator, what it computes and what it moves."""
    return [
        (node.operator, node.macs, node.flops, node.bytes_in, node.bytes_out, node.weight_bytes) for node in graph.nodes
    ]


@pytest.mark.slow
@pytest.mark.parametrize("text", RECIPES)
def test_another_batch_is_what_recording_there_gives(text):
    rebatched, direct = (
        _core.resolve(recorded.record(recipe.parse(text), batch).program(), BATCH)
        for batch in (recorded.RECORDED_BATCH, BATCH)
    )
    assert rebatched.num_parameters == direct.num_parameters
    assert [tensor.shape for tensor in rebatched.outputs] == [tensor.shape for tensor in direct.outputs]
    assert costs(rebatched) == costs(direct)

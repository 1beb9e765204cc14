"""Rows of versions that ran other kernels than the newest are told apart by their networks."""

import pytest

torch = pytest.importorskip("torch")

import latpred  # noqa: E402
from latpred.datasets.older_versions import difference  # noqa: E402
from torch import nn  # noqa: E402

BEFORE, SINCE, RMS_NORM = "torch 2.4.0 cuda 12.4", "torch 2.5.1 cuda 12.4", "torch 2.9.1 cuda 12.8"


class Attention(nn.Module):
    """[batch, heads, tokens, size], `shared` of the heads' keys and values."""

    def __init__(self, shared, **settings):
        super().__init__()
        self.shared, self.settings = shared, settings

    def forward(self, x):
        kept = x[:, : self.shared]
        return nn.functional.scaled_dot_product_attention(x, kept, kept, **self.settings)


def graph_of(module, size):
    return latpred.load(model=module, input=size)


@pytest.mark.parametrize(
    ("module", "size", "is_composed"),
    [
        (Attention(4), "4,32,16", False),
        (Attention(1), "4,32,16", True),
        (Attention(1, enable_gqa=True), "4,32,16", False),
        (Attention(2), "2,4,32,16", True),
    ],
)
def test_attention_without_a_fused_kernel_was_composed_in_half_precision(module, size, is_composed):
    graph = graph_of(module, size)
    for runtime in ("eager", "compiled"):
        said = difference(graph, runtime, BEFORE, "amp")
        assert (said is not None and "torch 2.4 composes attention" in said) is is_composed
        assert difference(graph, runtime, BEFORE, "fp32") is None
        assert difference(graph, runtime, SINCE, "amp") is None


def test_rms_norms_had_no_kernel():
    graph = graph_of(nn.RMSNorm(16), "16")
    assert difference(graph, "eager", BEFORE, "amp") == (
        "torch 2.4 composes RMS norms of single operators, torch 2.9 has a kernel of them"
    )
    assert difference(graph, "eager", RMS_NORM, "amp") is None
    assert difference(graph, "compiled", BEFORE, "amp") is None  # which generates one anyway
    assert difference(graph_of(nn.LayerNorm(16), "16"), "eager", BEFORE, "amp") is None


def test_other_frameworks_have_other_versions():
    assert difference(graph_of(nn.RMSNorm(16), "16"), "tensorrt", "tensorrt 8.5.1", "fp16") is None

"""What an older version of a framework executed otherwise than latpred's runtime of that name, which is the newest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latpred import Graph

# Since torch 2.5 attention that no fused kernel covers is computed in float32; before, in the type that came in.
_COMPOSED_IN_FLOAT32 = (2, 5)
_FUSED_ATTENTION_RANK = 4  # [batch, heads, tokens, size]
_HALF = {"amp", "bf16", "fp16"}


def _torch_version(runtime_version: str) -> tuple[int, int] | None:
    found = re.match(r"torch (\d+)\.(\d+)", runtime_version)
    return (int(found[1]), int(found[2])) if found else None


def _has_composed_attention(graph: Graph) -> bool:
    return any(
        node.operator == "scaled_dot_product_attention"
        and (query := node.inputs[0]) is not None
        and len(query.shape) != _FUSED_ATTENTION_RANK
        for node in graph.nodes
    )


def difference(graph: Graph, runtime_version: str, precision: str) -> str | None:
    """Why a time measured with `runtime_version` is of other kernels; None where it is not.

    >>> from latpred import GraphBuilder
    >>> net = GraphBuilder()
    >>> heads = net.input("x", [2, 4, 64, 32])
    >>> net.output(net.apply("scaled_dot_product_attention", [heads, heads, heads]))
    >>> difference(net.build(batch=8), "torch 2.4.0 cuda 12.4", "amp")
    'torch 2.4 composes attention of 5 dimensions in half precision, torch 2.5 and later in float32'
    >>> difference(net.build(batch=8), "torch 2.9.1 cuda 12.8", "amp")
    """
    version = _torch_version(runtime_version)
    if version is None or version >= _COMPOSED_IN_FLOAT32 or precision not in _HALF:
        return None
    if not _has_composed_attention(graph):
        return None
    return (
        f"torch {version[0]}.{version[1]} composes attention of 5 dimensions in half precision, torch 2.5 and later "
        "in float32"
    )

"""What an older version of a framework executed otherwise than latpred's runtime of that name, which is the newest."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from latpred._core import Graph, Node

# Since torch 2.5 attention that no fused kernel covers is computed in float32; before, in the type that came in.
_COMPOSED_IN_FLOAT32 = (2, 5)
# timm:vit_base_patch16_xp_224, which has 38 of them, takes 1.35 times as long on an RTX 4090 with torch 2.4
# (dropped.csv) as with 2.9 (rows.parquet).
_FUSED_RMS_NORM = (2, 9)
_FUSED_ATTENTION_RANK = 4  # [batch, heads, tokens, size]
_HALF = {"amp", "bf16", "fp16"}


def _torch_version(runtime_version: str) -> tuple[int, int] | None:
    found = re.match(r"torch (\d+)\.(\d+)", runtime_version)
    return (int(found[1]), int(found[2])) if found else None


def _is_composed(node: Node) -> bool:
    """As kernels/composed_attention.cpp has it."""
    if node.operator != "scaled_dot_product_attention":
        return False
    shapes = [operand.shape for operand in node.inputs[:3] if operand is not None]
    has_own_heads = "enable_gqa" in node.attributes or all(shape[:2] == shapes[0][:2] for shape in shapes)
    return len(shapes[0]) != _FUSED_ATTENTION_RANK or not has_own_heads


def difference(graph: Graph, runtime: str, runtime_version: str, precision: str) -> str | None:
    """Why a time measured with `runtime_version` is of other kernels; None where it is not.

    >>> from latpred import GraphBuilder
    >>> net = GraphBuilder()
    >>> heads = net.input("x", [2, 4, 64, 32])
    >>> net.output(net.apply("scaled_dot_product_attention", [heads, heads, heads]))
    >>> difference(net.build(batch=8), "compiled", "torch 2.4.0 cuda 12.4", "amp")
    'torch 2.4 composes attention without a fused kernel in half precision, torch 2.5 and later in float32'
    >>> difference(net.build(batch=8), "compiled", "torch 2.9.1 cuda 12.8", "amp")
    """
    version = _torch_version(runtime_version)
    if version is None:
        return None
    if version < _COMPOSED_IN_FLOAT32 and precision in _HALF and any(_is_composed(node) for node in graph.nodes):
        return (
            f"torch {version[0]}.{version[1]} composes attention without a fused kernel in half precision, torch 2.5 "
            "and later in float32"
        )
    if version < _FUSED_RMS_NORM and runtime == "eager" and any(node.operator == "rms_norm" for node in graph.nodes):
        return f"torch {version[0]}.{version[1]} composes RMS norms of single operators, torch 2.9 has a kernel of them"
    return None

"""What timm's benchmark.py made of a network before it timed it, which its tables do not say.

All its GPU tables were made with --fast-norm: under autocast timm's own norms compute in half precision, torch.nn's in
float32. Of a ResNetV2-50 with group norms an RTX 4090 runs 3,799 images a second, with batch norms 4,199; group norms
in float32, with their casts, would take three times as long as what lies between. Those of torch 2.9.1 were made with
--reparam too: MobileOne-S1 counts 4.76 million parameters there and 4.83 before. And timm's vision transformers had
torch's layer norm until after the tables of torch 2.4.0. Before torch 2.0 there was no function for attention to call:
a ViT-Ti/16 on images of 384 x 384 takes 0.62 s for 1,024 of them with torch 1.13 and 0.31 s with 2.1.
"""

from __future__ import annotations

import json
import re
from functools import cache
from importlib import resources

from latpred.datasets.recipe import Recipe
from latpred.datasets.recorded import (
    ATTENTION,
    FAST_NORM,
    LAYER_NORM,
    REPARAM,
    SCALED_QUERIES,
    SCALED_SCORES,
    TORCH_NORM,
)

VARIANTS_FILE = "timm_variants.json"
MERGED = "merged"  # that a network has something to merge
FUSED_ATTENTION = "fused attention"  # that a network calls torch's function for attention
TIMM_LAYER_NORM = "LayerNorm"

# Modules of timm whose default was torch's LayerNorm before it was timm's.
ONCE_TORCH_LAYER_NORM = ("timm-vision_transformer", "timm-vision_transformer_hybrid", "timm-deit", "timm-vitamin")
FUSED_ATTENTION_SINCE = (2, 0)  # version of torch
# VOLO came later to it: at 384 x 384 and above it takes 1.4 to 2.1 times as long with torch 2.1 as with 2.4, other
# networks of this function at most 1.3 times.
LATER_FUSED_ATTENTION_SINCE = {"timm-volo": (2, 4)}
ONCE_SCALED_QUERIES = ("timm-beit", "timm-cait", "timm-eva")  # the others scaled the scores
REPARAMETERISED_SINCE = (2, 9)  # version of torch; no table was made between 2.4 and this one


@cache
def variants() -> dict[str, list[str]]:
    """For the networks of timm 1.0.31 that such options change: the classes of timm's own norms in them, MERGED and
    FUSED_ATTENTION."""
    text = (resources.files("latpred") / "data" / "measurements" / VARIANTS_FILE).read_text(encoding="utf-8")
    found: dict[str, list[str]] = json.loads(text)
    return found


def as_run(recipe: Recipe, family: str, runtime_version: str) -> str:
    """The recipe of the network that a GPU's table timed as `recipe`; empty where they are one.

    >>> from latpred.datasets.recipe import parse
    >>> as_run(parse("timm:resnetv2_50d_gn@224"), "timm-resnetv2", "torch 2.4.0 cuda 12.4")
    'timm:resnetv2_50d_gn@224?fast_norm=1'
    >>> as_run(parse("timm:vit_base_patch16_224@224"), "timm-vision_transformer", "torch 2.4.0 cuda 12.4")
    ''
    >>> as_run(parse("timm:vit_base_patch16_224@224"), "timm-vision_transformer", "torch 1.13 cuda 11.7")
    'timm:vit_base_patch16_224@224?attention=scaled_scores'
    """
    found = re.match(r"torch (\d+)\.(\d+)", runtime_version)
    if found is None:
        raise ValueError(f"'{runtime_version}' names no version of torch")
    version = int(found[1]), int(found[2])
    is_new = version >= REPARAMETERISED_SINCE
    had_torch_norm = not is_new and family in ONCE_TORCH_LAYER_NORM
    changes = variants().get(recipe.name.partition("@")[0], [])
    norms = [name for name in changes if name not in (MERGED, FUSED_ATTENTION)]
    parameters: dict[str, str] = {}
    if [name for name in norms if not (had_torch_norm and name == TIMM_LAYER_NORM)]:
        parameters[FAST_NORM] = "1"
        if had_torch_norm and TIMM_LAYER_NORM in norms:
            parameters[LAYER_NORM] = TORCH_NORM
    if is_new and MERGED in changes:
        parameters[REPARAM] = "1"
    if version < LATER_FUSED_ATTENTION_SINCE.get(family, FUSED_ATTENTION_SINCE) and FUSED_ATTENTION in changes:
        parameters[ATTENTION] = SCALED_QUERIES if family in ONCE_SCALED_QUERIES else SCALED_SCORES
    return str(Recipe(recipe.kind, recipe.name, parameters)) if parameters else ""

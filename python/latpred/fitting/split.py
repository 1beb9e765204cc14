"""What a fit never sees. Written down in files before the first fit; nothing is tuned on the part left out."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from latpred.datasets.recipe import Recipe, parse

BAND = 4.0  # work within a factor of four is one block: no left-out shape has a near twin in training
EVERY = 5  # one block of five is left out

# Devices with one chip are measured, and left out, together.
CHIPS = {
    "GA100": ("A100-PCIe-40GB", "A100-PCIe-80GB", "A100-SXM4-40GB", "A100-SXM4-80GB", "A30"),
    "GH100": ("H100-SXM5-80GB", "H200-SXM-141GB"),
    "GP100": ("P100-PCIe-16GB",),
    "GP104": ("P4",),
    "GV100": ("V100-PCIe-32GB", "V100-SXM2-16GB"),
    "TU104": ("T4",),
    "GA102": ("RTX 3090",),
    "AD104": ("L4",),
    "AD102": ("L40S", "RTX 4090"),
    "GB202": ("RTX PRO 6000 Max-Q",),
    "TU102": ("RTX 2080 Ti", "TITAN RTX"),
    "GP102": ("GTX 1080 Ti", "TITAN X (Pascal)", "TITAN Xp"),
}
# Boards without measurements that carry a measured chip: they get its factors.
OTHER_BOARDS = {
    "GH100": ("H100-PCIe-80GB", "H100-NVL-94GB"),
    "GP100": ("P100-SXM2-16GB",),
    "GV100": ("V100-SXM2-32GB", "V100-PCIe-16GB"),
}
# Modules of timm whose networks are one another's variants: left out together.
RELATED_FAMILIES = (
    (
        "timm-vision_transformer", "timm-beit", "timm-deepseek_vit", "timm-deit", "timm-eva", "timm-gemma4_vit",
        "timm-naflexvit", "timm-qwen3_vit", "timm-vision_transformer_hybrid", "timm-vision_transformer_relpos",
        "timm-vision_transformer_sam",
    ),
    ("timm-swin_transformer", "timm-swin_transformer_v2", "timm-swin_transformer_v2_cr"),
    ("timm-efficientnet", "timm-hardcorenas", "timm-mobilenetv3", "timm-mobilenetv5"),
    ("timm-resnet", "timm-resnetv2", "timm-senet"),
    ("timm-inception_resnet_v2", "timm-inception_v3", "timm-inception_v4"),
    ("timm-xception", "timm-xception_aligned"),
    ("timm-nasnet", "timm-pnasnet"),
    ("timm-efficientformer", "timm-efficientformer_v2"),
    ("timm-efficientvit_mit", "timm-lowformer"),
    ("timm-hiera", "timm-hieradet_sam2"),
    ("timm-cspnet", "timm-cspnext"),
)  # fmt: skip
FOLDS = 5  # of families, besides the part that no choice looks at
TEST = "test"

CHIP_OF = {device: chip for chip, devices in CHIPS.items() for device in devices}

SPLIT_FILE = "gpu.json"


def work(recipe: Recipe, batch: int) -> float:
    """A number that grows with the measured work: of networks their depth, of operators the product of their sizes."""
    if recipe.kind == "anb":
        return sum(int(word) for word in recipe.parameters["l"].split(","))
    size = float(batch)
    for key in ("m", "n", "k", "h", "cin", "cout", "size", "size", "kernel", "kernel"):
        size *= int(recipe.parameters.get(key, 1))
    return size


def block_of(recipe_text: str, batch: int) -> str:
    """The block that a measurement is left out with: its operator and size band; of networks the depth."""
    recipe = parse(recipe_text)
    if recipe.kind == "anb":
        return f"anb:layers={int(work(recipe, batch))}"
    return f"{recipe.name}:work={int(math.log(work(recipe, batch), BAND))}"


def choose(blocks: Iterable[str]) -> list[str]:
    """Every fifth block of each operator, from the third on: spread over the sizes, by no look at the times."""
    by_name: dict[str, list[tuple[int, str]]] = {}
    for block in set(blocks):
        name, _, place = block.partition(":")
        by_name.setdefault(name, []).append((int(place.split("=")[1]), block))
    return sorted(block for places in by_name.values() for _, block in sorted(places)[2::EVERY])


def deal_families(networks: Mapping[str, int]) -> dict[str, list[str]]:
    """Families and how many networks each has, dealt to a test part and FOLDS parts that are left out in turn: related
    ones together, the largest first, back and forth, so that the parts have like sizes. No time is looked at."""
    related = {family: group for group in RELATED_FAMILIES for family in group}
    groups = {related.get(family, (family,)) for family in networks}
    sizes = {group: sum(networks.get(family, 0) for family in group) for group in groups}
    parts: list[list[str]] = [[] for _ in range(FOLDS + 1)]
    for place, group in enumerate(sorted(groups, key=lambda group: (-sizes[group], group))):
        lap, step = divmod(place, len(parts))
        parts[step if lap % 2 == 0 else len(parts) - 1 - step].extend(f for f in group if f in networks)
    names = [str(fold) for fold in range(FOLDS)] + [TEST]
    return {name: sorted(part) for name, part in zip(names, parts, strict=True)}


@cache
def _split_file() -> dict[str, Any]:
    text = (resources.files("latpred") / "data" / "splits" / SPLIT_FILE).read_text(encoding="utf-8")
    content: dict[str, Any] = json.loads(text)
    return content


def left_out_blocks() -> frozenset[str]:
    """The blocks named in the committed split file."""
    return frozenset(_split_file()["left_out_blocks"])


def part_of_family() -> dict[str, str]:
    """For each family of networks its part in the committed split file: TEST, or the fold that it is left out with."""
    return {family: part for part, families in _split_file()["families"].items() for family in families}

"""What a fit never sees. Written down in files before the first fit; nothing is tuned on the part left out."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterable
from importlib import resources
from pathlib import Path

from latpred.datasets.recipe import Recipe, parse

BAND = 4.0  # work within a factor of four is one block: no left-out shape has a near twin in training
EVERY = 5  # one block of five is left out

# Devices with one chip are measured, and left out, together.
CHIPS = {
    "GA100": ("A100-PCIe-40GB", "A100-PCIe-80GB", "A100-SXM4-40GB", "A100-SXM4-80GB"),
    "GH100": ("H100-SXM5-80GB", "H200-SXM-141GB"),
    "GP100": ("P100-PCIe-16GB",),
    "GP104": ("P4",),
    "GV100": ("V100-PCIe-32GB",),
    "TU104": ("T4",),
    "GA102": ("RTX 3090",),
    "AD104": ("L4",),
    "AD102": ("L40S",),
}
# Boards without measurements that carry a measured chip: they get its factors.
OTHER_BOARDS = {
    "GH100": ("H100-PCIe-80GB", "H100-NVL-94GB"),
    "GP100": ("P100-SXM2-16GB",),
    "GV100": ("V100-SXM2-16GB", "V100-SXM2-32GB", "V100-PCIe-16GB"),
}
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


def left_out_blocks() -> frozenset[str]:
    """The blocks named in the committed split file."""
    text = (resources.files("latpred") / "data" / "splits" / SPLIT_FILE).read_text(encoding="utf-8")
    return frozenset(json.loads(text)["left_out_blocks"])


def main() -> None:
    """Writes the split file from the recipes of all measurements; their values are not read."""
    from latpred.fitting.measurements import read_sources

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with NeuSight, aiconfigurator, ...")
    parser.add_argument("--out", type=Path, required=True, help="split file to write")
    arguments = parser.parse_args()
    table = read_sources(arguments.data)[["recipe", "batch"]].drop_duplicates()
    blocks = [block_of(recipe, batch) for recipe, batch in table.itertuples(index=False)]
    content = {
        "description": "Blocks of operator shapes (operator, log4 of the product of its sizes) and of networks "
        "(layers) that no fit sees, on any device. Chips are left out in turn, each with all its boards.",
        "left_out_blocks": choose(blocks),
        "left_out_chips_in_turn": CHIPS,
    }
    arguments.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

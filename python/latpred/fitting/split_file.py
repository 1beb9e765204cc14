"""Makes a split file, as data/splits/gpu.json was made before the first fit:

python -m latpred.fitting.split_file --data FOLDER --out split.json

Rows of attention were read after that: gpu.json leaves none of their blocks out, and stays as it was written down.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path

from latpred.datasets import timm
from latpred.fitting.measurements import read_sources
from latpred.fitting.split import CHIPS, block_of, choose, deal_families


def main() -> None:
    """Writes the split file from the recipes of all measurements; their values are not read."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with NeuSight, aiconfigurator, ...")
    parser.add_argument("--out", type=Path, required=True, help="split file to write")
    arguments = parser.parse_args()
    table = read_sources(arguments.data)[["recipe", "batch"]].drop_duplicates()
    blocks = [block_of(recipe, batch) for recipe, batch in table.itertuples(index=False)]
    networks = {(row.recipe, row.family, row.runtime_version) for row in timm.read(arguments.data)}
    recipes_of = {(recipe, family) for recipe, family, _ in networks}
    content = {
        "description": "Left out: blocks of operator shapes (operator, log4 of the product of its sizes) and of "
        "networks (layers), which no fit sees on any device; families of networks, the part 'test' for the last "
        "figures only, the others in turn; chips in turn, each with all its boards; versions of the runtime in turn.",
        "left_out_blocks": choose(blocks),
        "left_out_chips_in_turn": CHIPS,
        "families": deal_families(Counter(family for _, family in recipes_of)),
        "left_out_versions_in_turn": sorted({version for _, _, version in networks}),
    }
    arguments.out.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""The labels "modelled" of the set "families": what the default predictor says of timm's networks on an A100.

python -m latpred.datasets.families_modelled --out data/measurements/families_modelled.parquet
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from latpred import api
from latpred.calibration import checkpoint_digest
from latpred.datasets import timm
from latpred.datasets.families import GRAPHS_FILE, MODELLED, family_of, hash_of, network_of, shipped_folder
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.recipe import parse
from latpred.fusion.whole_graph import TARGETS

if TYPE_CHECKING:
    import pandas as pd

# DIPPM's card, and batches as a search would try them.
DEVICE = "A100-SXM4-40GB"
BATCHES = (1, 2, 4, 8, 16, 32, 64, 128)
BATCHES_OF_EACH = 1


def modelled(folder: Path) -> pd.DataFrame:
    """What the default predictor says of all of timm's networks, at some batches each; the half-widths of its 80 %
    intervals on the logarithmic scale stand beside it."""
    import pandas

    cache, modules = GraphCache(folder / GRAPHS_FILE), timm.families()
    rows = []
    for recipe in cache.recipes():
        if not recipe.startswith("timm:"):
            continue
        network = network_of(recipe)
        module = f"timm-{modules[network]}"
        for batch in sorted(sorted(BATCHES, key=lambda size: hash_of(f"{recipe}|{size}"))[:BATCHES_OF_EACH]):
            answer = api.predict(graph=cache.graph(recipe, batch), device=DEVICE)
            ends = answer.intervals
            size = parse(recipe).name.partition("@")[2]
            rows.append(
                {
                    "id": f"{hash_of(f'{recipe}|{batch}|{MODELLED}'):016x}",
                    "family": family_of(network, module),
                    "network": network,
                    "recipe": recipe,
                    "batch": batch,
                    "input": f"3,{size},{size}",
                    "latency_s": answer.latency_s,
                    "memory_bytes": answer.memory_mb * 1e6,
                    "energy_j": answer.energy_j,
                    "label": MODELLED,
                    "device": answer.device,
                    "runtime": answer.runtime,
                    "runtime_version": "",
                    "precision": answer.precision,
                    "layout": "nchw",
                    "autograd": False,
                    "noise": np.nan,
                    "module": module,
                    "protocol": f"answer of {answer.predictor}, checkpoint {checkpoint_digest(answer.predictor)}",
                    "source": "latpred",
                    "licence": "Apache-2.0",
                }
                | {
                    f"{name}_half_width": math.nan if pair is None else math.log(pair[1] / pair[0]) / 2
                    for name, pair in zip(TARGETS, ends.values(), strict=True)
                }
            )
    return pandas.DataFrame(rows).sort_values("id", ignore_index=True)


def main() -> None:
    """Asks the default predictor again and writes its answers."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    table = modelled(shipped_folder())
    table.to_parquet(arguments.out, compression="zstd", compression_level=19, index=False)
    print(f"{len(table)} rows, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()

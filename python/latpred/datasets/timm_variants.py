"""Finds what options of timm's benchmark.py change in each network, for timm_runs:

python -m latpred.datasets.timm_variants --out python/latpred/data/measurements/timm_variants.json
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from latpred.datasets import timm
from latpred.datasets.recipe import Recipe
from latpred.datasets.recorded import REPARAM, timm_fused_attention, timm_module, timm_norms
from latpred.datasets.timm_runs import FUSED_ATTENTION, MERGED


def changes(name: str) -> list[str]:
    """What the options change in a network: it is built twice, without weights."""
    plain = timm_module(Recipe("timm", name, {}), None)
    found = sorted({type(norm).__name__ for norm in timm_norms(plain)})
    if timm_fused_attention(plain):
        found.append(FUSED_ATTENTION)
    merged = timm_module(Recipe("timm", name, {REPARAM: "1"}), None)
    return found + [MERGED] * (sum(1 for _ in merged.modules()) != sum(1 for _ in plain.modules()))


def main() -> None:
    """Writes the file that timm_runs.variants() reads."""
    from rich.progress import track

    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    names = sorted(timm.families())
    # Spawned, not forked: torch's threads do not survive a fork.
    with ProcessPoolExecutor(mp_context=multiprocessing.get_context("spawn")) as pool:
        of_each = list(track(pool.map(changes, names, chunksize=8), "networks", total=len(names)))
    found = {name: changed for name, changed in zip(names, of_each, strict=True) if changed}
    arguments.out.write_text(json.dumps(found, indent=0, sort_keys=True) + "\n", encoding="utf-8")
    print(f"{arguments.out}: {len(found)} networks that the options change")


if __name__ == "__main__":
    main()

"""What timm's benchmark.py made of a network before it timed it, which its tables do not say.

python -m latpred.datasets.timm_runs --out python/latpred/data/measurements/timm_variants.json

All its GPU tables were made with --fast-norm: under autocast timm's own norms compute in half precision, torch.nn's in
float32. Of a ResNetV2-50 with group norms an RTX 4090 runs 3,799 images a second, with batch norms 4,199; group norms
in float32, with their casts, would take three times as long as what lies between. Those of torch 2.9.1 were made with
--reparam too: MobileOne-S1 counts 4.76 million parameters there and 4.83 before. And timm's vision transformers had
torch's layer norm until after the tables of torch 2.4.0.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import re
from concurrent.futures import ProcessPoolExecutor
from functools import cache
from importlib import resources
from pathlib import Path

from latpred.datasets.recipe import Recipe
from latpred.datasets.recorded import FAST_NORM, LAYER_NORM, REPARAM, TORCH_NORM, timm_module, timm_norms

VARIANTS_FILE = "timm_variants.json"
MERGED = "merged"  # that a network has something to merge
TIMM_LAYER_NORM = "LayerNorm"

# Modules of timm whose default was torch's LayerNorm before it was timm's.
ONCE_TORCH_LAYER_NORM = ("timm-vision_transformer", "timm-vision_transformer_hybrid", "timm-deit", "timm-vitamin")
REPARAMETERISED_SINCE = (2, 9)  # version of torch; no table was made between 2.4 and this one


@cache
def variants() -> dict[str, list[str]]:
    """For the networks of timm 1.0.31 that such options change: the classes of timm's own norms in them, and MERGED."""
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
    """
    found = re.match(r"torch (\d+)\.(\d+)", runtime_version)
    if found is None:
        raise ValueError(f"'{runtime_version}' names no version of torch")
    is_new = (int(found[1]), int(found[2])) >= REPARAMETERISED_SINCE
    had_torch_norm = not is_new and family in ONCE_TORCH_LAYER_NORM
    changes = variants().get(recipe.name.partition("@")[0], [])
    norms = [name for name in changes if name != MERGED]
    parameters: dict[str, str] = {}
    if [name for name in norms if not (had_torch_norm and name == TIMM_LAYER_NORM)]:
        parameters[FAST_NORM] = "1"
        if had_torch_norm and TIMM_LAYER_NORM in norms:
            parameters[LAYER_NORM] = TORCH_NORM
    if is_new and MERGED in changes:
        parameters[REPARAM] = "1"
    return str(Recipe(recipe.kind, recipe.name, parameters)) if parameters else ""


def changes(name: str) -> list[str]:
    """What the options change in a network: it is built twice, without weights."""
    plain = timm_module(Recipe("timm", name, {}), None)
    found = sorted({type(norm).__name__ for norm in timm_norms(plain)})
    merged = timm_module(Recipe("timm", name, {REPARAM: "1"}), None)
    return found + [MERGED] * (sum(1 for _ in merged.modules()) != sum(1 for _ in plain.modules()))


def main() -> None:
    """Writes the file that variants() reads."""
    from rich.progress import track

    from latpred.datasets import timm

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

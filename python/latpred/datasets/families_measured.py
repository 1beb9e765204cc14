"""What this project measured of the set "families" itself: campaigns' rows made into a part of the set.

python -m latpred.datasets.families_measured campaign.parquet [more.parquet] --out FILE

Latency and process memory come from `latpred campaign run`, what PyTorch's allocator holds from
benchmarks/memory/families.py.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from latpred.campaign.spec import FIRST_RUN
from latpred.datasets import families, family_networks, timm
from latpred.datasets.recipe import parse
from latpred.datasets.rows import Row
from latpred.errors import InvalidArgumentError
from latpred.fusion.whole_graph import TARGETS
from latpred.optional import need

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

# The module of timm that defines the family of a "family:" recipe: what splits leave out together.
MODULES = {
    "densenet": "timm-densenet",
    "convnext": "timm-convnext",
    "efficientnet": "timm-efficientnet",
    "mnasnet": "timm-efficientnet",
    "mobilenet": "timm-efficientnet",
    "poolformer": "timm-metaformer",
    "resnet": "timm-resnet",
    "swin": "timm-swin_transformer",
    "vgg": "timm-vgg",
    "visformer": "timm-visformer",
    "vit": "timm-vision_transformer",
}
ALLOCATOR = "allocator"  # the device of rows that PyTorch's allocator told: the same on every one
_OF_A_CALL = ["recipe", "batch", "input", "device_fingerprint", "runtime", "runtime_version", "precision", "autograd"]
_ALIKE = ["layout", "source", "licence"]


def family_and_module(recipe: str) -> tuple[str, str]:
    """A row of families.FAMILIES or a module of timm, and that module."""
    parsed = parse(recipe)
    if parsed.kind == family_networks.KIND:
        titles = {title.lower(): title for title in families.FAMILIES}
        return titles[parsed.name], MODULES[parsed.name]
    network = families.network_of(recipe)
    module = f"timm-{timm.families()[network]}"
    return families.family_of(network, module), module


def merged(tables: Sequence[pd.DataFrame]) -> pd.DataFrame:
    """A row for each call, with the quantities that were measured of it; failed rows and first runs are left out."""
    pandas = need("pandas", "data", "the set 'families'")
    table = pandas.concat(tables, ignore_index=True)
    has_failed = table.error.fillna("") != "" if "error" in table else np.zeros(len(table), bool)
    table = table[~has_failed & ~table.protocol.str.endswith(FIRST_RUN)]
    unknown = set(table.quantity) - set(TARGETS)
    if unknown:
        raise InvalidArgumentError(
            f"quantity '{min(unknown)}' is no target of the set 'families'; valid: {', '.join(TARGETS)}"
        )
    rows = []
    for key, calls in table.groupby(_OF_A_CALL, sort=False, dropna=False):
        twice = calls.quantity[calls.quantity.duplicated()]
        if len(twice):
            raise InvalidArgumentError(f"{twice.iloc[0]} of {key[0]} at batch {key[1]} stands twice in the tables")
        rows.append(_row(calls))
    made = pandas.DataFrame(rows)[families.COLUMNS].astype({"noise": float})
    return made.sort_values("id", ignore_index=True)


def _row(calls: pd.DataFrame) -> dict[str, object]:
    first = calls.iloc[0]
    family, module = family_and_module(first.recipe)
    values = dict.fromkeys(TARGETS, np.nan) | dict(zip(calls.quantity, calls.value, strict=True))
    timed = calls[calls.quantity == TARGETS[0]]
    fields = {name: first[name] for name in (*_OF_A_CALL, *_ALIKE)}
    row = Row(family=module, device=first.device, value=0.0, protocol="", **fields)
    return fields | values | {
        "id": row.id,
        "family": family,
        "module": module,
        "network": families.network_of(first.recipe),
        "label": families.MEASURED,
        "device": first.device_fingerprint or first.device,
        "autograd": bool(first.autograd),
        "noise": timed.noise.iloc[0] if len(timed) else None,
        "protocol": "; ".join(f"{call.quantity}: {call.protocol}" for call in calls.itertuples()),
    }  # fmt: skip


def main() -> None:
    """Merges tables of campaigns."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("tables", type=Path, nargs="+")
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    pandas = need("pandas", "data", "the set 'families'")
    table = merged([pandas.read_parquet(path) for path in arguments.tables])
    table.to_parquet(arguments.out, compression="zstd", compression_level=19, index=False)
    print(f"{len(table)} rows, {arguments.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()

"""The tables of HELP (MIT): one line for each network, one column for each device and batch, milliseconds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

SOURCE = "HELP 45f70eb9"
LICENCE = "MIT"
PROTOCOL = "PyTorch, mean of repeated calls; the table states no more"
SMALLEST_MS = 0.1  # what lies below are slips of units

# The columns' names of the devices that the device table has; two spellings stand for one card.
DEVICES = {
    "1080ti": "GTX 1080 Ti",
    "2080ti": "RTX 2080 Ti",
    "titan_rtx": "TITAN RTX",
    "titanx": "TITAN X (Pascal)",
    "titanxp": "TITAN Xp",
    "titan_xp": "TITAN Xp",
    "v100": "V100-SXM2-16GB",
    "silver_4114": "Xeon Silver 4114",
    "silver_4210r": "Xeon Silver 4210R",
    "gold_6240": "Xeon Gold 6240",
}
BATCHES = {"_1": 1, "_32": 32, "_64": 64, "_256": 256, "": 1}  # the ends of the columns' names


def rows_of(path: Path, family: str, read_network: Callable[[str], tuple[Recipe, str]]) -> Iterator[Row]:
    """The rows of the table at `path`; `read_network` gives the recipe and the input of what "arch" says."""
    import pandas as pd

    table = pd.read_csv(path)
    columns = [
        (name + end, device, batch)
        for name, device in DEVICES.items()
        for end, batch in BATCHES.items()
        if name + end in table.columns
    ]
    for values in table.to_dict("records"):
        recipe, sizes = read_network(values["arch"])
        for column, device, batch in columns:
            if not values[column] > SMALLEST_MS:
                continue
            yield Row(
                recipe=str(recipe),
                family=family,
                batch=batch,
                input=sizes,
                device=device,
                runtime="eager",
                runtime_version="",
                precision="fp32",
                value=values[column] * MILLISECOND,
                source=SOURCE,
                licence=LICENCE,
                protocol=PROTOCOL,
            )

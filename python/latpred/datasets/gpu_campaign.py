"""Networks measured for this project on GPUs by benchmarks/gpu_campaign (Apache-2.0)."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latpred.datasets.rows import Row

FOLDER = "gpu_campaign"  # of the raw tables; data/measurements/gpu_campaign has what was measured so far
KINDS = ("timm", "hf")  # whose networks a recipe builds again; others are checks
MISSING = ("noise", "samples")


def read(data: Path) -> Iterator[Row]:
    """Latencies under `data`/gpu_campaign of networks that recipes build."""
    for row in read_all(data):
        if row.quantity == "latency_s" and row.recipe.partition(":")[0] in KINDS:
            yield row


def read_all(data: Path) -> Iterator[Row]:
    """Every row of every table there: memory, joules and the GPU's own times too."""
    import pandas as pd

    names = [field.name for field in dataclasses.fields(Row)]
    for path in sorted((data / FOLDER).glob("*.parquet")):
        for values in pd.read_parquet(path, columns=names).to_dict("records"):
            yield Row(**{str(name): _value(str(name), value) for name, value in values.items()})


def read_energy(data: Path) -> Iterator[tuple[Row, float]]:
    """Every reading of joules on a whole GPU, and the seconds that the same call took."""
    rows = list(read_all(data))
    seconds = {row.id: row.value for row in rows if row.quantity == "latency_s"}
    for row in rows:
        if row.quantity == "energy_j" and not row.partition:
            yield row, seconds[dataclasses.replace(row, quantity="latency_s").id]


def _value(name: str, value: Any) -> Any:
    import pandas as pd

    return None if name in MISSING and pd.isna(value) else value

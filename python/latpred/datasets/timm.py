"""Image networks on three cards under autocast and on a processor, from timm's benchmark tables (Apache-2.0)."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator
from importlib import resources
from pathlib import Path

from latpred.datasets import timm_runs
from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row

SOURCE = "pytorch-image-models aa4b5850"
LICENCE = "Apache-2.0"
PROTOCOL = "batch / throughput of timm's benchmark.py: 40 calls after 10 to warm up, input on the device"
FOLDER = Path("pytorch-image-models") / "results"


@dataclasses.dataclass(frozen=True)
class _Results:
    """One table: what its file's name says."""

    file: str
    device: str
    runtime: str
    runtime_version: str
    precision: str
    layout: str
    is_gpu: bool = True


def _gpu(name: str, device: str, torch: str, cuda: str, layout: str = "nchw", compiled: bool = False) -> _Results:
    runtime = "compiled" if compiled else "eager"
    return _Results(
        f"benchmark-infer-amp-{layout}-{name}", device, runtime, f"torch {torch} cuda {cuda}", "amp", layout
    )


RESULTS = (
    _gpu("pt113-cu117-rtx3090", "RTX 3090", "1.13", "11.7"),
    _gpu("pt113-cu117-rtx3090", "RTX 3090", "1.13", "11.7", "nhwc"),
    _gpu("pt210-cu121-rtx3090", "RTX 3090", "2.1.0", "12.1"),
    _gpu("pt210-cu121-rtx3090", "RTX 3090", "2.1.0", "12.1", "nhwc"),
    _gpu("pt240-cu124-rtx3090", "RTX 3090", "2.4.0", "12.4"),
    _gpu("pt240-cu124-rtx3090", "RTX 3090", "2.4.0", "12.4", "nhwc"),
    _gpu("pt240-cu124-rtx4090", "RTX 4090", "2.4.0", "12.4"),
    _gpu("pt240-cu124-rtx4090", "RTX 4090", "2.4.0", "12.4", "nhwc"),
    _gpu("pt240-cu124-rtx4090-dynamo", "RTX 4090", "2.4.0", "12.4", compiled=True),
    _gpu("pt291-cu128-4090", "RTX 4090", "2.9.1", "12.8"),
    _gpu("pt291-cu128-4090-dynamo", "RTX 4090", "2.9.1", "12.8", compiled=True),
    _gpu("pt291-cu130-pro6000maxq", "RTX PRO 6000 Max-Q", "2.9.1", "13.0"),
    _gpu("pt291-cu130-pro6000maxq-dynamo", "RTX PRO 6000 Max-Q", "2.9.1", "13.0", compiled=True),
    _Results("benchmark-infer-bf16-nchw-pt291-cu130-pro6000maxq-dynamo", "RTX PRO 6000 Max-Q", "compiled",
             "torch 2.9.1 cuda 13.0", "bf16", "nchw"),
    _Results("benchmark-infer-fp32-nchw-pt240-cpu-i9_10940x-dynamo", "Core i9-10940X", "compiled", "torch 2.4.0",
             "fp32", "nchw", is_gpu=False),
    _Results("benchmark-infer-fp32-nchw-pt221-cpu-i9_10940x-dynamo", "Core i9-10940X", "compiled", "torch 2.2.1",
             "fp32", "nchw", is_gpu=False),
)  # fmt: skip


def families() -> dict[str, str]:
    """The family of each network that timm 1.0.31 builds: the module that defines it."""
    text = (resources.files("latpred") / "data" / "measurements" / "timm_families.json").read_text(encoding="utf-8")
    return {name: family for family, names in json.loads(text).items() for name in names}


def read_stated(data: Path) -> Iterator[tuple[Row, float, float | None]]:
    """Each row of `read`, and what its own table states of the network: millions of parameters, and billions of MACs
    for one image where it says so."""
    import pandas as pd

    family_of = families()
    for results in RESULTS:
        table = pd.read_csv(data / FOLDER / f"{results.file}.csv.gz").dropna(subset=["infer_samples_per_sec"])
        for row in table.itertuples(index=False):
            name = row.model.partition(".")[0]  # without the tag of the weights
            if name not in family_of:
                continue
            size = int(row.infer_img_size)
            gmacs = getattr(row, "infer_gmacs", math.nan)
            recipe, family = Recipe("timm", f"{name}@{size}", {}), f"timm-{family_of[name]}"
            measured = Row(
                recipe=str(recipe),
                family=family,
                batch=int(row.infer_batch_size),
                input=f"3,{size},{size}",
                device=results.device,
                runtime=results.runtime,
                runtime_version=results.runtime_version,
                precision=results.precision,
                layout=results.layout,
                value=row.infer_batch_size / row.infer_samples_per_sec,
                source=SOURCE,
                licence=LICENCE,
                protocol=PROTOCOL,
                executed=timm_runs.as_run(recipe, family, results.runtime_version) if results.is_gpu else "",
            )
            yield measured, row.param_count, None if math.isnan(gmacs) else gmacs


def read(data: Path) -> Iterator[Row]:
    """All rows under `data`/pytorch-image-models of networks that have a family. Names that timm dropped since, and
    rows without a time, are left out."""
    for row, _, _ in read_stated(data):
        yield row

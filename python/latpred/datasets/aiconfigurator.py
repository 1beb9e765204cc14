"""Half-precision matrix products of serving stacks on A100, H100, H200 and L40S, from aiconfigurator (Apache-2.0)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row

SOURCE = "aiconfigurator 095f58a5"
LICENCE = "Apache-2.0"
PROTOCOL = "kernels replayed from a CUDA graph, mean: no host"
MILLISECOND = 1e-3

DEVICES = {
    "NVIDIA A100-SXM4-80GB": "A100-SXM4-80GB",
    "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "NVIDIA H200": "H200-SXM-141GB",
    "NVIDIA L40S": "L40S",
}
# Names of the tables' types that a recipe can say; weight-only and 8-bit float products are other kernels.
DTYPES = {"bfloat16": "bfloat16"}


def read(data: Path) -> Iterator[Row]:
    """The bfloat16 products under `data`/aiconfigurator."""
    import pandas as pd

    for path in sorted((data / "aiconfigurator").glob("*/gemm/*/*/gemm_perf.csv.gz")):
        table = pd.read_csv(path)
        for row in table[table.gemm_dtype.isin(DTYPES)].itertuples(index=False):
            recipe = Recipe("op", "gemm", {"n": str(row.n), "k": str(row.k), "dtype": DTYPES[row.gemm_dtype]})
            yield Row(
                recipe=str(recipe),
                family="gemm",
                batch=int(row.m),
                input="",
                device=DEVICES[row.device],
                runtime="kernel",
                runtime_version=f"{row.framework.lower()} {row.version}",
                precision="bf16",
                value=row.latency * MILLISECOND,
                source=SOURCE,
                licence=LICENCE,
                protocol=PROTOCOL,
            )

"""Products and prefill attention of serving stacks on A100, H100, H200 and L40S, from aiconfigurator (Apache-2.0).

Mean power stands in some of the tables; no row here is of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

SOURCE = "aiconfigurator 095f58a5"
LICENCE = "Apache-2.0"
PROTOCOL = "kernels replayed from a CUDA graph, mean: no host"

DEVICES = {
    "NVIDIA A100-SXM4-80GB": "A100-SXM4-80GB",
    "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "NVIDIA H200": "H200-SXM-141GB",
    "NVIDIA L40S": "L40S",
}
# The products' types that a recipe can say, as (tensors, precision, what ran). "sq" is SmoothQuant: 8-bit integers in,
# halves out. Weight-only and 8-bit float products are other kernels.
GEMM_TYPES = {"bfloat16": ("bfloat16", "bf16", ""), "sq": ("float16", "int8", "int8_gemm")}
ATTENTION_TYPE = "bfloat16"


def _row(table_row: object, recipe: Recipe, batch: int, precision: str, executed: str = "") -> Row:
    return Row(
        recipe=str(recipe),
        family=recipe.name,
        batch=batch,
        input="",
        device=DEVICES[table_row.device],  # type: ignore[attr-defined]
        runtime="kernel",
        runtime_version=f"{table_row.framework.lower()} {table_row.version}",  # type: ignore[attr-defined]
        precision=precision,
        value=table_row.latency * MILLISECOND,  # type: ignore[attr-defined]
        source=SOURCE,
        licence=LICENCE,
        protocol=PROTOCOL,
        executed=executed,
    )


def _products(path: Path) -> Iterator[Row]:
    import pandas as pd

    table = pd.read_csv(path)
    for row in table[table.gemm_dtype.isin(GEMM_TYPES)].itertuples(index=False):
        dtype, precision, ran = GEMM_TYPES[row.gemm_dtype]
        sizes = {"n": str(row.n), "k": str(row.k)}
        executed = str(Recipe("op", ran, sizes)) if ran else ""
        yield _row(row, Recipe("op", "gemm", {**sizes, "dtype": dtype}), int(row.m), precision, executed)


def _prefill(path: Path) -> Iterator[Row]:
    """Causal attention of whole prompts. What attends to a window only, or to 8-bit keys, is left out."""
    import pandas as pd

    table = pd.read_csv(path)
    table = table[(table.attn_dtype == ATTENTION_TYPE) & (table.kv_cache_dtype == ATTENTION_TYPE)]
    if "window_size" in table.columns:
        table = table[table.window_size == 0]
    for row in table.itertuples(index=False):
        parameters = {
            "heads": row.num_heads,
            "kv_heads": row.num_key_value_heads,
            "seq": row.isl,
            "head_size": row.head_dim,
            "causal": 1,
            "dtype": ATTENTION_TYPE,
        }
        recipe = Recipe("op", "attention", {key: str(value) for key, value in parameters.items()})
        yield _row(row, recipe, int(row.batch_size), "bf16")


def read(data: Path) -> Iterator[Row]:
    """The bfloat16 and SmoothQuant products and the prefill attention under `data`/aiconfigurator."""
    root = data / "aiconfigurator"
    for path in sorted(root.glob("*/gemm/*/*/gemm_perf.csv.gz")):
        yield from _products(path)
    for path in sorted(root.glob("*/attention/*/*/context_attention_perf.csv.gz")):
        yield from _prefill(path)

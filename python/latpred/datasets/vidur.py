"""Operators of language models at fp16 on A100, H100 and A40, from Vidur (MIT)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

SOURCE = "vidur 7d475133"
LICENCE = "MIT"
PROTOCOL = "median of a CUDA profile of one layer's operators in PyTorch, without the host"
DTYPE = "float16"

DEVICES = {"a100": "A100-SXM4-80GB", "a40": "A40", "h100": "H100-SXM5-80GB"}


def _product(n: Callable[[Any], int], k: Callable[[Any], int]) -> Callable[[Any], Recipe]:
    return lambda row: Recipe("op", "gemm", {"n": str(n(row)), "k": str(k(row)), "dtype": DTYPE})


def _vector(name: str) -> Callable[[Any], Recipe]:
    return lambda row: Recipe("op", name, {"h": str(row.n_embd), "dtype": DTYPE})


def _attention_width(row: Any) -> int:
    head = row.n_embd // row.n_head
    return int((row.n_head + 2 * row.n_kv_head) * head // row.num_tensor_parallel_workers)


def _hidden_width(row: Any) -> int:
    return int(row.n_expanded_embd // row.num_tensor_parallel_workers)


# The columns whose operator is plain from the table: products and additions. Its layers split a product between
# workers, whose number is a column.
_RULES: dict[str, Callable[[Any], Recipe]] = {
    "attn_pre_proj": _product(_attention_width, lambda row: row.n_embd),
    "attn_post_proj": _product(lambda row: row.n_embd, lambda row: row.n_embd // row.num_tensor_parallel_workers),
    "mlp_up_proj": _product(lambda row: _hidden_width(row) * (2 if row.use_gated_mlp else 1), lambda row: row.n_embd),
    "mlp_down_proj": _product(lambda row: row.n_embd, _hidden_width),
    "add": _vector("add"),
}


def read(data: Path) -> Iterator[Row]:
    """The products and additions under `data`/vidur."""
    import pandas as pd

    root = data / "vidur" / "data" / "profiling" / "compute"
    for path in sorted([*root.glob("*/*/*/mlp.csv"), *root.glob("*/*/*/mlp.csv.gz")]):
        device = DEVICES[path.relative_to(root).parts[0]]
        for row in pd.read_csv(path).rename(columns=lambda name: name.replace(".", "_")).itertuples(index=False):
            for column, rule in _RULES.items():
                recipe = rule(row)
                median = getattr(row, f"time_stats_{column}_median")
                if not median > 0:
                    continue
                yield Row(
                    recipe=str(recipe),
                    family=recipe.name,
                    batch=int(row.num_tokens),
                    input="",
                    device=device,
                    runtime="kernel",
                    runtime_version="",
                    precision="fp16",
                    value=median * MILLISECOND,
                    noise=getattr(row, f"time_stats_{column}_std") / getattr(row, f"time_stats_{column}_mean"),
                    source=SOURCE,
                    licence=LICENCE,
                    protocol=PROTOCOL,
                )

"""Half-precision products, softmax, layer norm and GELU on A100, from LLMCompass (BSD-3-Clause)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "LLMCompass 2e015fd2"
LICENCE = "BSD-3-Clause"
PROTOCOL = "PyTorch, median of single calls, each waited for: launch and wait are inside"
FOLDER = Path("LLMCompass") / "figure5"
DEVICE = "A100-SXM4-80GB"  # their description of the device says 80 GB; products reach 293 TFLOP/s
DTYPE = "float16"
GIGA = 1e9
# A call that takes less than this many times the shortest of its table is one of launch and wait, not of the kernel.
ABOVE_FLOOR = 2.0


def _products(path: Path) -> pd.DataFrame:
    """Lines "m, n, k, 0.1900ms, 101.7Tflops"; n and k are equal in all of them."""
    import pandas as pd

    table = pd.read_csv(path, header=None, names=["batch", "n", "k", "time", "rate"], skipinitialspace=True)
    return table.assign(value=table.time.str.removesuffix("ms").astype(float) * MILLISECOND)


def _vectors(path: Path) -> pd.DataFrame:
    """Lines "batch, width, billions of elements in a second"."""
    import pandas as pd

    table = pd.read_csv(path, header=None, names=["batch", "h", "rate"], skipinitialspace=True)
    return table.assign(value=table.batch * table.h / (table.rate * GIGA))


def _flat_vectors(path: Path) -> pd.DataFrame:
    """Lines "elements, billions of elements in a second"."""
    import pandas as pd

    table = pd.read_csv(path, header=None, names=["batch", "rate"], skipinitialspace=True)
    return table.assign(h=1, value=table.batch / (table.rate * GIGA))


# Operator: its file, what reads it, the columns that the recipe has. GELU is compiled, one kernel for its tanh.
_TABLES: dict[str, tuple[str, Callable[[Path], pd.DataFrame], tuple[str, ...], str]] = {
    "gemm": ("ab/real_hardware/matmul_A100.csv", _products, ("n", "k"), "eager"),
    "softmax": ("cf/real_hardware/softmax_A100.csv", _vectors, ("h",), "eager"),
    "layer_norm": ("de/real_hardware/layernorm_A100.csv", _vectors, ("h",), "eager"),
    "gelu": ("g/real_hardware/gelu_A100.csv", _flat_vectors, ("h",), "compiled"),
}


def read(data: Path) -> Iterator[Row]:
    """The rows under `data`/LLMCompass that measure the kernel and not the launch."""
    for operator, (file, read_table, columns, runtime) in _TABLES.items():
        table = read_table(data / FOLDER / file)
        for entry in table[table.value >= ABOVE_FLOOR * table.value.min()].to_dict("records"):
            sizes = {column: str(entry[column]) for column in columns}
            yield Row(
                recipe=str(Recipe("op", operator, sizes | {"dtype": DTYPE})),
                family=operator,
                batch=int(entry["batch"]),
                input="",
                device=DEVICE,
                runtime=runtime,
                runtime_version="",
                precision="fp16",
                value=entry["value"],
                source=SOURCE,
                licence=LICENCE,
                protocol=PROTOCOL,
            )

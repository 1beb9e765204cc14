"""Single operators at float32 on P4 to A100, from NeuSight (MIT)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

if TYPE_CHECKING:
    import pandas as pd

SOURCE = "NeuSight 6945927d"
LICENCE = "MIT"
PROTOCOL = "PyTorch, one operator called in a loop, host dispatch inside"

DEVICES = {
    "NVIDIA A100-PCIE-40GB": "A100-PCIe-40GB",
    "NVIDIA A100 80GB PCIe": "A100-PCIe-80GB",
    "NVIDIA H100 80GB HBM3": "H100-SXM5-80GB",
    "NVIDIA L4": "L4",
    "Tesla P100-PCIE-16GB": "P100-PCIe-16GB",
    "Tesla P4": "P4",
    "Tesla T4": "T4",
    "Tesla V100-PCIE-32GB": "V100-PCIe-32GB",
}


def _linear(row: pd.Series) -> tuple[int, Recipe]:
    # The table's letters are those of [M, N] x [N, K], as the kernels' grids show.
    return int(row.M), Recipe("op", "gemm", {"n": str(row.K), "k": str(row.N), "bias": "1"})


def _bmm(row: pd.Series) -> tuple[int, Recipe]:
    return int(row.B), Recipe("op", "bmm", {"m": str(row.M), "n": str(row.K), "k": str(row.N)})


def _conv(row: pd.Series) -> tuple[int, Recipe]:
    parameters = {
        "cin": row.Input_Channel,
        "cout": row.Output_Channel,
        "kernel": row.Kernel_Szie,
        "size": row.Input_Size,
        "stride": row.Stride,
        "pad": row.Padding,
    }
    return int(row.B), Recipe("op", "conv", {key: str(value) for key, value in parameters.items()})


def _vector(name: str, scalar: bool = False) -> Callable[[pd.Series], tuple[int, Recipe]]:
    def rule(row: pd.Series) -> tuple[int, Recipe]:
        parameters = {"h": str(row.H)} | ({"scalar": "1"} if scalar else {})
        return int(row.B), Recipe("op", name, parameters)

    return rule


_RULES = {
    "linear": _linear,
    "bmm": _bmm,
    "conv": _conv,
    "ln": _vector("layer_norm"),
    "softmax": _vector("softmax"),
    "relu": _vector("relu"),
    "gelu": _vector("gelu"),
    "tanh": _vector("tanh"),
    "add": _vector("add"),
    "mul": _vector("mul"),
    "div": _vector("div"),
    "pow": _vector("pow"),
    "addu": _vector("add", scalar=True),
    "mulu": _vector("mul", scalar=True),
    "divu": _vector("div", scalar=True),
    "powu": _vector("pow", scalar=True),
}


def _rows_of(path: Path) -> Iterator[Row]:
    import pandas as pd

    table = pd.read_csv(path)
    for row in table.itertuples(index=False):
        batch, recipe = _RULES[row.OPName](row)
        yield Row(
            recipe=str(recipe),
            family=recipe.name,
            batch=batch,
            input="",
            device=DEVICES[row.Device],
            runtime="eager",
            runtime_version="torch 2.1.0",
            precision="fp32",
            value=row.Latency * MILLISECOND,
            source=SOURCE,
            licence=LICENCE,
            protocol=PROTOCOL,
        )


def read(data: Path) -> Iterator[Row]:
    """All rows under `data`/NeuSight: the collected ones, then the authors' test operators."""
    root = data / "NeuSight" / "data" / "dataset"
    for path in sorted(root.glob("train/collect/*/p2.1.0/*.csv.gz")):
        yield from _rows_of(path)
    for name in ("bmm.csv.gz", "linear.csv.gz", "elem.csv.gz", "ln.csv", "softmax.csv"):
        yield from _rows_of(root / "test" / name)

"""Every public table of measurements in one: python -m latpred.datasets.unified --data FOLDER --out rows.parquet."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from latpred.datasets import accel_nasbench, aiconfigurator, nasbench201, neusight, rows, tensorrt_bert, timm, vidur
from latpred.datasets.rows import Row

if TYPE_CHECKING:
    import pandas as pd

# The folder of each source under the data folder, and what reads it.
SOURCES: dict[str, Callable[[Path], Iterator[Row]]] = {
    "Accel-NASBench": accel_nasbench.read,
    "HELP": nasbench201.read,
    "NeuSight": neusight.read,
    "TensorRT": tensorrt_bert.read,
    "aiconfigurator": aiconfigurator.read,
    "pytorch-image-models": timm.read,
    "vidur": vidur.read,
}


def read(data: Path) -> pd.DataFrame:
    """The rows of all sources that are under `data`, each once."""
    return rows.to_table(
        row for name, read_source in SOURCES.items() if (data / name).is_dir() for row in read_source(data)
    )


def main() -> None:
    """Writes the table and prints how many rows each source has for each device."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"folder with {', '.join(SOURCES)}")
    parser.add_argument("--out", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()
    table = read(arguments.data)
    table.to_parquet(arguments.out, compression="zstd", index=False)
    print(table.groupby(["source", "device", "runtime", "precision"]).size().to_string())
    print(f"{len(table)} rows of {table.recipe.nunique()} networks and operators in {arguments.out}")


if __name__ == "__main__":
    main()

"""The measurements that predictors are fitted on, and the kernels that each of them ran."""

from __future__ import annotations

import argparse
import dataclasses
import itertools
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from latpred import _core
from latpred.datasets import accel_nasbench, aiconfigurator, neusight, rows
from latpred.datasets.recipe import parse
from latpred.datasets.recipe_builders import build
from latpred.fitting.split import CHIP_OF, block_of, left_out_blocks

if TYPE_CHECKING:
    import pandas as pd

TABLE_FILE = "gpu.parquet"
ROWS_OF_EACH_TABLE = 240  # a table: one source and version, device and operator
SEED = 0

# The quickest calls of a table of operators show how long the host takes for one: tables with this many rows have some
# that are shorter than that on the device, and a higher quantile than this would be no dispatch.
FLOOR_MIN_ROWS = 300
FLOOR_QUANTILE = 0.01
FLOOR_LARGEST_S = 120e-6
# A call this much longer than its table's floor is the device's doing.
CLEAR_OF_FLOOR = 2.0

HOST_NORM = 3.0  # kHostNorm of predict/host.cpp

KINDS = tuple(_core.checkpoint_format()["cost_kinds"])
ARITHMETICS = tuple(_core.checkpoint_format()["arithmetics"])


def join_host_s(device_s: np.ndarray, host_s: np.ndarray) -> np.ndarray:
    """What a call takes of which the device and the host take so long, as predict/host.cpp joins the two."""
    return np.asarray((device_s**HOST_NORM + host_s**HOST_NORM) ** (1 / HOST_NORM))


def read_sources(data: Path) -> pd.DataFrame:
    """All rows of the public tables under `data`."""
    return rows.to_table(itertools.chain(neusight.read(data), aiconfigurator.read(data), accel_nasbench.read(data)))


def _with_floor(table: pd.DataFrame) -> pd.DataFrame:
    """Adds host_floor_s, the time of the quickest calls of a row's table; 0 where none is that quick."""

    def floor(values: pd.Series) -> float:
        quickest = values.quantile(FLOOR_QUANTILE)
        return quickest if len(values) >= FLOOR_MIN_ROWS and quickest < FLOOR_LARGEST_S else 0.0

    floors = table.groupby(["source", "device", "family"])["value"].transform(floor)
    return table.assign(host_floor_s=floors.where(table.runtime == "eager", 0.0))


def is_clear_of_floor(table: pd.DataFrame) -> np.ndarray:
    """[N] rows whose latency says something about the device."""
    return np.asarray(table.value > CLEAR_OF_FLOOR * table.host_floor_s)


def is_latency(rows: pd.DataFrame, on_gpu: bool) -> np.ndarray:
    """[N] rows of whole calls' latency on GPUs, or on CPUs."""
    is_there = {name: _core.device(name).is_gpu == on_gpu for name in rows.device.unique()}
    return np.asarray((rows.quantity == "latency_s") & ~rows.autograd & rows.device.map(is_there).astype(bool))


def sample(table: pd.DataFrame, per_table: int = ROWS_OF_EACH_TABLE, seed: int = SEED) -> pd.DataFrame:
    """At most `per_table` rows of each table, with a quarter of them from the blocks left out."""
    import pandas as pd

    table = _with_floor(table)
    blocks = [block_of(text, batch) for text, batch in zip(table.recipe, table.batch, strict=True)]
    table = table.assign(block=blocks)
    is_left_out = table.block.isin(left_out_blocks())
    parts = []
    for left_out, count in ((True, per_table // 4), (False, per_table - per_table // 4)):
        part = table[is_left_out == left_out]
        # Shuffled once, then the first rows of each table: the same rows whatever other tables there are.
        shuffled = part.sample(frac=1, random_state=seed)
        parts.append(shuffled.groupby(["source", "runtime_version", "device", "family"]).head(count))
    return pd.concat(parts).sort_values("id", ignore_index=True)


def load(data: Path | None = None) -> pd.DataFrame:
    """The shipped table, or the one that `data` gives."""
    import pandas as pd

    if data is not None:
        return sample(read_sources(data))
    with resources.as_file(resources.files("latpred") / "data" / "measurements" / TABLE_FILE) as path:
        return pd.read_parquet(path)


@dataclasses.dataclass(frozen=True)
class Samples:
    """Measurements [S] and the kernels [K] that they ran, in plain arrays. Seconds and elements."""

    # [S]
    latency_s: np.ndarray
    host_s: np.ndarray  # the host's time for the call: launches x runtime's, or the measured floor
    launches_s: np.ndarray  # launches x runtime's: what a prediction knows of the host
    family: np.ndarray
    device: np.ndarray
    chip: np.ndarray
    runtime: np.ndarray
    precision: np.ndarray
    batch: np.ndarray
    is_left_out: np.ndarray
    is_clear: np.ndarray  # of the host's floor
    # [K]
    sample: np.ndarray  # index into [S], ascending
    kind: np.ndarray  # index into KINDS
    arithmetic: np.ndarray  # index into ARITHMETICS
    repeat: np.ndarray
    compute_s: np.ndarray
    memory_s: np.ndarray
    weight_share: np.ndarray  # of the bytes
    gemm_batch: np.ndarray
    m: np.ndarray
    n: np.ndarray
    k: np.ndarray
    window: np.ndarray
    stride: np.ndarray
    sms: np.ndarray

    @property
    def size(self) -> int:
        """S"""
        return len(self.latency_s)

    def select(self, mask: np.ndarray) -> Samples:
        """The samples where `mask` [S] is true."""
        kernels = mask[self.sample]
        new_index = np.cumsum(mask) - 1
        selected = {}
        for field in dataclasses.fields(self):
            values = getattr(self, field.name)
            selected[field.name] = values[mask if len(values) == self.size and field.name in SAMPLE_FIELDS else kernels]
        selected["sample"] = new_index[self.sample[kernels]]
        return Samples(**selected)

    def sum_kernels(self, values: np.ndarray) -> np.ndarray:
        """[S] sums of kernel values [K], repeats included."""
        return np.bincount(self.sample, values * self.repeat, self.size)


SAMPLE_FIELDS = frozenset(
    {
        "latency_s", "host_s", "launches_s", "family", "device", "chip", "runtime", "precision", "batch", "is_left_out",
        "is_clear",
    }
)  # fmt: skip


def lower(table: pd.DataFrame) -> Samples:
    """Rebuilds every network of `table` and counts its kernels."""
    kernels: list[tuple[float, ...]] = []
    host_s, launches_s = np.zeros(len(table)), np.zeros(len(table))
    host_of_launch = {row.name: row.host_s_per_launch for row in _core.runtimes()}
    sms = {name: _core.device(name).sms for name in table.device.unique()}
    for index, (row, ran) in enumerate(zip(table.itertuples(index=False), rows.executed(table), strict=True)):
        net = _core.GraphBuilder()
        build(net, parse(ran))
        fused = _core.fuse(net.build(int(row.batch)), row.runtime, row.precision)
        features = _core.featurize(fused, row.device, row.partition)
        launches_s[index] = fused.num_launches * host_of_launch[row.runtime]
        host_s[index] = row.host_floor_s or launches_s[index]
        for kernel, compute_s, memory_s in zip(fused.rows, features.compute_s, features.memory_s, strict=True):
            moved = kernel.bytes_in + kernel.bytes_out + kernel.weight_bytes
            kernels.append(
                (
                    index, KINDS.index(kernel.kind), ARITHMETICS.index(kernel.arithmetic), kernel.repeat, compute_s,
                    memory_s, kernel.weight_bytes / moved if moved else 0.0, kernel.gemm_batch, kernel.m, kernel.n,
                    kernel.k, kernel.window, kernel.stride, sms[row.device],
                )
            )  # fmt: skip
    columns = np.array(kernels, dtype=float).T
    sample_index, kind, arithmetic = columns[:3].astype(int)
    blocks = left_out_blocks()
    return Samples(
        table.value.to_numpy(),
        host_s,
        launches_s,
        table.family.to_numpy(),
        table.device.to_numpy(),
        np.array([CHIP_OF[device] for device in table.device]),
        table.runtime.to_numpy(),
        table.precision.to_numpy(),
        table.batch.to_numpy(),
        table.block.isin(blocks).to_numpy(),
        is_clear_of_floor(table),
        sample_index,
        kind,
        arithmetic,
        *columns[3:],
    )


def main() -> None:
    """Writes the table that ships: a sample of every public table, sources and licences in its columns."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder with NeuSight, aiconfigurator, ...")
    parser.add_argument("--out", type=Path, required=True, help="Parquet file to write")
    arguments = parser.parse_args()
    load(arguments.data).to_parquet(arguments.out, compression="zstd", index=False)


if __name__ == "__main__":
    main()

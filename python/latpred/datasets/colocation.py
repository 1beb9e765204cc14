"""What happens on shared GPUs, from four public sources, as one compact table.

python -m latpred.datasets.colocation --from FOLDER --out data/measurements/colocation_gpus.parquet

FOLDER holds gavel, socc22-miso, orion and mlperf_inference as their projects publish them.
"""

from __future__ import annotations

import argparse
import ast
import dataclasses
import gzip
import json
import re
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred.datasets import mlperf
from latpred.optional import need
from latpred.units import NANOSECOND

if TYPE_CHECKING:
    import pandas as pd

# Kinds of rows.
PAIR = "pair"  # a job beside another on the whole device
MIG_NEIGHBOURS = "mig_neighbours"  # a network on its slice while the other slices work
SLICE = "slice"  # a job alone on a MIG slice
FORWARD = "forward"  # one forward pass, kernel by kernel

_PERCENT = 100.0


@dataclasses.dataclass(frozen=True)
class SharedRow:
    """One number of a shared device; NaN where a source does not have it. Seconds are of one item or iteration."""

    kind: str
    device: str
    sharing: str
    is_training: bool
    network: str
    batch: int  # 0: the source does not say
    source: str
    licence: str
    alone_s: float
    beside_s: float = float("nan")
    neighbour: str = ""
    neighbour_batch: int = 0
    partition: str = ""
    sm_share: float = float("nan")
    memory_share: float = float("nan")


def _open_json(path: Path) -> Any:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        return json.load(file)


# gavel: training jobs on one GPU, alone and in pairs. Its files do not say whether MPS was on. On V100 many pairs lose
# nothing, as under MPS; on P100 and K80 two jobs take twice as long, as where processes take turns.
GAVEL_SOURCE, GAVEL_LICENCE = "gavel c4fa4009", "MIT"
_GAVEL_DEVICES = {
    "v100": ("V100-SXM2-16GB", "mps"),
    "p100": ("P100-PCIe-16GB", "time_slicing"),
    "k80": ("K80", "time_slicing"),
}
_GAVEL_JOB = re.compile(r"(?P<name>[^(]+?)(?: \(batch size (?P<batch>\d+)\))?$")
_ALONE = "null"


def _job(words: str) -> tuple[str, int]:
    found = _GAVEL_JOB.match(words)
    assert found is not None
    return found["name"], int(found["batch"] or 0)


def read_gavel(folder: Path) -> Iterator[SharedRow]:
    """Pairs on one GPU that ran: a throughput of 0 is a pair that did not fit."""
    table = _open_json(folder / "gavel" / "scheduler" / "simulation_throughputs.json.gz")
    for name, (device, sharing) in _GAVEL_DEVICES.items():
        for target, partners in table[name].items():
            words, gpus = ast.literal_eval(target)
            if gpus != 1:
                continue
            network, batch = _job(words)
            for partner, rates in partners.items():
                if partner == _ALONE or not rates[0] or not partners[_ALONE]:
                    continue
                neighbour, neighbour_batch = _job(ast.literal_eval(partner)[0])
                yield SharedRow(
                    PAIR, device, sharing, True, network, batch, GAVEL_SOURCE, GAVEL_LICENCE, 1 / partners[_ALONE],
                    1 / rates[0], neighbour, neighbour_batch,
                )  # fmt: skip


MISO_SOURCE, MISO_LICENCE = "socc22-miso 39b1ee69", "MIT"
_MISO_DEVICE = "A100-SXM4-40GB"
_MISO_FILE = re.compile(r"(?P<partition>\dg\.\d+gb)_(?P<job>[a-z0-9]+)_train(?P<batch>\d+)\.json\.gz")
_WARM_UP = 5  # iterations


def read_miso(folder: Path) -> Iterator[SharedRow]:
    """Seconds of one training iteration on each MIG profile that the job fits on, and what it uses of the whole GPU."""
    place = folder / "socc22-miso" / "mps"
    for path in sorted((place / "models" / "logs" / "mig").glob("*.json.gz")):
        found = _MISO_FILE.match(path.name)
        if found is None:
            continue
        times = [value for epoch in _open_json(path).values() for value in epoch][_WARM_UP:]
        used = {
            name: _open_json(place / "configs" / "util_collection" / f"{name}_{found['job']}.json.gz")[found["batch"]]
            for name in ("util_sm", "util_mem")
        }
        yield SharedRow(
            SLICE, _MISO_DEVICE, "mig", True, found["job"], int(found["batch"]), MISO_SOURCE, MISO_LICENCE,
            statistics.median(times), partition=found["partition"], sm_share=used["util_sm"] / _PERCENT,
            memory_share=used["util_mem"] / _PERCENT,
        )  # fmt: skip


ORION_SOURCE, ORION_LICENCE = "orion aded65dd", "MIT"
_ORION_DEVICE, _ORION_SMS = "V100-SXM2-16GB", 80
_ORION_FILE = re.compile(r"(?P<network>[a-z0-9]+)_(?P<batch>\d+)_fwd_new")
_MEMORY_CLASS = 0


def read_orion(folder: Path) -> Iterator[SharedRow]:
    """Of each forward pass the sum of its kernels, the share of all SMs that they need, and that of its memory-bound
    kernels: means over their time."""
    pandas = need("pandas", "data", "co-location data")
    for path in sorted((folder / "orion" / "profiling" / "postprocessing" / "profiles").iterdir()):
        found = _ORION_FILE.match(path.name)
        if found is None:
            continue
        kernels = pandas.read_csv(path)
        weights = kernels.Duration / kernels.Duration.sum()
        yield SharedRow(
            FORWARD, _ORION_DEVICE, "", False, found["network"], int(found["batch"]), ORION_SOURCE, ORION_LICENCE,
            float(kernels.Duration.sum()) * NANOSECOND,
            sm_share=float((weights * (kernels.SM_usage / _ORION_SMS).clip(upper=1)).sum()),
            memory_share=float(weights[kernels.Profile == _MEMORY_CLASS].sum()),
        )  # fmt: skip


_ALONE_SYSTEM = "DGX-A100_A100-SXM-80GB-MIG_1x1g.10gb_TRT"
_BESIDE_SYSTEM = f"{_ALONE_SYSTEM}_HeteroMultiUse"
_OFFLINE = "offline"


def read_mlperf(folder: Path) -> Iterator[SharedRow]:
    """One slice of seven alone, and while other networks run on the other six; seconds for each sample."""
    pandas = need("pandas", "data", "co-location data")
    table = pandas.read_csv(folder / "mlperf_inference" / "mlperf_runs.csv.gz")
    table = table[(table.result == "VALID") & (table.scenario.str.lower() == _OFFLINE)]
    rates = {
        system: table[table.system == system].set_index("benchmark").samples_per_s.to_dict()
        for system in (_ALONE_SYSTEM, _BESIDE_SYSTEM)
    }
    for network in sorted(rates[_ALONE_SYSTEM].keys() & rates[_BESIDE_SYSTEM].keys()):
        if network.endswith("99.9"):
            continue  # the same run as the one of 99 % accuracy
        device, partition = mlperf.DEVICES["NVIDIA A100-SXM-80GB (1x1g.10gb MIG)"]
        yield SharedRow(
            MIG_NEIGHBOURS, device, "mig", False, network, 0, mlperf.SOURCE, mlperf.LICENCE,
            1 / rates[_ALONE_SYSTEM][network], 1 / rates[_BESIDE_SYSTEM][network], neighbour="other networks",
            partition=partition,
        )  # fmt: skip


READERS = (read_gavel, read_miso, read_orion, read_mlperf)


def to_frame(folder: Path) -> pd.DataFrame:
    """All rows."""
    pandas = need("pandas", "data", "co-location data")
    return pandas.DataFrame([dataclasses.asdict(row) for reader in READERS for row in reader(folder)])


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="folder", type=Path, required=True, help="folder of the four sources")
    parser.add_argument("--out", type=Path, required=True, help="the .parquet file to write")
    options = parser.parse_args()
    table = to_frame(options.folder)
    table.to_parquet(options.out, compression="zstd", index=False)
    counts = ", ".join(f"{count} of kind {kind}" for kind, count in table.kind.value_counts().items())
    print(f"{options.out}: {len(table)} rows ({counts}), {options.out.stat().st_size} bytes")


if __name__ == "__main__":
    main()

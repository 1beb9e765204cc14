"""ResNet-50 under TensorRT on data-centre cards and their slices, from MLPerf inference (Apache-2.0)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from latpred.datasets.rows import Row

SOURCE = "inference_results_v1.0 f7759baf, inference_results_v3.0 1948f9b5"
LICENCE = "Apache-2.0"
NANOSECOND = 1e-9

BENCHMARK = "resnet50"
RECIPE, FAMILY, SIZES = "timm:resnet50@224", "timm-resnet", "3,224,224"

# The accelerators that the device table has, and the slice of it.
DEVICES = {
    "NVIDIA A10": ("A10", ""),
    "NVIDIA A30": ("A30", ""),
    "NVIDIA A30 (1x1g.3gb MIG)": ("A30", "1g.6gb"),  # the card has no smaller slice than a quarter of its 24 GB
    "NVIDIA A100-PCIe-40GB": ("A100-PCIe-40GB", ""),
    "NVIDIA A100-PCIe-80GB": ("A100-PCIe-80GB", ""),
    "NVIDIA A100-SXM-80GB": ("A100-SXM4-80GB", ""),
    "NVIDIA A100-SXM-80GB (1x1g.10gb MIG)": ("A100-SXM4-80GB", "1g.10gb"),
    "NVIDIA A100-SXM4-40GB": ("A100-SXM4-40GB", ""),
    "NVIDIA H100-PCIe-80GB": ("H100-PCIe-80GB", ""),
    "NVIDIA H100-SXM-80GB": ("H100-SXM5-80GB", ""),
    "NVIDIA GeForce RTX 4090 (Ada Lovelace)": ("RTX 4090", ""),
    "NVIDIA L4": ("L4", ""),
    "NVIDIA T4": ("T4", ""),
    "Tesla T4": ("T4", ""),
}
# Systems with a server between, with capped power, or with neighbours on the other slices.
OTHER_SYSTEMS = re.compile("Triton|MaxQ|HeteroMultiUse")
TENSORRT = re.compile(r"TensorRT v?(?P<version>[\d.]+)")

SINGLE, OFFLINE = "singlestream", "offline"  # submitters write them with and without capitals
PROTOCOLS = {
    SINGLE: "median of one query after another, 8-bit engine built for MLPerf and replayed from a CUDA graph",
    OFFLINE: "batch / throughput, batches in two streams, so that copies and gaps hide; 8-bit engine",
}
# Only NVIDIA's submissions come with the batches that they ran.
KNOWN_BATCHES = "NVIDIA"
CHASSIS = re.compile(r"^DGX-[AH]100_")


def _config(version: str, system: str) -> str:
    """NVIDIA's name of the configuration of `system`: "DGX-A100_A100-SXM-80GBx1_TRT" ran "A100_SXM_80GBx1"."""
    name = CHASSIS.sub("", system).partition("_TRT")[0]
    return name if version == "v1.0" else name.replace("-", "_")


def read(data: Path) -> Iterator[Row]:
    """The rows under `data`/mlperf_inference of ResNet-50 on one of DEVICES: batch 1 of everyone, larger ones where
    the batch is known. Systems of several accelerators repeat, for each, what those of one measured."""
    import pandas as pd

    folder = data / "mlperf_inference"
    table = pd.read_csv(folder / "mlperf_runs.csv.gz")
    sizes = pd.read_csv(folder / "nvidia_batch_sizes.csv")
    sizes = sizes[(sizes.benchmark == BENCHMARK) & (sizes.scenario.str.lower() == OFFLINE)]
    batches = {(row.version, row.config): int(row.gpu_batch_size) for row in sizes.itertuples(index=False)}
    table["scenario"] = table.scenario.str.lower()
    table = table[
        (table.benchmark == BENCHMARK)
        & (table.division == "closed")
        & (table.result == "VALID")
        & (table.n_accel == 1)
        & table.scenario.isin(PROTOCOLS)
        & table.accelerator.isin(DEVICES)
        & ~table.system.str.contains(OTHER_SYSTEMS)
    ]
    for row in table.itertuples(index=False):
        tensorrt = TENSORRT.match(row.framework)
        if tensorrt is None:
            continue
        if row.scenario == SINGLE:
            batch, value = 1, row.p50_ns * NANOSECOND
        elif row.submitter == KNOWN_BATCHES:
            batch = batches[row.version, _config(row.version, row.system)]
            value = batch / row.samples_per_s
        else:
            continue
        device, partition = DEVICES[row.accelerator]
        yield Row(
            recipe=RECIPE,
            family=FAMILY,
            batch=batch,
            input=SIZES,
            device=device,
            partition=partition,
            runtime="tensorrt",
            runtime_version=f"tensorrt {tensorrt['version']}",
            precision="int8",
            value=value,
            source=SOURCE,
            licence=LICENCE,
            protocol=PROTOCOLS[row.scenario],
        )

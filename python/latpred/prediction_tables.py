"""The tables behind an answer, kernels and MIG profiles, and the table of many answers: rows and how they show."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, overload

from latpred.tables import Column, Table, number, number_column, percent_text, scaled, text_column, yes_or_no
from latpred.units import MEGABYTE, MILLISECONDS_PER_S

if TYPE_CHECKING:
    from latpred._core import KernelRow, PartitionRow
    from latpred.prediction import Prediction

# Kinds of rows of the kernels table that are waits, not kernels.
NO_KERNELS = ("host_wait", "input_copy")


@dataclass(frozen=True)
class Kernel:
    """One row of `Prediction.kernels`; latency_ms of all rows add up to the prediction's."""

    name: str
    kind: str  # a cost kind, or "host_wait", "input_copy"
    latency_ms: float
    share: float  # of the prediction's latency
    bound: str  # "compute" or "memory"; empty for what is no kernel
    arithmetic: str
    repeat: int
    roofline_ms: float | None  # what the device's peak rates allow; None for what is no kernel
    macs: float
    flops: float
    bytes: float
    m: float
    n: float
    k: float
    tiles: float
    waves: float
    members: tuple[str, ...]  # nodes of the graph


def _members(kernel: Kernel) -> list[str]:
    return list(kernel.members)


KERNEL_COLUMNS: list[Column[Kernel]] = [
    text_column("name", "kernel"),
    text_column("kind"),
    number_column("latency_ms", "ms"),
    number_column("share", text=partial(percent_text, digits=1)),
    text_column("bound"),
    text_column("arithmetic"),
    number_column("repeat", text=str, is_shown=False),
    number_column("roofline_ms", "roofline ms"),
    number_column("macs", "MACs", scaled, is_shown=False),
    number_column("flops", "FLOPs", scaled),
    number_column("bytes", text=scaled),
    number_column("m", is_shown=False),
    number_column("n", is_shown=False),
    number_column("k", is_shown=False),
    number_column("tiles", is_shown=False),
    number_column("waves", is_shown=False),
    Column("members", _members, is_shown=False),
]


@dataclass(frozen=True)
class PartitionChoice:
    """One row of `Prediction.partitions`: the same network on one MIG profile of the device."""

    name: str
    sms: float
    usable_mb: float
    max_instances: int  # how many fit on one device
    latency_ms: float
    latency_ms_low: float
    latency_ms_high: float
    memory_share: float  # predicted peak over usable
    fits: bool  # by the upper end of the memory interval


PARTITION_COLUMNS: list[Column[PartitionChoice]] = [
    text_column("name", "MIG profile"),
    number_column("sms", "SMs"),
    number_column("usable_mb", "usable MB"),
    number_column("max_instances", "instances", str),
    number_column("latency_ms", "ms"),
    number_column("latency_ms_low", "low ms"),
    number_column("latency_ms_high", "high ms"),
    number_column("memory_share", "memory", percent_text),
    number_column("fits", text=yes_or_no, is_left=True),
]


def kernel_table(rows: list[KernelRow], latency_s: float) -> Table[Kernel]:
    """The table of what runs; `latency_s` is of the whole call, input copy included."""
    kernels = [
        Kernel(
            name=row.name,
            kind=row.kind,
            latency_ms=row.latency_s * MILLISECONDS_PER_S,
            share=row.latency_s / latency_s,
            bound="" if row.kind in NO_KERNELS else "compute" if row.compute_bound else "memory",
            arithmetic=row.arithmetic,
            repeat=row.repeat,
            roofline_ms=None if row.kind in NO_KERNELS else row.roofline_s * MILLISECONDS_PER_S,
            macs=row.macs,
            flops=row.flops,
            bytes=row.bytes,
            m=row.m,
            n=row.n,
            k=row.k,
            tiles=row.tiles,
            waves=row.waves,
            members=tuple(row.members),
        )
        for row in rows
    ]
    return Table(kernels, KERNEL_COLUMNS, what="kernel")


def partition_table(rows: list[PartitionRow]) -> Table[PartitionChoice]:
    """The table of a device's MIG profiles."""
    choices = [
        PartitionChoice(
            name=row.name,
            sms=row.sms,
            usable_mb=row.memory_bytes / MEGABYTE,
            max_instances=row.max_instances,
            latency_ms=row.latency_s * MILLISECONDS_PER_S,
            latency_ms_low=row.latency_interval_s[0] * MILLISECONDS_PER_S,
            latency_ms_high=row.latency_interval_s[1] * MILLISECONDS_PER_S,
            memory_share=row.memory_share,
            fits=row.fits,
        )
        for row in rows
    ]
    return Table(choices, PARTITION_COLUMNS, what="MIG profile")


def _interval_end(name: str, end: int) -> Any:
    def value(prediction: Prediction) -> float | None:
        pair = prediction.intervals[name]
        return None if pair is None else pair[end]

    return value


PREDICTION_COLUMNS: list[Column[Prediction]] = [
    text_column("name", "network"),
    number_column("batch", text=str),
    text_column("device"),
    text_column("partition", is_shown=False),
    text_column("runtime", is_shown=False),
    text_column("precision", is_shown=False),
    text_column("predictor", is_shown=False),
    Column("calibration", lambda prediction: prediction.calibration and prediction.calibration.name, is_shown=False),
    number_column("latency_ms", "ms"),
    Column("latency_ms_low", _interval_end("latency_ms", 0), "low ms", number),
    Column("latency_ms_high", _interval_end("latency_ms", 1), "high ms", number),
    number_column("throughput_per_s", "per s"),
    number_column("memory_mb", "MB"),
    Column("memory_mb_low", _interval_end("memory_mb", 0), text=number, is_shown=False),
    Column("memory_mb_high", _interval_end("memory_mb", 1), text=number, is_shown=False),
    number_column("energy_j", "J"),
    Column("energy_j_low", _interval_end("energy_j", 0), text=number, is_shown=False),
    Column("energy_j_high", _interval_end("energy_j", 1), text=number, is_shown=False),
    text_column("mig_profile", "MIG"),
    Column("provenance", lambda prediction: prediction.provenance["latency_ms"], is_left=True),
    Column("coverage", lambda prediction: prediction.coverage, is_shown=False),
    Column("graph_hash", lambda prediction: prediction.graph.hash, is_shown=False),
]


class PredictionTable(Table["Prediction"]):
    """What predict_many returns: one Prediction for each network, batch and device, in that order."""

    def __init__(self, predictions: Sequence[Prediction]):
        super().__init__(predictions, PREDICTION_COLUMNS, what="network")

    @overload
    def __getitem__(self, index: int | str) -> Prediction: ...
    @overload
    def __getitem__(self, index: slice) -> PredictionTable: ...
    def __getitem__(self, index: int | str | slice) -> Prediction | PredictionTable:
        if isinstance(index, slice):
            return PredictionTable(list(self)[index])
        return super().__getitem__(index)

"""Parts of a device: MIG profiles and MPS shares of a GPU, a core beside a neighbour that reads memory.

A processor's quota of time has no physics of its own: a network that gets half of a core's time takes twice as long.
What does is a neighbour on another core, which takes bandwidth and cache. Its grade is the share of its time in which
it reads 64 MiB over and over, the stream of latpred.colocate's measurements.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.host_device import NAME as HOST
from latpred.tables import Column, Table, number, number_column, percent_text, text_column
from latpred.units import GIGA, MEBIBYTE

if TYPE_CHECKING:
    from latpred._core import Device, Graph

# Lilou's six, then what a part of a device has beside its multiprocessors: its own memory slices and cache.
LILOU_COLUMNS = ("compute_capability", "memory_bus_bits", "memory_clock_ghz", "cores", "sms", "clock_ghz")
COLUMNS = (*LILOU_COLUMNS, "bandwidth_gb_per_s", "cache_mib")
MPS_SHARES = tuple(range(10, 101, 10))  # percent, as in the paper
NEIGHBOUR_SHARES = (0, 25, 50, 75, 100)
MPS, MIG, WHOLE, NEIGHBOUR = "mps", "mig", "whole", "neighbour"

_LANES = {"x86-64": 4, "x86-64-v2": 4, "x86-64-v3": 8, "x86-64-v4": 16}  # fp32 numbers of a vector register
_FLOPS_PER_LANE = 4  # two units for a multiply and add each, as cores of these levels have


def columns(device: str, partition: str = "", *, neighbour: float = 0.0) -> np.ndarray:
    """COLUMNS of a part of a device: float64 [8]. Of Lilou's, a part of a GPU changes cores and sms alone.

    neighbour: on a processor, the percentage of its time in which a neighbour reads memory. Of a processor, level of
    its instruction set, cores x lanes and cores stand for capability, cores and sms; bits at 1 GHz for its memory.
    """
    if not 0 <= neighbour <= 100:
        raise InvalidArgumentError(f"neighbour= is a percentage of its time, 0 to 100, got {neighbour!r}")
    if device == HOST:
        if partition:
            raise InvalidArgumentError("a processor has no partitions: say neighbour= instead")
        return _host_columns(neighbour / 100)
    row = _core.device(device)
    if not row.is_gpu or neighbour:
        what = "has no neighbour" if row.is_gpu else "is not this machine, whose rates are measured"
        raise InvalidArgumentError(f"columns of parts are those of GPUs and of '{HOST}'; '{row.name}' {what}")
    part = _core.partition(row.name, partition)
    found = {
        "compute_capability": row.compute_capability,
        "memory_bus_bits": row.memory_bus_bits,
        "memory_clock_hz": row.memory_clock_hz,
        "cuda_cores": row.cuda_cores,
        "clock_hz": row.clock_hz,
        "l2_bytes": row.l2_bytes,
    }
    number_of = {name: np.nan if value is None else float(value) for name, value in found.items()}  # NaN: unknown
    return np.array(
        [
            number_of["compute_capability"],
            number_of["memory_bus_bits"],
            number_of["memory_clock_hz"] / GIGA,
            number_of["cuda_cores"] * part.sm_share,
            part.sms,
            number_of["clock_hz"] / GIGA,
            part.bandwidth_bytes_per_s(row) / GIGA,
            number_of["l2_bytes"] * part.l2_share / MEBIBYTE,
        ]
    )


def _host_columns(share: float) -> np.ndarray:
    from latpred.host_device import folder_of_speeds, speed

    facts, known = _core.host_facts(), speed(folder_of_speeds())
    if facts.isa_level not in _LANES:
        raise InvalidArgumentError(f"no columns for a processor of '{facts.isa_level}'; known: {', '.join(_LANES)}")
    lanes = _LANES[facts.isa_level]
    _, alone, together = known.reads[-1]  # of the largest working set: no cache
    # While the neighbour reads, a core has its part of what all of them draw at once.
    bandwidth = (1 - share) * alone + share * min(alone, together / known.cores)
    cache = max((cache.size_bytes for cache in facts.caches), default=np.nan) * (1 - share / 2)
    return np.array(
        [
            float(facts.isa_level.rpartition("v")[2]) if "-v" in facts.isa_level else 1.0,
            bandwidth * 8 / GIGA,
            1.0,
            float(lanes),
            1.0,
            known.fp32_flops_per_s / known.cores / (lanes * _FLOPS_PER_LANE) / GIGA,
            bandwidth / GIGA,
            cache / MEBIBYTE,
        ]
    )


@dataclasses.dataclass(frozen=True)
class Part:
    """A network on a part of a device."""

    name: str  # "30%", "2g.10gb", "neighbour 50%"; empty: the whole
    kind: str
    sms: float  # multiprocessors; cores of a processor
    share: float  # of the multiprocessors; of a neighbour's time
    latency_ms: float
    latency_ms_low: float  # of the 80 % interval
    latency_ms_high: float
    slow_down: float  # over the whole device alone


_PART_COLUMNS: list[Column[Part]] = [
    text_column("name", "part"),
    text_column("kind"),
    number_column("sms", "SMs"),
    number_column("share", text=percent_text),
    number_column("latency_ms", "ms"),
    number_column("latency_ms_low", "low"),
    number_column("latency_ms_high", "high"),
    number_column("slow_down", "times the whole", number),
]


def latency_on_parts(graph: Graph, device: str = "A100", **options: Any) -> Table[Part]:
    """The latency on every MPS share and MIG profile of a GPU, or on a core beside neighbours of each grade.

    options: those of predict (runtime, precision, ...), but for partition. Beside neighbours they decide the latency
    alone; how many times longer it gets is OpenVINO's in fp32 whatever they say, which alone was measured there.
    """
    from latpred.api import predict

    if (partition := options.pop("partition", None)) is not None:
        raise InvalidArgumentError(
            f"partition={partition!r} cannot be said here: every part of '{device}' is shown; leave it out, or ask "
            f"predict(partition={partition!r}) for one"
        )
    whole = predict(graph=graph, device=device, **options)
    if device == HOST or not _core.device(whole.device).is_gpu:
        return Table(_beside_neighbours(graph, whole.latency_ms, whole.intervals["latency_ms"]), _PART_COLUMNS)
    row = _core.device(whole.device)
    parts = [(f"{share}%", MPS) for share in MPS_SHARES] + [
        (profile.name, MIG) for profile in _core.mig_profiles(row.name)
    ]
    return Table([_on_part(graph, row, whole.latency_ms, part, options) for part in parts], _PART_COLUMNS, what="part")


def _on_part(graph: Graph, row: Device, whole_ms: float, part: tuple[str, str], options: dict[str, Any]) -> Part:
    from latpred.api import predict

    name, kind = part
    found = predict(graph=graph, device=row.name, partition=name, **options)
    low, high = found.intervals["latency_ms"] or (found.latency_ms, found.latency_ms)
    made = _core.partition(row.name, name)
    slow_down = found.latency_ms / whole_ms if whole_ms > 0 else 1.0  # views take no time anywhere
    return Part(name, kind, made.sms, made.sm_share, found.latency_ms, low, high, slow_down)


def _beside_neighbours(graph: Graph, alone_ms: float, interval: tuple[float, float] | None) -> list[Part]:
    """By the interference of cores that latpred.colocate was fitted for, on kernels of OpenVINO in fp32."""
    from latpred.colocation import fits
    from latpred.colocation.rows import stream_profile

    learnt = fits.shipped()
    fit = learnt.fit("cores", fits.CPU)
    kernels = _core.fuse(graph, "openvino", "fp32")
    own_s = learnt.core.latency_s(kernels)
    own = learnt.core.profile(kernels, own_s) if own_s > 0 else None  # None: views, which nothing slows down
    low, high = interval or (alone_ms, alone_ms)
    rows = []
    for percent in NEIGHBOUR_SHARES:
        factor = 1.0
        if percent and own is not None:
            terms = _core.interference("cores", [own, stream_profile(percent / 100)], 0)
            factor = float(_core.slow_down(list(fit.coefficients), terms))
        name = f"neighbour {percent}%"
        rows.append(Part(name, NEIGHBOUR, 1.0, percent / 100, alone_ms * factor, low * factor, high * factor, factor))
    return rows

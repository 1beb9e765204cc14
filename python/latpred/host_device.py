"""The machine that this runs on, as the device "cpu": what its system says, and what was measured on it once."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import threading
import time
import warnings
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from latpred import _core
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.folders import data_folder
from latpred.writing import replacing

if TYPE_CHECKING:
    from latpred._core import HostSpeed

NAME = "cpu"  # among devices: this machine
# The half-width of an 80 % interval, on the logarithmic scale, beside another processor, by rule: its memory and caches
# may be a few times as fast or slow. One thread reads 8 to 60 GB/s on the machines that we know of, a factor of 2.7 to
# either side of the middle.
OTHER_DEVICE_HALF_WIDTH = math.log(2.7)

_FORMAT = 1
_MOST_BYTES_OF_EACH = 256 << 20  # that a core reads while it is measured
_MEMORY_SHARE = 2  # of which all cores together take one
_LATE_S = 60.0  # a core that has not begun by then never will

Value = TypeVar("Value")


@dataclasses.dataclass(frozen=True)
class Speed:
    """What the cores of this machine did when they were measured, in FLOP/s, bytes and bytes/s."""

    fingerprint: str
    cores: int  # that this process may use
    measured_at: str  # 2026-01-31
    fp32_flops_per_s: float  # of all of them
    reads: tuple[tuple[float, float, float], ...]  # bytes of each core; what one alone and all at once read

    @property
    def note(self) -> str:
        """As answers state it."""
        return (
            f"peak and bandwidth of this machine as measured here on {self.measured_at}: "
            f"{self.fp32_flops_per_s / 1e9:.3g} GFLOP/s, reads of {self.reads[-1][2] / 1e9:.3g} GB/s from memory and "
            f"{self.reads[0][2] / 1e9:.3g} GB/s from caches, on {self.cores} core{'s' if self.cores > 1 else ''}"
        )


@cache
def host_device() -> _core.Device:
    """By what the system says; peaks and bandwidth are unknown."""
    return _device(_core.host_facts().logical_cores)


def measured_host() -> tuple[_core.Device, list[_core.HostRead]]:
    """The same with its peak and bandwidth, which are measured when they are asked for first."""
    return _with_speed(speed(folder_of_speeds()))


def _device(cores: int) -> _core.Device:
    facts = _core.host_facts()
    if not facts.model_name or facts.memory_bytes is None:
        raise InvalidArgumentError(
            f"device '{NAME}' is this machine, and its system names no processor or no memory; name a processor of the "
            "device table instead"
        )
    caches = [cache.size_bytes for cache in facts.caches if cache.kind != "Instruction"]
    return _core.host_device(facts.model_name, cores, facts.memory_bytes, max(caches, default=None))


@lru_cache(maxsize=2)
def _with_speed(known: Speed) -> tuple[_core.Device, list[_core.HostRead]]:
    reads = [_core.HostRead(*read) for read in known.reads]
    return _core.with_speed(_device(known.cores), known.fp32_flops_per_s, reads, known.note), reads


# Measuring, once.

_measuring = threading.Lock()


def folder_of_speeds() -> Path | None:
    """The user's data folder; None, with a warning, where there is none."""
    try:
        return data_folder()
    except LatpredError as error:
        warnings.warn(f"{error}: this machine is measured anew each time", stacklevel=2)
        return None


def speed(folder: Path | None) -> Speed:
    """From the file in `folder`; where there is none for this machine and so many cores, measured and written. None:
    measured, and known to this process alone."""
    cores = tuple(sorted(_core.allowed_cores()))
    with _measuring:
        return _speed(folder, _core.host_facts().fingerprint, cores)


@lru_cache(maxsize=2)
def _speed(folder: Path | None, fingerprint: str, cores: tuple[int, ...]) -> Speed:
    if folder is None:
        return _measure(fingerprint, cores)
    file = speed_file(folder, fingerprint, len(cores))
    known = _read(file)
    if known is None or (known.fingerprint, known.cores) != (fingerprint, len(cores)):
        known = _measure(fingerprint, cores)
        _write(file, known)
    return known


def speed_file(folder: Path, fingerprint: str, cores: int) -> Path:
    """Where it is kept; a machine whose clocks or memory were changed is measured again when the file is gone."""
    digest = hashlib.sha256(f"{fingerprint}, {cores}".encode()).hexdigest()[:12]
    return folder / f"machine-{digest}.json"


def _read(file: Path) -> Speed | None:
    """Nothing where there is no file of this format."""
    try:
        fields = json.loads(file.read_text(encoding="utf-8"))
        if fields.pop("format") != _FORMAT:
            return None
        return Speed(**fields | {"reads": tuple(tuple(read) for read in fields["reads"])})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _write(file: Path, known: Speed) -> None:
    """Whole, or not at all."""
    text = json.dumps({"format": _FORMAT, **dataclasses.asdict(known)}, indent=1)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with replacing(file) as unfinished:
            unfinished.write_text(text + "\n", encoding="utf-8")
    except OSError as error:
        warnings.warn(f"'{file}' cannot be written ({error}): this machine is measured anew each time", stacklevel=2)


def _measure(fingerprint: str, cores: tuple[int, ...]) -> Speed:
    memory_bytes = _core.host_facts().memory_bytes or 0
    at_once = cores[: max(1, memory_bytes // _MEMORY_SHARE // _MOST_BYTES_OF_EACH)]
    (alone,) = _on_each(cores[:1], _core.measure_host)
    together = _on_each(at_once, _core.measure_host)
    return Speed(
        fingerprint=fingerprint,
        cores=len(cores),
        measured_at=time.strftime("%Y-%m-%d"),
        fp32_flops_per_s=sum(found.fp32_flops_per_s for found in together) * len(cores) / len(at_once),
        reads=tuple(_reads(alone, together)),
    )


def _reads(alone: HostSpeed, together: list[HostSpeed]) -> Iterable[tuple[float, float, float]]:
    for one, *all_of_them in zip(alone.read_bandwidth, *(found.read_bandwidth for found in together), strict=True):
        yield one.working_set_bytes, one.bytes_per_s, sum(point.bytes_per_s for point in all_of_them)


def _on_each(cores: tuple[int, ...], function: Callable[[], Value]) -> list[Value]:
    """What a function gives on each core, all at once; times are CPU times of its thread, whoever else is there."""
    begin = threading.Barrier(len(cores))

    def on(core: int) -> Value:
        with _core.Pinning(core):
            begin.wait(_LATE_S)
            return function()

    with ThreadPoolExecutor(len(cores)) as pool:
        return list(pool.map(on, cores))


def request_fields(*, is_physics: bool) -> dict[str, Any]:
    """What a request about this machine holds; physics needs its speed."""
    if not is_physics:
        return {"host": host_device()}
    host, reads = measured_host()
    return {"host": host, "host_reads": reads}

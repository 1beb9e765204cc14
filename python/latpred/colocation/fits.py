"""What was learnt of sharing devices: one Fit for each way of sharing and kind of device, in data/colocation.json."""

from __future__ import annotations

import dataclasses
import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from latpred import _core
from latpred.errors import InvalidArgumentError

VERSION = 1
FILE = Path(__file__).resolve().parents[1] / "data" / "colocation.json"
GPU, CPU = "gpu", "cpu"
INTERVAL = 0.8


@dataclasses.dataclass(frozen=True)
class Fit:
    """The coefficients of one way of sharing."""

    sharing: str  # a name in sharing_modes()
    kind: str  # of device: GPU or CPU
    devices: tuple[str, ...]  # that the labels are of
    is_training: bool  # the labels are of training jobs
    coefficients: tuple[float, ...]  # of the way's terms, in their order
    log_error: float  # |log(predicted / measured)| that 80 % of what was left out keep to
    rows: int
    source: str
    licence: str

    def __post_init__(self) -> None:
        names = term_names(self.sharing)
        if len(self.coefficients) != len(names):
            raise InvalidArgumentError(
                f"a fit of '{self.sharing}' has {len(self.coefficients)} coefficients, its terms are {', '.join(names)}"
            )


@dataclasses.dataclass(frozen=True)
class CoreModel:
    """The latency of a network on one core of a processor, and what all its cores share."""

    machine: str  # fingerprint
    flops_per_s: float
    bandwidth_bytes_per_s: float
    cache_bytes: float
    coefficients: tuple[float, ...]  # of core_times()
    log_error: float

    def device(self) -> _core.Device:
        """One core."""
        core = _core.host_device("one core", 1, 1.0, self.cache_bytes)
        read = _core.HostRead(self.cache_bytes, self.bandwidth_bytes_per_s, self.bandwidth_bytes_per_s)
        return _core.with_speed(core, self.flops_per_s, [read], "")

    def latency_s(self, kernels: _core.Kernels) -> float:
        """Alone on the core."""
        return float(np.dot(self.coefficients, _core.core_times(kernels, self.device())))

    def profile(self, kernels: _core.Kernels, latency_s: float) -> _core.ResourceProfile:
        return _core.resource_profile(kernels, self.device(), "", latency_s, latency_s)


@dataclasses.dataclass(frozen=True)
class Learnt:
    """All of the file."""

    fits: tuple[Fit, ...]
    core: CoreModel

    def fit(self, sharing: str, kind: str) -> Fit:
        return next(fit for fit in self.fits if fit.sharing == sharing and fit.kind == kind)


def term_names(sharing: str) -> list[str]:
    """Of a row of sharing_modes(); an unknown name is refused with the nearest one."""
    names = [mode.name for mode in _core.sharing_modes()]
    if sharing not in names:
        raise InvalidArgumentError(_core.unknown_name_message("way of sharing", sharing, names), valid=names)
    return [name for name, _ in _core.sharing_modes()[names.index(sharing)].terms]


def write(path: Path, learnt: Learnt) -> None:
    text = json.dumps({"version": VERSION, **dataclasses.asdict(learnt)}, indent=1)
    path.write_text(text + "\n", encoding="utf-8")


def read(path: Path) -> Learnt:
    value = json.loads(path.read_text(encoding="utf-8"))
    if value.get("version") != VERSION:
        raise InvalidArgumentError(f"'{path}' is of version {value.get('version')}, this latpred reads {VERSION}")

    def made(kind: Any, fields: dict[str, Any]) -> Any:
        return kind(**{name: tuple(part) if isinstance(part, list) else part for name, part in fields.items()})

    return Learnt(tuple(made(Fit, fields) for fields in value["fits"]), made(CoreModel, value["core"]))


@cache
def shipped() -> Learnt:
    return read(FILE)


def log_error(predicted: Any, measured: Any) -> float:
    """What INTERVAL of the errors keep to; both [N]."""
    return float(np.quantile(np.abs(np.log(np.asarray(predicted) / np.asarray(measured))), INTERVAL))

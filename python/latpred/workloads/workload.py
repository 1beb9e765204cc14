"""What every runtime's workload can be asked, and the values that it answers with. Seconds and bytes."""

from __future__ import annotations

import abc
import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.checks import check_count, check_text
from latpred.errors import InvalidArgumentError

if TYPE_CHECKING:
    from latpred._core import Graph, Measurement, Protocol

CPU = "cpu"
DEFAULT_PRECISION = "default"
_OF_THE_PROCESSOR = ("clean", "cpu")  # rules of labels


@dataclasses.dataclass(frozen=True)
class Setting:
    """What is to be run, and how: the arguments of open_workload without the runtime."""

    source: Any  # a recipe, a path, or a live object
    device: str = CPU
    batch: int = 1
    input: Any = None  # as latpred.predict takes it; None: the source says all
    precision: str = DEFAULT_PRECISION
    threads: int = 1

    def __post_init__(self) -> None:
        for name in ("batch", "threads"):
            object.__setattr__(self, name, check_count(name, getattr(self, name)))  # numpy's become Python's


@dataclasses.dataclass(frozen=True)
class NodeOfKernel:
    """A node of the network that a kernel computes."""

    index: int  # in the file's order
    name: str  # in the file; may be empty
    operator: str  # the file's word
    is_direct: bool  # the runtime says so; False: inferred, because all its neighbours on one side are in the kernel


@dataclasses.dataclass(frozen=True)
class KernelTime:
    """One executed kernel."""

    name: str  # the runtime's own
    kind: str  # "Convolution"; a kernel without nodes moves data: "Reorder"
    implementation: str  # "brgconv_avx512_f32"; empty: the runtime does not say
    precision: str
    order: int
    nodes: tuple[NodeOfKernel, ...]
    latency_s: float  # the median of the runs
    noise: float  # robust standard deviation of the runs over their median
    samples_s: tuple[float, ...]  # [runs]


@dataclasses.dataclass(frozen=True)
class KernelTimes:
    """The kernels of one call in the order of their execution."""

    rows: tuple[KernelTime, ...]
    not_executed: tuple[NodeOfKernel, ...]  # the runtime has them and does nothing for them: reshapes in place
    unattributed: tuple[NodeOfKernel, ...]  # no kernel could be found for them: removed by the runtime, or unclear
    clock: str  # "thread CPU time, ns"
    latency_s: float  # of a whole call while kernels were being timed; Workload.measure has it undisturbed

    @property
    def total_s(self) -> float:
        """The sum of the rows."""
        return sum(row.latency_s for row in self.rows)


@dataclasses.dataclass(frozen=True)
class MemoryUse:
    """Resident memory of a fresh process, less what it held after its imports."""

    build_peak_bytes: int  # while the network was loaded and compiled
    built_bytes: int  # afterwards
    run_peak_bytes: int  # during calls, the built network included
    imports_bytes: int  # what was taken off

    def __float__(self) -> float:
        """The one number of a data set: the peak during calls."""
        return float(self.run_peak_bytes)


class Workload(abc.ABC):
    """Something that runs. To be closed, or used in a with statement."""

    def __init__(self, setting: Setting) -> None:
        self.setting = setting

    @property
    @abc.abstractmethod
    def versions(self) -> list[tuple[str, str]]:
        """Libraries that run it."""

    @abc.abstractmethod
    def run_once(self) -> None:
        """One call, from its input to its output on the device."""

    @abc.abstractmethod
    def graph(self) -> Graph:
        """The network that runs, as predictors see it."""

    def source_graph(self) -> Graph:
        """The network as latpred reads its source, by whose hash it is found again: what runs may be written otherwise,
        with a Reshape in the place of a Flatten."""
        return self.graph()

    def run_many(self, runs: int) -> None:
        """That many calls."""
        with self._ready():
            for _ in range(runs):
                self.run_once()

    def measure(self, protocol: str | Protocol | None = None) -> Measurement:
        """Times it by a protocol of latpred's table (None: the default one), or a changed one."""
        with self._ready(), pinned(self.setting):
            measurement = _core.measure(self.run_once, protocol_of(protocol, self.setting), self._clock())
        measurement.versions = [*measurement.versions, *self.versions]
        return measurement

    def kernels(self, runs: int = 30) -> KernelTimes | None:
        """The time of each kernel; None: the runtime does not tell."""
        return None

    def memory(self) -> MemoryUse | None:
        """The memory of a process that runs this alone; None: not known."""
        return None

    def close(self) -> None:  # noqa: B027 - some hold nothing
        """Frees what it holds."""

    def _clock(self) -> Any:
        return _core.HostClock()

    def _ready(self) -> contextlib.AbstractContextManager[Any]:
        """Around calls: settings of the library that are the process's."""
        return contextlib.nullcontext()

    def __enter__(self) -> Workload:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def protocol_of(protocol: str | Protocol | None, setting: Setting) -> Protocol:
    """A copy that knows the setting's threads. Of a GPU the processor's time says nothing: the wall clock does."""
    chosen = _core.protocol(protocol or "default") if protocol is None or isinstance(protocol, str) else protocol
    chosen = _core.Protocol(chosen)
    chosen.threads = setting.threads
    if setting.device != CPU and chosen.label in _OF_THE_PROCESSOR:
        chosen.label = "wall"
    return chosen


@contextlib.contextmanager
def pinned(setting: Setting) -> Iterator[None]:
    """A single thread of the processor stays on the core where it is."""
    if setting.device != CPU or setting.threads != 1:
        yield
        return
    with _core.Pinning():
        yield


def check_choice(what: str, value: Any, valid: list[str]) -> None:
    """Refuses what is not in the list with the nearest name in it."""
    if check_text(what, value) not in valid:
        raise InvalidArgumentError(_core.unknown_name_message(what, value, valid), valid=valid)

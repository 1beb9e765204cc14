"""Measures what really runs: a function, a network or a recipe of one, on this machine's processor or GPU."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from latpred import _core, record
from latpred.checks import check_count
from latpred.errors import InvalidArgumentError, LatpredError, ProfilerError
from latpred.tables import UNKNOWN, Column, Table, html_table, number

if TYPE_CHECKING:
    import pandas

    from latpred._core import Measurement, Protocol, Sample, Statistics
    from latpred.workloads import KernelTime, KernelTimes, MemoryUse, Workload

CPU = "cpu"
_CUDA = "cuda"
_MILLISECONDS_PER_S = 1e3
_MEGABYTE = 1e6
_SHORT_S = 20e-6  # reading the clocks costs about 1 % of this
_SAMPLE_S = 100e-6  # that a sample of several short calls lasts at least
_MAX_RUNS = 10_000


@dataclasses.dataclass(frozen=True)
class TimedSample:
    """One sample of a profile. Seconds."""

    repetition: int
    is_kept: bool  # False: its repetition varied too much, and all was measured again
    wall_s: float
    cpu_s: float  # of the calling thread
    context_switches: int
    waits: int


@dataclasses.dataclass(frozen=True, repr=False)
class Profile:
    """What profile() answers with: one number, and everything that it was chosen from."""

    name: str
    device: str
    measurement: Measurement
    first_run: Sample
    runtime: str = ""  # empty: a function
    batch: int | None = None
    precision: str = ""
    threads: int = 1
    core: int | None = None  # that it was kept on; None: on any
    kernels: KernelTimes | None = None  # None: not asked for, or the runtime does not tell
    memory: MemoryUse | None = None
    notes: tuple[str, ...] = ()  # what makes the numbers worth less: clocks that were lowered, say

    @property
    def latency_s(self) -> float:
        return self.measurement.latency_s

    @property
    def latency_ms(self) -> float:
        return self.latency_s * _MILLISECONDS_PER_S

    @property
    def label(self) -> str:
        """How the latency was chosen from the samples."""
        return self.measurement.label

    @property
    def statistics(self) -> Statistics:
        """Of the times that the latency was chosen from; seconds."""
        return self.measurement.statistics

    @property
    def is_stable(self) -> bool:
        """Whether those times vary by no more than the protocol allows."""
        return self.measurement.is_stable

    @property
    def samples(self) -> Table[TimedSample]:
        """Every timed run, discarded repetitions too."""
        repetitions = [*((False, samples) for samples in self.measurement.discarded), (True, self.measurement.samples)]
        names = ("wall_s", "cpu_s", "context_switches", "waits")
        rows = [
            TimedSample(number_, is_kept, **{name: getattr(sample, name) for name in names})
            for number_, (is_kept, samples) in enumerate(repetitions, 1)
            for sample in samples
        ]
        return Table(rows, [_sample_column(field.name) for field in dataclasses.fields(TimedSample)], what="sample")

    @property
    def versions(self) -> dict[str, str]:
        """Libraries that ran it, and latpred's own."""
        return dict(self.measurement.versions)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; seconds and bytes."""
        measured, statistics = self.measurement, self.statistics
        answer: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "name", "device", "runtime", "batch", "precision", "threads", "core", "latency_s", "label", "is_stable"
            )
        }  # fmt: skip
        answer["first_run_s"] = self.first_run.wall_s
        answer["statistics"] = {name: getattr(statistics, name) for name in _STATISTICS}
        answer["samples"] = self.samples.to_dicts()
        for name in ("stopped_by", "total_s", "protocol", "clock", "device_fingerprint"):
            answer[name] = getattr(measured, name)
        answer["versions"] = self.versions
        answer["notes"] = list(self.notes)
        answer["kernels"] = None if self.kernels is None else [dataclasses.asdict(row) for row in self.kernels.rows]
        answer["memory"] = None if self.memory is None else dataclasses.asdict(self.memory)
        return answer

    def to_pandas(self) -> pandas.DataFrame:
        """The samples as a frame. Needs latpred[data]."""
        return self.samples.to_pandas()

    def headline(self) -> str:
        """One line: "resnet50 on cpu, eager fp32, batch 1: 21.3 ms (21.1 - 21.9), first run 35.2 ms"."""
        setting = " ".join(word for word in (self.runtime, self.precision) if word)
        words = [f"{self.name} on {self.device}", setting, f"batch {self.batch}" if self.batch else ""]
        low, high = (number(value * _MILLISECONDS_PER_S) for value in (self.statistics.p05, self.statistics.p95))
        first = number(self.first_run.wall_s * _MILLISECONDS_PER_S)
        where = ", ".join(word for word in words if word)
        return f"{where}: {number(self.latency_ms)} ms ({low} - {high}), first run {first} ms"

    def pairs(self) -> list[tuple[str, str]]:
        """Heading and text of each fact."""
        measured, statistics = self.measurement, self.statistics
        repetitions = f" of the last of {len(measured.discarded) + 1} repetitions" if measured.discarded else ""
        variation = statistics.coefficient_of_variation
        spread = UNKNOWN if variation is None else f"{100 * variation:.2g} %"
        if not self.is_stable:
            spread += ", more than the protocol allows: something disturbs, or the workload itself varies"
        samples = (
            f"{len(measured.samples)}{repetitions}, stopped by {measured.stopped_by} after {measured.total_s:.2g} s"
        )
        pairs = [
            ("latency", f"{number(self.latency_ms)} ms: {self.label}"),
            ("spread", f"{spread}, {statistics.outliers} outliers"),
            ("samples", samples),
            ("protocol", measured.protocol),
            ("clock", measured.clock + ("" if self.core is None else f", on core {self.core}")),
            ("machine", measured.device_fingerprint or "unknown"),
            ("versions", ", ".join(f"{name} {version}" for name, version in self.versions.items())),
        ]
        if self.memory is not None:
            pairs.append(("memory", f"{number(float(self.memory) / _MEGABYTE)} MB at most during calls"))
        if self.kernels is not None:
            total = number(self.kernels.total_s * _MILLISECONDS_PER_S)
            pairs.append(("kernels", f"{len(self.kernels.rows)}, together {total} ms by {self.kernels.clock}"))
        return [*pairs, *(("note", note) for note in self.notes)]

    def kernels_table(self) -> Table[KernelTime]:
        """The kernels in the order of their execution; empty where they are not known."""
        columns: list[Column[KernelTime]] = [
            Column("name", lambda row: row.name, "kernel", is_left=True),
            Column("kind", lambda row: row.kind, is_left=True),
            Column("implementation", lambda row: row.implementation or None, is_left=True),
            Column("nodes", lambda row: len(row.nodes)),
            Column("latency_us", lambda row: row.latency_s * 1e6, "us", number),
        ]
        return Table(self.kernels.rows if self.kernels else [], columns, what="kernel")

    def __repr__(self) -> str:
        pairs = self.pairs()
        width = max(len(heading) for heading, _ in pairs)
        return "\n".join([self.headline(), *(f"  {heading.ljust(width)}  {text}" for heading, text in pairs)])

    def _repr_html_(self) -> str:
        return html_table([list(pair) for pair in self.pairs()], title=self.headline())


_STATISTICS = (
    "count", "min", "max", "mean", "median", "p05", "p25", "p75", "p95", "median_absolute_deviation", "noise",
    "outliers", "standard_deviation", "coefficient_of_variation",
)  # fmt: skip


def _sample_column(name: str) -> Column[TimedSample]:
    text = (lambda seconds: f"{seconds:.3e}") if name.endswith("_s") else str
    return Column(name, lambda row: getattr(row, name), text=text)


def protocols() -> Table[_core.ProtocolRow]:
    """The named ways to measure; protocols()["khan"].protocol is one."""
    columns: list[Column[Any]] = [
        Column("name", lambda row: row.name, is_left=True),
        Column("description", lambda row: row.description, is_left=True),
    ]
    return Table(_core.protocols(), columns, what="protocol")


def make_protocol(base: str | Protocol = "default", **changes: Any) -> Protocol:
    """A copy of a protocol with some settings changed, under a name that says so."""
    chosen = _core.protocol(base) if isinstance(base, str) else base
    if not isinstance(chosen, _core.Protocol):
        raise InvalidArgumentError(f"protocol must be the name of one in protocols(), or one, got {chosen!r}")
    chosen = _core.Protocol(chosen)
    known = [name for name in dir(chosen) if not name.startswith("_")]
    before = str(chosen)
    for name, value in changes.items():
        if name not in known:
            raise InvalidArgumentError(_core.unknown_name_message("setting of a protocol", name, known), valid=known)
        try:
            setattr(chosen, name, value)
        except TypeError:
            raise InvalidArgumentError(f"protocol: {name} cannot be {value!r}") from None
    if "name" not in changes and str(chosen) != before:
        chosen.name += ", changed"
    return chosen


def profile(
    workload: Any,
    *,
    device: str = CPU,
    runtime: str | None = None,
    batch: int | None = None,
    input: Any = None,
    precision: str | None = None,
    threads: int = 1,
    protocol: str | Protocol = "default",
    core: int | None = None,
    kernels: bool = False,
    memory: bool = False,
) -> Profile:
    """Runs something again and again, and says how long one run takes.

    workload: a function without arguments, a torch.nn.Module, a recipe ("fnn:16-128-1"), the path of an ONNX file, or
        what open_workload() of latpred.workloads gave.
    device: "cpu", "cuda", "cuda:1".
    runtime: what executes a network: None: "eager" for modules and recipes, "openvino" for files.
    batch, input, precision: of a network: items in the call (None: 1), sizes of one item as in load(), arithmetic.
    threads: that it runs on. With more than one the latency is wall clock: CPU time is counted for one thread only.
    protocol: a name in protocols(), or what make_protocol() gave.
    core: the core that a function's thread is kept on (None: where it is); a single thread only.
    kernels, memory: also the time of each kernel, and the memory of a process that runs this alone, where the runtime
        tells.
    """
    check_device(device)
    chosen = make_protocol(protocol)
    chosen.threads = check_count("threads", threads)
    if _is_function(workload):
        _refuse_for_function(runtime=runtime, batch=batch, input=input, precision=precision)
        if kernels or memory:
            raise InvalidArgumentError("kernels= and memory= are known of networks; a function is none")
        return _profile_function(workload, device, chosen, core)
    if core is not None:
        raise InvalidArgumentError("core= keeps a function's thread; a network's stays where it is")
    return _profile_network(workload, device, runtime, batch, input, precision, chosen, kernels, memory)


def check_device(device: Any) -> None:
    """Refuses what nothing can be measured on, before anything is loaded."""
    if not isinstance(device, str):
        raise InvalidArgumentError(f"device must be a name, got {type(device).__name__}")
    kind, _, index = device.partition(":")
    if kind not in (CPU, _CUDA) or (index and (kind == CPU or not index.isdecimal())):
        raise InvalidArgumentError(
            _core.unknown_name_message("device to measure on", device, [CPU, _CUDA]) + "; a second GPU is cuda:1",
            valid=[CPU, _CUDA],
        )
    if kind == _CUDA and (reason := _core.cuda_unavailable_reason()):
        raise ProfilerError(reason)


def _is_function(workload: Any) -> bool:
    """A module can be called too, but needs its input."""
    if isinstance(workload, (str, os.PathLike)) or not callable(workload):
        return False
    torch = sys.modules.get("torch")
    return torch is None or not isinstance(workload, torch.nn.Module)


def _refuse_for_function(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgumentError(f"{name}= says how a network runs; a function is called as it is: leave it out")


def _own_versions() -> list[tuple[str, str]]:
    return [("latpred", _core.__version__), ("Python", sys.version.split()[0])]


@contextlib.contextmanager
def _without_collector() -> Iterator[None]:
    """Garbage is collected when the interpreter likes, which is no part of the workload."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


@contextlib.contextmanager
def _kept_on(core: int | None, threads: int) -> Iterator[int | None]:
    if threads > 1:
        if core is not None:
            raise InvalidArgumentError(f"core={core} is for one thread, and threads={threads}")
        yield None
        return
    with _core.Pinning(-1 if core is None else core) as kept:
        yield kept


def _stream(index: int) -> int:
    """Where PyTorch queues its work, where it is loaded; else the default stream."""
    torch = sys.modules.get("torch")
    return 0 if torch is None else int(torch.cuda.current_stream(index).cuda_stream)


def _profile_function(function: Callable[[], Any], device: str, protocol: Protocol, core: int | None) -> Profile:
    if device == CPU:
        clock: Any = _core.HostClock()
    else:
        index = int(device.partition(":")[2] or 0)
        clock = _core.CudaClock(_core.Gpu(index), stream=_stream(index))
    with _without_collector(), _kept_on(core, protocol.threads) as kept:
        measurement = first = _core.measure(function, protocol, clock)
        if device == CPU and protocol.runs_per_sample == 1 and measurement.latency_s < _SHORT_S:
            runs = min(_MAX_RUNS, int(_SAMPLE_S / max(measurement.latency_s, 1e-9)) + 1)
            measurement = _core.measure(function, make_protocol(protocol, runs_per_sample=runs), clock)
    measurement.versions = [*measurement.versions, *_own_versions()]
    # Of a function; of a reference workload; of any other object that can be called.
    name = getattr(function, "__qualname__", getattr(function, "name", type(function).__name__))
    notes = tuple(clock.throttle_reasons) if device != CPU else ()
    return Profile(name, device, measurement, first.first_run, threads=protocol.threads, core=kept, notes=notes)


def _profile_network(
    source: Any,
    device: str,
    runtime: str | None,
    batch: int | None,
    input: Any,
    precision: str | None,
    protocol: Protocol,
    kernels: bool,
    memory: bool,
) -> Profile:
    from latpred.workloads import Workload, open_workload

    settings = {"runtime": runtime, "batch": batch, "input": input, "precision": precision}
    given = {name: value for name, value in settings.items() if value is not None}
    if isinstance(source, Workload):
        if given:
            raise InvalidArgumentError(f"{', '.join(given)}: the opened workload has them already: leave them out")
        return _measured(source, "", protocol, kernels, memory)
    given.setdefault("runtime", _default_runtime(source))
    with open_workload(source, device=device, threads=protocol.threads, **given) as opened:
        return _measured(opened, given["runtime"], protocol, kernels, memory)


def _default_runtime(source: Any) -> str:
    is_file = isinstance(source, os.PathLike) or (isinstance(source, str) and os.path.exists(source))
    return "openvino" if is_file else "eager"


def _measured(workload: Workload, runtime: str, protocol: Protocol, kernels: bool, memory: bool) -> Profile:
    setting = workload.setting
    with _without_collector():
        measurement = workload.measure(protocol)
    versions = dict(measurement.versions)
    measurement.versions = [*measurement.versions, *_own_versions()]
    answer = Profile(
        name=_name_of(setting.source),
        device=setting.device,
        measurement=measurement,
        first_run=measurement.first_run,
        runtime=runtime or getattr(workload, "runtime", ""),
        batch=setting.batch,
        precision=setting.precision,
        threads=setting.threads,
        kernels=workload.kernels() if kernels else None,
        memory=workload.memory() if memory else None,
    )
    if record.MEASUREMENT in record.kept():
        record.add([_entry(answer, workload, versions)])
    return answer


def _entry(measured: Profile, workload: Workload, versions: dict[str, str]) -> record.Entry:
    """What the local record keeps of it."""
    try:
        graph_hash = workload.graph().hash
    except LatpredError:
        graph_hash = ""  # it runs, and is no graph that predictors could see
    return record.Entry(
        kind=record.MEASUREMENT,
        name=measured.name,
        batch=measured.batch or 1,
        device=measured.device,
        quantity="latency_s",
        value=measured.latency_s,
        graph_hash=graph_hash,
        device_fingerprint=measured.measurement.device_fingerprint,
        runtime=measured.runtime,
        runtime_version=", ".join(f"{name} {version}" for name, version in versions.items()),
        precision=measured.precision,
        threads=measured.threads,
        noise=measured.statistics.coefficient_of_variation,
        samples=len(measured.measurement.samples),
        how=measured.measurement.protocol,
    )


def _name_of(source: Any) -> str:
    if isinstance(source, (str, os.PathLike)):
        path = os.fspath(source)
        return os.path.basename(path) if os.path.exists(path) else str(path)
    return type(source).__name__


__all__ = ["Profile", "make_protocol", "profile", "protocols"]

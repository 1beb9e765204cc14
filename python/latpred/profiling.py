"""Measures what really runs: a function, a network or a recipe of one, on this machine's processor or GPU."""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from latpred import _core, record
from latpred.checks import check_count
from latpred.errors import InvalidArgumentError, LatpredError, ProfilerError
from latpred.gpu import current_stream
from latpred.profiling_answer import Profile
from latpred.protocol import make_protocol, protocols

if TYPE_CHECKING:
    from latpred._core import Protocol
    from latpred.workloads import Workload

CPU = "cpu"
_CUDA = "cuda"
_SHORT_S = 20e-6  # reading the clocks costs about 1 % of this
_SAMPLE_S = 100e-6  # that a sample of several short calls lasts at least
_MAX_RUNS = 10_000


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
    core = None if core is None else check_count("core", core, least=0)
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


def _profile_function(function: Callable[[], Any], device: str, protocol: Protocol, core: int | None) -> Profile:
    if device == CPU:
        clock: Any = _core.HostClock()
    else:
        index = int(device.partition(":")[2] or 0)
        clock = _core.CudaClock(_core.Gpu(index), stream=current_stream(index))
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
        graph_hash = workload.source_graph().hash
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


__all__ = ["make_protocol", "profile", "protocols"]

"""How late each network gets when several share a device: what colocate() does."""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any

from latpred import _core, api
from latpred._core import Graph
from latpred.checks import check_count, check_positive, check_text
from latpred.colocation import fits
from latpred.colocation.answer import CoLocatedMember, CoLocation
from latpred.colocation.fits import CPU, GPU, CoreModel, Fit
from latpred.datasets.graph_cache import graph_of
from latpred.errors import InvalidArgumentError
from latpred.graph import name as graph_name
from latpred.host_device import NAME as HOST
from latpred.host_device import OTHER_DEVICE_HALF_WIDTH
from latpred.inputs import Inputs
from latpred.request import make_request
from latpred.units import MEGABYTE

_MS = 1e3
_CORE_RUNTIME = "openvino"  # whose kernels the model of a core was fitted on
_CORE_PRECISIONS = ("default", "fp32")  # the same arithmetic there, which it was fitted on
CORES, TIME_SLICING, MPS, MIG = "cores", "time_slicing", "mps", "mig"
_ENDS_OF_SHARES = ("%", "sm")  # of parts that MPS gives


def answer(
    networks: Sequence[Any],
    *,
    device: str,
    partition: str | Sequence[str | None] | None,
    sharing: str | None,
    slo_ms: float | Sequence[float | None] | None,
    alone_ms: Sequence[float | None] | None,
    batch: int | Sequence[int] | None,
    input: Inputs,
    runtime: str | None,
    precision: str,
    allow_pickle: bool,
) -> CoLocation:
    """See latpred.colocate."""
    if isinstance(networks, (str, os.PathLike, Graph)) or not isinstance(networks, Sequence) or len(networks) < 2:
        raise InvalidArgumentError("colocate() takes a list of two or more networks")
    count = len(networks)
    batches = [None if size is None else check_count("batch", size) for size in _for_each("batch", batch, count)]
    graphs = [_graph(network, size, input, allow_pickle) for network, size in zip(networks, batches, strict=True)]
    partitions = _for_each("partition", partition, count)
    objectives = [_positive("slo_ms", value) for value in _for_each("slo_ms", slo_ms, count)]
    known = [_positive("alone_ms", value) for value in _for_each("alone_ms", alone_ms, count)]
    check_text("device", device)
    row = None if device == HOST else _core.device(device)
    kind = GPU if row is not None and row.is_gpu else CPU
    way = _sharing(sharing, partitions, kind)
    if row is not None and way == MIG:
        _check_parts(row, partitions)
    if kind == CPU:
        _check_core_runtime(runtime)
        _check_core_precision(precision)
        members = [_on_core(graph, row, value, precision) for graph, value in zip(graphs, known, strict=True)]
    else:
        members = [
            _on_gpu(graph, device, part, runtime, precision, value)
            for graph, part, value in zip(graphs, partitions, known, strict=True)
        ]
    learnt = fits.shipped()
    fit = learnt.fit(way, kind)
    name = HOST if row is None else row.name
    how, notes = _provenance(fit, name, learnt.core)
    held = [_slice_holds(member, row) if way == MIG else None for member in members]
    answers = [_answer(members, index, fit, objectives[index], how, notes, held[index]) for index in range(count)]
    memory_fits = _all_fit(held) if way == MIG else _device_holds(members, row)
    return CoLocation(answers, device=name, sharing=way, memory_fits=memory_fits)


@dataclasses.dataclass(frozen=True)
class _Alone:
    """A member before anything runs beside it."""

    graph: Graph
    partition: str | None
    profile: _core.ResourceProfile
    log_error: float  # of its latency, 80 %
    provenance: str
    coverage: tuple[str, ...]
    memory_bytes: float | None


def _for_each(name: str, value: Any, count: int) -> list[Any]:
    # An array of numpy without dimensions is iterable by its type alone.
    if isinstance(value, str) or not isinstance(value, Iterable) or getattr(value, "ndim", 1) == 0:
        return [value] * count
    values = list(value)
    if len(values) != count:
        raise InvalidArgumentError(f"{name} has {len(values)} values for {count} networks")
    return values


def _positive(name: str, value: Any) -> float | None:
    return None if value is None else check_positive(name, value)


def _graph(network: Any, batch: int | None, input: Inputs, allow_pickle: bool) -> Graph:
    if isinstance(network, Graph):
        return network if batch is None else network.with_batch(batch)
    size = 1 if batch is None else batch
    if isinstance(network, str) and ":" in network and not os.path.exists(network):
        return graph_of(network, size)
    if isinstance(network, (str, os.PathLike)):
        return api.load(network, batch=size, input=input, allow_pickle=allow_pickle)
    return api.load(model=network, batch=size, input=input)


def _sharing(sharing: str | None, partitions: Sequence[str | None], kind: str) -> str:
    """The way of sharing, where it goes with the device and the partitions."""
    given = [part for part in partitions if part is not None]
    if kind == CPU and given:
        raise InvalidArgumentError("a processor has no partitions: leave partition= out")
    first_of: dict[str, str] = {}  # way of sharing -> the first part that it gives
    for part in given:
        check_text("partition", part)
        first_of.setdefault(MPS if part.endswith(_ENDS_OF_SHARES) else MIG, part)
    if len(first_of) > 1:
        raise InvalidArgumentError(
            f"partition '{first_of[MPS]}' is of {MPS} and '{first_of[MIG]}' of {MIG}, and a device is shared in one "
            "way: give parts of one kind"
        )
    implied = next(iter(first_of), None)
    way = sharing or implied or (TIME_SLICING if kind == GPU else CORES)
    fits.term_names(way)
    valid = [mode.name for mode in _core.sharing_modes() if (mode.on_gpus if kind == GPU else mode.on_cpus)]
    if way not in valid:
        raise InvalidArgumentError(f"a {kind.upper()} is not shared by '{way}'; valid: {', '.join(valid)}", valid=valid)
    if given and way != implied:
        raise InvalidArgumentError(f"partition '{given[0]}' is of {implied}, and sharing is '{way}'")
    if way == MIG and len(given) < len(partitions):
        raise InvalidArgumentError("with MIG each network has a slice: give a partition for each")
    return way


def _check_parts(device: _core.Device, partitions: Sequence[str | None]) -> None:
    """All MIG slices are on one device."""
    parts = [_core.partition(device.name, part or "") for part in partitions]
    for what, share in (
        ("SMs", sum(part.sm_share for part in parts)),
        ("memory", sum(p.bandwidth_share for p in parts)),
    ):
        if share > 1 + 1e-9:
            raise InvalidArgumentError(
                f"{', '.join(part.name for part in parts)} are more than one {device.name}: {share:.0%} of its {what}"
            )


def _check_core_runtime(runtime: str | None) -> None:
    """Refuses what the model of a core was not fitted on; colocate() has no other for a processor."""
    if runtime not in (None, _CORE_RUNTIME):
        raise InvalidArgumentError(
            f"runtime {runtime!r}: latencies on a core of a processor were fitted on the kernels of '{_CORE_RUNTIME}'; "
            f"leave runtime= out, or give '{_CORE_RUNTIME}'",
            valid=[_CORE_RUNTIME],
        )


def _check_core_precision(precision: str) -> None:
    """Refuses other arithmetic than the model of a core was fitted on: its answer would be that of fp32."""
    if precision not in _CORE_PRECISIONS:
        raise InvalidArgumentError(
            f"precision {precision!r}: latencies on a core of a processor were fitted in fp32 alone; leave precision= "
            "out, or give 'fp32'",
            valid=list(_CORE_PRECISIONS),
        )


def _check_runs(graph: Graph, latency_s: float) -> None:
    """Refuses a network that takes no time: nothing slows it down, and it slows down nothing."""
    if not latency_s > 0:
        raise InvalidArgumentError(f"'{graph_name(graph)}' runs nothing (views alone): leave it out")


def _on_gpu(
    graph: Graph, device: str, part: str | None, runtime: str | None, precision: str, known_ms: float | None
) -> _Alone:
    request = make_request(
        device=device,
        partition=part,
        runtime=runtime,
        precision=precision,
        input_on="device",
        autograd=False,
        predictor=None,
        mig_rule="memory",
        strict=False,
    )
    found = api.session().predict(graph, request)
    low, high = found.latency_interval_s
    latency_s = found.latency_s if known_ms is None else known_ms / _MS
    _check_runs(graph, found.latency_s)
    busy_share = max(0.0, 1 - found.host_wait_s / found.latency_s)
    profile = _core.resource_profile(
        _core.fuse(graph, found.runtime, precision), _core.device(device), part or "", latency_s, busy_share * latency_s
    )
    return _Alone(
        graph,
        part,
        profile,
        math.log(high / low) / 2 if known_ms is None else 0.0,
        found.latency_provenance if known_ms is None else "measured",
        tuple(found.coverage),
        found.memory_interval_bytes[1],
    )


def _on_core(graph: Graph, row: _core.Device | None, known_ms: float | None, precision: str) -> _Alone:
    core = fits.shipped().core
    notes: tuple[str, ...] = ()
    if row is not None:
        core = _other_core(core, row)
        notes = (f"latencies on one core were fitted on {core.machine}, not on {row.name}",)
    kernels = _core.fuse(graph, _CORE_RUNTIME, precision)
    fitted_s = core.latency_s(kernels)
    _check_runs(graph, fitted_s)
    latency_s = fitted_s if known_ms is None else known_ms / _MS
    here = row is None and core.machine == _core.host_facts().fingerprint
    if row is None and not here and known_ms is None:
        notes = (f"latencies on one core were fitted on {core.machine}, this is another machine",)
    log_error = core.log_error if here else math.hypot(core.log_error, OTHER_DEVICE_HALF_WIDTH)
    return _Alone(
        graph,
        None,
        core.profile(kernels, latency_s),
        log_error if known_ms is None else 0.0,
        "measured" if known_ms is not None else "fitted" if here else "modelled",
        notes if known_ms is None else (),
        None,
    )


def _other_core(core: CoreModel, row: _core.Device) -> CoreModel:
    """The same model with the speeds of a row of the device table."""
    flops_per_s = row.peak_flops_per_s("fp32")
    if flops_per_s is None:
        raise InvalidArgumentError(f"device '{row.name}' has no fp32 peak: say alone_ms, or ask for another")
    return dataclasses.replace(
        core,
        flops_per_s=flops_per_s / row.sms,
        # One core does not draw all of a socket's bandwidth: what ours draws, at most.
        bandwidth_bytes_per_s=min(core.bandwidth_bytes_per_s, row.bandwidth_bytes_per_s),
        cache_bytes=row.l2_bytes or core.cache_bytes,
    )


def _provenance(fit: Fit, device: str, core: CoreModel) -> tuple[str, tuple[str, ...]]:
    """How a slow-down on `device` is known, and what to say of it."""
    where = ", ".join(fit.devices)
    is_same = device in fit.devices or (device == HOST and core.machine == _core.host_facts().fingerprint)
    if not is_same:
        kind = "training jobs" if fit.is_training else "networks"
        return "modelled", (f"no label of sharing {device} by {fit.sharing}: learnt from {kind} on {where}",)
    if fit.is_training:
        return "extrapolated", (f"the labels of sharing {device} by {fit.sharing} are of training jobs",)
    return "fitted", ()


def _answer(
    members: Sequence[_Alone],
    index: int,
    fit: Fit,
    slo_ms: float | None,
    how: str,
    notes: tuple[str, ...],
    memory_fits: bool | None,
) -> CoLocatedMember:
    own = members[index]
    terms = _core.interference(fit.sharing, [member.profile for member in members], index)
    factor = _core.slow_down(list(fit.coefficients), terms)
    # Nothing gets faster beside others.
    interval = (max(1.0, factor * math.exp(-fit.log_error)), factor * math.exp(fit.log_error))
    alone_ms = own.profile.latency_s * _MS
    latency_ms = alone_ms * factor
    both = math.hypot(own.log_error, fit.log_error)
    return CoLocatedMember(
        name=graph_name(own.graph),
        batch=own.graph.batch,
        partition=own.partition,
        alone_ms=alone_ms,
        slow_down=factor,
        slow_down_interval=interval,
        latency_ms=latency_ms,
        latency_ms_interval=(latency_ms * math.exp(-both), latency_ms * math.exp(both)),
        slo_ms=slo_ms,
        memory_mb=None if own.memory_bytes is None else own.memory_bytes / MEGABYTE,
        memory_fits=memory_fits,
        provenance={"alone": own.provenance, "slow_down": how},
        coverage=(*own.coverage, *notes),
    )


def _device_holds(members: Sequence[_Alone], row: _core.Device | None) -> bool | None:
    """All of them together, by the upper ends of the memory intervals."""
    needed = [member.memory_bytes for member in members]
    if row is None or any(value is None for value in needed):
        return None
    return sum(value for value in needed if value is not None) <= row.memory_bytes


def _slice_holds(member: _Alone, row: _core.Device | None) -> bool | None:
    """Each slice has memory of its own."""
    if row is None or member.memory_bytes is None:
        return None
    return member.memory_bytes <= _core.partition(row.name, member.partition or "").memory_bytes


def _all_fit(held: Sequence[bool | None]) -> bool | None:
    return None if None in held else all(held)

"""What one worker of a campaign does: it keeps to its cores, runs what it is handed, and answers with numbers.

On this machine it sits in a process of its own (worker_process.py), on a cluster in an actor (ray_pool.py).
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from latpred import _core
from latpred.campaign import runnable, spec
from latpred.campaign.health import PROBE_EVERY_S, Prober
from latpred.campaign.spec import Item
from latpred.errors import InvalidArgumentError, LatpredError, MissingDependencyError, ProfilerError
from latpred.units import NANOSECONDS_PER_S
from latpred.workloads import child

MEASURE, PROBE, DESCRIBE = "measure", "probe", "describe"  # what a worker is asked
READY, REFUSED, RESULT, PROBED, DESCRIBED = "ready", "refused", "result", "probed", "described"  # what it answers
CPU = "cpu"
_HOST_SPEED_BUDGET_S = 1.5
_KERNEL_RUNS = 30
_KERNEL_PROTOCOL = f"median of each kernel in {_KERNEL_RUNS} runs"


class Measurer:
    """Answers the requests of a campaign, one after another."""

    def __init__(self, settings: Mapping[str, Any], cores: list[int] | None) -> None:
        """settings: of Campaign.worker_settings()."""
        if cores:
            os.sched_setaffinity(0, cores)  # before libraries start threads, which inherit it
        self._settings = settings
        for module in settings["imports"]:
            importlib.import_module(module)
        child.first_imports[:] = settings["imports"]
        runnable.check_runtimes(settings["runtimes"], settings["precisions"], settings["device"])
        _core.protocol(settings["protocol"])  # an unknown one is refused before anything is measured
        self._fingerprint, self._facts = machine(settings["device"])
        self._prober = Prober()
        self._probed_at = 0.0

    def start(self) -> list[dict[str, Any]]:
        """Who answers, and what is usual here."""
        probes = [self._probed(probe) for probe in self._prober.first()]
        return [
            {"kind": READY, "pid": os.getpid(), "device_fingerprint": self._fingerprint, "facts": self._facts},
            *probes,
        ]

    def answer(self, request: Mapping[str, Any]) -> list[dict[str, Any]]:
        """A probe comes first where one is due."""
        replies = []
        if request["kind"] == PROBE or time.monotonic() - self._probed_at >= PROBE_EVERY_S:
            replies.append(self._probed(self._prober.probe()))
        if request["kind"] == MEASURE:
            try:
                replies.append(self._measured(Item(**request["item"]), is_retimed=request["is_retimed"]))
            except MissingDependencyError as error:
                replies += refusal(error)
        elif request["kind"] == DESCRIBE:
            replies.append({"kind": DESCRIBED, "device_fingerprint": self._fingerprint, "speed": machine_speed()})
        return replies

    def _probed(self, probe: Any) -> dict[str, Any]:
        self._probed_at = time.monotonic()
        return {"kind": PROBED, "compute_s": probe.compute_s, "read_s": probe.read_s}

    def _measured(self, item: Item, *, is_retimed: bool) -> dict[str, Any]:
        start = time.monotonic()
        quantities = [spec.LATENCY] if is_retimed else self._settings["quantities"]
        results = _results(item, self._settings, quantities)
        return {
            "kind": RESULT,
            "position": item.position,
            "is_retimed": is_retimed,
            "seconds": time.monotonic() - start,
            "results": results,
        }


def machine(device: str) -> tuple[str, dict[str, Any]]:
    """The fingerprint of what `device` is here, and what else should stand in the file; "device": its name in rows."""
    kind, _, index = device.partition(":")
    describe = _MACHINES.get(kind)
    if describe is None or not (index.isdecimal() or device == kind):
        message = _core.unknown_name_message("device to measure on", device, list(_MACHINES))
        raise InvalidArgumentError(f"{message}; a second GPU is cuda:1", valid=list(_MACHINES))
    fingerprint, facts = describe(int(index or 0))
    return fingerprint, facts | {"versions": {"latpred": _core.__version__, "python": sys.version.split()[0]}}


def _host(_: int) -> tuple[str, dict[str, Any]]:
    return _core.host_facts().fingerprint, {"device": CPU, **_host_facts()}


def _host_facts() -> dict[str, Any]:
    facts = _core.host_facts()
    return {
        "processor": facts.model_name,
        "logical_cores": facts.logical_cores,
        "memory_bytes": facts.memory_bytes,
        "isa_level": facts.isa_level,
        "isa_features": list(facts.isa_features),
        "is_virtual": facts.is_virtual,
        "caches": [
            {"level": cache.level, "kind": cache.kind, "size_bytes": cache.size_bytes, "shared_by": cache.shared_by}
            for cache in facts.caches
        ],
    }


def _gpu(index: int) -> tuple[str, dict[str, Any]]:
    """By the table's name where it knows the vendor's."""
    if reason := _core.cuda_unavailable_reason():
        raise ProfilerError(reason)
    gpus = _core.gpu_facts()
    if index >= len(gpus):
        raise InvalidArgumentError(f"device 'cuda:{index}': this machine shows {len(gpus)} GPUs, counted from 0")
    gpu = gpus[index]
    try:
        name = _core.device(gpu.name).name
    except InvalidArgumentError:
        name = gpu.name
    fields = "name uuid sms memory_bytes clock_hz memory_clock_hz power_limit_w cuda_version driver_version"
    facts = {field: getattr(gpu, field) for field in fields.split()}
    return gpu.fingerprint, {"device": name, "gpu": facts, **_host_facts()}


_MACHINES: dict[str, Callable[[int], tuple[str, dict[str, Any]]]] = {CPU: _host, "cuda": _gpu}


def machine_speed() -> dict[str, Any]:
    """What one core does, measured on this one: device features of a table of a processor."""
    speed = _core.measure_host(_HOST_SPEED_BUDGET_S)
    return {
        "fp32_flops_per_s": speed.fp32_flops_per_s,
        "read_bytes_per_s": [[point.working_set_bytes, point.bytes_per_s] for point in speed.read_bandwidth],
        "kernels": speed.kernels,
    }


def _results(item: Item, settings: Mapping[str, Any], quantities: Sequence[str]) -> list[dict[str, Any]]:
    """All numbers of the item; where it cannot be run, the reason in their place."""
    from latpred.workloads import open_workload

    protocol = protocol_of(settings["protocol"], item)
    name = str(protocol)
    try:
        workload = open_workload(
            item.recipe,
            runtime=item.runtime,
            device=settings["device"],
            batch=item.batch,
            input=item.input or None,
            precision=item.precision,
            threads=item.threads,
        )
    except MissingDependencyError:
        raise  # this place's lack, not the network's
    except Exception as error:  # noqa: BLE001 - whatever a framework raises is this item's failure, not the campaign's
        return failed(quantities, name, _reason(error))
    rows = []
    with contextlib.closing(workload):
        for quantity in quantities:
            try:
                rows += _QUANTITIES[quantity](workload, protocol, name)
            except MissingDependencyError:
                raise
            except Exception as error:  # noqa: BLE001 - likewise
                rows += failed([quantity], name, _reason(error))
    return rows


def _reason(error: Exception) -> str:
    return str(error) if isinstance(error, LatpredError) else f"{type(error).__name__}: {error}"


def refusal(error: Exception) -> list[dict[str, Any]]:
    """Why a worker cannot start, as its answer."""
    return [{"kind": REFUSED, "reason": _reason(error)}]


def protocol_of(name: str, item: Item) -> Any:
    """As the item is measured by it."""
    protocol = _core.protocol(name)
    protocol.threads = item.threads
    return protocol


def failed(quantities: Sequence[str], protocol: str, reason: str) -> list[dict[str, Any]]:
    """The rows that the item would have had, with the reason and without values."""
    return [
        {"quantity": quantity, "protocol": row_protocol, "value": None, "error": reason}
        for quantity in quantities
        for row_protocol in _PROTOCOLS[quantity](protocol)
    ]


def _latency(workload: Any, protocol: Any, name: str) -> list[dict[str, Any]]:
    measured = workload.measure(protocol)
    versions = _versions(measured.versions)
    details = {
        "samples": [_sample(sample) for sample in measured.samples],
        "discarded": [[_sample(sample) for sample in repetition] for repetition in measured.discarded],
        "label": measured.label,
        "is_stable": measured.is_stable,
        "stopped_by": measured.stopped_by,
        "clock": measured.clock,
    }
    return [
        {
            "quantity": spec.LATENCY,
            "protocol": name,
            "value": measured.latency_s,
            "noise": measured.statistics.coefficient_of_variation,
            "samples": measured.statistics.count,
            "runtime_version": versions,
            "details": details,
        },
        {
            "quantity": spec.LATENCY,
            "protocol": name + spec.FIRST_RUN,
            "value": _core.choose_label([measured.first_run], protocol).latency_s,
            "samples": 1,
            "runtime_version": versions,
            "details": {"samples": [_sample(measured.first_run)]},
        },
    ]


def _sample(sample: Any) -> list[int]:
    """Wall clock and thread CPU time in nanoseconds, context switches, waits."""
    return [
        round(sample.wall_s * NANOSECONDS_PER_S),
        round(sample.cpu_s * NANOSECONDS_PER_S),
        sample.context_switches,
        sample.waits,
    ]


def _memory(workload: Any, protocol: Any, name: str) -> list[dict[str, Any]]:
    memory = workload.memory()
    if memory is None:
        raise ProfilerError("this runtime does not tell how much memory a network takes")
    return [
        {
            "quantity": spec.MEMORY,
            "protocol": name,
            "value": float(memory),
            "runtime_version": _versions(workload.versions),
            "details": dataclasses.asdict(memory),
        }
    ]


def _kernels(workload: Any, protocol: Any, name: str) -> list[dict[str, Any]]:
    times = workload.kernels(_KERNEL_RUNS)
    if times is None:
        raise ProfilerError("this runtime does not tell the times of its kernels")
    kernels = [dataclasses.asdict(row) for row in times.rows]
    for kernel in kernels:
        del kernel["samples_s"]  # noise says what of them matters
    return [
        {
            "quantity": spec.KERNELS,
            "protocol": _KERNEL_PROTOCOL,
            "value": times.total_s,
            "samples": _KERNEL_RUNS,
            "runtime_version": _versions(workload.versions),
            "details": {
                "clock": times.clock,
                "latency_s": times.latency_s,
                "not_executed": [dataclasses.asdict(node) for node in times.not_executed],
                "unattributed": [dataclasses.asdict(node) for node in times.unattributed],
            },
            "kernels": kernels,
        }
    ]


def _versions(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{library} {version}" for library, version in pairs)


_QUANTITIES = {spec.LATENCY: _latency, spec.MEMORY: _memory, spec.KERNELS: _kernels}
# The protocols of the rows that each gives, from the campaign's: those of a failure are the same.
_PROTOCOLS: dict[str, Callable[[str], tuple[str, ...]]] = {
    spec.LATENCY: lambda name: (name, name + spec.FIRST_RUN),
    spec.MEMORY: lambda name: (name,),
    spec.KERNELS: lambda name: (_KERNEL_PROTOCOL,),
}

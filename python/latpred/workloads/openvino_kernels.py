"""Times of OpenVINO's nodes, in a process whose OpenVINO has loaded our collector."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from latpred import _core
from latpred.errors import ProfilerError
from latpred.workloads import itt
from latpred.workloads.openvino import ORIGINAL_NAMES, Network
from latpred.workloads.workload import Setting, pinned

_WARM_UP = 5
MAX_NOISE = 0.05  # of a node's runs: above it, all are timed again, and of each node the steadier round stays
_NEVER_EXECUTED = {"Const", "Input", "Output"}


def time_here(request: Mapping[str, Any]) -> dict[str, Any]:
    """Nodes with their times in each run: those of one thread are of its CPU clock, others of the wall clock.

    rounds: how often the runs are repeated where nodes scatter."""
    setting = Setting(**request["setting"])
    network = Network(setting, keeps_names=True)
    times: dict[str, list[int]] = {}
    calls_s: list[float] = []
    with pinned(setting):
        network.run_many(_WARM_UP if request["runs"] > 1 else 0)
        for _ in range(request.get("rounds", 1)):
            for name, found in _round(network, setting, request["runs"], calls_s).items():
                times[name] = min(times.get(name, found), found, key=_noise)
            if all(_noise(found) <= MAX_NOISE for found in times.values()):
                break
    if not times:
        raise ProfilerError(
            "OpenVINO reported no node that it executed: this build of it has no ittnotify hooks, or another collector "
            "was loaded; take the release of PyPI"
        )
    nodes = [_describe(operator, times) for operator in network.compiled.get_runtime_model().get_ordered_ops()]
    return {
        "kernels": [node for node in nodes if node["kind"] not in _NEVER_EXECUTED],
        "calls_s": calls_s,
        "clock": "thread CPU time, ns" if setting.threads == 1 else "wall clock, ns",
    }


def _round(network: Network, setting: Setting, runs: int, calls_s: list[float]) -> dict[str, list[int]]:
    times: dict[str, list[int]] = defaultdict(list)
    now_s = time.thread_time if setting.threads == 1 else time.perf_counter
    for _ in range(runs):
        with itt.collected() as tasks:
            start_s = now_s()
            network.run_once()
            calls_s.append(now_s() - start_s)
        for name, duration_ns in _by_name(tasks, setting.threads).items():
            times[name].append(duration_ns)
    return times


def _noise(times_ns: list[int]) -> float:
    return _core.statistics(times_ns).noise


def _by_name(tasks: list[itt.Task], threads: int) -> dict[str, int]:
    """The time of each node in one call: the nodes inside of a loop are in the loop's time."""
    found: dict[str, int] = defaultdict(int)
    for task in tasks:
        if task.depth == 0:
            found[task.name] += task.cpu_ns if threads == 1 else task.wall_ns
    return found


def _describe(operator: Any, times: Mapping[str, list[int]]) -> dict[str, Any]:
    facts = operator.get_rt_info()

    def fact(name: str) -> str:
        return str(facts[name].value) if name in facts else ""

    return {
        "name": operator.get_friendly_name(),
        "kind": fact("layerType"),
        "implementation": fact("primitiveType"),
        "precision": fact("runtimePrecision"),
        "order": int(fact("execOrder")),
        "original_names": [word for word in fact(ORIGINAL_NAMES).split(",") if word],
        "reads": [port.get_source_output().get_node().get_friendly_name() for port in operator.inputs()],
        "times_ns": times.get(operator.get_friendly_name(), []),
    }

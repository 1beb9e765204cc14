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
# A node's time is the least of its medians over rounds of runs. What else uses the core's other thread and the caches
# comes and goes in milliseconds and only adds: the same network's medians differed by a factor of 3 within seconds, the
# least of them by 5 %.
_MIN_ROUNDS = 3
_MIN_ROUNDS_S = 0.3
_NEVER_EXECUTED = {"Const", "Input", "Output"}


def time_here(request: Mapping[str, Any]) -> dict[str, Any]:
    """Nodes with their times in each run: those of one thread are of its CPU clock, others of the wall clock.

    in_rounds: the runs are repeated."""
    setting = Setting(**request["setting"])
    network = Network(setting, keeps_names=True)
    times: dict[str, list[int]] = {}
    calls_s: list[float] = []
    with pinned(setting):
        in_rounds = request.get("in_rounds", False)
        network.run_many(_WARM_UP if request["runs"] > 1 else 0)
        begin_s, rounds = time.perf_counter(), 0
        while rounds == 0 or (in_rounds and (rounds < _MIN_ROUNDS or time.perf_counter() < begin_s + _MIN_ROUNDS_S)):
            for name, found in _round(network, setting, request["runs"], calls_s).items():
                times[name] = min(times.get(name, found), found, key=_median)
            rounds += 1
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


def _median(times_ns: list[int]) -> float:
    return _core.statistics(times_ns).median


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

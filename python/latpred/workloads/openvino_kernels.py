"""Times of OpenVINO's nodes, in a process whose OpenVINO has loaded our collector."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from latpred.errors import ProfilerError
from latpred.workloads import itt
from latpred.workloads.openvino import ORIGINAL_NAMES, Network
from latpred.workloads.workload import Setting, pinned

_WARM_UP = 5
_NEVER_EXECUTED = {"Const", "Input", "Output"}


def time_here(request: Mapping[str, Any]) -> dict[str, Any]:
    """Nodes with their times in each run: those of one thread are of its CPU clock, others of the wall clock."""
    setting = Setting(**request["setting"])
    network = Network(setting, keeps_names=True)
    times: dict[str, list[int]] = defaultdict(list)
    calls_s = []
    now_s = time.thread_time if setting.threads == 1 else time.perf_counter
    with pinned(setting):
        network.run_many(_WARM_UP)
        for _ in range(request["runs"]):
            with itt.collected() as tasks:
                start_s = now_s()
                network.run_once()
                calls_s.append(now_s() - start_s)
            for name, duration_ns in _by_name(tasks, setting.threads).items():
                times[name].append(duration_ns)
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
        "times_ns": times.get(operator.get_friendly_name(), []),
    }

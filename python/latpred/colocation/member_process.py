"""A member of a combination as a process: python -m latpred.colocation.member_process FD CORE speaks JSON lines
over that socket. It opens a network, says so, and calls it when told: for a while, or until told to stop."""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import statistics
import sys
import time
from collections.abc import Callable
from typing import Any

from latpred.child_process import end_with_parent

_CHUNK_S = 2e-3  # of a stream between two looks at the clock
_FIRST_CALLS = 1  # of each phase: caches and the neighbour's start


def _open_network(request: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], None]]:
    from latpred.workloads.openvino import Network
    from latpred.workloads.workload import Setting

    network = Network(Setting(request["path"], batch=request["batch"], precision="fp32"))
    return network.run_once, network.close


def _open_stream(request: dict[str, Any]) -> tuple[Callable[[], Any], Callable[[], None]]:
    """Reads for a share of the time, the rest of it asleep."""
    from latpred import _core

    read = _core.reference_run("stream", _CHUNK_S)
    pause_s = _CHUNK_S * (1 / request["share"] - 1)

    def call() -> None:
        read()
        if pause_s:
            time.sleep(pause_s)

    return call, lambda: None


_OPENERS = {"network": _open_network, "stream": _open_stream}


class _Calls:
    """The times of the calls of one phase."""

    def __init__(self) -> None:
        self.wall_s: list[float] = []
        self.cpu_s: list[float] = []

    def add(self, call: Callable[[], Any]) -> None:
        # Of the process: whatever thread the library runs on.
        wall, cpu = time.perf_counter(), time.process_time()
        call()
        self.wall_s.append(time.perf_counter() - wall)
        self.cpu_s.append(time.process_time() - cpu)

    def counted(self) -> int:
        return max(0, len(self.wall_s) - _FIRST_CALLS)

    def summary(self) -> dict[str, Any]:
        wall, cpu = self.wall_s[_FIRST_CALLS:], self.cpu_s[_FIRST_CALLS:]
        return {
            "calls": len(wall),
            "wall_median_s": statistics.median(wall),
            "wall_mean_s": statistics.fmean(wall),
            "cpu_median_s": statistics.median(cpu),
            "cpu_mean_s": statistics.fmean(cpu),
        }


class _Member:
    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lines = connection.makefile("r", encoding="utf-8")
        self._call: Callable[[], Any] = lambda: None
        self._close: Callable[[], None] = lambda: None

    def _send(self, **answer: Any) -> None:
        self._connection.sendall(json.dumps(answer).encode() + b"\n")

    def work(self) -> None:
        for line in self._lines:
            request = json.loads(line)
            try:
                getattr(self, f"_do_{request['do']}")(request)
            except Exception as error:  # noqa: BLE001 - whatever a runtime raises fails this combination alone
                self._send(error=f"{type(error).__name__}: {error}")

    def _do_open(self, request: dict[str, Any]) -> None:
        self._close()
        self._call, self._close = _OPENERS[request["kind"]](request)
        self._call()
        self._send(ready=True)

    def _do_alone(self, request: dict[str, Any]) -> None:
        calls = _Calls()
        end = time.perf_counter() + request["seconds"]
        while calls.counted() < request["calls"] or time.perf_counter() < end:
            calls.add(self._call)
        self._send(**calls.summary())

    def _do_beside(self, request: dict[str, Any]) -> None:
        """Until told to stop; says when it has enough, and goes on: no neighbour runs beside nothing."""
        calls, has_enough = _Calls(), False
        end = time.perf_counter() + request["seconds"]
        while not has_enough or not select.select([self._connection], [], [], 0)[0]:
            calls.add(self._call)
            if not has_enough and calls.counted() >= request["calls"] and time.perf_counter() >= end:
                has_enough = True
                self._send(enough=True)
        self._lines.readline()  # the word to stop
        self._send(**calls.summary())

    def _do_hold(self, request: dict[str, Any]) -> None:
        """Keeps its core busy with nothing until told to stop: no other load of the machine comes onto it meanwhile."""
        while not select.select([self._connection], [], [], 0)[0]:
            end = time.perf_counter() + _CHUNK_S
            while time.perf_counter() < end:
                pass
        self._lines.readline()
        self._send(held=True)


def main() -> None:
    end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign decides when to stop
    # Before a runtime is loaded, which keeps to the cores that it finds then.
    os.sched_setaffinity(0, [int(sys.argv[2])])
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        _Member(connection).work()


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)  # the campaign has gone

"""Where workers run: processes of this machine, or actors of a cluster. Both take requests and give events."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import selectors
import signal
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from latpred.child_process import start_speaking
from latpred.errors import InvalidArgumentError

LOST = "lost"  # the kind of event that says a worker has gone


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that a worker answered, or that it has gone."""

    worker: str
    kind: str
    content: Mapping[str, Any]


class Pool(Protocol):
    """Workers answer in the order of their requests."""

    def start(self, worker: str) -> None: ...

    def send(self, worker: str, request: Mapping[str, Any]) -> None: ...

    def wait(self, timeout_s: float) -> list[Event]: ...

    def end(self, worker: str) -> None:
        """At once, whatever it does; an event LOST follows."""

    def close(self) -> None: ...


class LocalPool:
    """A process on its own cores for each worker."""

    def __init__(self, settings: Mapping[str, Any], workers: Sequence[str], threads: int) -> None:
        self._settings = settings
        self._cores = _cores(workers, threads)
        self._selector = selectors.DefaultSelector()
        self._processes: dict[str, _Process] = {}

    def start(self, worker: str) -> None:
        process = _Process(self._settings, self._cores[worker])
        self._processes[worker] = process
        self._selector.register(process.connection, selectors.EVENT_READ, worker)

    def send(self, worker: str, request: Mapping[str, Any]) -> None:
        process = self._processes.get(worker)
        if process is not None:
            process.send(request)

    def wait(self, timeout_s: float) -> list[Event]:
        events = []
        for key, _ in self._selector.select(timeout_s):
            worker: str = key.data
            process = self._processes[worker]
            replies = process.receive()
            if replies is None:
                self._selector.unregister(process.connection)
                del self._processes[worker]
                events.append(Event(worker, LOST, {"reason": process.reap()}))
            else:
                events += [Event(worker, reply.pop("kind"), reply) for reply in replies]
        return events

    def end(self, worker: str) -> None:
        process = self._processes.get(worker)
        if process is not None:
            process.kill()

    def close(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.reap()
        self._processes.clear()
        self._selector.close()


class _Process:
    """A worker and the socket to it."""

    def __init__(self, settings: Mapping[str, Any], cores: list[int]) -> None:
        self._process, self.connection = start_speaking("latpred.campaign.worker_process")
        self._rest = b""
        self.send({"settings": settings, "cores": cores})

    def send(self, request: Mapping[str, Any]) -> None:
        with contextlib.suppress(OSError):  # it has gone; receive() says so
            self.connection.sendall(json.dumps(request).encode() + b"\n")

    def receive(self) -> list[dict[str, Any]] | None:
        """Whole lines; None when it has gone."""
        try:
            got = self.connection.recv(1 << 16)
        except OSError:
            return None
        if not got:
            return None
        *lines, self._rest = (self._rest + got).split(b"\n")
        return [json.loads(line) for line in lines]

    def kill(self) -> None:
        self._process.kill()

    def reap(self) -> str:
        """How it ended."""
        self.connection.close()
        code = self._process.wait()
        return f"killed by {signal.Signals(-code).name}" if code < 0 else f"ended with exit code {code}"


def _cores(workers: Sequence[str], threads: int) -> dict[str, list[int]]:
    """Cores of its own for each worker."""
    allowed = sorted(os.sched_getaffinity(0))
    wanted = len(workers) * threads
    if wanted > len(allowed):
        raise InvalidArgumentError(
            f"{len(workers)} workers of {threads} threads need {wanted} cores of their own, and {len(allowed)} are "
            "allowed here: ask for fewer workers or threads"
        )
    # From the end: the system's own work tends to run on the first ones.
    allowed.reverse()
    return {worker: allowed[index * threads : (index + 1) * threads] for index, worker in enumerate(workers)}

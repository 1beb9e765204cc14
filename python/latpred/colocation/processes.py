"""The processes of a combination's members, and the phases in which they are timed."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from latpred.child_process import start_speaking
from latpred.errors import ProfilerError

_BEFORE, _BESIDE, _AFTER = "alone before", "beside", "alone after"
PHASES = (_BEFORE, _BESIDE, _AFTER)
# Calls that count in each phase, at least; seconds for faster ones. Twice alone for once together: both are as noisy.
MIN_CALLS = 3
ALONE_S, BESIDE_S = 0.35, 1.0
TIMEOUT_S = 120.0  # of one phase


class MemberProcess:
    """A process on one core, kept from combination to combination."""

    def __init__(self, core: int) -> None:
        self.core = core
        self._process, self._connection = start_speaking("latpred.colocation.member_process", str(core))
        self._rest = b""

    def send(self, **request: Any) -> None:
        self._connection.sendall(json.dumps(request).encode() + b"\n")

    def receive(self, deadline: float) -> dict[str, Any]:
        """The next answer; what went wrong is raised."""
        while b"\n" not in self._rest:
            self._connection.settimeout(max(0.0, deadline - time.monotonic()))
            try:
                got = self._connection.recv(1 << 16)
            except TimeoutError:
                raise ProfilerError(f"a member gave no answer in {TIMEOUT_S:g} s") from None
            if not got:
                raise ProfilerError(f"a member's process ended with status {self._process.wait()}")
            self._rest += got
        line, _, self._rest = self._rest.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise ProfilerError(answer["error"])
        return answer

    def close(self) -> None:
        self._process.kill()
        self._process.wait()
        self._connection.close()


def _ask_all(members: Sequence[MemberProcess], **request: Any) -> None:
    for member in members:
        member.send(**request)


def _receive_all(members: Sequence[MemberProcess]) -> list[dict[str, Any]]:
    deadline = time.monotonic() + TIMEOUT_S
    return [member.receive(deadline) for member in members]


@contextlib.contextmanager
def _held(holders: Sequence[MemberProcess], timed: Sequence[MemberProcess]) -> Iterator[None]:
    """Keeps other load of the machine off the cores on which nothing is timed."""
    used = [holder for holder in holders if holder.core not in {member.core for member in timed}]
    _ask_all(used, do="hold")
    yield
    _ask_all(used, do="stop")
    _receive_all(used)


def _alone(members: Sequence[MemberProcess], holders: Sequence[MemberProcess]) -> list[dict[str, Any]]:
    found = []
    for member in members:
        with _held(holders, [member]):
            member.send(do="alone", seconds=ALONE_S, calls=MIN_CALLS)
            found += _receive_all([member])
    return found


def _beside(members: Sequence[MemberProcess], holders: Sequence[MemberProcess]) -> list[dict[str, Any]]:
    with _held(holders, members):
        _ask_all(members, do="beside", seconds=BESIDE_S, calls=MIN_CALLS)
        _receive_all(members)  # each has enough; all go on until the last one has
        _ask_all(members, do="stop")
        return _receive_all(members)


def time_together(
    members: Sequence[MemberProcess], opens: Sequence[Mapping[str, Any]], holders: Sequence[MemberProcess]
) -> dict[str, list[Any]]:
    """Opens a network in each process, and times them: phase -> summary of each member's calls. holders: a process for
    each core."""
    for member, request in zip(members, opens, strict=True):
        member.send(do="open", **request)
    _receive_all(members)
    return {
        _BEFORE: _alone(members, holders),
        _BESIDE: _beside(members, holders),
        _AFTER: _alone(members, holders),
    }


def cores_of(placement_is_one_core: bool, count: int, allowed: Sequence[int]) -> list[int]:
    """The core of each member. From the last one: the system's own work tends to run on the first."""
    last_first = sorted(allowed, reverse=True)
    return [last_first[0 if placement_is_one_core else index % len(last_first)] for index in range(count)]

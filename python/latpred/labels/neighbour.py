"""A neighbour on another core that reads memory for a share of its time, while something is labelled here."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator

from latpred.colocation.processes import TIMEOUT_S, MemberProcess
from latpred.datasets.label_table import ALONE
from latpred.errors import InvalidArgumentError, ProfilerError

_WHOLE = 100


def state(percent: int) -> str:
    """Of the device, as tables of labels say it."""
    return f"{ALONE}, neighbour {percent} %" if percent else ALONE


@contextlib.contextmanager
def beside(percent: int) -> Iterator[None]:
    """This process keeps off the neighbour's core meanwhile. 0: there is no neighbour."""
    if not 0 <= percent <= _WHOLE:
        raise InvalidArgumentError(f"neighbour= is a percentage of its time, 0 to 100, got {percent!r}")
    if not percent:
        yield
        return
    cores = os.sched_getaffinity(0)
    if len(cores) < 2:
        raise ProfilerError("a neighbour needs a core of its own, and this process may use one alone")
    member = MemberProcess(min(cores))
    try:
        os.sched_setaffinity(0, cores - {member.core})
        for request in (
            {"do": "open", "kind": "stream", "share": percent / _WHOLE},
            {"do": "beside", "seconds": 0.0, "calls": 1},  # answers when it runs, and goes on
        ):
            member.send(**request)
            member.receive(time.monotonic() + TIMEOUT_S)
        yield
    finally:
        member.close()
        os.sched_setaffinity(0, cores)

"""Is the machine as fast as before? Two small fixed loads, timed every ten seconds beside the campaign's own.

Between two probes lies a window. Where one of its probes is far from what this worker's probes usually take, the
machine was disturbed, and what was measured in the window is measured again later.
"""

from __future__ import annotations

import dataclasses
import hashlib
import resource
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

# Chosen on a shared two-core machine, where a neighbour's load lasts for seconds: half a percent of the time is probes.
PROBE_EVERY_S = 10.0
# A probe may differ by so much from the usual: labels repeat within 2 to 4 % where the machine is steady.
THRESHOLD = 0.05
# Measured so often at most; then the last value stays, marked as not steady: some machines never are.
MAX_ATTEMPTS = 3

_HASHED_BYTES = 1 << 20  # about 1 ms of integer arithmetic on one core, nothing from memory
_READ_BYTES = 256 << 20  # several times a last-level cache: the speed of memory
# Of each load; their median without those that were interrupted. A few milliseconds at another clock should not be
# taken for ten seconds.
_HASHES, _READS = 15, 5
_FIRST_PROBES = 3  # when a worker starts: what is usual should not hang on one


@dataclasses.dataclass(frozen=True)
class Probe:
    """How long the two fixed loads took."""

    compute_s: float
    read_s: float


def usual(probes: Sequence[Probe]) -> Probe:
    """The median of each."""
    return Probe(
        statistics.median(probe.compute_s for probe in probes), statistics.median(probe.read_s for probe in probes)
    )


def deviation(probe: Probe, expected: Probe) -> float:
    """The larger of both, relative."""
    return max(abs(probe.compute_s / expected.compute_s - 1), abs(probe.read_s / expected.read_s - 1))


def is_steady(window: Sequence[Probe], probes: Sequence[Probe], threshold: float = THRESHOLD) -> bool:
    """Whether the probes around a window are as all of this worker's probes are."""
    expected = usual(probes)
    return all(deviation(probe, expected) <= threshold for probe in window)


class Prober:
    """Holds the memory that is read."""

    def __init__(self) -> None:
        self._hashed = bytes(_HASHED_BYTES)
        self._read = np.ones(_READ_BYTES // 8, dtype=np.int64)

    def first(self) -> list[Probe]:
        self.probe()  # pages, clocks
        return [self.probe() for _ in range(_FIRST_PROBES)]

    def probe(self) -> Probe:
        return Probe(_time(lambda: hashlib.blake2b(self._hashed).digest(), _HASHES), _time(self._read.max, _READS))


def _time(call: Callable[[], Any], runs: int) -> float:
    """The median of the runs that kept their core, of the thread's CPU time where there is none."""
    clean, cpu = [], []
    for _ in range(runs):
        switches = resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw
        wall_start, cpu_start = time.perf_counter(), time.thread_time()
        call()
        wall_s, cpu_s = time.perf_counter() - wall_start, time.thread_time() - cpu_start
        cpu.append(cpu_s)
        if resource.getrusage(resource.RUSAGE_THREAD).ru_nivcsw == switches:
            clean.append(wall_s)
    return statistics.median(clean or cpu)

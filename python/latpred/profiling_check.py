"""The profiler's own check: it measures work of known duration, and an independent clock stands beside it."""

from __future__ import annotations

import dataclasses
import statistics

from latpred import _core
from latpred.profiling import make_protocol, profile
from latpred.tables import Column, Table, number

# The last two are shorter than what a scheduler gives at a time, so that some runs are undisturbed on a busy machine.
_SECONDS = {"sleep": 0.05, "fma": 0.001, "stream": 0.001}
_SAMPLES = 40


@dataclasses.dataclass(frozen=True)
class Check:
    """One workload. Seconds."""

    name: str
    description: str
    asked_s: float  # what it was made to last
    clock_s: float  # by the independent clock, the same runs
    measured_s: float
    used: int  # runs without context switch
    samples: int

    @property
    def difference(self) -> float:
        """Of the measurement from the clock, relative."""
        return self.measured_s / self.clock_s - 1


def check_instrument(samples: int | None = None) -> Table[Check]:
    """Measures a sleep, multiply-adds in registers and reads of memory, each `samples` times (None: 40)."""
    rows = [_check(row.name, row.description, samples or _SAMPLES) for row in _core.reference_workloads()]
    columns: list[Column[Check]] = [
        Column("name", lambda row: row.name, "workload", is_left=True),
        Column("description", lambda row: row.description, is_left=True),
        Column("asked_s", lambda row: row.asked_s, "asked ms", _milliseconds),
        Column("clock_s", lambda row: row.clock_s, "clock ms", _milliseconds),
        Column("measured_s", lambda row: row.measured_s, "measured ms", _milliseconds),
        Column("difference", lambda row: row.difference, text=lambda value: f"{100 * value:+.2f} %"),
        Column("used", lambda row: row.used, "undisturbed", str),
        Column("samples", lambda row: row.samples, "of", str),
    ]
    return Table(rows, columns, what="workload")


def _milliseconds(seconds: float) -> str:
    return number(seconds * 1e3, digits=4)


def _check(name: str, description: str, samples: int) -> Check:
    run = _core.reference_run(name, _SECONDS[name])
    protocol = make_protocol(
        warm_up=0,
        max_repetitions=1,
        timeout_s=60.0,
        criterion="count",
        threshold=float(samples),
        min_samples=samples,
        max_samples=samples,
    )
    result = profile(run, protocol=protocol)
    times = run.times_s
    # Interrupted runs are no part of the label, so that the clock leaves them out as well.
    undisturbed = [
        seconds for seconds, sample in zip(times, result.samples, strict=True) if sample.context_switches == 0
    ]
    return Check(
        name,
        description,
        _SECONDS[name],
        statistics.median(undisturbed or times),
        result.latency_s if undisturbed else statistics.median(sample.wall_s for sample in result.samples),
        len(undisturbed),
        len(times),
    )


__all__ = ["Check", "check_instrument"]

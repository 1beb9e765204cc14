"""The answer of profile(): one number, the samples that it was chosen from, and how it shows itself."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from latpred.tables import UNKNOWN, Column, Table, html_table, number
from latpred.units import MEGABYTE, MILLISECONDS_PER_S

if TYPE_CHECKING:
    import pandas

    from latpred._core import Measurement, Sample, Statistics
    from latpred.workloads import KernelTime, KernelTimes, MemoryUse


@dataclasses.dataclass(frozen=True)
class TimedSample:
    """One sample of a profile. Seconds."""

    repetition: int
    is_kept: bool  # False: its repetition varied too much, and all was measured again
    wall_s: float
    cpu_s: float  # of the calling thread
    context_switches: int
    waits: int


@dataclasses.dataclass(frozen=True, repr=False)
class Profile:
    """What profile() answers with: one number, and everything that it was chosen from."""

    name: str
    device: str
    measurement: Measurement
    first_run: Sample
    runtime: str = ""  # empty: a function
    batch: int | None = None
    precision: str = ""
    threads: int = 1
    core: int | None = None  # that it was kept on; None: on any
    kernels: KernelTimes | None = None  # None: not asked for, or the runtime does not tell
    memory: MemoryUse | None = None
    notes: tuple[str, ...] = ()  # what makes the numbers worth less: clocks that were lowered, say

    @property
    def latency_s(self) -> float:
        return self.measurement.latency_s

    @property
    def latency_ms(self) -> float:
        return self.latency_s * MILLISECONDS_PER_S

    @property
    def label(self) -> str:
        """How the latency was chosen from the samples."""
        return self.measurement.label

    @property
    def statistics(self) -> Statistics:
        """Of the times that the latency was chosen from; seconds."""
        return self.measurement.statistics

    @property
    def is_stable(self) -> bool:
        """Whether those times vary by no more than the protocol allows."""
        return self.measurement.is_stable

    @property
    def samples(self) -> Table[TimedSample]:
        """Every timed run, discarded repetitions too."""
        repetitions = [*((False, samples) for samples in self.measurement.discarded), (True, self.measurement.samples)]
        names = ("wall_s", "cpu_s", "context_switches", "waits")
        rows = [
            TimedSample(number_, is_kept, **{name: getattr(sample, name) for name in names})
            for number_, (is_kept, samples) in enumerate(repetitions, 1)
            for sample in samples
        ]
        return Table(rows, [_sample_column(field.name) for field in dataclasses.fields(TimedSample)], what="sample")

    @property
    def versions(self) -> dict[str, str]:
        """Libraries that ran it, and latpred's own."""
        return dict(self.measurement.versions)

    def to_dict(self) -> dict[str, Any]:
        """Plain values; seconds and bytes."""
        measured, statistics = self.measurement, self.statistics
        answer: dict[str, Any] = {
            name: getattr(self, name)
            for name in (
                "name", "device", "runtime", "batch", "precision", "threads", "core", "latency_s", "label", "is_stable"
            )
        }  # fmt: skip
        answer["first_run_s"] = self.first_run.wall_s
        answer["statistics"] = {name: getattr(statistics, name) for name in _STATISTICS}
        answer["samples"] = self.samples.to_dicts()
        for name in ("stopped_by", "total_s", "protocol", "clock", "device_fingerprint"):
            answer[name] = getattr(measured, name)
        answer["versions"] = self.versions
        answer["notes"] = list(self.notes)
        answer["kernels"] = None if self.kernels is None else [dataclasses.asdict(row) for row in self.kernels.rows]
        answer["memory"] = None if self.memory is None else dataclasses.asdict(self.memory)
        return answer

    def to_pandas(self) -> pandas.DataFrame:
        """The samples as a frame. Needs latpred[data]."""
        return self.samples.to_pandas()

    def headline(self) -> str:
        """One line: "resnet50 on cpu, eager fp32, batch 1: 21.3 ms (21.1 - 21.9), first run 35.2 ms"."""
        setting = " ".join(word for word in (self.runtime, self.precision) if word)
        words = [f"{self.name} on {self.device}", setting, f"batch {self.batch}" if self.batch else ""]
        low, high = (number(value * MILLISECONDS_PER_S) for value in (self.statistics.p05, self.statistics.p95))
        first = number(self.first_run.wall_s * MILLISECONDS_PER_S)
        where = ", ".join(word for word in words if word)
        return f"{where}: {number(self.latency_ms)} ms ({low} - {high}), first run {first} ms"

    def pairs(self) -> list[tuple[str, str]]:
        """Heading and text of each fact."""
        measured, statistics = self.measurement, self.statistics
        repetitions = f" of the last of {len(measured.discarded) + 1} repetitions" if measured.discarded else ""
        variation = statistics.coefficient_of_variation
        spread = UNKNOWN if variation is None else f"{100 * variation:.2g} %"
        if not self.is_stable:
            spread += ", more than the protocol allows: something disturbs, or the workload itself varies"
        samples = (
            f"{len(measured.samples)}{repetitions}, stopped by {measured.stopped_by} after {measured.total_s:.2g} s"
        )
        pairs = [
            ("latency", f"{number(self.latency_ms)} ms: {self.label}"),
            ("spread", f"{spread}, {statistics.outliers} outliers"),
            ("samples", samples),
            ("protocol", measured.protocol),
            ("clock", measured.clock + ("" if self.core is None else f", on core {self.core}")),
            ("machine", measured.device_fingerprint or "unknown"),
            ("versions", ", ".join(f"{name} {version}" for name, version in self.versions.items())),
        ]
        if self.memory is not None:
            pairs.append(("memory", f"{number(float(self.memory) / MEGABYTE)} MB at most during calls"))
        if self.kernels is not None:
            total = number(self.kernels.total_s * MILLISECONDS_PER_S)
            pairs.append(("kernels", f"{len(self.kernels.rows)}, together {total} ms by {self.kernels.clock}"))
        return [*pairs, *(("note", note) for note in self.notes)]

    def kernels_table(self) -> Table[KernelTime]:
        """The kernels in the order of their execution; empty where they are not known."""
        columns: list[Column[KernelTime]] = [
            Column("name", lambda row: row.name, "kernel", is_left=True),
            Column("kind", lambda row: row.kind, is_left=True),
            Column("implementation", lambda row: row.implementation or None, is_left=True),
            Column("nodes", lambda row: len(row.nodes)),
            Column("latency_us", lambda row: row.latency_s * 1e6, "us", number),
        ]
        return Table(self.kernels.rows if self.kernels else [], columns, what="kernel")

    def __repr__(self) -> str:
        pairs = self.pairs()
        width = max(len(heading) for heading, _ in pairs)
        return "\n".join([self.headline(), *(f"  {heading.ljust(width)}  {text}" for heading, text in pairs)])

    def _repr_html_(self) -> str:
        return html_table([list(pair) for pair in self.pairs()], title=self.headline())


_STATISTICS = (
    "count", "min", "max", "mean", "median", "p05", "p25", "p75", "p95", "median_absolute_deviation", "noise",
    "outliers", "standard_deviation", "coefficient_of_variation",
)  # fmt: skip


def _sample_column(name: str) -> Column[TimedSample]:
    text = (lambda seconds: f"{seconds:.3e}") if name.endswith("_s") else str
    return Column(name, lambda row: getattr(row, name), text=text)

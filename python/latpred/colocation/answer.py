"""The answer of colocate(): a row for each member, and what they share."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from functools import partial

from latpred.tables import Column, Table, number, number_column, text_column, yes_or_no

Pair = tuple[float, float]


@dataclasses.dataclass(frozen=True)
class CoLocatedMember:
    """One network beside the others. Intervals are 80 %."""

    name: str
    batch: int
    partition: str | None
    alone_ms: float  # on its share of the device, nothing beside it
    slow_down: float  # how many times longer beside the others
    slow_down_interval: Pair
    latency_ms: float
    latency_ms_interval: Pair
    slo_ms: float | None
    memory_mb: float | None  # the upper end of its interval; None: not known
    memory_fits: bool | None  # in its MIG slice; None: memory is shared, or not known
    provenance: Mapping[str, str]  # of "alone" and of "slow_down": how each was obtained
    coverage: tuple[str, ...]  # one sentence for each thing outside what was measured

    @property
    def meets_slo(self) -> bool | None:
        """Whether the upper end of the latency's interval keeps to the objective; None: there is none."""
        return None if self.slo_ms is None else self.latency_ms_interval[1] <= self.slo_ms


def _end_of(interval: str, end: int, row: CoLocatedMember) -> float:
    pair: Pair = getattr(row, interval)
    return pair[end]


def _how(quantity: str, row: CoLocatedMember) -> str:
    return row.provenance[quantity]


def _coverage(row: CoLocatedMember) -> list[str]:
    return list(row.coverage)


COLUMNS: list[Column[CoLocatedMember]] = [
    text_column("name", "network"),
    number_column("batch", text=str),
    text_column("partition"),
    number_column("alone_ms", "alone ms"),
    number_column("slow_down", "slow-down"),
    Column("slow_down_low", partial(_end_of, "slow_down_interval", 0), text=number, is_shown=False),
    Column("slow_down_high", partial(_end_of, "slow_down_interval", 1), text=number, is_shown=False),
    number_column("latency_ms", "ms"),
    Column("latency_ms_low", partial(_end_of, "latency_ms_interval", 0), "low ms", number),
    Column("latency_ms_high", partial(_end_of, "latency_ms_interval", 1), "high ms", number),
    number_column("slo_ms", "objective ms"),
    number_column("meets_slo", "meets it", yes_or_no, is_left=True),
    number_column("memory_mb", is_shown=False),
    number_column("memory_fits", text=yes_or_no, is_shown=False),
    Column("how", partial(_how, "slow_down"), "how", is_left=True),
    Column("how_alone", partial(_how, "alone"), is_shown=False),
    Column("coverage", _coverage, is_shown=False),
]


class CoLocation(Table[CoLocatedMember]):
    """The members in the order in which they were given."""

    def __init__(
        self, members: Sequence[CoLocatedMember], *, device: str, sharing: str, memory_fits: bool | None
    ) -> None:
        self.title = f"{len(members)} networks on {device}, shared by {sharing}"
        super().__init__(members, COLUMNS, self.title, what="network")
        self.device = device
        self.sharing = sharing  # a name in sharing_modes()
        self.memory_fits = memory_fits  # all at the same time, each in its slice where there are any; None: not known

    @property
    def meets_slo(self) -> bool | None:
        """Whether all members with an objective keep to it; None: none has one."""
        found = [member.meets_slo for member in self if member.meets_slo is not None]
        return all(found) if found else None

    @property
    def memory_notes(self) -> list[str]:
        """What does not fit, in sentences; empty where everything does or where it is not known."""
        too_large = [member for member in self if member.memory_fits is False]
        if self.memory_fits is False and not too_large:
            return ["together they need more memory than the device has"]
        return [
            f"{member.name}, batch {member.batch}, needs {number(member.memory_mb)} MB: more than its slice "
            f"{member.partition} has"
            for member in too_large
            if member.memory_mb is not None
        ]

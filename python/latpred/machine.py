"""This machine: what its system says of it, and what one of its cores does when measured."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.tables import Column, Table, html_table, number, scaled

if TYPE_CHECKING:
    from latpred._core import BandwidthPoint, HostFacts, HostSpeed

_KIBI = 1024.0


def binary_size(size_bytes: float) -> str:
    """As caches are named: "48 KiB", "32 MiB"."""
    for unit in ("bytes", "KiB", "MiB"):
        if size_bytes < _KIBI:
            return f"{number(size_bytes)} {unit}"
        size_bytes /= _KIBI
    return f"{number(size_bytes)} GiB"


@dataclasses.dataclass(frozen=True, repr=False)
class Host:
    """What host() answers with."""

    facts: HostFacts
    speed: HostSpeed | None = None  # None: not measured

    @property
    def fingerprint(self) -> str:
        """One line of what does not change between two starts of the machine."""
        return self.facts.fingerprint

    @property
    def bandwidth(self) -> Table[BandwidthPoint]:
        """Reads of one core by working set; empty where nothing was measured."""
        columns: list[Column[BandwidthPoint]] = [
            Column("working_set_bytes", lambda point: point.working_set_bytes, "working set", binary_size),
            Column("bytes_per_s", lambda point: point.bytes_per_s, "read", lambda value: scaled(value, "B/s")),
        ]
        return Table(self.speed.read_bandwidth if self.speed else [], columns, what="working set")

    def pairs(self) -> list[tuple[str, str]]:
        """Heading and text of each fact."""
        facts = self.facts
        cores = number(facts.logical_cores)
        if facts.physical_cores not in (None, facts.logical_cores):
            cores += f" on {facts.physical_cores}"
        if facts.allowed_cores != facts.logical_cores:
            cores += f", of which this process may use {facts.allowed_cores}"
        caches = [f"L{cache.level} {cache.kind.lower()} {binary_size(cache.size_bytes)}" for cache in facts.caches]
        pairs = [
            ("processor", facts.model_name or "unknown"),
            ("cores", cores),
            ("instruction set", " ".join([facts.isa_level, *facts.isa_features]).strip() or "unknown"),
            ("caches", ", ".join(caches) or "unknown"),
            ("memory", "unknown" if facts.memory_bytes is None else binary_size(facts.memory_bytes)),
            ("virtual", "yes" if facts.is_virtual else "not that it says"),
            ("fingerprint", facts.fingerprint),
        ]
        if self.speed is not None:
            peak = scaled(self.speed.fp32_flops_per_s, "FLOP/s")
            pairs.append(
                ("one core", f"{peak} (fp32, {self.speed.kernels}), measured in {self.speed.measured_s:.1f} s")
            )
        return pairs

    def to_dict(self) -> dict[str, Any]:
        """Plain values; bytes, seconds, FLOP/s."""
        facts = self.facts
        names = (
            "model_name vendor family model stepping logical_cores physical_cores allowed_cores isa_level isa_features "
            "memory_bytes is_virtual fingerprint"
        )
        answer: dict[str, Any] = {name: getattr(facts, name) for name in names.split()}
        answer["caches"] = [
            {name: getattr(cache, name) for name in ("level", "kind", "size_bytes", "shared_by")}
            for cache in facts.caches
        ]
        if self.speed is not None:
            answer["read_bandwidth"] = self.bandwidth.to_dicts()
            answer["fp32_flops_per_s"] = self.speed.fp32_flops_per_s
            answer["kernels"] = self.speed.kernels
        return answer

    def __repr__(self) -> str:
        pairs = self.pairs()
        width = max(len(heading) for heading, _ in pairs)
        lines = [f"{heading.ljust(width)}  {text}" for heading, text in pairs]
        return "\n".join([*lines, *([repr(self.bandwidth)] if self.speed else [])])

    def _repr_html_(self) -> str:
        return html_table([list(pair) for pair in self.pairs()]) + (self.bandwidth._repr_html_() if self.speed else "")


def host(*, measure: bool = False) -> Host:
    """This machine. measure: also the bandwidth by working set and the FMA peak of one core, in under two seconds."""
    facts = _core.host_facts()  # before this process is kept on one core, which is no fact of the machine
    if not measure:
        return Host(facts)
    with _core.Pinning():
        return Host(facts, _core.measure_host())


__all__ = ["Host", "host"]

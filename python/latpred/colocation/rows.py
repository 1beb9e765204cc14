"""Measured combinations as the compiled part takes them: profiles of their members, terms, labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from latpred import _core
from latpred.colocation import combination, fits, table
from latpred.colocation.combination import CORES, ONE_CORE, Combination, Member
from latpred.colocation.fits import CoreModel
from latpred.datasets.graph_cache import GraphCache, graph_of

_CACHE_TIMES = 1e-12
# What is measured, each with labels of its own.
PAIRS, ONE_CORE_PAIRS, STREAMS = "pairs on two cores", "pairs on one core", "beside a stream of reads"
TRIOS, TRIOS_IN_TURNS = "trios on two cores, alone on its core", "trios on two cores, in turns on one"
GROUPS = (PAIRS, TRIOS, STREAMS, ONE_CORE_PAIRS, TRIOS_IN_TURNS)


@dataclasses.dataclass(frozen=True)
class LabelledMember:
    """A network of a measured combination."""

    found: Combination
    index: int
    alone_s: float
    beside_s: float
    drift: float  # |before - after| / alone_s
    shares_core: bool
    repeat: int

    @property
    def target(self) -> Member:
        return self.found.members[self.index]

    @property
    def neighbours(self) -> list[Member]:
        return [member for place, member in enumerate(self.found.members) if place != self.index]

    @property
    def slow_down(self) -> float:
        return self.beside_s / self.alone_s

    @property
    def network(self) -> str:
        return combination.network_of(self.target.recipe)

    @property
    def networks(self) -> set[str]:
        """All of the combination; a stream is none."""
        return {combination.network_of(member.recipe) for member in self.found.members if not member.is_stream}

    @property
    def group(self) -> str:
        if any(member.is_stream for member in self.found.members):
            return STREAMS
        if len(self.found.members) > 2:
            return TRIOS_IN_TURNS if self.shares_core else TRIOS
        return ONE_CORE_PAIRS if self.found.placement == ONE_CORE else PAIRS


def stream_profile(share: float) -> _core.ResourceProfile:
    """Of a neighbour that reads memory for that share of its time."""
    return _core.ResourceProfile(latency_s=1.0, busy_share=share, sm_share=share, memory_share=share)


def labelled(measured: table.Measured, *, only_steady: bool = True) -> list[LabelledMember]:
    """All rows, the repeated ones among them; those of a machine that was disturbed meanwhile if not only_steady."""
    rows = table.with_labels(measured.rows)
    rows = rows[rows.is_steady | (not only_steady)]
    return [
        LabelledMember(
            combination.parse(row.combination), int(row.member), row.alone_s, row.beside_s, row.drift,
            bool(row.shares_core), int(row.repeat),
        )
        for row in rows.itertuples(index=False)
    ]  # fmt: skip


class Profiles:
    """Profiles of members, each made once: from the graph, on one core of the measured machine."""

    def __init__(self, graphs: GraphCache, core: CoreModel) -> None:
        self._graphs = graphs
        self.core = core
        self._kernels: dict[Member, _core.Kernels] = {}

    def kernels(self, member: Member) -> _core.Kernels:
        if member not in self._kernels:
            graph = graph_of(member.recipe, member.batch, self._graphs)
            self._kernels[member] = _core.fuse(graph, "openvino", "fp32")
        return self._kernels[member]

    def profile(self, member: Member) -> _core.ResourceProfile:
        if member.is_stream:
            return stream_profile(member.stream_share)
        kernels = self.kernels(member)
        return self.core.profile(kernels, self.core.latency_s(kernels))

    def terms(self, row: LabelledMember) -> tuple[str, list[float]]:
        """The way of sharing of a row and its terms. Of a trio on two cores only those on the same core take turns."""
        sharing = "time_slicing" if row.shares_core else CORES
        members = [self.profile(member) for member in row.found.members]
        if row.group == TRIOS_IN_TURNS:
            # The first and the third are on one core: cores_of() deals them out in turn.
            members = [members[place] for place in (0, 2)]
            index = (0, 2).index(row.index)
        else:
            index = row.index
        return sharing, _core.interference(sharing, members, index)


def core_model(measured: table.Measured, graphs: GraphCache) -> CoreModel:
    """The speeds of the machine's core, and the latency model fitted to all members alone."""
    machine = measured.machine
    speed = machine["speed"]
    bandwidth = max(speed["read_bytes_per_s"], key=lambda point: point[0])[1]  # of the largest working set: no cache
    cache = max(cache["size_bytes"] for cache in machine["caches"])
    plain = CoreModel(machine["fingerprint"], speed["fp32_flops_per_s"], bandwidth, float(cache), (0.0,) * 4, 0.0)
    profiles = Profiles(graphs, plain)
    rows = labelled(measured)
    members = sorted({row.target for row in rows})
    # By CPU time: medians over all combinations of a member on a core of its own.
    own_core = [row for row in rows if not row.shares_core]
    members = [member for member in members if any(row.target == member for row in own_core)]
    alone_s = np.array([np.median([row.alone_s for row in own_core if row.target == member]) for member in members])
    device = plain.device()
    times = np.array([_core.core_times(profiles.kernels(member), device) for member in members])
    return fit_core(plain, times, alone_s, [combination.network_of(member.recipe) for member in members])


def fit_core(plain: CoreModel, times: Any, alone_s: Any, networks: Sequence[str]) -> CoreModel:
    """times: [N, 4] of core_times(). The relative error is what is small; the interval is of networks left out."""

    def fitted(chosen: Any) -> list[float]:
        rows = times[chosen] / alone_s[chosen][:, None]
        # sum of coefficient x time / latency = 1 is the same form as a slow-down of 2.
        return _core.fit_interference(rows.tolist(), [2.0] * len(rows))

    names = np.array(networks)
    left_out = np.empty(len(alone_s))
    for name in set(networks):
        own = names == name
        left_out[own] = times[own] @ np.array(fitted(~own))
    error = fits.log_error(np.maximum(left_out, _CACHE_TIMES), alone_s)
    return dataclasses.replace(plain, coefficients=tuple(fitted(names == names)), log_error=error)

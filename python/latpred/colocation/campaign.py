"""Measures combinations of networks on this machine's cores, one after another, into a journal that can be resumed."""

from __future__ import annotations

import dataclasses
import os
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from latpred.campaign import worker
from latpred.campaign.journal import Journal, Record, Result, lock
from latpred.campaign.spec import Campaign, Item
from latpred.colocation import combination, networks, processes
from latpred.colocation.combination import ONE_CORE, Combination, Member
from latpred.errors import InvalidArgumentError, LatpredError, ProfilerError
from latpred.optional import need
from latpred.step import Step
from latpred.writing import writing

RUNTIME, PRECISION = "openvino", "fp32"
QUANTITY = "latency_s"
# The time that the repeats at the end may take.
REPEATS_SHARE = 0.15


@dataclasses.dataclass(frozen=True)
class Done:
    """What a journal has when measuring stops."""

    measured: int
    repeated: int
    wanted: int
    failures: Mapping[str, int]


def run(
    combinations: Sequence[Combination],
    journal_path: Path,
    folder: Path,
    *,
    minutes: float | None = None,
    seed: int = 1,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Done:
    """Measures what the journal does not have yet, in the order of `combinations`; at the end some of them again.

    folder: of the networks' files, which are made where they are missing before the time starts.
    minutes: stop then; what was measured is the beginning of the whole.
    """
    need("openvino", "openvino", "measuring networks side by side")
    repeated = combination.repeats(combinations, seed)
    campaign = Campaign(
        recipes=tuple(str(part) for part in (*combinations, *repeated)),
        name="co-location",
        runtimes=(RUNTIME,),
        precisions=(PRECISION,),
        seed=seed,
    )
    if not journal_path.exists():
        Journal.create(journal_path, campaign)
    held = lock(journal_path)
    try:
        with Journal(journal_path) as journal:
            if differences := campaign.differences(journal.campaign()):
                raise InvalidArgumentError(
                    f"'{journal_path}' holds other combinations: {'; '.join(differences)}; give another file"
                )
            return _Runner(journal, campaign, len(combinations), folder, on_step).work(minutes)
    finally:
        held.release()


class _Runner:
    def __init__(
        self, journal: Journal, campaign: Campaign, count: int, folder: Path, on_step: Callable[[Step], None]
    ) -> None:
        self._journal = journal
        self._on_step = on_step
        self._count = count  # without the repeats
        self._items = [(item, combination.parse(item.recipe)) for item in campaign.items()]
        members = [member for _, found in self._items for member in found.members]
        with writing("the networks' files", folder):
            self._files = networks.prepare({member for member in members if not member.is_stream}, folder)
        self._fingerprint, facts = worker.machine(worker.CPU)
        others = set(journal.machines()) - {self._fingerprint}
        if others:
            raise LatpredError(
                f"journal '{journal.path}' is of another machine ({'; '.join(others)}), this is {self._fingerprint}: "
                "give another file"
            )
        self._facts = facts
        self._cores = sorted(os.sched_getaffinity(0))
        # By core, and how many are on it already.
        self._processes: dict[tuple[int, int], processes.MemberProcess] = {}
        self._holders: list[processes.MemberProcess] = []

    def work(self, minutes: float | None) -> Done:
        start = time.monotonic()
        end = None if minutes is None else start + 60 * minutes
        first_end = None if end is None else end - REPEATS_SHARE * (end - start)
        run, ended_by = self._journal.start_run(1), "an error"
        try:
            if not self._journal.machines():
                self._journal.add_machine(self._fingerprint, self._facts | {"speed": worker.machine_speed()})
            self._measure(self._items[: self._count], first_end)
            whole = self._journal.attempts().keys() - set(self._journal.failed_positions())
            seen = {str(found) for item, found in self._items[: self._count] if item.position in whole}
            again = [
                (item, found)
                for item, found in self._items[self._count :]
                if str(dataclasses.replace(found, repeat=0)) in seen
            ]
            self._measure(again, end)
            ended_by = "its end" if end is None or time.monotonic() < end else "the time limit"
        finally:
            self._close_processes()
            self._journal.end_run(run, ended_by)
        done = self._journal.attempts()
        measured = sum(position < self._count for position in done)
        return Done(measured, len(done) - measured, self._count, self._journal.failures())

    def _measure(self, items: Sequence[tuple[Item, Combination]], end: float | None) -> None:
        done = self._journal.attempts()
        left = [pair for pair in items if pair[0].position not in done]
        for place, (item, found) in enumerate(left):
            if end is not None and time.monotonic() >= end:
                return
            start = time.monotonic()
            results = self._results(found)
            self._journal.add(Record(item.position, self._fingerprint, time.monotonic() - start, results), item)
            self._on_step(Step("measure", len(items) - len(left) + place + 1, len(items), str(found)))

    def _results(self, found: Combination) -> tuple[Result, ...]:
        """The summary of each member in each phase; the value is its median by the wall clock."""
        count = len(found.members)
        cores = processes.cores_of(found.placement == ONE_CORE, count, self._cores)
        places = [(core, cores[:index].count(core)) for index, core in enumerate(cores)]
        for place in places:
            if place not in self._processes:
                self._processes[place] = processes.MemberProcess(place[0])
        if not self._holders:
            self._holders = [processes.MemberProcess(core) for core in self._cores]
        opens = [self._request(member) for member in found.members]
        try:
            phases = processes.time_together([self._processes[place] for place in places], opens, self._holders)
        except ProfilerError as error:
            self._close_processes()  # in an unknown state
            return (Result(QUANTITY, processes.PHASES[0], None, error=str(error)),)
        version = f"openvino {need('openvino', 'openvino', 'measuring').__version__.partition('-')[0]}"
        return tuple(
            Result(
                QUANTITY,
                f"{phase}, member {index}",
                summary["wall_median_s"],
                samples=summary["calls"],
                runtime_version=version,
                details=summary | {"core": cores[index], "phase": phase, "member": index},
            )
            for phase, summaries in phases.items()
            for index, summary in enumerate(summaries)
        )

    def _close_processes(self) -> None:
        for process in (*self._processes.values(), *self._holders):
            process.close()
        self._processes, self._holders = {}, []

    def _request(self, member: Member) -> dict[str, Any]:
        if member.is_stream:
            return {"kind": "stream", "share": member.stream_share}
        return {"kind": "network", "path": str(self._files[member]), "batch": member.batch}

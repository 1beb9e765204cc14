"""Who measures what next: items in their order, what was disturbed again, and some of them a second time at the end."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from latpred.campaign import health, noise, spec, worker
from latpred.campaign.health import Probe
from latpred.campaign.journal import Journal, Record, Result
from latpred.campaign.pool import LOST, Event, Pool
from latpred.campaign.spec import Campaign, Item
from latpred.errors import LatpredError
from latpred.step import Step

MEASURE, RETIME = "measure", "time again"  # the stages, in order
_AHEAD = 2  # requests that a worker has at a time: it need not wait for the next
_WAIT_S = 1.0
# An item during which a worker went so often is not to blame on whoever ended it: it fails, and the others go on.
_MAX_LOST = 3
_MAX_STARTS_WITHOUT_ANSWER = 3  # of a worker: then something is wrong with all items
_START_TIMEOUT_S = 600.0  # imports of frameworks on a busy machine, a cluster that makes room


@dataclasses.dataclass
class _Task:
    item: Item
    is_retimed: bool
    device_fingerprint: str | None = None  # a second time is taken where the first was
    lost: int = 0  # workers that went meanwhile


class _Worker:
    """What is known of one."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.device_fingerprint = ""
        self.tasks: deque[_Task | str] = deque()  # asked and not answered: items, or the kind of another request
        self.since = 0.0  # the first of them runs
        self.window: list[tuple[int, bool]] = []  # (position, is_retimed) since the last probe
        self.probes: list[Probe] = []
        self.is_steady = True  # at its last probe
        self.starts = 0  # without an answer since
        self.reason = ""  # why it was ended


class Schedule:
    """Hands out items and takes answers, until there is nothing left or the time is over."""

    def __init__(
        self,
        journal: Journal,
        campaign: Campaign,
        minutes: float | None,
        on_step: Callable[[Step], None],
        retry_failed: bool,
        measure_machine: bool,
    ) -> None:
        self._journal = journal
        self._campaign = campaign
        self._on_step = on_step
        self._measure_machine = measure_machine
        self._start = time.monotonic()
        self._end = None if minutes is None else self._start + 60 * minutes
        self._items = list(campaign.items())
        self._workers: dict[str, _Worker] = {}
        attempts = journal.attempts()
        failed = set(journal.failed_positions()) if retry_failed else set()
        is_open = [item.position not in attempts or item.position in failed for item in self._items]
        self._new = deque(_Task(item, False) for item, wanted in zip(self._items, is_open, strict=True) if wanted)
        self._attempts = {position: count for position, (count, _) in attempts.items() if position not in failed}
        self._again = deque(
            _Task(self._items[position], False)
            for position, (count, is_steady) in attempts.items()
            if not is_steady and count < health.MAX_ATTEMPTS and position not in failed
        )
        self._retimed_attempts = {position: count for position, (count, _) in journal.attempts(is_retimed=True).items()}
        self._num_done = len(self._items) - len(self._new)
        self._has_measured = False
        self.num_left_out = 0  # items that were to be timed again, and whose machine has gone

    def work(self, pool: Pool, names: Iterable[str]) -> None:
        """All stages; closes the pool."""
        self._pool = pool
        self._workers = {name: _Worker(name) for name in names}
        run = self._journal.start_run(len(self._workers))
        ended_by = "an error"
        try:
            for name in self._workers:
                self._start_worker(name)
            self._measure()
            is_cut = bool(self._new)
            self._time_again()
            self._describe()
            ended_by = "the time limit" if is_cut else "its end"
        except KeyboardInterrupt:
            ended_by = "the user"
            raise
        finally:
            pool.close()
            self._journal.end_run(run, ended_by)

    # Stages.

    def _measure(self) -> None:
        self._stage, self._stage_total = MEASURE, len(self._items)
        self._show("")
        while True:
            is_over = self._is_over()
            for known in self._workers.values():
                while len(known.tasks) < _AHEAD and not is_over and (task := self._next(known)):
                    self._ask(known, task)
            if any(known.tasks for known in self._workers.values()):
                self._take_answers()
            elif any(known.window for known in self._workers.values()):
                self._close_windows()
            elif is_over or not (self._new or self._again):
                return

    def _next(self, known: _Worker) -> _Task | None:
        """What was disturbed comes again as soon as it is quiet, and at the end in any case."""
        if not known.device_fingerprint:
            return None  # it has not said yet who it is
        if self._again and (known.is_steady or not self._new):
            return self._again.popleft()
        return self._new.popleft() if self._new else None

    def _is_over(self) -> bool:
        """The second times need their share of the time; and each run gets somewhere, however short."""
        if self._end is None or not self._has_measured:
            return False
        now = time.monotonic()
        return now + noise.SHARE * (now - self._start) >= self._end

    def _time_again(self) -> None:
        timed = self._journal.timed(spec.LATENCY)
        known = self._journal.attempts(is_retimed=True)
        chosen = noise.choose(timed, self._campaign.seed)
        open_tasks = deque(
            _Task(self._items[position], True, timed[position][0])
            for position in chosen
            if position < len(self._items)
            and (position not in known or (not known[position][1] and known[position][0] < health.MAX_ATTEMPTS))
        )
        self._stage, self._stage_total, self._num_done = RETIME, len(chosen), len(chosen) - len(open_tasks)
        self._again = deque()
        while True:
            open_tasks.extend(self._again)
            self._again.clear()
            for worker_known in self._workers.values():
                mine = [task for task in open_tasks if task.device_fingerprint == worker_known.device_fingerprint]
                for task in mine[: _AHEAD - len(worker_known.tasks)]:
                    open_tasks.remove(task)
                    self._ask(worker_known, task)
            if any(worker_known.tasks for worker_known in self._workers.values()):
                self._take_answers()
            elif any(worker_known.window for worker_known in self._workers.values()):
                self._close_windows()
            else:
                self.num_left_out = len(open_tasks)
                return

    def _describe(self) -> None:
        """How fast this machine is: now, while nothing else runs here."""
        if not self._measure_machine:
            return
        facts = self._journal.machines()
        for known in self._workers.values():
            if known.device_fingerprint in facts and "speed" not in facts[known.device_fingerprint]:
                self._ask(known, worker.DESCRIBE)
                while known.tasks:
                    self._take_answers()
                facts = self._journal.machines()

    # Workers.

    def _start_worker(self, name: str) -> None:
        known = self._workers[name]
        known.starts += 1
        known.tasks = deque([worker.READY])
        known.since = time.monotonic()
        known.device_fingerprint, known.window, known.reason = "", [], ""
        self._pool.start(name)

    def _ask(self, known: _Worker, task: _Task | str) -> None:
        if not known.tasks:
            known.since = time.monotonic()
        known.tasks.append(task)
        if isinstance(task, str):
            self._pool.send(known.name, {"kind": task})
        else:
            item = dataclasses.asdict(task.item)
            self._pool.send(known.name, {"kind": worker.MEASURE, "item": item, "is_retimed": task.is_retimed})

    def _close_windows(self) -> None:
        """A last probe tells how the machine was meanwhile."""
        for known in self._workers.values():
            if known.window:
                self._ask(known, worker.PROBE)

    def _take_answers(self) -> None:
        for event in self._pool.wait(_WAIT_S):
            self._answers[event.kind](self, self._workers[event.worker], event)
        now = time.monotonic()
        for known in self._workers.values():
            if not known.tasks or known.reason:
                continue
            timeout_s = _START_TIMEOUT_S if isinstance(known.tasks[0], str) else self._campaign.item_timeout_s
            if now - known.since > timeout_s:
                known.reason = f"it took longer than {timeout_s:g} s and was ended"
                self._pool.end(known.name)

    def _done(self, known: _Worker) -> _Task | str:
        known.since, known.starts = time.monotonic(), 0
        return known.tasks.popleft()

    def _on_ready(self, known: _Worker, event: Event) -> None:
        self._done(known)
        known.device_fingerprint = event.content["device_fingerprint"]
        machines = self._journal.machines()
        if known.device_fingerprint not in machines:
            self._journal.add_machine(known.device_fingerprint, event.content["facts"])
        known.probes = self._journal.probes(known.name, known.device_fingerprint)

    def _on_refused(self, known: _Worker, event: Event) -> None:
        raise LatpredError(f"{known.name} of the campaign cannot go on: {event.content['reason']}")

    def _on_probe(self, known: _Worker, event: Event) -> None:
        before = known.probes[-1:]
        probe = Probe(event.content["compute_s"], event.content["read_s"])
        self._journal.add_probe(known.name, known.device_fingerprint, probe)
        known.probes.append(probe)
        threshold = self._campaign.health_threshold
        known.is_steady = health.is_steady([probe], known.probes, threshold)
        is_disturbed = known.window and not health.is_steady([*before, probe], known.probes, threshold)
        if is_disturbed and self._campaign.is_timed:
            self._measure_again(known.window)
        known.window = []
        if known.tasks and known.tasks[0] == worker.PROBE:
            self._done(known)

    def _measure_again(self, window: list[tuple[int, bool]]) -> None:
        for is_retimed, attempts in ((False, self._attempts), (True, self._retimed_attempts)):
            positions = [position for position, retimed in window if retimed == is_retimed]
            self._journal.mark_unsteady(positions, is_retimed=is_retimed)
            first = self._journal.timed(spec.LATENCY) if is_retimed and positions else {}
            self._again += (
                _Task(self._items[position], is_retimed, first[position][0] if is_retimed else None)
                for position in positions
                if attempts[position] < health.MAX_ATTEMPTS
            )

    def _on_result(self, known: _Worker, event: Event) -> None:
        task = self._done(known)
        if isinstance(task, str) or task.item.position != event.content["position"]:
            raise LatpredError(f"{known.name} answered item {event.content['position']} out of turn")
        self._keep(known, task, event.content["results"], event.content["seconds"])

    def _keep(self, known: _Worker, task: _Task, results: list[dict[str, Any]], seconds: float) -> None:
        position = task.item.position
        attempts = self._retimed_attempts if task.is_retimed else self._attempts
        is_first = position not in attempts
        if task.is_retimed:
            self._journal.add_retimed(position, results[0]["value"], results[0].get("error"))
        else:
            record = Record(position, known.device_fingerprint, seconds, tuple(Result(**result) for result in results))
            self._journal.add(record, task.item)
        attempts[position] = attempts.get(position, 0) + 1
        known.window.append((position, task.is_retimed))
        self._has_measured = True
        self._num_done += is_first
        self._show(task.item.recipe if is_first else f"{task.item.recipe}, again: the machine was not steady")

    def _on_described(self, known: _Worker, event: Event) -> None:
        self._done(known)
        name = event.content["device_fingerprint"]
        self._journal.add_machine(name, self._journal.machines()[name] | {"speed": event.content["speed"]})

    def _on_lost(self, known: _Worker, event: Event) -> None:
        """It was killed, or crashed: what it had not answered is asked again, by its successor."""
        reason = known.reason or event.content["reason"]
        lost = [task for task in known.tasks if isinstance(task, _Task)]
        if known.tasks and isinstance(known.tasks[0], _Task):
            lost[0].lost += 1
            if lost[0].lost >= _MAX_LOST or known.reason:
                self._fail(known, lost.pop(0), reason)
        elif known.starts >= _MAX_STARTS_WITHOUT_ANSWER:
            raise LatpredError(
                f"{known.name} of the campaign went {known.starts} times before it did anything: {reason}"
            )
        for task in reversed(lost):
            (self._again if task.is_retimed else self._new).appendleft(task)
        self._start_worker(known.name)

    def _fail(self, known: _Worker, task: _Task, reason: str) -> None:
        text = f"the process that measured it: {reason}"
        protocol = str(worker.protocol_of(self._campaign.protocol, task.item))
        quantities = (spec.LATENCY,) if task.is_retimed else self._campaign.quantities
        self._keep(known, task, worker.failed(quantities, protocol, text), 0.0)

    _answers: ClassVar[dict[str, Callable[[Schedule, _Worker, Event], None]]] = {
        worker.READY: _on_ready,
        worker.REFUSED: _on_refused,
        worker.PROBED: _on_probe,
        worker.RESULT: _on_result,
        worker.DESCRIBED: _on_described,
        LOST: _on_lost,
    }

    def _show(self, what: str) -> None:
        if self._end is not None and self._stage == MEASURE:
            left = f"stops in {max(0.0, self._end - time.monotonic()) / 60:.1f} min"
            what = f"{what}, {left}" if what else left
        self._on_step(Step(self._stage, self._num_done, self._stage_total, what))

"""How far a command is: bars with rate and time left on a terminal, lines now and then in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from latpred.step import Step

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Task
    from rich.text import Text

_LINE_EVERY_S = 10.0  # of progress where no terminal shows a bar


@contextmanager
def progress(terminal: Console) -> Iterator[Callable[[Step], None]]:
    """A function that shows a step: as bars on a terminal, else as a line now and then."""
    if not terminal.is_terminal:
        yield _Lines()
        return
    from rich import progress as bars_of
    from rich.text import Text

    class Rate(bars_of.ProgressColumn):
        def render(self, task: Task) -> Text:
            speed = task.finished_speed or task.speed
            return Text("" if speed is None else f"{speed:.3g}/s")

    columns = (
        bars_of.TextColumn("{task.description}"),
        bars_of.BarColumn(),
        bars_of.MofNCompleteColumn(),
        Rate(),
        bars_of.TimeRemainingColumn(),
        bars_of.TextColumn("{task.fields[what]}", markup=False),
    )
    with bars_of.Progress(*columns, console=terminal) as bars:
        tasks: dict[str, bars_of.TaskID] = {}

        def show(step: Step) -> None:
            if step.stage not in tasks:
                # What was there when it started is no work of now: the rate counts from here.
                tasks[step.stage] = bars.add_task(step.stage, total=step.total, completed=step.done, what="")
            bars.update(tasks[step.stage], completed=step.done, total=step.total, what=step.what)

        yield show


class _Lines:
    """Progress for a log: the first and last step of each stage, and one every few seconds."""

    def __init__(self) -> None:
        self._stage = ""
        self._start = self._shown = 0.0
        self._done_before = 0

    def __call__(self, step: Step) -> None:
        now = time.monotonic()
        is_first = step.stage != self._stage
        if is_first:
            self._stage, self._start, self._done_before = step.stage, now, step.done
        if not (is_first or step.done == step.total or now - self._shown >= _LINE_EVERY_S):
            return
        self._shown = now
        parts = [f"{step.stage}: {step.done} of {step.total}"]
        rate = (step.done - self._done_before) / (now - self._start) if now > self._start else 0.0
        if rate > 0:
            left_s = (step.total - step.done) / rate
            parts += [f"{rate:.3g}/s"] + ([f"{left_s:.0f} s left"] if left_s >= 1 else [])
        what = f" ({step.what})" if step.what else ""
        print(", ".join(parts) + what, file=sys.stderr, flush=True)

"""What training shows while it runs: a bar with loss and time left, or lines in a log."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LINE_EVERY_S = 10.0  # where no terminal shows a bar

Show = Callable[[int, float, float], None]  # epochs done, loss, validation error


@contextmanager
def progress(what: str, epochs: int, done: int, is_shown: bool, unit: str = "epoch") -> Iterator[Show]:
    """A function that shows an epoch, or another `unit` of which there are so many."""
    if not is_shown:
        yield lambda done, loss, error: None
        return
    from latpred.cli_output import console

    terminal = console()
    if not (terminal.is_terminal or terminal.is_jupyter):
        yield _Lines(what, epochs, done, unit)
        return
    from rich import progress as bars

    columns = (
        bars.TextColumn("{task.description}"),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[numbers]}"),
    )
    with bars.Progress(*columns, console=terminal) as bar:
        task = bar.add_task(what, total=epochs, completed=done, numbers="")

        def show(done: int, loss: float, error: float) -> None:
            bar.update(task, completed=done, numbers=_numbers(loss, error))

        yield show


class _Lines:
    def __init__(self, what: str, epochs: int, done: int, unit: str) -> None:
        self._what, self._epochs, self._first, self._unit = what, epochs, done, unit
        self._start = self._shown = time.monotonic()

    def __call__(self, done: int, loss: float, error: float) -> None:
        now = time.monotonic()
        if done < self._epochs and now - self._shown < _LINE_EVERY_S:
            return
        self._shown = now
        left_s = (now - self._start) / (done - self._first) * (self._epochs - done)
        left = f", {left_s:.0f} s left" if left_s >= 1 else ""
        print(
            f"{self._what}: {self._unit} {done} of {self._epochs}, {_numbers(loss, error)}{left}",
            file=sys.stderr,
            flush=True,
        )


def _numbers(loss: float, error: float) -> str:
    return f"loss {loss:.4g}, validation error {error:.4g}"

"""One line for each setting that was measured, written at once: a part goes on where it was stopped."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred.datasets.rows import Row, to_table

if TYPE_CHECKING:
    import pandas as pd


@dataclasses.dataclass(frozen=True)
class Result:
    """What became of a setting: rows, or why there are none."""

    key: str
    rows: tuple[Row, ...] = ()
    error: str = ""
    kernels: tuple[dict[str, Any], ...] = ()
    state: dict[str, Any] = dataclasses.field(default_factory=dict)  # of the GPU, afterwards


class Journal:
    """The results of a part in a file of lines."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = list(self._lines())
        self.keys = {line["key"] for line in lines}
        # A line that a kill cut off must not hold the next one.
        if path.exists() and not path.read_bytes().endswith(b"\n"):
            path.write_text("".join(json.dumps(line) + "\n" for line in lines))

    def add(self, result: Result) -> None:
        """Written through to the disk before it returns."""
        with self._path.open("a") as file:
            file.write(json.dumps(dataclasses.asdict(result)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.keys.add(result.key)

    def _lines(self) -> Iterator[dict[str, Any]]:
        if not self._path.exists():
            return
        for line in self._path.read_text().splitlines():
            try:
                yield json.loads(line)
            except json.JSONDecodeError:
                continue  # cut off

    def results(self) -> Iterator[Result]:
        for line in self._lines():
            rows = tuple(Row(**row) for row in line.pop("rows"))
            yield Result(rows=rows, kernels=tuple(line.pop("kernels")), **line)


def table_of(folder: Path, parts: Iterable[str]) -> pd.DataFrame:
    """The rows of all parts as one table of the data set format."""
    journals = (Journal(folder / f"{name}.jsonl") for name in parts)
    return to_table(row for journal in journals for result in journal.results() for row in result.rows)

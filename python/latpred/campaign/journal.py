"""The journal of a campaign while it runs: one SQLite file, one transaction for each item.

A process that is killed loses the item that it was measuring and nothing else. Only one process writes; any may read.
"""

from __future__ import annotations

import contextlib
import dataclasses
import json
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from latpred.campaign import spec
from latpred.campaign.health import Probe
from latpred.campaign.spec import Campaign
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.lock import Lock, is_held
from latpred.writing import replacing, writing, writing_journal

VERSION = 1
# What makes a row the same row: asked for again, it is one.
KEY = (
    "recipe", "batch", "input", "device_fingerprint", "runtime", "precision", "threads", "quantity", "protocol",
)  # fmt: skip
_SCHEMA = f"""
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);  -- JSON
CREATE TABLE machines (device_fingerprint TEXT PRIMARY KEY, facts TEXT NOT NULL);  -- JSON
CREATE TABLE runs (id INTEGER PRIMARY KEY, started_at REAL, ended_at REAL, workers INTEGER, ended_by TEXT);
CREATE TABLE items (
    position INTEGER PRIMARY KEY,  -- in the campaign's order
    attempts INTEGER NOT NULL,     -- how often it was measured
    is_steady INTEGER NOT NULL,    -- the machine was as fast as ever meanwhile
    seconds REAL NOT NULL,         -- all that it took
    measured_at REAL NOT NULL
);
CREATE TABLE results (
    recipe TEXT, batch INTEGER, input TEXT, device_fingerprint TEXT, runtime TEXT, precision TEXT, threads INTEGER,
    quantity TEXT, protocol TEXT,
    position INTEGER NOT NULL REFERENCES items(position),
    value REAL, error TEXT, noise REAL, samples INTEGER, runtime_version TEXT,
    details TEXT,                  -- JSON: every sample and how the value was chosen from them
    PRIMARY KEY ({", ".join(KEY)})
);
CREATE INDEX results_by_position ON results(position);
CREATE TABLE dropped (position INTEGER, quantity TEXT, protocol TEXT, value REAL, reason TEXT);
CREATE TABLE retimed (position INTEGER PRIMARY KEY, value REAL, error TEXT, attempts INTEGER, is_steady INTEGER);
CREATE TABLE probes (
    id INTEGER PRIMARY KEY, worker TEXT, device_fingerprint TEXT, measured_at REAL, compute_s REAL, read_s REAL
);
"""
# Made where a journal lacks it.
_KERNELS_SCHEMA = """
CREATE TABLE IF NOT EXISTS kernels (
    position INTEGER NOT NULL REFERENCES items(position),
    place INTEGER NOT NULL,  -- in the order of execution
    name TEXT, kind TEXT, implementation TEXT, precision TEXT,
    nodes TEXT,              -- JSON: the network's nodes that it computes
    latency_s REAL, noise REAL,
    PRIMARY KEY (position, place)
)
"""
KERNEL_COLUMNS = ("place", "name", "kind", "implementation", "precision", "nodes", "latency_s", "noise")
_RESULT_COLUMNS = (
    *KEY, "position", "value", "error", "noise", "samples", "runtime_version", "details",
)  # fmt: skip
_BUSY_TIMEOUT_S = 30.0


@dataclasses.dataclass(frozen=True)
class Result:
    """One number of an item, or why there is none."""

    quantity: str
    protocol: str
    value: float | None
    error: str | None = None
    noise: float | None = None
    samples: int | None = None
    runtime_version: str = ""
    details: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    kernels: Sequence[Mapping[str, Any]] = ()  # that the number is the sum of


@dataclasses.dataclass(frozen=True)
class Record:
    """A measured item: all its numbers, written at once."""

    position: int
    device_fingerprint: str
    seconds: float
    results: tuple[Result, ...]


class Journal:
    """Opened by create() or open(); close() it, or use it in a with statement."""

    def __init__(self, path: Path, *, is_read_only: bool = False) -> None:
        self.path = path
        mode = "ro" if is_read_only else "rw"
        try:
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode={mode}", uri=True, timeout=_BUSY_TIMEOUT_S, isolation_level=None
            )
            version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        except sqlite3.Error as error:
            raise InvalidArgumentError(f"journal '{path}' cannot be read: {error}", path=str(path)) from error
        if version != VERSION:
            self.close()
            raise InvalidArgumentError(
                f"journal '{path}' is of version {version}, this latpred reads {VERSION}: finish it with the one that "
                "started it, or start another",
                path=str(path),
            )
        if not is_read_only:
            with writing_journal(path):
                # A commit is on disk for other processes at once and survives a kill; only a power cut may take the
                # last.
                self._connection.execute("PRAGMA journal_mode = WAL")
                self._connection.execute("PRAGMA synchronous = NORMAL")
                self._connection.execute(_KERNELS_SCHEMA)

    @staticmethod
    def create(path: Path, campaign: Campaign) -> None:
        """Whole, or not there."""
        with (
            writing_journal(path),
            writing("the journal of the campaign", path),
            replacing(path) as unfinished,
            contextlib.closing(sqlite3.connect(unfinished)) as connection,
        ):
            connection.executescript(_SCHEMA)
            connection.execute("INSERT INTO facts VALUES ('campaign', ?)", (json.dumps(campaign.to_dict()),))
            connection.execute(f"PRAGMA user_version = {VERSION}")
            connection.commit()

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Journal:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield self._connection
        except BaseException:
            if self._connection.in_transaction:  # a full disk has ended it
                self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    def _all(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, values).fetchall()

    # What it is about.

    def campaign(self) -> Campaign:
        return spec.from_dict(json.loads(self._fact("campaign")), f"journal '{self.path}'")

    def set_campaign(self, campaign: Campaign) -> None:
        """Another one, while nothing is measured; afterwards, more networks of the same list."""
        self.set_fact("campaign", campaign.to_dict())

    def _fact(self, name: str) -> str:
        found = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        if found is None:
            raise LatpredError(f"journal '{self.path}' lacks its '{name}'")
        return str(found[0])

    def set_fact(self, name: str, value: Any) -> None:
        self._connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (name, json.dumps(value)))

    def fact(self, name: str) -> Any:
        """None where it was never set."""
        found = self._connection.execute("SELECT value FROM facts WHERE name = ?", (name,)).fetchone()
        return None if found is None else json.loads(found[0])

    def add_machine(self, device_fingerprint: str, facts: Mapping[str, Any]) -> None:
        self._connection.execute(
            "INSERT OR REPLACE INTO machines VALUES (?, ?)", (device_fingerprint, json.dumps(facts))
        )

    def machines(self) -> dict[str, dict[str, Any]]:
        """Fingerprint -> what that machine said of itself."""
        return {name: json.loads(facts) for name, facts in self._all("SELECT * FROM machines ORDER BY 1")}

    # What was measured.

    def add(self, record: Record, campaign_item: spec.Item) -> None:
        """One transaction. An item that was measured before is replaced, what it had goes to `dropped`."""
        if record.position != campaign_item.position:
            raise LatpredError(f"item {campaign_item.position} was answered as item {record.position}")
        item = campaign_item
        with self._transaction() as connection:
            connection.execute(
                "INSERT INTO dropped SELECT position, quantity, protocol, value, COALESCE(error, 'machine not steady') "
                "FROM results WHERE position = ?",
                (item.position,),
            )
            for table in ("results", "kernels"):
                connection.execute(f"DELETE FROM {table} WHERE position = ?", (item.position,))  # noqa: S608
            connection.execute(
                "INSERT INTO items VALUES (?, 1, 1, ?, ?) ON CONFLICT (position) DO UPDATE SET "
                "attempts = attempts + 1, is_steady = 1, seconds = excluded.seconds, "
                "measured_at = excluded.measured_at",
                (item.position, record.seconds, time.time()),
            )
            connection.executemany(
                f"INSERT INTO results ({', '.join(_RESULT_COLUMNS)}) "  # noqa: S608 - names of columns, written above
                f"VALUES ({', '.join('?' * len(_RESULT_COLUMNS))})",
                [
                    (
                        item.recipe, item.batch, item.input, record.device_fingerprint, item.runtime, item.precision,
                        item.threads, result.quantity, result.protocol, item.position, result.value, result.error,
                        result.noise, result.samples, result.runtime_version, json.dumps(result.details),
                    )
                    for result in record.results
                ],
            )  # fmt: skip

            connection.executemany(
                "INSERT INTO kernels VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                [
                    (
                        item.position, place, kernel["name"], kernel["kind"], kernel["implementation"],
                        kernel["precision"], json.dumps(kernel["nodes"]), kernel["latency_s"], kernel["noise"],
                    )
                    for result in record.results
                    for place, kernel in enumerate(result.kernels)
                ],
            )  # fmt: skip

    def add_retimed(self, position: int, value: float | None, error: str | None) -> None:
        self._connection.execute(
            "INSERT INTO retimed VALUES (?, ?, ?, 1, 1) ON CONFLICT (position) DO UPDATE SET value = excluded.value, "
            "error = excluded.error, attempts = attempts + 1, is_steady = 1",
            (position, value, error),
        )

    def mark_unsteady(self, positions: Iterable[int], *, is_retimed: bool) -> None:
        table = "retimed" if is_retimed else "items"
        with self._transaction() as connection:
            connection.executemany(
                f"UPDATE {table} SET is_steady = 0 WHERE position = ?",  # noqa: S608
                [(position,) for position in positions],
            )

    def attempts(self, *, is_retimed: bool = False) -> dict[int, tuple[int, bool]]:
        """Position -> how often it was measured, and whether the last time counts."""
        table = "retimed" if is_retimed else "items"
        rows = self._all(f"SELECT position, attempts, is_steady FROM {table}")  # noqa: S608
        return {position: (attempts, bool(is_steady)) for position, attempts, is_steady in rows}

    def timed(self, quantity: str) -> dict[int, tuple[str, str, float]]:
        """Position -> fingerprint, protocol, value of the first row of `quantity`, where there is a value."""
        query = (
            "SELECT position, device_fingerprint, protocol, value FROM results "
            "WHERE quantity = ? AND value IS NOT NULL ORDER BY position, rowid DESC"
        )
        return {position: (name, protocol, value) for position, name, protocol, value in self._all(query, quantity)}

    def retimed(self) -> dict[int, tuple[float, bool]]:
        """Position -> the second time, and whether the machine was steady."""
        query = "SELECT position, value, is_steady FROM retimed WHERE value IS NOT NULL"
        return {position: (value, bool(is_steady)) for position, value, is_steady in self._all(query)}

    def rows(self) -> Iterator[dict[str, Any]]:
        """Every result with what its item and its second timing say, in the campaign's order."""
        cursor = self._connection.execute(
            f"SELECT {', '.join(f'results.{name}' for name in _RESULT_COLUMNS)}, "  # noqa: S608
            "items.is_steady, items.measured_at, items.attempts, retimed.value AS retimed_value "
            "FROM results JOIN items USING (position) LEFT JOIN retimed USING (position) "
            "ORDER BY position, results.rowid"
        )
        names = [column[0] for column in cursor.description]
        for values in cursor:
            yield dict(zip(names, values, strict=True))

    def kernels(self) -> Iterator[dict[str, Any]]:
        """Every kernel with its item, in the campaign's order."""
        item = ("recipe", "batch", "input", "device_fingerprint", "runtime", "runtime_version", "threads")
        query = (
            f"SELECT {', '.join(item)}, {', '.join(f'kernels.{name}' for name in KERNEL_COLUMNS)} "  # noqa: S608
            "FROM kernels JOIN results USING (position) WHERE quantity = ? AND error IS NULL ORDER BY position, place"
        )
        for values in self._connection.execute(query, (spec.KERNELS,)):
            yield dict(zip((*item, *KERNEL_COLUMNS), values, strict=True))

    def failures(self) -> dict[str, int]:
        """Error -> how many items have it."""
        query = "SELECT error, COUNT(DISTINCT position) FROM results WHERE error IS NOT NULL GROUP BY 1 ORDER BY 2 DESC"
        return dict(self._all(query))

    def failed_positions(self) -> list[int]:
        """Of the items with an error."""
        return [position for (position,) in self._all("SELECT DISTINCT position FROM results WHERE error IS NOT NULL")]

    def counts(self) -> dict[str, int]:
        """Items measured, failed, not steady, timed again; rows; values dropped."""
        queries = {
            "items": "SELECT COUNT(*) FROM items",
            "rows": "SELECT COUNT(*) FROM results",
            "failed": "SELECT COUNT(DISTINCT position) FROM results WHERE error IS NOT NULL",
            "unsteady": "SELECT COUNT(*) FROM items WHERE NOT is_steady",
            "retimed": "SELECT COUNT(*) FROM retimed",
            "retimed_unsteady": "SELECT COUNT(*) FROM retimed WHERE NOT is_steady",
            "dropped": "SELECT COUNT(*) FROM dropped",
        }
        return {name: self._all(query)[0][0] for name, query in queries.items()}

    def measuring_seconds(self) -> float:
        return float(self._all("SELECT COALESCE(SUM(seconds), 0) FROM items")[0][0])

    # Probes of the machine.

    def add_probe(self, worker: str, device_fingerprint: str, probe: Probe) -> None:
        self._connection.execute(
            "INSERT INTO probes VALUES (NULL, ?, ?, ?, ?, ?)",
            (worker, device_fingerprint, time.time(), probe.compute_s, probe.read_s),
        )

    def probes(self, worker: str, device_fingerprint: str) -> list[Probe]:
        """In their order."""
        query = "SELECT compute_s, read_s FROM probes WHERE worker = ? AND device_fingerprint = ? ORDER BY id"
        return [Probe(*values) for values in self._all(query, worker, device_fingerprint)]

    # When it ran.

    def start_run(self, workers: int) -> int:
        cursor = self._connection.execute("INSERT INTO runs VALUES (NULL, ?, NULL, ?, NULL)", (time.time(), workers))
        return int(cursor.lastrowid or 0)

    def end_run(self, run: int, ended_by: str) -> None:
        self._connection.execute(
            "UPDATE runs SET ended_at = ?, ended_by = ? WHERE id = ?", (time.time(), ended_by, run)
        )

    def runs(self) -> list[tuple[float, float | None, int, str | None]]:
        """Started, ended (None: it was killed, or runs now), workers, what ended it."""
        return self._all("SELECT started_at, ended_at, workers, ended_by FROM runs ORDER BY id")


def lock(journal: Path) -> Lock:
    """Held by the process that writes a campaign."""
    with writing("the campaign", journal):
        return Lock(
            journal,
            f"campaign '{journal}' runs in another process now; wait for it, or look with latpred campaign status",
        )


def is_running(journal: Path) -> bool:
    """Whether a process writes it now."""
    return is_held(journal)

"""Labels of many networks, in a journal that an interruption costs one network; the table is written from it."""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import json
import sqlite3
import time
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

from latpred._core import host_facts
from latpred.checks import check_count, check_positive
from latpred.datasets import label_table
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.labels import neighbour
from latpred.labels.networks import Listed, Networks
from latpred.labels.runtimes import LABELLERS, check_precision, label
from latpred.lock import Lock
from latpred.step import Step
from latpred.writing import writing, writing_journal

_LICENCE = "Apache-2.0"
_JOURNAL = ".journal"
_SCHEMA = """
CREATE TABLE IF NOT EXISTS facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS items (
    recipe TEXT, batch INTEGER, family TEXT,
    row BLOB,       -- zlib of JSON; NULL while it is being labelled, or where it failed
    error TEXT,     -- why there is none; 'started': the process ended meanwhile
    seconds REAL,
    passes INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (recipe, batch)
);
"""
_STARTED = "started"
_INSERT = "INSERT OR REPLACE INTO items VALUES (?, ?, ?, ?, ?, ?, ?)"


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is labelled, and how."""

    networks: Sequence[Listed]
    runtime: str
    batches: Sequence[int] = (1,)
    precision: str = "fp32"
    runs: int = 0  # timed calls of each network; 0: no times
    neighbour: int = 0  # percentage of its time in which a process on another core reads memory
    passes: int = 1  # over the whole list; the least time of each kernel stays

    def __post_init__(self) -> None:
        object.__setattr__(self, "batches", tuple(check_count("batches", batch) for batch in self.batches))
        for name, least in (("runs", 0), ("neighbour", 0), ("passes", 1)):
            object.__setattr__(self, name, check_count(name, getattr(self, name), least))


def collect(plan: Plan, out: Path, networks: Networks, *, minutes: float | None = None) -> Iterator[Step]:
    """Labels what the journal beside `out` lacks and writes the table, at the end and where time runs out.

    Several passes: what else the machine does changes in minutes and only adds, so that the least of times that lie far
    apart is nearest to the kernel's own."""
    if plan.neighbour and plan.passes > 1:
        raise InvalidArgumentError(
            f"of {plan.passes} passes the least times stay, those without the neighbour: leave passes out beside one"
        )
    check_precision(plan.runtime, plan.precision)
    deadline = None if minutes is None else time.monotonic() + 60 * check_positive("minutes", minutes)
    fingerprint = host_facts().fingerprint
    with _opened(out, plan, fingerprint) as connection:
        items = [
            (network.recipe, network.family, batch)
            for network in plan.networks
            for batch in network.batches or plan.batches
        ]
        # Those that failed have had every pass.
        had = {
            (recipe, batch): passes if error is None else plan.passes
            for recipe, batch, passes, error in connection.execute("SELECT recipe, batch, passes, error FROM items")
        }
        due = [item for number in range(plan.passes) for item in items if had.get((item[0], item[2]), 0) <= number]
        done, of = len(items) * plan.passes - len(due), len(items) * plan.passes
        yield Step("labelling", done, of, "")
        with neighbour.beside(plan.neighbour):
            for recipe, family, batch in due:
                if deadline is not None and time.monotonic() > deadline:
                    break
                _one(connection, journal_of(out), plan, networks, (recipe, family, batch), fingerprint)
                done += 1
                yield Step("labelling", done, of, f"{recipe}, batch {batch}")


def journal_of(out: Path) -> Path:
    """The journal beside a table."""
    return out.with_name(out.name + _JOURNAL)


def failures(out: Path) -> dict[str, str]:
    """Networks that could not be labelled, or not in every pass, and why."""
    journal = journal_of(out)
    query = "SELECT recipe, batch, error FROM items WHERE error IS NOT NULL"
    try:
        address = f"{journal.absolute().as_uri()}?mode=ro"  # one that is not there is not made
        with contextlib.closing(sqlite3.connect(address, uri=True)) as connection:
            return {f"{recipe}, batch {batch}": error for recipe, batch, error in connection.execute(query)}
    except sqlite3.Error as error:
        what = "cannot be read" if journal.exists() else "is not there"
        raise InvalidArgumentError(
            f"journal '{journal}' {what}: {error}; expected the one that latpred label --recipes wrote beside its "
            "--out FILE: name that table",
            path=str(journal),
        ) from error


def write_table(connection: sqlite3.Connection, out: Path) -> None:
    """Every labelled network, in a fixed order."""
    rows = connection.execute("SELECT row FROM items WHERE row IS NOT NULL ORDER BY recipe, batch")
    label_table.write(out, (json.loads(zlib.decompress(row)) for (row,) in rows))


@contextlib.contextmanager
def _opened(out: Path, plan: Plan, fingerprint: str) -> Iterator[sqlite3.Connection]:
    """The journal beside `out`, which no other process labels into meanwhile; at the end the table is written."""
    journal = journal_of(out)
    held = f"'{out}' is written by another latpred label now; wait for it, or choose another --out"
    with writing("the journal of the labels", journal):
        lock = Lock(journal, held)
    try:
        with writing_journal(journal):
            connection = sqlite3.connect(journal)
        with contextlib.closing(connection):
            with writing_journal(journal):
                _begin(connection, journal, plan, fingerprint)
            try:
                yield connection
            finally:
                with writing("the table of labels", out):
                    write_table(connection, out)
    finally:
        lock.release()


def _begin(connection: sqlite3.Connection, journal: Path, plan: Plan, fingerprint: str) -> None:
    """Makes what a new journal lacks; one that was begun otherwise is refused."""
    connection.executescript(_SCHEMA)
    if "passes" not in {row[1] for row in connection.execute("PRAGMA table_info(items)")}:
        connection.execute("ALTER TABLE items ADD COLUMN passes INTEGER NOT NULL DEFAULT 1")  # a journal of one pass
    given = {"runtime": plan.runtime, "precision": plan.precision, "runs": str(plan.runs), "device": fingerprint,
             "neighbour": str(plan.neighbour)}  # fmt: skip
    kept = dict(connection.execute("SELECT name, value FROM facts"))
    if kept:
        kept.setdefault("neighbour", "0")  # of journals that were begun before there were any
    for name, value in given.items():
        if kept.get(name, value) != value:
            raise InvalidArgumentError(
                f"'{journal}' was begun with {name} '{kept[name]}', not '{value}': choose another --out"
            )
    connection.executemany("INSERT OR REPLACE INTO facts VALUES (?, ?)", given.items())
    connection.commit()


def _one(
    connection: sqlite3.Connection,
    journal: Path,
    plan: Plan,
    networks: Networks,
    item: tuple[str, str, int],
    fingerprint: str,
) -> None:
    recipe, family, batch = item
    query = "SELECT recipe, batch, family, row, error, seconds, passes FROM items WHERE recipe = ? AND batch = ?"
    before = connection.execute(query, (recipe, batch)).fetchone()
    _, _, _, packed, _, _, passes = before or (recipe, batch, family, None, None, None, 0)
    try:
        with writing_journal(journal):
            connection.execute(_INSERT, (recipe, batch, family, packed, _STARTED, None, passes))
            connection.commit()
        start = time.monotonic()
        packed, error = _labelled(plan, networks, item, fingerprint, packed)
        with writing_journal(journal):
            connection.execute(_INSERT, (recipe, batch, family, packed, error, time.monotonic() - start, passes + 1))
    except (KeyboardInterrupt, SystemExit):
        # Somebody wants to stop, which is no fault of the network: it is due again.
        connection.rollback()
        connection.execute("DELETE FROM items WHERE recipe = ? AND batch = ?", (recipe, batch))
        connection.executemany(_INSERT, [before] if before else [])
        connection.commit()
        raise
    with writing_journal(journal):
        connection.commit()
    gc.collect()


def _labelled(
    plan: Plan, networks: Networks, item: tuple[str, str, int], fingerprint: str, packed: bytes | None
) -> tuple[bytes | None, str | None]:
    """The row, with the least times of what was there before, and why there is no new one."""
    recipe, family, batch = item
    try:
        # What fuses modules builds them from the recipe; the others run the recorded graph.
        source = recipe if LABELLERS[plan.runtime].of_module is not None else networks.graph(recipe, batch)
        labels = label(
            source,
            runtime=plan.runtime,
            batch=batch,
            precision=plan.precision,
            runs=plan.runs,
            is_alone=not plan.neighbour,
        )
        row = label_table.row_of(
            labels,
            recipe=recipe,
            family=family,
            precision=plan.precision,
            device_fingerprint=fingerprint,
            state=neighbour.state(plan.neighbour),
            licence=_LICENCE,
        )
        if packed is not None:
            row = label_table.with_least_times(json.loads(zlib.decompress(packed)), row)
        return zlib.compress(json.dumps(row).encode()), None
    except LatpredError as caught:
        return packed, str(caught)
    except (RuntimeError, ValueError, KeyError, IndexError, MemoryError) as caught:
        # A runtime or a rule that trips over one network of hundreds: the others are labelled all the same.
        return packed, f"{type(caught).__name__}: {caught}"

"""The local record: what was measured and predicted on this machine, by graph hash. It grows and is never sent away.

One SQLite file in the user's data folder. It holds hashes, names and numbers; no weights, no paths, no operators.
$LATPRED_RECORD says what goes in: "measurements" (if not set), "all" (predictions too), "off".
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import re
import tempfile
import time
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred._core import Graph
from latpred.checks import check_count, check_text, value_text
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.folders import data_folder
from latpred.tables import Column, Table, number, number_column, text_column

if TYPE_CHECKING:
    import sqlite3

    from latpred.prediction import Prediction

VARIABLE = "LATPRED_RECORD"
MEASUREMENT, PREDICTION = "measurement", "prediction"
KINDS = (MEASUREMENT, PREDICTION)
# What is kept where the variable says so.
_KEPT: dict[str, tuple[str, ...]] = {"off": (), "measurements": (MEASUREMENT,), "all": KINDS}
_AS_IT_IS = "measurements"
_FILE = "record.sqlite"
_VERSION = 1
_BUSY_TIMEOUT_S = 30.0
_HASH = re.compile("[0-9a-f]{16}")
_GRAPH_OR_HASH = "a Graph, as load() reads it from a file, or its .hash; name= finds entries by the name of a file"
_DEVICES_HERE = ("cpu", "cuda")  # as profile() calls what it measures on: "cuda:1"


@dataclasses.dataclass(frozen=True, slots=True)
class Entry:
    """One number about one network. Seconds, bytes, joules."""

    kind: str  # MEASUREMENT or PREDICTION
    name: str  # of the network: a file's name without its folder, a recipe, a class
    batch: int
    device: str
    quantity: str  # of _UNITS: "latency_s", "memory_bytes", ...
    value: float
    graph_hash: str = ""  # empty: a workload that is no graph
    device_fingerprint: str = ""  # of the machine, where it was measured
    partition: str = ""
    runtime: str = ""
    runtime_version: str = ""
    precision: str = ""
    threads: int | None = None
    noise: float | None = None  # coefficient of variation of the samples
    samples: int | None = None
    low: float | None = None  # 80 % interval of a prediction
    high: float | None = None
    predictor: str = ""
    how: str = ""  # provenance of a prediction, protocol of a measurement
    recorded_at: float = 0.0  # seconds since 1970; 0: now
    latpred: str = _core.__version__

    @property
    def where(self) -> str:
        """What it ran on or was predicted for: "A100-SXM4-40GB eager fp16"."""
        threads = "" if self.threads is None else f"{self.threads} thread{'s' if self.threads > 1 else ''}"
        return " ".join(filter(None, (self.device, self.partition, self.runtime, self.precision, threads)))


_NAMES = tuple(field.name for field in dataclasses.fields(Entry))
_TYPES = {"str": "TEXT", "int": "INTEGER", "float": "REAL"}
_COLUMNS = ", ".join(f"{field.name} {_TYPES[str(field.type).split(' ')[0]]}" for field in dataclasses.fields(Entry))


def kept() -> tuple[str, ...]:
    """The kinds of entries that are kept now."""
    words = os.environ.get(VARIABLE) or _AS_IT_IS
    if words not in _KEPT:
        raise InvalidArgumentError(_core.unknown_name_message(f"value of ${VARIABLE}", words, list(_KEPT)))
    return _KEPT[words]


def path() -> Path:
    """Where the record is."""
    return data_folder() / _FILE


def add(entries: Sequence[Entry]) -> int:
    """Writes those of a kind that is kept, in one transaction; how many that were. A record that cannot be written is a
    warning, and none of them is in it: the numbers themselves are with the caller."""
    allowed = kept()
    wanted = [entry for entry in entries if entry.kind in allowed]
    if not wanted:
        return 0
    import sqlite3

    now = time.time()
    rows = [dataclasses.astuple(entry if entry.recorded_at else _at(entry, now)) for entry in wanted]
    try:
        with _opened() as connection:
            connection.executemany(f"INSERT INTO entries VALUES ({', '.join('?' * len(_NAMES))})", rows)  # noqa: S608
    except LatpredError as error:  # which says where the record is, or that it has no folder
        _warn_unwritten("the record", error)
        return 0
    except (OSError, sqlite3.Error) as error:
        _warn_unwritten(f"the record '{path()}'", error)
        return 0
    return len(wanted)


def _warn_unwritten(what: str, error: Exception) -> None:
    warnings.warn(f"{what} cannot be written: {error}; ${VARIABLE}=off does without", stacklevel=3)


def _at(entry: Entry, recorded_at: float) -> Entry:
    return dataclasses.replace(entry, recorded_at=recorded_at)


def add_predictions(predictions: Iterable[Prediction]) -> None:
    """Each as its latency, memory and energy, where $LATPRED_RECORD asks for them."""
    if PREDICTION in kept():
        add([entry for prediction in predictions for entry in _entries_of(prediction)])


# Quantity -> attribute of a Prediction, and what its unit is in ours.
_PREDICTED = {"latency_s": ("latency_ms", 1e-3), "memory_bytes": ("memory_mb", 1e6), "energy_j": ("energy_j", 1.0)}


def _entries_of(prediction: Prediction) -> Iterator[Entry]:
    for quantity, (attribute, factor) in _PREDICTED.items():
        value, interval = getattr(prediction, attribute), prediction.intervals[attribute]
        if value is not None:
            low, high = (None, None) if interval is None else (interval[0] * factor, interval[1] * factor)
            yield Entry(
                kind=PREDICTION,
                name=prediction.name,
                batch=prediction.batch,
                device=prediction.device,
                quantity=quantity,
                value=value * factor,
                graph_hash=prediction.graph.hash,
                partition=prediction.partition or "",
                runtime=prediction.runtime,
                runtime_version=prediction.runtime_version or "",
                precision=prediction.precision,
                low=low,
                high=high,
                predictor=prediction.predictor,
                how=prediction.provenance[attribute] or "",
            )


# Reading.


def history(
    graph: Graph | str | None = None,
    *,
    name: str | None = None,
    device: str | None = None,
    kind: str | None = None,
    quantity: str | None = None,
    last: int | None = None,
) -> Table[Entry]:
    """What was measured and predicted here, newest first: prints as a table, converts with .to_pandas().

    graph: a Graph or its hash. name: of the network. device: a name or alias in devices(), "cpu", "cuda:1", or as in
    the table. kind: "measurement" or "prediction". quantity: "latency_s", "memory_bytes", "energy_j", "kernels_s".
    last: so many entries at most.
    The file is latpred.record.path(); the environment variable LATPRED_RECORD says what goes in: "measurements" (if not
    set), "all" (predictions too), "off".
    """
    for argument, value in {"name": name, "device": device, "kind": kind, "quantity": quantity}.items():
        if value is not None:
            check_text(argument, value)
    if kind is not None and kind not in KINDS:
        raise InvalidArgumentError(_core.unknown_name_message("kind of entry", kind, list(KINDS)), valid=list(KINDS))
    if last is not None:
        last = check_count("last", last)
    if quantity is not None and quantity not in _UNITS and not _select({"quantity": [quantity]}, 1):
        raise InvalidArgumentError(_core.unknown_name_message("quantity", quantity, list(_UNITS)), valid=list(_UNITS))
    wanted: dict[str, list[Any]] = {
        "graph_hash": [None if graph is None else _hash_of(graph)],
        "name": [name],
        "device": [None] if device is None else _devices_of(device),
        "kind": [kind],
        "quantity": [quantity],
    }
    given = {column: values for column, values in wanted.items() if values != [None]}
    return Table(_select(given, last), _SHOWN, what="entry")


def _hash_of(graph: Any) -> str:
    if isinstance(graph, Graph):
        return graph.hash
    text = check_text("graph", graph, _GRAPH_OR_HASH)
    if not _HASH.fullmatch(text) and not _select({"graph_hash": [text]}, 1):
        raise InvalidArgumentError(  # a file's name would find nothing, as if nothing had been measured
            f"graph must be {_GRAPH_OR_HASH}, got {value_text(text)}"
        )
    return text


def _devices_of(word: str) -> list[str]:
    """What entries may call it: campaigns and predictions write the device table's name, profile() the driver's."""
    try:
        return sorted({word, _core.device(word).name})
    except InvalidArgumentError:
        is_here = word.partition(":")[0] in _DEVICES_HERE
        if not is_here and not _select({"device": [word]}, 1):
            raise  # a misspelled name would find nothing, as if nothing had been measured
        return [word]


def _select(given: Mapping[str, Sequence[Any]], last: int | None) -> list[Entry]:
    """Entries with one of the values in each of the columns, newest first."""
    import sqlite3

    if not path().is_file():
        return []
    query = f"SELECT {', '.join(_NAMES)} FROM entries"  # noqa: S608 - names of columns, as everything put in here
    if given:
        query += " WHERE " + " AND ".join(f"{column} IN ({', '.join('?' * len(given[column]))})" for column in given)
    query += " ORDER BY recorded_at DESC, rowid DESC"
    if last is not None:
        query += f" LIMIT {last}"
    values = [value for some in given.values() for value in some]
    try:
        with _opened(is_read_only=True) as connection:
            return [Entry(*columns) for columns in connection.execute(query, values)]
    except sqlite3.Error as error:
        raise LatpredError(
            f"the record '{path()}' cannot be read: {error}; expected the SQLite file that latpred writes: move a "
            "damaged one away, and the next measurement begins another",
            path=str(path()),
        ) from error


def _time_text(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(seconds))


def _value_text(entry: Entry) -> str:
    factor, unit = _UNITS.get(entry.quantity, (1.0, entry.quantity))
    return f"{number(entry.value * factor)} {unit}"


_UNITS = {"latency_s": (1e3, "ms"), "memory_bytes": (1e-6, "MB"), "energy_j": (1.0, "J"), "kernels_s": (1e3, "ms")}
# The raw columns are in to_dicts and to_pandas; what is shown is put together from them.
_SHOWN: list[Column[Any]] = [
    number_column("recorded_at", "when", _time_text, is_left=True),
    text_column("kind"),
    text_column("name", "network"),
    number_column("batch", text=str),
    text_column("where"),
    Column("value_text", _value_text, "value"),
    text_column("how"),
    *(
        text_column(name, is_shown=False)
        for name in _NAMES
        if name not in ("recorded_at", "kind", "name", "batch", "how")
    ),
]


# The file.


@contextlib.contextmanager
def _opened(*, is_read_only: bool = False) -> Iterator[sqlite3.Connection]:
    """One transaction, held off from those of other processes; to write, the file is made where there is none."""
    import sqlite3

    file = path()
    if not is_read_only and not file.is_file():
        _make(file)
    address = f"{file.absolute().as_uri()}?mode={'ro' if is_read_only else 'rw'}"
    with contextlib.closing(sqlite3.connect(address, uri=True, timeout=_BUSY_TIMEOUT_S)) as connection:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version != _VERSION:
            raise LatpredError(
                f"the record '{file}' is of version {version}, this latpred reads {_VERSION}; move it away"
            )
        with connection:
            yield connection


def _make(file: Path) -> None:
    """Whole, or not there: of several processes that begin at once one makes it."""
    import sqlite3

    file.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=file.parent) as folder:
        part = Path(folder) / file.name
        with contextlib.closing(sqlite3.connect(part)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")  # readers and a writer do not wait for each other
            connection.execute(f"CREATE TABLE entries ({_COLUMNS})")
            connection.execute("CREATE INDEX entries_by_graph ON entries(graph_hash)")
            connection.execute(f"PRAGMA user_version = {_VERSION}")
            connection.commit()
        with contextlib.suppress(FileExistsError):
            os.link(part, file)


__all__ = ["Entry", "add", "add_predictions", "history", "path"]

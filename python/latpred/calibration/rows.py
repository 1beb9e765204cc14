"""The user's timings, from lists, frames and files, as graphs and seconds."""

from __future__ import annotations

import csv
import dataclasses
import json
import math
import os
import statistics
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from latpred import _core, loading
from latpred._core import Graph
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.optional import need

_NETWORK_KEYS = ("graph", "path", "model")
_SECONDS_PER_UNIT = {"seconds": 1.0, "latency_s": 1.0, "latency_ms": 1e-3}
_KEYS = (*_NETWORK_KEYS, "batch", "input", *_SECONDS_PER_UNIT, "spread")
_FORMS = (
    "a mapping with one of graph, path, model; batch; one of seconds, latency_s, latency_ms; and, where they apply, "
    "input and spread; or a tuple (network, batch, seconds) or (network, batch, input, seconds)"
)
_LARGEST_BATCH = 2**31 - 1  # more items than any device holds
PROBE_PREFIX = "timm:"  # of a path that names one of the networks in probes.py


@dataclasses.dataclass(frozen=True)
class Timing:
    """A network at its batch, timed; itself a row."""

    network: str  # what a report calls it
    graph: Graph
    latency_s: float
    spread: float | None


def read_timings(rows_or_path: Any) -> list[Timing]:
    """All of them, repeated ones merged into their median; at least one."""
    if isinstance(rows_or_path, (str, os.PathLike)):
        path = Path(rows_or_path)
        rows, where, folder = _read_file(path), os.fspath(path), path.parent
    else:
        rows, where, folder = _rows_of(rows_or_path), "rows", None
    load = _Loader(folder)
    timings = []
    for position, row in enumerate(rows, 1):
        try:
            timings.append(row if isinstance(row, Timing) else _timing(row, load))
        except (LatpredError, UnicodeError) as error:  # the latter: a path with half of a surrogate pair
            raise InvalidArgumentError(f"{where}, row {position}: {error}") from error
    if not timings:
        raise InvalidArgumentError(f"{where}: no timing in it; calibrate() needs at least one")
    return _merged(timings)


def _rows_of(rows: Any) -> list[Any]:
    if hasattr(rows, "to_dict") and hasattr(rows, "columns"):  # a pandas frame, without importing pandas
        _check_columns(rows.columns, "the frame")
        return list(rows.to_dict("records"))
    if isinstance(rows, Mapping) or not isinstance(rows, Iterable):
        raise InvalidArgumentError(
            f"rows must be a list, a frame or a file, got {type(rows).__name__}; a row is {_FORMS}"
        )
    return list(rows)


def _check_columns(names: Iterable[Any], where: str) -> None:
    """Of two columns of a name readers keep the last."""
    for name, count in Counter(names).items():
        if count > 1:
            raise InvalidArgumentError(f"{where}: column '{name}' is there {count} times; keep the one that is meant")


def _read_csv(path: Path) -> list[Any]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.DictReader(file, restkey="more cells than headings", skipinitialspace=True)
        # Spreadsheets leave columns without a name.
        _check_columns(filter(None, reader.fieldnames or ()), "the headings")
        return [{key: value for key, value in row.items() if value not in (None, "")} for row in reader]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    _check_columns((key for key, _ in pairs), f"the row {found}")
    return found


def _read_json(path: Path) -> list[Any]:
    return _rows_of(json.loads(path.read_text(encoding="utf-8"), object_pairs_hook=_object))


def _read_jsonl(path: Path) -> list[Any]:
    lines = path.read_text(encoding="utf-8").splitlines()
    return [json.loads(line, object_pairs_hook=_object) for line in lines if line.strip()]


def _read_parquet(path: Path) -> list[Any]:
    need("pyarrow", "data", "a .parquet file of timings")
    return _rows_of(need("pandas", "data", "a .parquet file of timings").read_parquet(path))


_READERS: dict[str, Callable[[Path], list[Any]]] = {
    ".csv": _read_csv,
    ".json": _read_json,
    ".jsonl": _read_jsonl,
    ".parquet": _read_parquet,
}


def _read_file(path: Path) -> list[Any]:
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidArgumentError(
            f"'{path}': timings are read from {', '.join(_READERS)}, got '{path.suffix}'", valid=list(_READERS)
        )
    try:
        return reader(path)
    except OSError as error:
        raise InvalidArgumentError(f"'{path}' cannot be read: {error.strerror}", path=str(path)) from error
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"'{path}': {error}", path=str(path)) from error
    except (ValueError, RecursionError, csv.Error) as error:
        raise InvalidArgumentError(f"'{path}' is no {path.suffix[1:]} file: {error}", path=str(path)) from error


def _is_missing(value: Any) -> bool:
    """An empty cell of a frame."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _as_mapping(row: Any) -> dict[str, Any]:
    if isinstance(row, Mapping):
        return {key: value for key, value in row.items() if not _is_missing(value)}
    if isinstance(row, (tuple, list)) and len(row) in (3, 4):
        network, batch, *input, seconds = row
        is_path = isinstance(network, (str, os.PathLike))
        kind = "graph" if isinstance(network, Graph) else "path" if is_path else "model"
        found = {kind: network, "batch": batch, "seconds": seconds}
        return found | ({"input": input[0]} if input and input[0] is not None else {})
    raise InvalidArgumentError(f"expected {_FORMS}; got {row!r}")


def _one_of(row: dict[str, Any], names: Iterable[str]) -> str:
    given = [name for name in names if name in row]
    if len(given) == 1:
        return given[0]
    raise InvalidArgumentError(f"needs exactly one of {', '.join(names)}, got {' and '.join(given) or 'none'}")


def _number(value: Any) -> float:
    """nan where it is no finite number."""
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    return number if math.isfinite(number) else math.nan


def positive(name: str, value: Any) -> float:
    number = _number(value)
    if not number > 0:
        raise InvalidArgumentError(f"{name} must be a positive number, got {value!r}")
    return number


def _spread(value: Any) -> float:
    """Equal timings have none."""
    number = _number(value)
    if not 0 <= number < 1:
        raise InvalidArgumentError(f"spread must be a share of the time, from 0 to below 1 (2 %: 0.02), got {value!r}")
    return number


def _batch(value: Any) -> int:
    number = positive("batch", value)  # text in a CSV, a float in a frame with empty cells
    if number != int(number) or number > _LARGEST_BATCH:
        raise InvalidArgumentError(f"batch must be an integer from 1 to {_LARGEST_BATCH}, got {value!r}")
    return int(number)


def _timing(row: Any, load: _Loader) -> Timing:
    row = _as_mapping(row)
    for key in row:
        if key not in _KEYS:
            raise InvalidArgumentError(_core.unknown_name_message("column", str(key), list(_KEYS)))
    kind, unit = _one_of(row, _NETWORK_KEYS), _one_of(row, _SECONDS_PER_UNIT)
    seconds = positive(unit, row[unit]) * _SECONDS_PER_UNIT[unit]
    spread = None if "spread" not in row else _spread(row["spread"])
    batch = None if "batch" not in row else _batch(row["batch"])
    if batch is None and kind != "graph":
        raise InvalidArgumentError(f"batch is missing: how many items the call of {row[kind]!r} had")
    graph = load(kind, row[kind], batch, row.get("input"))
    return Timing(_label(kind, row[kind], graph), graph, seconds, spread)


def _label(kind: str, network: Any, graph: Graph) -> str:
    from latpred.graph import name

    if kind == "path":
        return os.path.basename(os.fspath(network)) or str(network)
    return name(graph) if kind == "graph" else type(network).__name__


class _Loader:
    """Graphs of rows; the paths in a file are relative to it."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._known: dict[Any, loading.Opened] = {}

    def __call__(self, kind: str, network: Any, batch: int | None, input: Any) -> Graph:
        if kind == "graph":
            if not isinstance(network, Graph):
                raise InvalidArgumentError(f"graph must be a latpred.Graph, got {type(network).__name__}")
            if input is not None:
                raise InvalidArgumentError("input= says how to read a file; a Graph has been read already")
            return network if batch in (None, network.batch) else network.with_batch(batch)
        assert batch is not None
        if kind == "model":
            return loading.load_model(network, batch, input)
        if isinstance(network, str) and network.startswith(PROBE_PREFIX):
            from latpred.calibration.probes import probe_graph

            return probe_graph(network, batch)
        if not isinstance(network, (str, os.PathLike)):
            raise InvalidArgumentError(f"path must be that of a file or one of the probes, got {network!r}")
        path = Path(network) if self._folder is None else self._folder / network
        key = (path, repr(input))
        if key not in self._known:
            self._known[key] = loading.Opened(path, None, input, allow_pickle=False)
        return self._known[key].at(batch)


def _merged(timings: list[Timing]) -> list[Timing]:
    """The same call timed several times is one timing, whose spread they show."""
    groups: dict[str, list[Timing]] = {}
    for timing in timings:
        groups.setdefault(timing.graph.hash, []).append(timing)
    return [group[0] if len(group) == 1 else _merge(group) for group in groups.values()]


def _merge(group: list[Timing]) -> Timing:
    seconds = [timing.latency_s for timing in group]
    median = statistics.median(seconds)
    stated = [timing.spread**2 for timing in group if timing.spread is not None]
    within = math.sqrt(statistics.fmean(stated)) if stated else 0.0
    return dataclasses.replace(
        group[0], latency_s=median, spread=math.hypot(within, statistics.stdev(seconds) / median)
    )

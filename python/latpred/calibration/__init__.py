"""Corrections of a predictor from a user's own timings: the value, its file, and where files are found by name."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.folders import config_folder
from latpred.quantile import NORMAL_80
from latpred.tables import Column, Table, number, number_column, text_column

if TYPE_CHECKING:
    from latpred._core import CalibrationFactors

FORMAT = "latpred calibration"
VERSION = 1
SUFFIX = ".json"
_FOLDER_VARIABLE = "LATPRED_CALIBRATIONS"
# A timing that counts less than this in the fit lies far from what the others say.
_OUTLIER_WEIGHT = 0.3


@dataclasses.dataclass(frozen=True)
class CalibrationError:
    """|predicted / measured - 1| over the user's rows."""

    mean: float
    median: float

    def __str__(self) -> str:
        return f"{self.mean:.1%} mean, {self.median:.1%} median"


@dataclasses.dataclass(frozen=True)
class CalibrationRecord:
    """One network at one batch that the user has timed."""

    network: str
    graph_hash: str
    batch: int
    latency_s: float
    spread: float | None  # relative standard deviation of repeated timings; None: timed once
    predicted_s: float  # without the calibration
    left_out_s: float | None  # with one made from the other networks; None: there are no others
    weight: float  # in the fit: 1, and less the farther it lies from what the others say

    @property
    def is_outlier(self) -> bool:
        return self.weight < _OUTLIER_WEIGHT


@dataclasses.dataclass(frozen=True)
class Calibration:
    """What a user's own timings say about one device as it is used: factors on a predictor's times.

    latpred.calibrate() makes one; predict(..., calibration=) takes it, its file or its name.
    """

    name: str
    device: str  # the device table's name
    fingerprint: str | None  # what the machine says of itself; shown, never compared
    partition: str | None  # None: the whole device
    runtime: str | None  # None: any
    precision: str | None  # None: any
    input_on: str
    predictor: str  # whose times the factors correct
    checkpoint: str  # digest of that predictor's numbers: others need other factors
    level: str  # what was fitted: "scale", "host", "scale + host", "scale + host + classes", ...
    scale: float | None  # of every kernel's time; None: the timings say nothing about it
    host_scale: float | None  # of the host's time for each launch; None: likewise
    kind_factors: Mapping[str, float]  # by kind of kernel, on top of the scale; kinds left out: 1
    timed_kinds: tuple[str, ...]  # kinds of kernels in the timed networks: what is left covers them
    log_sd: float  # of log(measured / predicted) that is left
    error_before: CalibrationError
    error_after: CalibrationError | None  # each network predicted from the others; None: there are no others
    tried: Mapping[str, CalibrationError]  # the same at every level that the rows allow
    reason: str  # why this level
    records: tuple[CalibrationRecord, ...]

    @property
    def num_rows(self) -> int:
        return len(self.records)

    def __getstate__(self) -> dict[str, Any]:
        """Without the compiled part, which is made again where it is used."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @cached_property
    def factors(self) -> CalibrationFactors:
        """As the compiled part applies it."""
        return _core.CalibrationFactors(
            name=self.name,
            device=self.device,
            partition=self.partition or "",
            runtime=self.runtime or "",
            precision=self.precision or "",
            input_on=self.input_on,
            predictor=self.predictor,
            scale=self.scale,
            host_scale=self.host_scale,
            kind_factors=dict(self.kind_factors),
            timed_kinds=list(self.timed_kinds),
            log_sd=self.log_sd,
            # The fit took an outlier for a mistake: it is no answer either.
            records=[
                (row.graph_hash, row.batch, row.latency_s, row.spread) for row in self.records if not row.is_outlier
            ],
        )

    # How it shows itself.

    def effect(self) -> str:
        """The factors in words: "kernels x 1.30, host x 2.00"."""
        words = []
        if self.scale is not None:
            words.append(f"kernels x {number(self.scale)}")
        if self.host_scale is not None:
            words.append(f"host x {number(self.host_scale)}")
        words += [f"{name} x {number(factor)}" for name, factor in self._class_factors().items()]
        return ", ".join(words)

    def _class_factors(self) -> dict[str, float]:
        from latpred.calibration.fit import CLASSES

        return {name: self.kind_factors[kinds[0]] for name, kinds in CLASSES.items() if kinds[0] in self.kind_factors}

    def summary(self) -> str:
        """What an answer says of the calibration that it used."""
        rows = "1 timing" if self.num_rows == 1 else f"{self.num_rows} timings"
        return f"{self.name}: {self.effect()}, from {rows}"

    def errors(self) -> str:
        """Before and after, in words."""
        if self.error_after is None:
            return f"error {self.error_before} before; after: unknown, which needs timings of two networks"
        return f"error {self.error_before} before; {self.error_after} after, each network predicted from the others"

    def where(self) -> str:
        words = [self.device, self.partition, self.runtime or "any runtime"]
        words.append("any precision" if self.precision is None else f"precision {self.precision}")
        return ", ".join(filter(None, words))

    def facts(self) -> list[tuple[str, str]]:
        """Name and value, as words."""
        import math

        return [
            ("calibration", self.name),
            ("for", f"{self.where()}, predictor {self.predictor}"),
            *([("machine", self.fingerprint)] if self.fingerprint else []),
            ("factors", self.effect()),
            ("level", f"{self.level}: {self.reason}"),
            ("error before", str(self.error_before)),
            ("error after", str(self.error_after or "unknown: it needs timings of two networks")),
            ("80 % interval", f"x/{math.exp(NORMAL_80 * self.log_sd):.2f}"),
        ]

    @property
    def rows(self) -> Table[CalibrationRecord]:
        """The timings, with what was predicted for each."""
        return Table(self.records, _RECORD_COLUMNS, what="timing")

    def __repr__(self) -> str:
        return f"Calibration {self.summary()} ({self.where()}); {self.errors()}"

    def _repr_html_(self) -> str:
        from latpred.tables import html_table

        return html_table(self.facts(), ["", ""], is_left=[True, True]) + self.rows._repr_html_()

    # Its file.

    def to_dict(self) -> dict[str, Any]:
        """Plain values only: what its file holds."""
        values = dataclasses.asdict(self)
        return {"format": FORMAT, "version": VERSION, **values, **{name: list(values[name]) for name in _LISTS}}

    def save(self, path: str | os.PathLike[str] | None = None) -> Path:
        """Writes it to a file, or, without a path, under its name where predict(calibration=name) looks."""
        from latpred.calibration.saving import save

        return save(self, path)


def _ratio(seconds: float | None, record: CalibrationRecord) -> float | None:
    return None if seconds is None else seconds / record.latency_s - 1


def _signed_percent(value: float) -> str:
    return f"{value:+.1%}"


_RECORD_COLUMNS: list[Column[CalibrationRecord]] = [
    text_column("network"),
    number_column("batch", text=str),
    Column("latency_ms", lambda row: row.latency_s * 1e3, "measured ms", number),
    Column("predicted_ms", lambda row: row.predicted_s * 1e3, "predicted ms", number),
    Column("error_before", lambda row: _ratio(row.predicted_s, row), "before", _signed_percent),
    Column("error_after", lambda row: _ratio(row.left_out_s, row), "after", _signed_percent),
    number_column("weight", "weight", lambda weight: f"{weight:.2f}"),
    Column("is_outlier", lambda row: row.is_outlier, "note", lambda is_one: "outlier" if is_one else "", is_left=True),
    text_column("graph_hash", is_shown=False),
    number_column("spread", is_shown=False),
]


# Reading.

_TEXT, _OPTIONAL_TEXT = (str,), (str, type(None))
_LARGEST_INTEGER = 2**63 - 1
_NUMBER, _OPTIONAL_NUMBER = (int, float), (int, float, type(None))
_ERROR_FIELDS: dict[str, tuple[type, ...]] = {"mean": _NUMBER, "median": _NUMBER}
_RECORD_FIELDS: dict[str, tuple[type, ...]] = {
    "network": _TEXT,
    "graph_hash": _TEXT,
    "batch": (int,),
    "latency_s": _NUMBER,
    "spread": _OPTIONAL_NUMBER,
    "predicted_s": _NUMBER,
    "left_out_s": _OPTIONAL_NUMBER,
    "weight": _NUMBER,
}
_LISTS = ("timed_kinds", "records")
_FIELDS: dict[str, tuple[type, ...]] = {
    "name": _TEXT,
    "device": _TEXT,
    "fingerprint": _OPTIONAL_TEXT,
    "partition": _OPTIONAL_TEXT,
    "runtime": _OPTIONAL_TEXT,
    "precision": _OPTIONAL_TEXT,
    "input_on": _TEXT,
    "predictor": _TEXT,
    "checkpoint": _TEXT,
    "level": _TEXT,
    "scale": _OPTIONAL_NUMBER,
    "host_scale": _OPTIONAL_NUMBER,
    "kind_factors": (dict,),
    "timed_kinds": (list,),
    "log_sd": _NUMBER,
    "error_before": (dict,),
    "error_after": (dict, type(None)),
    "tried": (dict,),
    "reason": _TEXT,
    "records": (list,),
}


def _checked(value: Any, fields: Mapping[str, tuple[type, ...]], where: str) -> dict[str, Any]:
    """`value` as an object of exactly these fields."""
    if not isinstance(value, dict):
        raise InvalidArgumentError(f"{where}: expected an object, got {type(value).__name__}")
    for name in value:
        if name not in fields:
            raise InvalidArgumentError(f"{where}: {_core.unknown_name_message('field', name, list(fields))}")
    for name, types in fields.items():
        if name not in value:
            raise InvalidArgumentError(f"{where}: field '{name}' is missing")
        found = value[name]
        if not isinstance(found, types) or isinstance(found, bool):
            expected = " or ".join("null" if kind is type(None) else kind.__name__ for kind in types)
            raise InvalidArgumentError(f"{where}: field '{name}' must be {expected}, got {found!r}")
        _check_size(found, f"{where}: field '{name}'")
    return value


def _check_size(value: Any, where: str) -> None:
    """JSON's integers have no end, those of the compiled part do."""
    if isinstance(value, int) and abs(value) > _LARGEST_INTEGER:
        raise InvalidArgumentError(f"{where} must be at most {_LARGEST_INTEGER}, got an integer of more digits")


def _error_from(value: Any, where: str) -> CalibrationError:
    return CalibrationError(**_checked(value, _ERROR_FIELDS, where))


def from_dict(value: Any, where: str = "calibration") -> Calibration:
    """The calibration of a to_dict(); unknown fields and other versions are refused."""
    if not isinstance(value, dict) or value.get("format") != FORMAT:
        raise InvalidArgumentError(f"{where}: no calibration of latpred: \"format\" is not '{FORMAT}'")
    if value.get("version") != VERSION:
        raise InvalidArgumentError(
            f"{where}: version {value.get('version')!r} of the format, this latpred reads {VERSION}; "
            "make it again with latpred.calibrate()"
        )
    fields = _checked({k: v for k, v in value.items() if k not in ("format", "version")}, _FIELDS, where)
    for kind, factor in fields["kind_factors"].items():
        if not isinstance(factor, _NUMBER) or isinstance(factor, bool):
            raise InvalidArgumentError(f"{where}: the factor of '{kind}' must be a number, got {factor!r}")
        _check_size(factor, f"{where}: the factor of '{kind}'")
    for kind in fields["timed_kinds"]:
        if not isinstance(kind, str):
            raise InvalidArgumentError(f"{where}: timed_kinds must be names of kinds, got {kind!r}")
    calibration = Calibration(
        **{
            **fields,
            "timed_kinds": tuple(fields["timed_kinds"]),
            "error_before": _error_from(fields["error_before"], f"{where}: error_before"),
            "error_after": None
            if fields["error_after"] is None
            else _error_from(fields["error_after"], f"{where}: error_after"),
            "tried": {
                level: _error_from(error, f"{where}: tried: {level}") for level, error in fields["tried"].items()
            },
            "records": tuple(
                CalibrationRecord(**_checked(record, _RECORD_FIELDS, f"{where}: record {position}"))
                for position, record in enumerate(fields["records"])
            ),
        }
    )
    try:
        _ = calibration.factors  # the compiled part looks at the numbers
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{where}: {error}") from error
    return calibration


def load_calibration(path: str | os.PathLike[str]) -> Calibration:
    """Reads the file of a calibration."""
    where = f"calibration '{os.fspath(path)}'"
    try:
        value = json.loads(Path(path).read_text(encoding="utf-8"))
        json.dumps(value, ensure_ascii=False).encode()  # halves of surrogate pairs are no text
    except OSError as error:
        raise InvalidArgumentError(f"{where} cannot be read: {error.strerror}", path=os.fspath(path)) from error
    except (ValueError, RecursionError) as error:
        raise InvalidArgumentError(f"{where} is no JSON: {error}", path=os.fspath(path)) from error
    return from_dict(value, where)


# By name.


def folder_of_names() -> Path:
    """Where calibrations are found by name: $LATPRED_CALIBRATIONS, else ~/.config/latpred/calibrations."""
    chosen = os.environ.get(_FOLDER_VARIABLE)
    if chosen:
        return Path(chosen)
    return config_folder() / "calibrations"


def check_name(name: Any) -> str:
    """A name that can be a file's."""
    if isinstance(name, str) and name and not name.startswith(".") and all(c.isalnum() or c in "-_. " for c in name):
        return name
    raise InvalidArgumentError(
        f"name of a calibration must be letters, digits, spaces, '-', '_' and '.', no '.' first, got {name!r}"
    )


def is_path(value: str | os.PathLike[str]) -> bool:
    """Of a calibration's file; anything else is a name."""
    return not isinstance(value, str) or value.endswith(SUFFIX) or os.sep in value


def find(calibration: Any) -> Calibration | None:
    """What calibration= says: a Calibration, the path of a file (it ends in .json), or a name."""
    if calibration is None or isinstance(calibration, Calibration):
        return calibration
    if not isinstance(calibration, (str, os.PathLike)):
        raise InvalidArgumentError(
            f"calibration must be a Calibration, the path of a .json file or a name, got {type(calibration).__name__}"
        )
    text = os.fspath(calibration)
    if is_path(calibration):
        return load_calibration(text)
    folder = folder_of_names()
    path = folder / f"{check_name(text)}{SUFFIX}"
    if path.is_file():
        return load_calibration(path)
    names = sorted(found.stem for found in folder.glob(f"*{SUFFIX}"))
    where = f"in {folder} (${_FOLDER_VARIABLE} names another folder; a file's path ends in {SUFFIX})"
    if not names:
        raise InvalidArgumentError(f"unknown calibration '{text}': there is none {where}")
    raise InvalidArgumentError(f"{_core.unknown_name_message('calibration', text, names)} {where}", valid=names)


@cache
def checkpoint_digest(predictor: str) -> str:
    """Of the numbers of a predictor."""
    import hashlib

    file = next(row.checkpoint for row in _core.predictors() if row.name == predictor)
    path = Path(__file__).resolve().parents[1] / "data" / "predictors" / file
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def check_checkpoint(calibration: Calibration) -> None:
    """A predictor that was fitted anew needs other factors."""
    if calibration.predictor not in [row.name for row in _core.predictors()]:
        return  # the compiled part refuses it, with the list
    if calibration.checkpoint != checkpoint_digest(calibration.predictor):
        raise InvalidArgumentError(
            f"calibration '{calibration.name}' was made for other numbers of predictor '{calibration.predictor}' than "
            "this latpred has; make it again from the same timings"
        )


__all__ = ["Calibration", "CalibrationError", "CalibrationRecord"]

"""Where a calibration is written to: a file of the user's, or one under its name that no other is in."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from latpred.calibration import SUFFIX, Calibration, check_name, folder_of_names, is_path, load_calibration
from latpred.checks import check_path
from latpred.errors import InvalidArgumentError
from latpred.writing import replacing, writing


def save(calibration: Calibration, path: str | os.PathLike[str] | None) -> Path:
    target = file_under_name(calibration) if path is None else check_file(path)
    with writing(f"calibration '{calibration.name}'", target):
        if path is None:
            target.parent.mkdir(parents=True, exist_ok=True)
        with replacing(target) as unfinished:
            unfinished.write_text(json.dumps(calibration.to_dict(), indent=2) + "\n", encoding="utf-8")
    return target


def check_file(path: Any) -> Path:
    """Refuses what predict(calibration=) would take for a name."""
    found = check_path("the path of a calibration", path, "that of a .json file")
    if is_path(path):
        return found
    raise InvalidArgumentError(
        f"'{path}' would be read as the name of a calibration, not as its file: a file's path ends in {SUFFIX} or has "
        f"a folder in it; write it to '{path}{SUFFIX}'",
        path=os.fspath(path),
    )


def file_under_name(calibration: Calibration) -> Path:
    """Refuses a name under which one of other timings is kept."""
    path = folder_of_names() / f"{check_name(calibration.name)}{SUFFIX}"
    kept = _load(path)
    if kept is not None and _timed(kept) != _timed(calibration):
        raise InvalidArgumentError(
            f"calibration '{calibration.name}' was made for {_words(calibration)}, and the one that '{path}' keeps "
            f"under that name for {_words(kept)}; pass name= to calibrate() (--name) for another name, or remove that "
            "file",
            path=os.fspath(path),
        )
    return path


def _load(path: Path) -> Calibration | None:
    """None where there is none, or one that no call would take."""
    try:
        return load_calibration(path)
    except InvalidArgumentError:
        return None


def _timed(calibration: Calibration) -> tuple[str | None, ...]:
    made = calibration
    return made.device, made.partition, made.runtime, made.precision, made.input_on


def _words(calibration: Calibration) -> str:
    return f"{calibration.where()}, input on {calibration.input_on}"

"""Arguments of a call checked: what they are named, what was given, what is expected."""

from __future__ import annotations

import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from latpred.errors import InvalidArgumentError


def check_text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise InvalidArgumentError(f"{name} must be text, got {value!r}")


def check_path(name: str, value: Any, what: str) -> Path:
    """what: completes "must be"."""
    if isinstance(value, (str, os.PathLike)):
        return Path(value)
    raise InvalidArgumentError(f"{name} must be {what}, got {value!r}")


def check_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidArgumentError(f"{name} must be True or False, got {value!r}")


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Any integer that Python indexes with, numpy's too."""
    try:
        count = None if isinstance(value, bool) else operator.index(value)
    except TypeError:  # of an array too, which has __index__
        count = None
    if count is None or not least <= count < 2**63:
        raise InvalidArgumentError(f"{name} must be an integer >= {least}, got {value!r}")
    return count


def as_list(name: str, value: Any, kind: type) -> list[Any]:
    values = [value] if isinstance(value, kind) or not isinstance(value, Iterable) else list(value)
    if not values:
        raise InvalidArgumentError(f"{name} is empty; give at least one")
    return values

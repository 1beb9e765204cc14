"""Arguments of a call checked: what they are named, what was given, what is expected."""

from __future__ import annotations

import math
import numbers
import operator
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from latpred.errors import InvalidArgumentError

_LONGEST_SHOWN = 200  # of a value in an error


def value_text(value: Any) -> str:
    """How an error shows what was given: a table or a large array by its type alone."""
    text = repr(value)
    return text if len(text) <= _LONGEST_SHOWN and text.isprintable() else f"an object of type {type(value).__name__}"


def check_text(name: str, value: Any, what: str = "text") -> str:
    """what: completes "must be"."""
    if isinstance(value, str):
        return value
    raise InvalidArgumentError(f"{name} must be {what}, got {value_text(value)}")


def check_path(name: str, value: Any, what: str) -> Path:
    """what: completes "must be"."""
    if isinstance(value, (str, os.PathLike)):
        return Path(value)
    raise InvalidArgumentError(f"{name} must be {what}, got {value_text(value)}")


def check_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidArgumentError(f"{name} must be True or False, got {value_text(value)}")


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Any integer that Python indexes with, numpy's too."""
    try:
        count = None if isinstance(value, bool) else operator.index(value)
    except TypeError:  # of an array too, which has __index__
        count = None
    if count is None or not least <= count < 2**63:
        raise InvalidArgumentError(f"{name} must be an integer >= {least}, got {value_text(value)}")
    return count


def check_positive(name: str, value: Any) -> float:
    """Any real number, numpy's too."""
    number = float(value) if isinstance(value, numbers.Real) and not isinstance(value, bool) else math.nan
    if 0 < number < math.inf:
        return number
    raise InvalidArgumentError(f"{name} must be a finite number above 0, got {value_text(value)}")


def as_list(name: str, value: Any, kind: type) -> list[Any]:
    values = [value] if isinstance(value, kind) or not isinstance(value, Iterable) else list(value)
    if not values:
        raise InvalidArgumentError(f"{name} is empty; give at least one")
    return values

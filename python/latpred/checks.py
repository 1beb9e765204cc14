"""Arguments of a call checked: what they are named, what was given, what is expected."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from latpred.errors import InvalidArgumentError


def check_text(name: str, value: Any) -> str:
    if isinstance(value, str):
        return value
    raise InvalidArgumentError(f"{name} must be text, got {value!r}")


def check_flag(name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidArgumentError(f"{name} must be True or False, got {value!r}")


def check_count(name: str, value: Any, least: int = 1) -> int:
    """Any integer that Python indexes with, numpy's too."""
    if not isinstance(value, bool) and hasattr(value, "__index__") and least <= operator.index(value) < 2**63:
        return operator.index(value)
    raise InvalidArgumentError(f"{name} must be an integer >= {least}, got {value!r}")


def as_list(name: str, value: Any, kind: type) -> list[Any]:
    values = [value] if isinstance(value, kind) or not isinstance(value, Iterable) else list(value)
    if not values:
        raise InvalidArgumentError(f"{name} is empty; give at least one")
    return values

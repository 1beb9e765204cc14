"""What the fields of a campaign may hold, and in which form they are kept: lists as tuples, numbers as Python's."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from latpred.checks import check_count, check_positive, check_text
from latpred.datasets.recipe import parse
from latpred.errors import InvalidArgumentError

_SHOWN_CHARACTERS = 60


def _count_or_all(name: str, value: Any) -> int | None:
    return None if value is None else check_count(name, value)


_SINGLE: dict[str, Callable[[str, Any], Any]] = {
    "count": _count_or_all,
    "seed": partial(check_count, least=0),
    "name": check_text,
    "device": check_text,
    "protocol": check_text,
    "item_timeout_s": check_positive,
    "health_threshold": check_positive,
    "source": check_text,
    "licence": check_text,
}
_LISTS: dict[str, Callable[[str, Any], Any]] = {
    "runtimes": check_text,
    "precisions": check_text,
    "threads": check_count,
    "batches": check_count,
    "inputs": check_text,
    "quantities": check_text,
    "imports": check_text,
}
_MAY_BE_EMPTY = ("imports",)


def checked(name: str, value: Any) -> Any:
    """The field as it is kept."""
    if name == "recipes":
        return value if isinstance(value, str) else _checked_recipes(value)
    if name in _SINGLE:
        return _SINGLE[name](name, value)
    if not isinstance(value, (list, tuple)):
        raise InvalidArgumentError(f"{name} must be a list, got {value!r}")
    if not value and name not in _MAY_BE_EMPTY:
        raise InvalidArgumentError(f"{name} is empty; expected at least one")
    parts = tuple(_LISTS[name](name, part) for part in value)
    if len(set(parts)) != len(parts):
        raise InvalidArgumentError(f"{name} names something twice: {shown(parts)}")
    return parts


def _checked_recipes(recipes: Any) -> tuple[str, ...]:
    """Readable, and each once: an item that stands twice would be one row."""
    if not isinstance(recipes, (list, tuple)) or not recipes:
        raise InvalidArgumentError(
            f"recipes must be the name of a generator or a list with at least one recipe, got {recipes!r}"
        )
    first: dict[str, int] = {}
    for number, recipe in enumerate(recipes, 1):
        parse(check_text(f"recipe {number}", recipe))
        if recipe in first:
            raise InvalidArgumentError(f"recipe {number}, '{recipe}', is recipe {first[recipe]} once more")
        first[recipe] = number
    return tuple(recipes)


def shown(value: Any) -> str:
    """A field in a sentence."""
    text = ", ".join(str(part) for part in value) if isinstance(value, tuple) else str(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[: _SHOWN_CHARACTERS - 3]}..."

"""What a caller says about the inputs of a network: input="3,224,224", "128:int64", a tuple, or one for each name."""

from __future__ import annotations

import operator
import re
from collections.abc import Mapping, Sequence

from latpred.errors import InvalidArgumentError

# Sizes without the batch, and the type if the caller names one: what _core.resolve takes.
InputSize = tuple[list[int], str | None]
OneInput = str | Sequence[int]
Inputs = OneInput | Mapping[str, OneInput] | None

_FORMS = 'sizes without the batch, as "3,224,224", "128:int64" or (3, 224, 224), or a mapping {input name: sizes}'
_TEXT = re.compile(r"(?P<sizes>\d+(,\d+)*)?(:(?P<dtype>\w+))?")


def parse_inputs(value: Inputs) -> tuple[InputSize | None, dict[str, InputSize]]:
    """The size of the only input and the sizes by name; at most one of the two is there."""
    if value is None:
        return None, {}
    if isinstance(value, Mapping):
        if not value:
            raise InvalidArgumentError(f"input= is an empty mapping; expected {_FORMS}")
        for name in value:
            if not isinstance(name, str):
                raise InvalidArgumentError(f"input= has the key {name!r}; expected the names of inputs")
        return None, {name: _parse_one(sizes, f"input={{{name!r}: ...}}") for name, sizes in value.items()}
    return _parse_one(value, "input="), {}


def _parse_one(value: OneInput, where: str) -> InputSize:
    if isinstance(value, str):
        match = _TEXT.fullmatch(re.sub(r"\s+", "", value))
        if match is None or not match[0]:
            raise InvalidArgumentError(f"{where} got {value!r}; expected {_FORMS}")
        sizes = [int(size) for size in match["sizes"].split(",")] if match["sizes"] else []
        dtype = match["dtype"]
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        sizes = [_size(size, where) for size in value]
        dtype = None
    else:
        raise InvalidArgumentError(f"{where} got {value!r}; expected {_FORMS}")
    for size in sizes:
        if size < 1:
            raise InvalidArgumentError(f"{where} got the size {size} in {value!r}; sizes are >= 1")
    return sizes, dtype


def _size(value: object, where: str) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgumentError(f"{where} got {value!r} as a size; expected an integer") from None

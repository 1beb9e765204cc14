"""What a caller says about the inputs of a network: input="3,224,224", "128:int64", a tuple, or one for each name."""

from __future__ import annotations

import operator
import re
from collections.abc import Collection, Mapping, Sequence
from typing import NamedTuple

from latpred.errors import InvalidArgumentError

BATCH = "batch"  # where it stands among the sizes, if not first


class InputSize(NamedTuple):
    """What _core.resolve takes of one input."""

    sizes: list[int]  # without the batch
    dtype: str | None = None  # if the caller names one
    batch_position: int | None = None  # among all sizes; None: as the file says, or first

    def with_batch(self, batch: int) -> tuple[int, ...]:
        """All sizes."""
        place = self.batch_position or 0
        return (*self.sizes[:place], batch, *self.sizes[place:])


OneInput = str | Sequence[int | str]
Inputs = OneInput | Mapping[str, OneInput] | None

_FORMS = (
    'sizes without the batch, as "3,224,224", "128:int64" or (3, 224, 224), or a mapping {input name: sizes}; a batch '
    'that does not stand first is named: "20,batch,64"'
)
_SIZE = rf"(\d+|{BATCH})"
_TEXT = re.compile(rf"(?P<sizes>{_SIZE}(,{_SIZE})*)?(:(?P<dtype>\w+))?")


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
    words: Sequence[int | str]
    if isinstance(value, str):
        match = _TEXT.fullmatch(re.sub(r"\s+", "", value))
        if match is None or not match[0]:
            raise InvalidArgumentError(f"{where} got {value!r}; expected {_FORMS}")
        words = [word if word == BATCH else int(word) for word in (match["sizes"] or "").split(",") if word]
        dtype = match["dtype"]
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        words, dtype = value, None
    else:
        raise InvalidArgumentError(f"{where} got {value!r}; expected {_FORMS}")
    places = [place for place, word in enumerate(words) if word == BATCH]
    if len(places) > 1:
        raise InvalidArgumentError(f"{where} names the batch twice in {value!r}; an input has one")
    sizes = [_size(word, where) for word in words if word != BATCH]
    for size in sizes:
        if size < 1:
            raise InvalidArgumentError(f"{where} got the size {size} in {value!r}; sizes are >= 1")
    return InputSize(sizes, dtype, places[0] if places else None)


def with_batch_second(input: Inputs, names: Collection[str], counts: Collection[int] = (1, 2)) -> Inputs:
    """`input` with the batch named second, behind the steps, where inputs of these `names` have so many other sizes:
    [steps], numbers of words, or [steps, size]."""
    if isinstance(input, Mapping):
        return {name: _with_batch_second(value, counts) if name in names else value for name, value in input.items()}
    return _with_batch_second(input, counts) if input is not None and names else input


def _with_batch_second(value: OneInput, counts: Collection[int]) -> OneInput:
    if not isinstance(value, Sequence):
        return value  # a number or flag of forward's
    size = _parse_one(value, "input=")
    if size.batch_position is not None or len(size.sizes) not in counts:
        return value
    first, *others = size.sizes
    return ",".join(map(str, (first, BATCH, *others))) + (f":{size.dtype}" if size.dtype else "")


def named_batches(input: Inputs) -> Inputs:
    """Of `input` what says where a batch stands."""
    if isinstance(input, Mapping):
        return {name: value for name, value in input.items() if _names_batch(value)} or None
    return input if input is not None and _names_batch(input) else None


def _names_batch(value: object) -> bool:
    return isinstance(value, Sequence) and _parse_one(value, "input=").batch_position is not None


def _size(value: object, where: str) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise InvalidArgumentError(f"{where} got {value!r} as a size; expected an integer") from None

"""What a caller says about the inputs of a network: input="3,224,224", "128:int64", a tuple, or one for each name."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from latpred._core import NO_BATCH
from latpred.errors import InvalidArgumentError

BATCH = "batch"  # where it stands among the sizes, if not first
UNBATCHED = "unbatched"  # before the sizes of an input that has no batch


class InputSize(NamedTuple):
    """What _core.resolve takes of one input."""

    sizes: list[int]  # without the batch
    dtype: str | None = None  # if the caller names one
    batch_position: int | None = None  # among all sizes, or NO_BATCH; None: as the file says, or first

    def with_batch(self, batch: int) -> tuple[int, ...]:
        """All sizes."""
        if self.batch_position == NO_BATCH:
            return tuple(self.sizes)
        place = self.batch_position or 0
        return (*self.sizes[:place], batch, *self.sizes[place:])


OneInput = str | Sequence[int | str]
Inputs = OneInput | Mapping[str, OneInput] | None

_FORMS = (
    'sizes without the batch, as "3,224,224", "128:int64" or (3, 224, 224), or a mapping {input name: sizes}; a batch '
    'that does not stand first is named: "20,batch,64", and an input without one says so: "unbatched,20,20"'
)
_SIZE = rf"(\d+|{BATCH}|{UNBATCHED})"
_TEXT = re.compile(rf"(?P<sizes>{_SIZE}(,{_SIZE})*)?(:(?P<dtype>\w+))?")


def shown(value: object) -> str:
    """As messages have it: of an array or a tensor its type and sizes, not what is in it."""
    if getattr(value, "shape", ()):
        return f"{type(value).__name__} {list(value.shape)}"  # type: ignore[attr-defined]
    if isinstance(value, (list, tuple)):
        return f"({', '.join(map(shown, value))})"
    return repr(value)


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
        words = [int(word) if word.isdigit() else word for word in (match["sizes"] or "").split(",") if word]
        dtype = match["dtype"]
    elif isinstance(value, Sequence) and not isinstance(value, bytes):
        words, dtype = value, None
    else:
        raise InvalidArgumentError(f"{where} got {shown(value)}; expected {_FORMS}")
    names = [word if isinstance(word, str) else "" for word in words]  # of numbers, arrays and the like: none
    is_unbatched = names[:1] == [UNBATCHED]
    places = [place for place, name in enumerate(names) if name == BATCH]
    if UNBATCHED in names[1:] or (is_unbatched and places):
        raise InvalidArgumentError(f"{where} got {value!r}; {UNBATCHED!r} stands before sizes, none of them the batch")
    if len(places) > 1:
        raise InvalidArgumentError(f"{where} names the batch twice in {value!r}; an input has one")
    sizes = [_size(word, where) for word, name in zip(words, names, strict=True) if name not in (BATCH, UNBATCHED)]
    for size in sizes:
        if size < 1:
            raise InvalidArgumentError(f"{where} got the size {size} in {value!r}; sizes are >= 1")
    return InputSize(sizes, dtype, NO_BATCH if is_unbatched else places[0] if places else None)


def with_batch_second(input: Inputs, names: Collection[str], counts: Collection[int] = (1, 2)) -> Inputs:
    """`input` with the batch named second, behind the steps, where inputs of these `names` have so many other sizes:
    [steps], numbers of words, or [steps, size]."""
    return _respelled(input, names, counts, lambda sizes: (sizes[0], BATCH, *sizes[1:]))


def without_batch(input: Inputs, names: Collection[str], count: int) -> Inputs:
    """`input` with inputs of these `names` said to have no batch where they have so many sizes; the only input has."""
    if not isinstance(input, Mapping):
        return input
    return _respelled(input, names, (count,), lambda sizes: (UNBATCHED, *sizes))


Spelling = Callable[[list[int]], tuple[int | str, ...]]  # of sizes without the batch


def _respelled(input: Inputs, names: Collection[str], counts: Collection[int], spelling: Spelling) -> Inputs:
    if isinstance(input, Mapping):
        return {
            name: _respelled_one(value, counts, spelling) if name in names else value for name, value in input.items()
        }
    return _respelled_one(input, counts, spelling) if input is not None and names else input


def _respelled_one(value: OneInput, counts: Collection[int], spelling: Spelling) -> OneInput:
    if not isinstance(value, Sequence):
        return value  # a number or flag of forward's
    size = _parse_one(value, "input=")
    if size.batch_position is not None or len(size.sizes) not in counts:
        return value
    return ",".join(map(str, spelling(size.sizes))) + (f":{size.dtype}" if size.dtype else "")


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
        raise InvalidArgumentError(f"{where} got {shown(value)} as a size; expected {_FORMS}") from None

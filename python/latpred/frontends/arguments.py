"""What forward() is called with: input= and batch= as tensors without content, bound to forward's own names."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter
from typing import Any

from latpred.errors import InvalidArgumentError
from latpred.inputs import InputSize, parse_inputs, shown

# Names of types as input= spells them; torch has the same ones.
DTYPES = (
    *("float32", "float16", "bfloat16", "float64", "int64", "int32", "int16", "int8", "uint8", "bool"),
    *("complex64", "complex128"),
)

# An input of one of these names is a row of token numbers unless the caller says otherwise.
_TOKEN_NAMES = ("input_ids", "decoder_input_ids", "token_type_ids", "attention_mask", "decoder_attention_mask")

_POSITIONAL = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)

# For the message that asks for input=.
_EXAMPLE = '"3,224,224" or "128:int64", sizes without the batch'


@dataclass(frozen=True)
class TensorInput:
    """One tensor: all sizes, the batch included; dtype None: that of the module's weights."""

    shape: tuple[int, ...]
    dtype: str | None

    def __str__(self) -> str:
        return f"{self.dtype or 'tensor'} [{', '.join(map(str, self.shape))}]"


@dataclass(frozen=True)
class CallArguments:
    """The arguments of one call of forward: TensorInput, or a plain value that is passed as it is."""

    positional: tuple[Any, ...] = ()
    keyword: Mapping[str, Any] = field(default_factory=dict)
    names: tuple[str, ...] = ()  # of all of them, positional ones first

    def describe(self) -> str:
        return ", ".join(
            f"{name} {value}"
            for name, value in zip(self.names, (*self.positional, *self.keyword.values()), strict=True)
        )


def bind(parameters: Sequence[Parameter], input: Any, batch: int, what: str, main: str | None = None) -> CallArguments:
    """The arguments for a forward with these parameters; `what` names the module in messages.

    input: sizes without the batch for the only input, or {parameter name: sizes, or a plain number or flag}.
    main: the parameter that the only input goes to, where not the first.
    """
    if input is None:
        names = [parameter.name for parameter in _required(parameters)]
        raise InvalidArgumentError(
            f"{what} needs input=: it has {_signature(parameters)}; give {_EXAMPLE}"
            + (f", or a mapping {{{', '.join(f'{name!r}: ...' for name in names)}}}" if len(names) > 1 else "")
        )
    if isinstance(input, Mapping):
        return _bind_names(parameters, input, batch, what)
    required = _required(parameters)
    if len(required) > 1:
        listed = ", ".join(f'"{parameter.name}": ...' for parameter in required)
        raise InvalidArgumentError(
            f"input={shown(input)} is one input, but {what} needs {len(required)}: it has {_signature(parameters)}; "
            f"give a mapping: input={{{listed}}}"
        )
    named = [parameter for parameter in parameters if parameter.name == main]
    first = (named or required or [_first_positional(parameters, what)])[0]
    only, _ = parse_inputs(input)
    assert only is not None
    value = _tensor_input(first.name, only, batch)
    if first.kind in (*_POSITIONAL, Parameter.VAR_POSITIONAL):
        return CallArguments((value,), {}, (first.name,))
    return CallArguments((), {first.name: value}, (first.name,))


def _bind_names(parameters: Sequence[Parameter], input: Mapping[Any, Any], batch: int, what: str) -> CallArguments:
    plain = {name: value for name, value in input.items() if isinstance(value, (bool, int, float)) or value is None}
    _, sizes = parse_inputs({name: value for name, value in input.items() if name not in plain} or None)
    values: dict[str, Any] = {
        name: plain[name] if name in plain else _tensor_input(name, sizes[name], batch) for name in input
    }
    known = {parameter.name: parameter for parameter in parameters}
    takes_any = any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters)
    unknown = [name for name in values if name not in known and not takes_any]
    missing = [parameter.name for parameter in _required(parameters) if parameter.name not in values]
    if unknown or missing:
        problem = f"names {unknown[0]!r}, which it does not take" if unknown else f"leaves out {missing[0]!r}"
        raise InvalidArgumentError(
            f"input= {problem}: {what} has {_signature(parameters)}",
            valid=[name for name, parameter in known.items() if parameter.kind is not Parameter.VAR_KEYWORD],
        )
    # As many as can be given by position, as a caller would write them; what follows a gap goes by name.
    positional: dict[str, Any] = {}
    for parameter in parameters:
        if parameter.kind not in (*_POSITIONAL, Parameter.VAR_POSITIONAL) or parameter.name not in values:
            break
        positional[parameter.name] = values.pop(parameter.name)
    return CallArguments(tuple(positional.values()), values, (*positional, *values))


def _tensor_input(name: str, given: InputSize, batch: int) -> TensorInput:
    dtype = given.dtype
    if dtype is not None and dtype not in DTYPES:
        raise InvalidArgumentError(
            f"input {name!r} has the type {dtype!r}; known types: {', '.join(DTYPES)}", valid=DTYPES
        )
    if dtype is None and name in _TOKEN_NAMES:
        dtype = "int64"
    return TensorInput(given.with_batch(batch), dtype)


def _required(parameters: Sequence[Parameter]) -> list[Parameter]:
    kinds = (*_POSITIONAL, Parameter.KEYWORD_ONLY)
    return [p for p in parameters if p.kind in kinds and p.default is Parameter.empty]


def _first_positional(parameters: Sequence[Parameter], what: str) -> Parameter:
    for parameter in parameters:
        if parameter.kind is not Parameter.VAR_KEYWORD:
            return parameter
    raise InvalidArgumentError(f"input= is given, but {what} has {_signature(parameters)}, which takes no input")


def _signature(parameters: Sequence[Parameter]) -> str:
    bare = [parameter.replace(annotation=Parameter.empty) for parameter in parameters]
    return f"forward{inspect.Signature(bare)}"

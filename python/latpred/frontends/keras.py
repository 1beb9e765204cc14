"""Keras files with classes that are not Keras's own: loaded by Keras on its torch backend, then captured as any module.

safe_mode stays on: what a file says is code is not run. Classes must be registered where Keras can find them.
"""

from __future__ import annotations

from typing import Any

import torch

from latpred._core import unknown_name_message
from latpred.errors import InvalidArgumentError, ModelFileError
from latpred.frontends import torch_export
from latpred.frontends.arguments import CallArguments, TensorInput
from latpred.frontends.capture_error import capture_error
from latpred.frontends.child import Reply
from latpred.frontends.fake_module import quiet
from latpred.inputs import parse_inputs

# Keras's own words for a class that it cannot find, and for code that safe_mode keeps from running.
_UNKNOWN_CLASS_WORDS = ("Could not locate class", "Unknown layer", "Could not locate function")
_UNSAFE_WORDS = ("safe_mode", "Lambda", "lambda")


def capture(request: dict[str, Any]) -> Reply:
    """What the child process runs, whose environment names Keras's backend: request has path, batch and input."""
    path = request["path"]
    with quiet():
        import keras

        try:
            module = keras.saving.load_model(path, compile=False, safe_mode=True)
        except Exception as error:
            raise ModelFileError(_refusal(path, str(error)), path=path) from error
        arguments = _arguments(module, path, request["input"], request["batch"])
        # Keras's variables hold their tensors themselves: fakes in their module's place would leave them unknown.
        examples = tuple(
            torch.zeros(value.shape, dtype=getattr(torch, value.dtype or "float32")) for value in arguments.positional
        )
        try:
            with torch.no_grad():
                program = torch.export.export(module.eval(), examples, strict=False)
        except Exception as error:
            raise capture_error(error, module, arguments) from error
        return torch_export.from_exported_program(program).reply()


def _arguments(module: Any, path: str, input: Any, batch: int) -> CallArguments:
    """The network's own input, whose open sizes `input` fills; Keras's forward has no names for it."""
    tensors = module.inputs
    if len(tensors) != 1:
        raise ModelFileError(
            f"'{path}' has {len(tensors)} inputs; a network with classes of others is read with one only", path=path
        )
    name, dtype, sizes = str(tensors[0].name), str(tensors[0].dtype), list(tensors[0].shape[1:])
    only, by_name = parse_inputs(input)
    for other in by_name:
        if other != name:
            raise InvalidArgumentError(
                f"{unknown_name_message('input', other, [name])}; it is the only one of '{path}'", valid=[name]
            )
    given = only if only is not None else by_name.get(name)
    if given is not None:
        asked, asked_dtype, place = given
        if place:
            raise InvalidArgumentError(
                f"input= has the batch of {name!r} in another place, or none; Keras has it first"
            )
        if len(asked) != len(sizes) or any(size not in (None, new) for size, new in zip(sizes, asked, strict=True)):
            raise InvalidArgumentError(f"input {asked} does not match {name!r} {sizes} in '{path}'")
        if asked_dtype not in (None, dtype):
            raise InvalidArgumentError(
                f"input {name!r} of '{path}' is of type {dtype}, {asked_dtype} is asked for: leave the type out",
                valid=[dtype],
            )
        sizes = list(asked)
    if None in sizes:
        raise InvalidArgumentError(f"the sizes of input {name!r} {sizes} in '{path}' are open: give input=")
    return CallArguments((TensorInput((batch, *sizes), dtype),), {}, (name,))


def _refusal(path: str, message: str) -> str:
    lines = [line for line in message.splitlines() if line.strip()] or ["no reason given"]
    first = lines[0]
    unknown = [line for line in lines if any(word in line for word in _UNKNOWN_CLASS_WORDS)]
    if unknown:
        reason = unknown[0].split(" Full object config")[0]
        return (
            f"'{path}' has a class that Keras does not know: {reason} Export it where the class is defined: "
            "model.export('folder') writes a SavedModel, which latpred reads"
        )
    if any(word in message for word in _UNSAFE_WORDS):
        return f"'{path}' holds Python code, which is not run: {first}"
    return f"Keras cannot read '{path}': {first}"

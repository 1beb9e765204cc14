"""From what the caller hands over to a Program: live objects in this process, files that need a framework in a child.

Nothing is imported to find out what an object is: an object of a framework can only exist where that framework has been
imported already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.errors import InvalidArgumentError, ModelFileError
from latpred.frontends import FALLBACK_FRONTENDS, FILE_FRONTENDS, child
from latpred.inputs import Inputs, named_batches, with_batch_second, without_batch

if TYPE_CHECKING:
    from latpred.frontends.torch_export import Captured

# Parameters of torch's own layers of attention: [steps, steps], or of three sizes with one for each head of the batch.
_ATTENTION_MASKS = ("attn_mask", "mask", "memory_mask", "src_mask", "tgt_mask")

# Captures switch global flags of torch and the module's own; one at a time.
_CAPTURING = Lock()


@dataclass(frozen=True)
class LiveProgram:
    """A Program, and input= as it was read with."""

    program: _core.Program
    input: Inputs
    is_sized: bool  # its sizes are those that were asked for already
    steps_first: frozenset[str] = frozenset()  # inputs that recurrent layers read so: their batch stands second

    @property
    def open_input(self) -> Inputs:
        """What resolve() still has to be told."""
        return named_batches(self.input) if self.is_sized else self.input


@dataclass(frozen=True)
class _ModelKind:
    what: str
    package: str
    classes: Callable[[Any], Sequence[type]]  # of the imported package
    read: Callable[..., LiveProgram]  # of the object, input, batch and is_swept


def read_model(model: Any, input: Any, batch: int, *, is_swept: bool = False) -> LiveProgram:
    """What a live object says. is_swept: one of many captures, made by the faster recorder."""
    for kind in _MODEL_KINDS:
        package = sys.modules.get(kind.package)
        if package is not None and isinstance(model, tuple(kind.classes(package))):
            with _CAPTURING:
                read = partial(kind.read, model, batch=batch, is_swept=is_swept)
                return _with_batches_in_place(read, input)
    raise InvalidArgumentError(
        f"model= takes {', '.join(kind.what for kind in _MODEL_KINDS[:-1])} or {_MODEL_KINDS[-1].what}, "
        f"got {type(model).__name__}; {_advice(model)}"
    )


def _with_batches_in_place(read: Callable[[Inputs], LiveProgram], input: Inputs) -> LiveProgram:
    """Reads again, with the batch second, what turns out to take its steps first."""
    live = read(input)
    placed = with_batch_second(live.input, live.steps_first)
    return live if placed == live.input else read(placed)


def input_in_place(module: Any, input: Any, batch: int) -> Any:
    """`input` of a torch.nn.Module with batches where the module has them."""
    from latpred.frontends import torch_export

    return read_model(module, input, batch).input if torch_export.has_steps_first(module) else input


def _advice(model: Any) -> str:
    if isinstance(model, (str, os.PathLike)):
        return "the name of a file goes to path="
    if isinstance(model, _core.Graph):
        return "a Graph goes to graph="
    if isinstance(model, type):
        return f"make one: model={model.__name__}(...)"
    if isinstance(model, Mapping):
        return "a state dict holds weights only, no graph: pass the module that they are of, as model=net"
    return "save it as a file that latpred reads and give path=, or build it with latpred.GraphBuilder and give graph="


def _read_module(module: Any, input: Any, batch: int, is_swept: bool) -> LiveProgram:
    from latpred.frontends import torch_export

    if torch_export.is_attention(module):
        input = without_batch(input, _ATTENTION_MASKS, count=2)
    if torch_export.takes_steps_first(module):
        names = [parameter.name for parameter in torch_export.parameters_of(module)]
        input = with_batch_second(input, names, counts=(2,))  # masks of one size have their batch first
    arguments = torch_export.call_arguments(module, input, batch)
    if is_swept:
        from latpred.frontends import recorder

        captured = recorder.record(module, arguments)
    else:
        captured = torch_export.export(module, arguments)
    return _sized(_program_of(captured), input)


def _read_exported(program: Any, input: Any, batch: int, is_swept: bool) -> LiveProgram:
    from latpred.frontends import torch_export

    captured = torch_export.from_exported_program(program)
    return LiveProgram(_program_of(captured), input, is_sized=False)


def _read_script(module: Any, input: Any, batch: int, is_swept: bool) -> LiveProgram:
    from latpred.frontends import torchscript

    return _sized(_program_of(torchscript.from_live(module, input, batch)), input)


def _read_config(config: Any, input: Any, batch: int, is_swept: bool) -> LiveProgram:
    from latpred.frontends import huggingface

    return _read_module(huggingface.build(config), input, batch, is_swept)


# The first that fits: a ScriptModule is a Module too.
_MODEL_KINDS: Sequence[_ModelKind] = (
    _ModelKind("a TorchScript module", "torch", lambda torch: [torch.jit.ScriptModule], _read_script),
    _ModelKind("a torch.nn.Module", "torch", lambda torch: [torch.nn.Module], _read_module),
    _ModelKind("a torch.export.ExportedProgram", "torch", lambda torch: [torch.export.ExportedProgram], _read_exported),
    _ModelKind("a config of transformers", "transformers", lambda hf: [hf.PretrainedConfig], _read_config),
)


def _program_of(captured: Captured) -> _core.Program:
    return _program(captured.document, captured.weights, captured.name, captured.warnings)


def _sized(program: _core.Program, input: Inputs) -> LiveProgram:
    return LiveProgram(program, input, is_sized=True, steps_first=frozenset(_core.inputs_with_steps_first(program)))


def _program(document: bytes, weights: Mapping[str, str], name: str, warnings: Sequence[str] = ()) -> _core.Program:
    program = _core.read_exported_program(document, dict(weights), name)
    for text in warnings:
        program.warn(text)
    return program


def read_file(file: Any, input: Any, batch: int, *, allow_pickle: bool) -> LiveProgram:
    """What a file of one of FILE_FRONTENDS or FALLBACK_FRONTENDS says; `file`: from _core.sniff_path."""
    if file.kind == "torch_module" and not allow_pickle:
        raise ModelFileError(file.message, path=file.path)
    sizes = (
        dict(input) if isinstance(input, Mapping) else input if isinstance(input, (str, type(None))) else list(input)
    )
    frontend = FILE_FRONTENDS.get(file.kind) or FALLBACK_FRONTENDS[file.kind]

    def read(placed: Any) -> LiveProgram:
        reply = child.run(frontend, {"path": file.path, "input": placed, "batch": batch})
        facts = reply.facts
        return _sized(_program(reply.document, facts["weights"], file.path, facts["warnings"]), placed)

    return _with_batches_in_place(read, sizes)

"""From what the caller hands over to a Program: live objects in this process, files that need a framework in a child.

Nothing is imported to find out what an object is: an object of a framework can only exist where that framework has been
imported already.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import Any

from latpred import _core
from latpred.errors import InvalidArgumentError, ModelFileError
from latpred.frontends import FALLBACK_FRONTENDS, FILE_FRONTENDS, child

# Captures switch global flags of torch and the module's own; one at a time.
_CAPTURING = Lock()


@dataclass(frozen=True)
class LiveProgram:
    """A Program, and whether its sizes are those that were asked for already."""

    program: _core.Program
    is_sized: bool


@dataclass(frozen=True)
class _ModelKind:
    what: str
    package: str
    classes: Callable[[Any], Sequence[type]]  # of the imported package
    read: Callable[[Any, Any, int, bool], LiveProgram]


def read_model(model: Any, input: Any, batch: int, *, is_swept: bool = False) -> LiveProgram:
    """What a live object says. is_swept: one of many captures, made by the faster recorder."""
    for kind in _MODEL_KINDS:
        package = sys.modules.get(kind.package)
        if package is not None and isinstance(model, tuple(kind.classes(package))):
            with _CAPTURING:
                return kind.read(model, input, batch, is_swept)
    raise InvalidArgumentError(
        f"model= takes {', '.join(kind.what for kind in _MODEL_KINDS[:-1])} or {_MODEL_KINDS[-1].what}, "
        f"got {type(model).__name__}; {_advice(model)}"
    )


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

    arguments = torch_export.call_arguments(module, input, batch)
    if is_swept:
        from latpred.frontends import recorder

        captured = recorder.record(module, arguments)
    else:
        captured = torch_export.export(module, arguments)
    return LiveProgram(_program(captured.document, captured.weights, captured.name, captured.warnings), is_sized=True)


def _read_exported(program: Any, input: Any, batch: int, is_swept: bool) -> LiveProgram:
    from latpred.frontends import torch_export

    captured = torch_export.from_exported_program(program)
    return LiveProgram(_program(captured.document, captured.weights, captured.name), is_sized=False)


def _read_script(module: Any, input: Any, batch: int, is_swept: bool) -> LiveProgram:
    from latpred.frontends import torchscript

    captured = torchscript.from_live(module, input, batch)
    return LiveProgram(_program(captured.document, captured.weights, captured.name, captured.warnings), is_sized=True)


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
    reply = child.run(frontend, {"path": file.path, "input": sizes, "batch": batch})
    facts = reply.facts
    return LiveProgram(_program(reply.document, facts["weights"], file.path, facts["warnings"]), is_sized=True)

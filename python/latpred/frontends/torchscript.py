"""TorchScript archives: executed once on the meta device, where no tensor has content, by the recorder.

An archive holds code of TorchScript's own language. Its interpreter runs it; the operators come by the same key as
those of a live module, so that both have the same words. torch.jit.load gives the weights no memory on meta.
"""

from __future__ import annotations

import io
from inspect import Parameter
from typing import Any

import torch
from torch.utils import _pytree as pytree

from latpred.frontends.arguments import CallArguments, bind
from latpred.frontends.aten_document import AtenDocument
from latpred.frontends.child import Reply
from latpred.frontends.fake_module import identity_key, quiet
from latpred.frontends.recorder import recording
from latpred.frontends.torch_export import Captured, capture_error, fake_arguments

DEPRECATED = (
    "TorchScript is deprecated in favour of torch.export: a .pt2 file of the same network, made with "
    "torch.export.save(torch.export.export(module, inputs), 'model.pt2'), is read without torch"
)


def capture(request: dict[str, Any]) -> Reply:
    """What the child process runs: request has path, batch and input."""
    with quiet():
        # The deprecation is told once, in the Graph's warnings.
        module = torch.jit.load(request["path"], map_location="meta")
    captured = record_script(module, request["input"], request["batch"], "the TorchScript module")
    return captured.reply()


def from_live(module: Any, input: Any, batch: int) -> Captured:
    """The document of a ScriptModule in this process, by a copy of it without weights."""
    stored = io.BytesIO()
    with quiet():
        torch.jit.save(module, stored)
        stored.seek(0)
        copy = torch.jit.load(stored, map_location="meta")
    return record_script(copy, input, batch, type(module).__name__)


def record_script(module: Any, input: Any, batch: int, what: str) -> Captured:
    """The document of a ScriptModule whose tensors are on meta."""
    arguments = bind(_parameters(module), input, batch, what)
    document = AtenDocument()
    module.eval()
    with quiet(), torch.no_grad(), torch.jit.optimized_execution(False):
        positional, keyword = fake_arguments(module, arguments)
        for name, value in zip(arguments.names, (*positional, *keyword.values()), strict=True):
            if isinstance(value, torch.Tensor):
                document.add_user_input(name, value)
        for name, parameter in module.named_parameters():
            document.add_weight(name, parameter, "parameter")
        for name, buffer in module.named_buffers():
            document.add_weight(name, buffer, "buffer")
        results = _run(module, arguments, positional, keyword, document)
        leaves = [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]
        named = [*module.named_parameters(), *module.named_buffers()]
        keys = {name: identity_key(tensor) for name, tensor in named}
        name = module.original_name or type(module).__name__
        return Captured(document.finish(leaves), keys, name, [DEPRECATED])


def _run(module: Any, arguments: CallArguments, positional: Any, keyword: Any, document: AtenDocument) -> Any:
    try:
        with recording(document):
            return module(*positional, **keyword)
    except Exception as error:
        raise capture_error(error, module, arguments) from error


def _parameters(module: Any) -> list[Parameter]:
    """forward's arguments as inspect has them for a Python function."""
    return [
        Parameter(
            argument.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=argument.default_value if argument.has_default_value() else Parameter.empty,
        )
        for argument in module.forward.schema.arguments
        if argument.name != "self"
    ]

"""The same document as torch.export's, several times faster: forward runs once and every operator is written down.

A mode at torch's PreDispatch key sees each operator call where export sees it, above autograd and above every
decomposition, so that both have the same words for the same network. What export needs besides (proxies, guards, a
graph with metadata) is left out. Whatever the recorder cannot name goes to export, with a warning.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator
from typing import Any

import torch
from torch._dispatch.python import enable_python_dispatcher
from torch._subclasses.schema_check_mode import SchemaCheckMode
from torch.utils import _pytree as pytree
from torch.utils._python_dispatch import TorchDispatchMode

from latpred.errors import LatpredError
from latpred.frontends import torch_export
from latpred.frontends.arguments import CallArguments
from latpred.frontends.aten_document import AtenDocument, CannotRecordError
from latpred.frontends.child import first_line
from latpred.frontends.fake_module import fake_mode, fast_norms, inference, unwrapped, weight_keys
from latpred.frontends.torch_export import Captured

# Calls that export writes down as another one: a literal in forward is a constant that each call copies.
_AS_EXPORTED = {torch.ops.aten.lift_fresh.default: torch.ops.aten.lift_fresh_copy.default}

AUTOCAST_KEY = "latpred_autocast"  # of a node's metadata: read by readers/torch/exported_graph.cpp


class Recorder(SchemaCheckMode):  # type: ignore[misc]
    """Writes every operator call into a document. torch lets three classes of modes stand at the PreDispatch key; of
    SchemaCheckMode only that right is used.
    """

    def __init__(self, document: AtenDocument) -> None:
        TorchDispatchMode.__init__(self, torch._C.DispatchKey.PreDispatch)
        self.document = document

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if torch._C._is_any_autocast_enabled():
            raise CannotRecordError("autocast inside forward")
        result = func(*args, **kwargs)
        if any(isinstance(item, torch.Tensor) for item in pytree.tree_leaves(result)):
            self.document.add_call(_AS_EXPORTED.get(func, func), args, kwargs, result)
        elif func._schema.is_mutable:
            raise CannotRecordError(f"{func._schema.name}, which changes tensors and returns none")
        return result


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Inside, operator calls go into the recorder's document, told as torch.export tells them."""
    with _as_in_export(), enable_python_dispatcher(), recorder:
        yield


@contextlib.contextmanager
def _as_in_export() -> Iterator[None]:
    """What torch.export switches while it runs forward: modules ask whether they are exported, and operators take no
    road of one back end's own.
    """
    backends = [torch.backends.mkldnn, torch.backends.nnpack, torch.backends.cudnn]
    flags = [backend.set_flags(False) for backend in backends]
    compiling, exporting = torch.compiler._is_compiling_flag, torch.compiler._is_exporting_flag
    torch.compiler._is_compiling_flag = torch.compiler._is_exporting_flag = True
    try:
        yield
    finally:
        torch.compiler._is_compiling_flag, torch.compiler._is_exporting_flag = compiling, exporting
        for backend, before in zip(backends, flags, strict=True):
            backend.set_flags(*before)


def record(module: Any, arguments: CallArguments) -> Captured:
    """The document of a live module at these arguments, as torch_export.export gives it. What timm's fast norms run is
    marked: they leave autocast's lists and compute in its half type."""
    inner = unwrapped(module)
    try:
        return _record(inner, arguments)
    except LatpredError:
        raise
    except Exception as error:  # noqa: BLE001
        # Another try with the slow way: it takes more, and where it fails too, its words are the better ones.
        captured = torch_export.export(module, arguments)
        warning = f"recorded by torch.export, the slower way: the recorder met {first_line(error)}"
        return Captured(captured.document, captured.weights, captured.name, [*captured.warnings, warning])


def _record(module: Any, arguments: CallArguments) -> Captured:
    keys = weight_keys(module)
    mode = fake_mode()
    document = AtenDocument()
    with inference(module, mode):
        positional, keyword = torch_export.fake_arguments(module, arguments, mode)
        for name, value in zip(arguments.names, (*positional, *keyword.values()), strict=True):
            if isinstance(value, torch.Tensor):
                document.add_user_input(name, value)
        _add_weights(document, module)
        with mode, recording(Recorder(document)), _marked(document, fast_norms(module)):
            results = module(*positional, **keyword)
        leaves = [leaf for leaf in pytree.tree_leaves(results) if leaf is not None]
        return Captured(document.finish(leaves), keys, type(module).__name__)


@contextlib.contextmanager
def _marked(document: AtenDocument, in_half: Collection[Any]) -> Iterator[None]:
    def enter(*_: Any) -> None:
        document.metadata = {AUTOCAST_KEY: "half"}

    def leave(*_: Any) -> None:
        document.metadata = {}

    handles = [module.register_forward_pre_hook(enter) for module in in_half]
    handles += [module.register_forward_hook(leave) for module in in_half]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


def _add_weights(document: AtenDocument, module: Any) -> None:
    for name, parameter in module.named_parameters(remove_duplicate=False):
        document.add_weight(name, parameter, "parameter")
    persistent = module.state_dict(keep_vars=True).keys()
    for name, buffer in module.named_buffers(remove_duplicate=False):
        document.add_weight(name, buffer, "buffer", is_persistent=name in persistent)

"""TorchScript archives: executed once by TorchScript's own interpreter on tensors without content, and recorded.

The operators come by the same key as those of a live module, so that both have the same words. torch.jit.load gives
the weights no memory on meta. It has no way to leave constants of the code their content there, which a trace computes
sizes with: an archive that has some is loaded whole, and its weights are then replaced.
"""

from __future__ import annotations

import io
from inspect import Parameter
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, unset_fake_temporarily
from torch.utils import _pytree as pytree

from latpred.frontends.arguments import bind
from latpred.frontends.aten_document import AtenDocument
from latpred.frontends.capture_error import capture_error, name_of
from latpred.frontends.child import Reply
from latpred.frontends.fake_module import fake, fake_mode, identity_key, quiet
from latpred.frontends.recorder import Recorder, recording
from latpred.frontends.torch_export import Captured, fake_arguments

DEPRECATED = (
    "TorchScript is deprecated in favour of torch.export: a .pt2 file of the same network, made with "
    "torch.export.save(torch.export.export(module, inputs), 'model.pt2'), is read without torch"
)

_CONSTANTS = "constants/"  # of the archive's records: tensors that stand in its code


class ScriptRecorder(Recorder):
    """Leaves out what a trace does with single numbers outside of any weight or input: sizes, which the interpreter
    computes as tensors on the host, and with their content.
    """

    def __init__(self, document: AtenDocument) -> None:
        super().__init__(document)
        self.raised: BaseException | None = None  # the interpreter passes on that something failed, not what
        self.mode = fake_mode()
        self._fakes: dict[int, Any] = {}  # id of a tensor of the module -> what stands for it
        self._held: list[Any] = []  # those tensors: without a holder the next one may have the same id

    def drop_content(self, module: Any) -> dict[str, str]:
        """Puts fakes in the place of parameters and buffers; names with equal keys shared their memory."""
        keys = {name: identity_key(tensor) for name, tensor in _weights(module)}
        for part in list(module.modules()):
            for name, tensor in _weights(part, recurse=False):
                part._c.setattr(name, self._fake(tensor))
        return keys

    def _fake(self, tensor: Any) -> Any:
        self._held.append(tensor)
        return fake(tensor, self.mode, self._fakes)

    def _without_content(self, value: Any) -> Any:
        """Modules keep weights in lists too (recurrent layers), where nothing can take their place."""
        if not isinstance(value, torch.Tensor) or isinstance(value, FakeTensor):
            return value
        return self._fake(value) if id(value) in self._fakes or value.is_meta else value

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            if _is_on_numbers(func, args, kwargs):
                with unset_fake_temporarily():
                    return func(*args, **(kwargs or {}))
            args, kwargs = pytree.tree_map(self._without_content, (args, kwargs or {}))
            return super().__torch_dispatch__(func, types, args, kwargs)
        except Exception as error:
            self.raised = error
            raise


def _weights(module: Any, recurse: bool = True) -> list[tuple[str, Any]]:
    return [*module.named_parameters(recurse=recurse), *module.named_buffers(recurse=recurse)]


def _is_on_numbers(func: Any, args: Any, kwargs: Any) -> bool:
    """Whether all tensors are single numbers with content; what is given a list of sizes makes more of them."""
    tensors = [leaf for leaf in pytree.tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    if not tensors or any(isinstance(argument.type, torch.ListType) for argument in func._schema.arguments):
        return False
    return all(
        tensor.dim() == 0 and tensor.device.type == "cpu" and not isinstance(tensor, FakeTensor) for tensor in tensors
    )


def capture(request: dict[str, Any]) -> Reply:
    """What the child process runs: request has path, batch and input."""
    module = read_archive(request["path"])
    captured = record_script(module, request["input"], request["batch"], "the TorchScript module")
    return captured.reply()


def from_live(module: Any, input: Any, batch: int) -> Captured:
    """The document of a ScriptModule in this process, by a copy of it."""
    stored = io.BytesIO()
    with quiet():
        torch.jit.save(module, stored)
    return record_script(read_archive(stored), input, batch, name_of(module))


def read_archive(archive: str | io.BytesIO) -> Any:
    """The module, on meta if no content matters."""
    if not isinstance(archive, str):
        archive.seek(0)
    records = torch._C.PyTorchFileReader(archive).get_all_records()
    if not isinstance(archive, str):
        archive.seek(0)
    has_constants = any(record.startswith(_CONSTANTS) for record in records)
    with quiet():
        # The deprecation is told once, in the Graph's warnings.
        return torch.jit.load(archive, map_location="cpu" if has_constants else "meta")


def record_script(module: Any, input: Any, batch: int, what: str) -> Captured:
    """The document of a ScriptModule, whose tensors are replaced by tensors without content."""
    arguments = bind(_parameters(module), input, batch, what)
    document = AtenDocument()
    recorder = ScriptRecorder(document)
    module.eval()
    with quiet(), torch.no_grad(), torch.jit.optimized_execution(False):
        keys = recorder.drop_content(module)
        positional, keyword = fake_arguments(module, arguments, recorder.mode)
        for name, value in zip(arguments.names, (*positional, *keyword.values()), strict=True):
            if isinstance(value, torch.Tensor):
                document.add_user_input(name, value)
        for name, parameter in module.named_parameters():
            document.add_weight(name, parameter, "parameter")
        for name, buffer in module.named_buffers():
            document.add_weight(name, buffer, "buffer")
        try:
            with recorder.mode, recording(recorder):
                results = module(*positional, **keyword)
        except Exception as error:
            raise capture_error(error, module, arguments, recorder.raised) from error
        leaves = [leaf for leaf in pytree.tree_leaves(results) if isinstance(leaf, torch.Tensor)]
        return Captured(document.finish(leaves), keys, name_of(module), [DEPRECATED])


def _parameters(module: Any) -> list[Parameter]:
    """forward's arguments as inspect has them for a Python function, without the first: the module, by any name."""
    return [
        Parameter(
            argument.name,
            Parameter.POSITIONAL_OR_KEYWORD,
            default=argument.default_value if argument.has_default_value() else Parameter.empty,
        )
        for argument in module.forward.schema.arguments[1:]
    ]

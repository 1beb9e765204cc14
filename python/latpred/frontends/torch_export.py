"""A live PyTorch module, or an ExportedProgram, as the document that a .pt2 archive holds.

torch.export runs forward once on tensors without content, at the asked batch, without decompositions: the operators are
those that eager PyTorch runs. No weight is copied and the module is afterwards as it was before.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from inspect import Parameter
from typing import Any

import torch
from torch.utils import _pytree as pytree

from latpred.errors import LatpredError, UnsupportedOperatorError
from latpred.frontends.arguments import CallArguments, TensorInput, bind
from latpred.frontends.capture_error import capture_error, content_error
from latpred.frontends.child import Reply, first_line
from latpred.frontends.fake_module import fake_mode, fast_norms, identity_key, inference, unwrapped, weight_keys


@dataclass(frozen=True)
class Captured:
    """What _core.read_exported_program takes."""

    document: bytes  # JSON in the schema of .pt2's model.json
    weights: Mapping[str, str]  # state-dict name -> identity key; equal keys are one tensor
    name: str
    warnings: Sequence[str] = ()

    def reply(self) -> Reply:
        """As a child process hands it back."""
        return Reply(self.document, {"weights": self.weights, "name": self.name, "warnings": list(self.warnings)})


def parameters_of(module: Any) -> list[Parameter]:
    """What forward takes, without self."""
    return list(inspect.signature(module.forward).parameters.values())


def call_arguments(module: Any, input: Any, batch: int) -> CallArguments:
    """input= bound to forward's names. Modules of transformers say which input is the main one."""
    inner = unwrapped(module)
    main = getattr(inner, "main_input_name", None)
    if input is None:
        input = _image_sizes(inner, main)
    return bind(parameters_of(inner), input, batch, type(inner).__name__, main if isinstance(main, str) else None)


def _image_sizes(module: Any, main: Any) -> Any:
    """What a vision config of transformers fixes; the length of a text or a recording is nobody's default."""
    config = getattr(module, "config", None)
    channels, image = getattr(config, "num_channels", None), getattr(config, "image_size", None)
    if main != "pixel_values" or not isinstance(channels, int) or image is None:
        return None
    return (channels, image, image) if isinstance(image, int) else (channels, *image)


def takes_steps_first(module: Any) -> bool:
    """Whether this is one of torch's recurrent layers or attention, as they are unless told otherwise: [steps, batch,
    size]. As a part of a module it says nothing of the module's inputs, which that may turn around."""
    return (is_attention(module) or isinstance(unwrapped(module), torch.nn.RNNBase)) and has_steps_first(module)


def is_attention(module: Any) -> bool:
    """Whether this is one of torch's layers of attention or made of them, whose masks are [steps, steps]."""
    nn = torch.nn
    layers = (nn.TransformerEncoder, nn.TransformerEncoderLayer, nn.TransformerDecoder, nn.TransformerDecoderLayer)
    return isinstance(unwrapped(module), (nn.Transformer, nn.MultiheadAttention, *layers))


def has_steps_first(module: Any) -> bool:
    """Whether such a layer is in it."""
    layers = (torch.nn.RNNBase, torch.nn.MultiheadAttention)
    return any(isinstance(part, layers) and not part.batch_first for part in unwrapped(module).modules())


def export(module: Any, arguments: CallArguments) -> Captured:
    """The document of a live module at these arguments."""
    module = unwrapped(module)
    mode = fake_mode()
    keys = weight_keys(module)
    with inference(module, mode):
        positional, keyword = fake_arguments(module, arguments, mode)
        try:
            program = torch.export.export(module, positional, keyword, strict=False)
        except LatpredError:
            raise
        except Exception as error:
            raise capture_error(error, module, arguments) from error
        _check_sizes(program, module)
        found = len(fast_norms(module))
        warnings = [f"{found} fast norms of timm's count as float32 under autocast"] if found else []
        return Captured(document(program), keys, type(module).__name__, warnings)


def _check_sizes(program: Any, module: Any) -> None:
    """Every size of the inputs is a number, so that a symbol can only be a size that content decides."""
    for node in program.graph.nodes:
        for value in pytree.tree_leaves(node.meta.get("val")):
            sizes = value.shape if isinstance(value, torch.Tensor) else [value]
            if any(isinstance(size, torch.SymInt) for size in sizes):
                lines = [line.strip() for line in node.meta.get("stack_trace", "").splitlines() if line.strip()]
                raise content_error(module, f"the result of {node.target}" + (f" in {lines[-1]!r}" if lines else ""))


def from_exported_program(program: Any) -> Captured:
    """The document of a torch.export.ExportedProgram; its sizes may have symbols."""
    tensors = {**program.state_dict, **{n: t for n, t in program.constants.items() if isinstance(t, torch.Tensor)}}
    name = type(program.graph_module).__name__
    return Captured(document(program), {n: identity_key(t) for n, t in tensors.items()}, name)


def document(program: Any) -> bytes:
    """The model.json of an ExportedProgram, by torch's own serialiser: a live module and its .pt2 read alike."""
    # Here, not above: it brings torch's compiler with it, twice as much to import as torch itself.
    from torch._export.serde import serialize

    serializer = serialize.GraphModuleSerializer(program.graph_signature, [])
    major, minor = serialize.SCHEMA_VERSION
    try:
        graph_module = serializer.serialize(program.graph_module)
    except serialize.SerializeError as error:
        raise UnsupportedOperatorError(
            f"torch {torch.__version__} cannot write one of the network's operators to a file, which is how latpred "
            f"reads it: {first_line(error)}; use another one there, such as scaled_dot_product_attention for "
            "flex_attention"
        ) from error
    fields = {
        "graph_module": serialize._dataclass_to_dict(graph_module),
        "opset_version": {"aten": torch._C._get_max_operator_version()},
        "range_constraints": serialize._dataclass_to_dict(
            serialize.serialize_range_constraints(program.range_constraints)
        ),
        "schema_version": {"major": major, "minor": minor},
        "torch_version": str(torch.__version__),
    }
    return json.dumps(fields, cls=serialize.EnumEncoder, allow_nan=False).encode()


def fake_arguments(module: Any, arguments: CallArguments, mode: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """Tensors of `mode` where the module's weights lie; floats have the type of its weights unless told."""
    weights = [*module.parameters(), *module.buffers()]
    device = next((weight.device for weight in weights), torch.device("cpu"))
    floating = next((weight.dtype for weight in weights if weight.is_floating_point()), torch.float32)

    def tensor(value: Any) -> Any:
        if not isinstance(value, TensorInput):
            return value
        dtype = floating if value.dtype is None else getattr(torch, value.dtype)
        return torch.empty(value.shape, dtype=dtype, device=device)

    with mode:
        return tuple(map(tensor, arguments.positional)), {k: tensor(v) for k, v in arguments.keyword.items()}

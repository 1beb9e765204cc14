"""Calls of aten operators, one after the other, written as the model.json of a .pt2 archive.

What torch's own serialiser does for a captured graph, for calls that were recorded without one. Arguments carry the
names of the operator's schema, and those left out are left out here too.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor

# The only calls that export leaves out where nothing uses them.
_DROPPED_UNUSED = ("torch.ops.aten.detach.default",)


# The codes of the .pt2 schema (torch/_export/serde/schema.py); importing them from there brings torch's compiler along.
SCHEMA_VERSION = (8, 20)
DTYPE_CODES = {
    torch.uint8: 1,
    torch.int8: 2,
    torch.int16: 3,
    torch.int32: 4,
    torch.int64: 5,
    torch.float16: 6,
    torch.float32: 7,
    torch.float64: 8,
    torch.complex32: 9,
    torch.complex64: 10,
    torch.complex128: 11,
    torch.bool: 12,
    torch.bfloat16: 13,
    torch.uint16: 28,
    torch.float8_e4m3fn: 29,
    torch.float8_e5m2: 30,
    torch.float8_e4m3fnuz: 31,
    torch.float8_e5m2fnuz: 32,
    torch.float8_e8m0fnu: 33,
    torch.uint32: 34,
    torch.uint64: 35,
}
LAYOUT_CODES = {torch.sparse_coo: 1, torch.sparse_csr: 2, torch.sparse_csc: 3, torch.strided: 7}
MEMORY_FORMAT_CODES = {
    torch.contiguous_format: 1,
    torch.channels_last: 2,
    torch.channels_last_3d: 3,
    torch.preserve_format: 4,
}


class CannotRecordError(Exception):
    """Something that the recorder has no words for; torch.export has to say what it is."""


@dataclass
class _Call:
    node: dict[str, Any]
    reads: set[str]
    makes: set[str]


@dataclass
class AtenDocument:
    """Grows by one call at a time; `finish` gives the JSON."""

    calls: list[_Call] = field(default_factory=list)
    tensors: dict[str, Any] = field(default_factory=dict)  # name -> TensorMeta of .pt2
    input_specs: list[dict[str, Any]] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    metadata: dict[str, str] = field(default_factory=dict)  # of the nodes that are added from here on
    _outside: dict[int, tuple[Any, str]] = field(default_factory=dict)  # id of a tensor with content -> it, its name
    _counts: dict[str, int] = field(default_factory=dict)

    def add_user_input(self, name: str, tensor: Any) -> None:
        self._add_input(self._name(name, tensor), "user_input", {})

    def add_weight(self, name: str, tensor: Any, kind: str, is_persistent: bool = True) -> str:
        """kind: parameter, buffer or tensor_constant; name: that of the state dict."""
        fields: dict[str, Any] = {f"{kind}_name": name}
        if kind == "buffer":
            fields["persistent"] = is_persistent
        own_name = self._name(f"{kind[0]}_{name.replace('.', '_')}", tensor)
        self._add_input(own_name, kind, fields)
        return own_name

    def add_call(self, operator: Any, arguments: tuple[Any, ...], keywords: dict[str, Any], result: Any) -> None:
        """One call of an OpOverload. A result that is an input gets a new name: it now holds something else."""
        reads: set[str] = set()
        schema = operator._schema
        inputs = [
            {"name": argument.name, "arg": self._argument(value, reads), "kind": 1}
            for argument, value in zip(schema.arguments, arguments, strict=False)
        ]
        inputs += [{"name": name, "arg": self._argument(value, reads), "kind": 2} for name, value in keywords.items()]
        base = schema.name.rpartition("::")[2]
        makes: set[str] = set()
        outputs = self._outputs(result, base, makes)
        target = f"torch.ops.{schema.name.replace('::', '.')}.{schema.overload_name or 'default'}"
        node: dict[str, Any] = {
            "target": target,
            "inputs": inputs,
            "outputs": outputs,
            "metadata": dict(self.metadata),
            "is_hop_single_tensor_return": None,
        }
        self.calls.append(_Call(node, reads, makes))

    def finish(self, results: list[Any]) -> bytes:
        """The document whose outputs are `results`. Calls that nothing uses stay, as in export: eager runs them too."""
        inputs = set(self.inputs)
        outputs = [self._argument(result, set()) for result in results]
        used = {output["as_tensor"]["name"] for output in outputs if "as_tensor" in output}
        kept: list[dict[str, Any]] = []
        for call in reversed(self.calls):
            if call.node["target"] not in _DROPPED_UNUSED or not used.isdisjoint(call.makes):
                used |= call.reads | call.makes
                kept.append(call.node)
        major, minor = SCHEMA_VERSION
        graph = {
            "inputs": [{"as_tensor": {"name": name}} for name in self.inputs],
            "outputs": outputs,
            "nodes": kept[::-1],
            "tensor_values": {name: meta for name, meta in self.tensors.items() if name in used or name in inputs},
            "sym_int_values": {},
            "sym_bool_values": {},
            "sym_float_values": {},
            "custom_obj_values": {},
            "is_single_tensor_return": False,
        }
        signature = {
            "input_specs": self.input_specs,
            "output_specs": [{"user_output": {"arg": output}} for output in outputs],
        }
        fields = {
            "graph_module": {"graph": graph, "signature": signature, "module_call_graph": []},
            "opset_version": {"aten": torch._C._get_max_operator_version()},
            "range_constraints": {},
            "schema_version": {"major": major, "minor": minor},
            "torch_version": str(torch.__version__),
        }
        return json.dumps(fields, allow_nan=False).encode()

    def _add_input(self, name: str, kind: str, fields: dict[str, Any]) -> None:
        self.inputs.append(name)
        argument: dict[str, Any] = {"name": name}
        self.input_specs.append(
            {kind: {"arg": {"as_tensor": argument} if kind == "user_input" else argument, **fields}}
        )

    def _name(self, base: str, tensor: Any) -> str:
        count = self._counts.get(base, 0)
        self._counts[base] = count + 1
        name = base if count == 0 else f"{base}_{count}"
        while name in self.tensors:  # "relu_1" may be what a module is called
            name += "_"
        self.tensors[name] = _tensor_meta(tensor)
        if tensor.is_meta or isinstance(tensor, FakeTensor):
            # On the tensor itself: a reference kept here would make torch copy what its factories return.
            tensor._latpred_name = (self, name)
        else:
            self._outside[id(tensor)] = (tensor, name)  # the tensor is the caller's, nothing is written on it
        return name

    def _find(self, tensor: Any) -> str | None:
        """The name of what `tensor` holds now; None where it was neither given nor made by a call."""
        document, name = getattr(tensor, "_latpred_name", None) or (None, None)
        if document is self:
            return str(name)
        return self._outside[id(tensor)][1] if id(tensor) in self._outside else None

    def _tensor(self, tensor: Any, reads: set[str]) -> str:
        name = self._find(tensor)
        if name is None:
            # A tensor that the module keeps to itself, or writes down in forward.
            name = self.add_weight(f"lifted_tensor_{len(self.inputs)}", tensor, "tensor_constant")
        reads.add(name)
        return name

    def _argument(self, value: Any, reads: set[str]) -> dict[str, Any]:
        if isinstance(value, torch.Tensor):
            return {"as_tensor": {"name": self._tensor(value, reads)}}
        if isinstance(value, (list, tuple)):
            return self._list(value, reads)
        for kind, encode in _SCALARS:
            if isinstance(value, kind):
                encoded: dict[str, Any] = encode(value)
                return encoded
        raise CannotRecordError(f"an argument of type {type(value).__name__}")

    def _list(self, values: Any, reads: set[str]) -> dict[str, Any]:
        kinds = {type(value) for value in values}
        if kinds <= {int}:
            return {"as_ints": list(values)}
        if kinds <= {bool}:
            return {"as_bools": list(values)}
        if kinds <= {int, float}:
            return {"as_floats": [_number(float(value)) for value in values]}
        if kinds <= {str}:
            return {"as_strings": list(values)}
        if all(isinstance(value, torch.Tensor) for value in values):
            return {"as_tensors": [{"name": self._tensor(value, reads)} for value in values]}
        if all(value is None or isinstance(value, torch.Tensor) for value in values):
            return {
                "as_optional_tensors": [
                    {"as_none": True} if value is None else {"as_tensor": {"name": self._tensor(value, reads)}}
                    for value in values
                ]
            }
        raise CannotRecordError(f"a list of {', '.join(sorted(kind.__name__ for kind in kinds))}")

    def _outputs(self, result: Any, base: str, makes: set[str]) -> list[dict[str, Any]]:
        if isinstance(result, torch.Tensor):
            return [{"as_tensor": self._made(result, base, makes)}]
        if isinstance(result, list):
            return [{"as_tensors": [self._made(tensor, base, makes) for tensor in result]}]
        if isinstance(result, tuple):
            return [output for item in result for output in self._outputs(item, base, makes)]
        if result is None:
            return [{"as_none": True}]
        raise CannotRecordError(f"a result of type {type(result).__name__}")

    def _made(self, tensor: Any, base: str, makes: set[str]) -> dict[str, Any]:
        name = self._name(base, tensor)
        makes.add(name)
        return {"name": name}


def _number(value: float) -> Any:
    """JSON has no infinity; .pt2 writes it as text."""
    if math.isfinite(value):
        return value
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _dtype(dtype: Any) -> int:
    if dtype not in DTYPE_CODES:
        raise CannotRecordError(f"the type {dtype}")
    return DTYPE_CODES[dtype]


def _tensor_meta(tensor: Any) -> dict[str, Any]:
    if tensor.layout is not torch.strided:
        raise CannotRecordError(f"a tensor of layout {tensor.layout}")
    return {
        "dtype": _dtype(tensor.dtype),
        "sizes": [{"as_int": size} for size in tensor.shape],
        "requires_grad": tensor.requires_grad,
        "device": {"type": tensor.device.type, "index": tensor.device.index},
        "strides": [{"as_int": stride} for stride in tensor.stride()],
        "storage_offset": {"as_int": 0},
        "layout": LAYOUT_CODES[torch.strided],
    }


# bool before int: it is one.
_SCALARS: tuple[tuple[Any, Any], ...] = (
    (bool, lambda value: {"as_bool": value}),
    (int, lambda value: {"as_int": value}),
    (float, lambda value: {"as_float": _number(value)}),
    (str, lambda value: {"as_string": value}),
    (type(None), lambda value: {"as_none": True}),
    (torch.dtype, lambda value: {"as_scalar_type": _dtype(value)}),
    (torch.device, lambda value: {"as_device": {"type": value.type, "index": value.index}}),
    (torch.memory_format, lambda value: {"as_memory_format": MEMORY_FORMAT_CODES[value]}),
    (torch.layout, lambda value: {"as_layout": LAYOUT_CODES[value]}),
)

"""Arrays and a manifest in one file: safetensors layout, the manifest as JSON in its metadata. No pickle."""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from latpred.errors import CheckpointError
from latpred.writing import replacing, writing

ALIGNMENT = 8
_PREFIX = struct.Struct("<Q")  # the header's length

# The names that the layout gives to types; another type is stored as float64.
_TYPES = {"F64": "<f8", "F32": "<f4", "I64": "<i8", "I32": "<i4", "I16": "<i2", "U8": "|u1"}
_NAMES = {np.dtype(code): name for name, code in _TYPES.items()}


def write(path: Path, manifest: dict[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Puts `manifest` and `arrays` into one file, which is there whole or not at all; the same content gives the same
    bytes."""
    header: dict[str, object] = {"__metadata__": {"manifest": json.dumps(manifest)}}
    parts, offset = [], 0
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        kind = _NAMES.get(values.dtype.newbyteorder("<"), "F64")
        content = values.astype(_TYPES[kind]).tobytes()
        header[name] = {
            "dtype": kind,
            "shape": list(np.shape(arrays[name])),
            "data_offsets": [offset, offset + len(content)],
        }
        parts.append(content)
        offset += len(content)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    with writing("the checkpoint", path), replacing(path) as unfinished:
        unfinished.write_bytes(b"".join((_PREFIX.pack(len(text)), text, *parts)))


def read(path: Path) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The manifest and the arrays of a file that write() wrote."""
    try:
        content = path.read_bytes()
        (size,) = _PREFIX.unpack_from(content)
        data = memoryview(content)[_PREFIX.size + size :]
        header = json.loads(content[_PREFIX.size : _PREFIX.size + size])
        manifest: dict[str, Any] = json.loads(header.pop("__metadata__")["manifest"])
        arrays = {}
        for name, entry in header.items():
            first, last = entry["data_offsets"]
            arrays[name] = np.frombuffer(data[first:last], _TYPES[entry["dtype"]]).reshape(entry["shape"])
    except OSError as error:
        raise CheckpointError(f"checkpoint '{path}' cannot be read: {error.strerror}", path=str(path)) from error
    except (struct.error, ValueError, KeyError, TypeError, AttributeError) as error:
        raise CheckpointError(
            f"checkpoint '{path}' is damaged or another kind of file ({error}); make it again", path=str(path)
        ) from error
    return manifest, arrays

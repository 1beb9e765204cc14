"""Files that hold no network, or none that can be read: every kind that people hand over by mistake."""

import gzip
import io
import json
import pickle
import struct
import tarfile
import zipfile
from collections import OrderedDict
from pathlib import Path

import numpy as np
import torch
from onnx import helper

GIT_LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:9f86d081\nsize 4665\n"
HTML = b"<!DOCTYPE html>\n<html><head><title>Sign in</title></head></html>\n"


class Detector(torch.nn.Module):
    """A module of somebody's own: its pickle names this class."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 2)


def weights():
    return OrderedDict((f"layer_{i}.weight", torch.zeros(2, 3)) for i in range(4))


def saved(value, **settings):
    content = io.BytesIO()
    torch.save(value, content, **settings)
    return content.getvalue()


def archive(entries):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return content.getvalue()


def safetensors():
    tensor = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
    header = json.dumps(
        {"__metadata__": {"format": "pt"}, "a": tensor, "b": {**tensor, "data_offsets": [8, 16]}}
    ).encode()
    return struct.pack("<Q", len(header)) + header + bytes(16)


def onnx_model():
    value = helper.make_tensor_value_info
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    graph = helper.make_graph(nodes, "g", [value("x", 1, [1, 4])], [value("y", 1, [1, 4])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8).SerializeToString()


def tarred(name, data):
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as file:
        entry = tarfile.TarInfo(name)
        entry.size = len(data)
        file.addfile(entry, io.BytesIO(data))
    return content.getvalue()


def paddle_parameters():
    """Two tensors as paddle.save of version 3 writes them beside a program: header, description, content."""
    description = b"\x08\x05\x10\x03"  # FP32, 3 elements
    tensor = struct.pack("<IQIi", 0, 0, 0, len(description)) + description + bytes(12)
    return tensor * 2


def message(number, content):
    """A field of a protobuf message, its content shorter than 128 bytes."""
    return bytes([number << 3 | 2, len(content)]) + content


def core_ml():
    network = b"\xa2\x1f\x02\x0a\x00"  # field 500, the neural network
    return b"\x08\x04" + message(2, message(1, b"x")) + network


def meta_graph():
    info = message(2, message(1, message(1, b"Add"))) + message(5, b"1.15.0")
    node = message(1, message(1, b"x") + message(2, b"Placeholder"))
    return message(1, info) + message(2, node)


def flatbuffer(identifier):
    return struct.pack("<I", 16) + identifier + bytes(40)


# By file name: the content, or the entries of a folder.
FILES = {
    "git_lfs.onnx": GIT_LFS,
    "page.pt": HTML,
    "empty.onnx": b"",
    "cut.onnx": onnx_model()[:40],
    "notes.txt": b"learning rate 0.1\n",
    "settings.json": b'{"learning_rate": 0.1}',
    "state_dict.pt": saved(weights()),
    "state_dict_old.pth": saved(weights(), _use_new_zipfile_serialization=False),
    "checkpoint.tar": saved({"epoch": 3, "model": weights(), "optimizer": {"lr": 0.1}}),
    "module.pt": saved(Detector()),
    "module_old.pt": saved(Detector(), _use_new_zipfile_serialization=False),
    "cut.pt": saved(weights())[:300],
    "model.safetensors": safetensors(),
    "model.safetensors.index.json": b'{"metadata": {}, "weight_map": {"a": "model-1.safetensors"}}',
    "model.pdparams": pickle.dumps(
        {"w": np.zeros((2, 3), np.float32), "StructuredToParameterName@@": {"w": "linear_0.w_0"}}, protocol=4
    ),
    "model.pdiparams": paddle_parameters(),
    "forest.pkl": pickle.dumps(Path("x"), protocol=2),
    "arrays.pkl": pickle.dumps([np.zeros(3)], protocol=4),
    "cut.pkl": pickle.dumps([np.zeros(3)], protocol=4)[:20],
    "compiled.pt2": archive(
        {"m/archive_format": "pt2", "m/data/aotinductor/model/wrapper.so": "\x7fELF", "m/byteorder": "little"}
    ),
    "weightless.pt2": archive({"m/archive_format": "pt2", "m/byteorder": "little"}),
    "model.pte": flatbuffer(b"ET12"),
    "model.ort": flatbuffer(b"ORTM"),
    "model.onnx.gz": gzip.compress(onnx_model()),
    "model.tar": tarred("model.onnx", onnx_model()),
    "model.zip": archive({"resnet/model.onnx": onnx_model()}),
    "photos.zip": archive({"a.jpg": "x"}),
    "weights.npz": archive({"a.npy": "\x93NUMPY"}),
    "model.gguf": b"GGUF\x03\x00\x00\x00" + bytes(24),
    "model.plan": b"ftrt" + bytes(40),
    "model.mlmodel": core_ml(),
    "model.xml": b'<?xml version="1.0"?>\n<net name="m" version="11"><layers/></net>\n',
    "model.ckpt.meta": meta_graph(),
    "model.ckpt.index": b"\x00\x00index" + b"\x57\xfb\x80\x8b\x24\x75\x47\xdb",
    "config.json": b'{"class_name": "Functional", "config": {"name": "m", "layers": []}}',
    "noise.bin": bytes(range(255, 0, -1)),
}

FOLDERS = {
    "empty_folder": {},
    "photos": {"a.jpg": b"x"},
    "two_models": {"a.onnx": b"x", "b.onnx": b"x"},
    "hub_module": {"tfhub_module.pb": b"x", "saved_model.pb": b"x"},
    "checkpoint": {"checkpoint": b"x", "model.ckpt-1.index": b"x", "model.ckpt-1.data-00000-of-00001": b"x"},
    "weights_only": {"model.safetensors": b"x"},
    "paddle_weights": {"model.pdiparams": b"x"},
    "adapter": {"adapter_config.json": b"{}", "adapter_model.safetensors": b"x"},
    "pipeline": {"model_index.json": b"{}"},
    "model.mlpackage": {"Manifest.json": b"{}"},
}


def write(folder):
    """Every file and folder under `folder`."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    for name, entries in FOLDERS.items():
        (folder / name).mkdir()
        for entry, content in entries.items():
            (folder / name / entry).write_bytes(content)

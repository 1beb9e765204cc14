"""Keras networks, read from their config: every number equals what Keras itself counts."""

import json
import os
import sys
import types
from pathlib import Path

import pytest
from latpred import InvalidArgumentError, ModelFileError, UnsupportedOperatorError, _core
from latpred.inputs import InputSize

FOLDER = Path(__file__).parents[1] / "fixtures" / "keras"
EXPECTED = json.loads((FOLDER / "expected.json").read_text())

# Files with an open size.
SIZES = {"recurrent": (7,)}

# Convolutions, MACs, parameters, statistics: what other frameworks give for the same network.
APPLICATIONS = {
    "mobilenetv2.keras": (52, 300_774_272, 3_504_872, 34_112),
    "mobilenetv2_keras2.h5": (52, 300_774_272, 3_504_872, 34_112),
    "resnet50.keras": (53, 3_857_973_248, 25_583_592, 53_120),
    "vgg16.keras": (13, 15_470_264_320, 138_357_544, 0),
    "densenet121.keras": (120, 2_834_161_664, 7_978_856, 83_648),
    "xception.keras": (74, 8_357_403_496, 22_855_952, 54_528),
}


def read(name, batch=1):
    program = _core.read_program(str(FOLDER / name))
    size = SIZES.get(name.split("_")[0].split(".")[0])
    return _core.resolve(program, batch, InputSize(size) if size else None)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_true_numbers(name):
    convolutions, macs, parameters, statistics = APPLICATIONS[name]
    graph = read(name)
    assert sum(node.operator == "conv" for node in graph.nodes) == convolutions
    assert graph.macs == macs
    assert graph.num_parameters == parameters
    assert graph.num_statistics == statistics


@pytest.mark.parametrize("name", EXPECTED)
def test_numbers_are_those_that_keras_counts(name):
    graph = read(name)
    assert graph.num_parameters == EXPECTED[name]["num_parameters"]
    assert graph.num_statistics == EXPECTED[name]["num_statistics"]
    assert not graph.warnings


@pytest.mark.parametrize("name", EXPECTED)
def test_batch(name):
    one, eight = read(name), read(name, 8)
    assert eight.macs == 8 * one.macs
    shapes = [[8 if size is None else size for size in shape] for shape in EXPECTED[name]["outputs"]]
    assert [list(tensor.shape) for tensor in eight.outputs] == shapes


@pytest.mark.parametrize("name", [name for name in EXPECTED if "_torch" in name])
def test_backends_save_the_same_network(name):
    other = name.replace("_torch", "")
    assert read(name).hash == read(other).hash


def test_containers_hold_the_same_network():
    assert read("sequential.keras").hash == read("sequential.h5").hash
    assert read("transformer.keras").hash == read("transformer.h5").hash
    assert read("mobilenetv2.keras").macs == read("mobilenetv2_keras2.h5").macs


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("refused.weights.h5", "holds weights only (2 layers), no graph"),
        ("refused_keras2_weights.h5", "holds weights only (3 layers), no graph"),
    ],
)
def test_weights_are_refused(name, words):
    with pytest.raises(ModelFileError) as info:
        read(name)
    assert words in str(info.value)
    assert "model.save('m.keras')" in str(info.value)


def test_code_is_refused():
    with pytest.raises(ModelFileError, match=r"layer 'lambda' \(Lambda\): a Lambda layer is Python code in the file"):
        read("refused_lambda.keras")


def test_layers_of_others_are_named():
    with pytest.raises(
        UnsupportedOperatorError, match=r"layer 'doubled' \(Doubled\): its class is none of Keras's own"
    ):
        read("refused_custom.keras")


def keras_arguments(input, sizes=(None, None, 3)):
    """What a Keras module with one input, of these sizes, is called with."""
    pytest.importorskip("torch")
    from latpred.frontends.keras import _arguments

    image = types.SimpleNamespace(name="image", shape=(None, *sizes), dtype="float32")
    found = _arguments(types.SimpleNamespace(inputs=[image]), "net.keras", input, 2)
    return found.names, [(value.shape, value.dtype) for value in found.positional]


def test_the_input_of_layers_of_others_is_as_asked():
    expected = (("image",), [((2, 64, 48, 3), "float32")])
    for asked in ("64,48,3", "64,48,3:float32", {"image": "64,48,3"}, {"image": (64, 48, 3)}):
        assert keras_arguments(asked) == expected
    assert keras_arguments(None, (64, 48, 3)) == expected


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"imgae": "64,64,3"}, r"unknown input 'imgae'; did you mean 'image'.*the only one of 'net\.keras'"),
        ({"image": "64,64,3", "mask": "64,64"}, "unknown input 'mask'"),
        ("64,64,3:int64", r"input 'image' of 'net\.keras' is of type float32, int64 is asked for: leave the type out"),
        ({"image": "64,64,3:float16"}, "is of type float32, float16 is asked for"),
        ("64,64", "does not match 'image'"),
        (None, "are open: give input="),
    ],
)
def test_another_input_of_layers_of_others_is_refused(asked, words):
    with pytest.raises(InvalidArgumentError, match=words):
        keras_arguments(asked)


def test_the_backend_is_named_in_one_place(monkeypatch):
    pytest.importorskip("torch")
    from latpred.frontends.child import FRONTENDS
    from latpred.frontends.keras import capture

    def load_model(path, **_):
        raise ValueError(f"backend {os.environ['KERAS_BACKEND']}")

    saving = types.SimpleNamespace(load_model=load_model)
    monkeypatch.setitem(sys.modules, "keras", types.SimpleNamespace(saving=saving))
    for name, value in FRONTENDS["keras"].environment.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ModelFileError, match="backend torch"):
        capture({"path": "net.keras", "input": None, "batch": 1})
    monkeypatch.setenv("KERAS_BACKEND", "jax")
    with pytest.raises(ModelFileError, match="backend jax"):
        capture({"path": "net.keras", "input": None, "batch": 1})


@pytest.mark.parametrize("name", ["sequential.keras", "sequential.h5"])
def test_truncated_files_are_refused(name, tmp_path):
    content = (FOLDER / name).read_bytes()
    path = tmp_path / name
    for size in range(8, len(content) - 64, 199):
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError):
            _core.read_program(str(path))

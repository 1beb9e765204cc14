"""What is the same whatever the format of the file: errors of inputs, and what inspect shows."""

import json
from pathlib import Path

import latpred
import pytest
from latpred.cli import main
from latpred.errors import InvalidArgumentError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
MACS = 300_774_272  # MobileNetV2 at 224 x 224, whoever saved it
NCHW = "3,224,224"
NHWC = "224,224,3"

# The file, its framework, its own order of the image's sizes, its format.
MOBILENETS = {
    "torch/mobilenet_v2.pt2": ("pytorch", NCHW, "torch.export"),
    "paddle/mobilenet_v2.json": ("paddle", NCHW, "Paddle PIR"),
    "paddle/mobilenet_v2.pdmodel": ("paddle", NCHW, "Paddle"),
    "keras/mobilenetv2.keras": ("keras", NHWC, "Keras"),
    "tensorflow/mobilenet_v2": ("tensorflow", NHWC, "SavedModel"),
    "tensorflow/mobilenet_v2_frozen.pb": ("tensorflow", NHWC, "GraphDef"),
    "tflite/mobilenet_v2.tflite": ("tensorflow", NHWC, "TensorFlow Lite"),
}


@pytest.mark.parametrize("name", MOBILENETS)
def test_inspect_shows_the_same_network(name, capsys):
    framework, sizes, kind = MOBILENETS[name]
    assert main(["inspect", str(FIXTURES / name), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["macs"] == MACS
    assert answer["operators"]["conv"] == 52
    assert answer["framework"] == framework
    assert kind.lower() in answer["format"].lower()
    assert answer["producer"] is not None
    assert answer["unknown_operators"] == {}
    assert [tensor["shape"] for tensor in answer["inputs"]] == [[1, *map(int, sizes.split(","))]]
    assert [tensor["shape"] for tensor in answer["outputs"]] == [[1, 1000]]
    assert answer["warnings"] == []

    assert main(["inspect", str(FIXTURES / name)]) == 0
    shown = capsys.readouterr().out
    assert "301 M" in shown
    assert framework in shown
    assert answer["format"] in " ".join(shown.split())


@pytest.mark.parametrize("name", MOBILENETS)
def test_wrong_sizes_are_answered_with_those_of_the_file(name):
    _, sizes, _ = MOBILENETS[name]
    path = FIXTURES / name
    (tensor,) = latpred.load(path).inputs
    with pytest.raises(InvalidArgumentError) as caught:
        latpred.load(path, input="7,8,9")
    message = str(caught.value)
    assert message.startswith(f"input [7, 8, 9] does not match '{tensor.name}' [")
    declared = ", ".join(sizes.split(","))
    assert f', {declared}] float32 in the file; give its sizes without the batch, such as "{sizes}"' in message
    assert latpred.load(path, input=sizes).macs == MACS
    assert latpred.load(path, input={tensor.name: sizes}).macs == MACS


@pytest.mark.parametrize("name", MOBILENETS)
def test_a_wrong_name_is_answered_with_those_of_the_file(name):
    _, sizes, _ = MOBILENETS[name]
    path = FIXTURES / name
    (tensor,) = latpred.load(path).inputs
    with pytest.raises(InvalidArgumentError) as caught:
        latpred.load(path, input={"zzz": sizes})
    assert f"unknown input 'zzz'; valid: {tensor.name}; the file declares '{tensor.name}' [" in str(caught.value)
    with pytest.raises(InvalidArgumentError, match="is float32 in the file, but int64 was asked for"):
        latpred.load(path, input=f"{sizes}:int64")

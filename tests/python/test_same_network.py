"""One network, many files: the same convolutions, MACs and weights whatever saved it.

The numbers were counted by independent readers; readers agree to the last MAC or one of them is wrong.
"""

import dataclasses
import subprocess
import sys
from pathlib import Path

import latpred
import pytest

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


@dataclasses.dataclass(frozen=True)
class Network:
    """What a network is at batch 1, 224 x 224 but for Xception's 299."""

    convolutions: int
    macs: int
    parameters: int
    statistics: int = 0


MOBILENET_V2 = Network(52, 300_774_272, 3_504_872, 34_112)
RESNET50 = Network(53, 4_089_184_256, 25_557_032, 53_120)
# Keras's ResNet50 is another network: strides in the first 1x1 convolutions, which have biases.
RESNET50_V1 = Network(53, 3_857_973_248, 25_583_592, 53_120)
VGG16 = Network(13, 15_470_264_320, 138_357_544)
VGG19 = Network(16, 19_632_062_464, 143_667_240)
DENSENET121 = Network(120, 2_834_161_664, 7_978_856, 83_648)
SQUEEZENET = Network(26, 349_151_936, 1_235_496)
XCEPTION = Network(74, 8_357_403_496, 22_855_952, 54_528)

FILES = {
    "onnx/mobilenet_v2.onnx": MOBILENET_V2,
    "onnx/mobilenet_v2_static.onnx": MOBILENET_V2,
    "torch/mobilenet_v2.pt2": MOBILENET_V2,
    "torch/mobilenet_v2_batch8.pt2": MOBILENET_V2,
    "paddle/mobilenet_v2.json": MOBILENET_V2,
    "paddle/mobilenet_v2.pdmodel": MOBILENET_V2,
    "tensorflow/mobilenet_v2": MOBILENET_V2,
    "tensorflow/mobilenet_v2_frozen.pb": MOBILENET_V2,
    "keras/mobilenetv2.keras": MOBILENET_V2,
    "keras/mobilenetv2_keras2.h5": MOBILENET_V2,
    "torch/resnet50.pt2": RESNET50,
    "paddle/resnet50.json": RESNET50,
    "paddle/resnet50.pdmodel": RESNET50,
    "keras/resnet50.keras": RESNET50_V1,
    "tensorflow/resnet50": RESNET50_V1,
    "onnx/vgg16.onnx": VGG16,
    "torch/vgg16.pt2": VGG16,
    "torch/vgg16_flat.pt2": VGG16,
    "paddle/vgg16.json": VGG16,
    "paddle/vgg16.pdmodel": VGG16,
    "tensorflow/vgg16": VGG16,
    "keras/vgg16.keras": VGG16,
    "torch/vgg19.pt2": VGG19,
    "torch/densenet121.pt2": DENSENET121,
    "tensorflow/densenet121": DENSENET121,
    "keras/densenet121.keras": DENSENET121,
    "torch/squeezenet1_1.pt2": SQUEEZENET,
    "keras/xception.keras": XCEPTION,
    "tensorflow/xception": XCEPTION,
}


@pytest.mark.parametrize("file", FILES)
def test_every_file_tells_the_same_network(file):
    network = FILES[file]
    graph = latpred.load(FIXTURES / file)
    assert (graph.operators["conv"], graph.macs) == (network.convolutions, network.macs)
    assert (graph.num_parameters, graph.num_statistics) == (network.parameters, network.statistics)
    assert not [node.name for node in graph.nodes if node.operator == "unknown"]


@pytest.mark.parametrize("file", FILES)
def test_eight_items_are_eight_times_the_work(file):
    one, eight = latpred.load(FIXTURES / file, batch=1), latpred.load(FIXTURES / file, batch=8)
    assert eight.macs == 8 * FILES[file].macs
    assert [output.shape[0] for output in eight.outputs] == [8 * output.shape[0] for output in one.outputs]
    assert one.with_batch(8).hash == eight.hash


# Files saved for one batch, and the same network saved for eight.
PAIRS = {
    "onnx/mobilenet_v2_static.onnx": "onnx/mobilenet_v2.onnx",
    "torch/mobilenet_v2.pt2": "torch/mobilenet_v2_batch8.pt2",
    "torch/bert.pt2": "torch/bert_batch8.pt2",
    "torch/recurrent.pt2": "torch/recurrent_batch8.pt2",
    "tensorflow/static_1": "tensorflow/static_8",
    "paddle/lenet_batch1.json": "paddle/lenet_batch8.json",
    "paddle/lenet_batch1.pdmodel": "paddle/lenet_batch8.pdmodel",
    "paddle/transformer_batch1.json": "paddle/transformer_batch8.json",
    "tflite/small_vision.tflite": "tflite/small_vision_8.tflite",
    "tflite/operators.tflite": "tflite/operators_8.tflite",
}


def steps(graph):
    """Operators and what they give, in order."""
    return [(node.operator, [tensor and tensor.shape for tensor in node.outputs]) for node in graph.nodes]


@pytest.mark.parametrize("file", PAIRS)
def test_a_file_saved_for_one_item_is_at_eight_what_was_saved_for_eight(file):
    asked, saved = latpred.load(FIXTURES / file, batch=8), latpred.load(FIXTURES / PAIRS[file], batch=8)
    assert steps(asked) == steps(saved)
    assert (asked.macs, asked.flops, asked.num_parameters) == (saved.macs, saved.flops, saved.num_parameters)


def test_no_framework_is_imported_to_read_any_file():
    code = (
        "import sys, latpred\n"
        f"for file in {[str(FIXTURES / file) for file in FILES]!r}: latpred.load(file, batch=2)\n"
        "found = {'torch', 'tensorflow', 'paddle', 'keras', 'onnx', 'h5py'} & set(sys.modules)\n"
        "assert not found, found\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)

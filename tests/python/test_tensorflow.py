"""SavedModels and frozen graphs as TensorFlow and Keras wrote them (tools/fixtures/make_tensorflow.py).

Reading damaged and hostile files is tested in tests/cpp/tensorflow_test.cpp.
"""

import json
import subprocess
import sys
import zipfile
from pathlib import Path

import latpred
import pytest
from latpred.errors import InvalidArgumentError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "tensorflow"
EXPECTED = json.loads((FIXTURES / "expected.json").read_text())
SAVED_MODELS = sorted(path.parent.name for path in FIXTURES.glob("*/saved_model.pb"))
FROZEN = sorted(path.stem for path in FIXTURES.glob("*.pb"))

# Convolutions, MACs at batch 1, parameters, statistics of batch norms: counted by an independent reader.
NETWORKS = {
    "mobilenet_v2": (52, 300_774_272, 3_504_872, 34_112),
    "mobilenet_v2_frozen": (52, 300_774_272, 3_504_872, 34_112),
    "resnet50": (53, 3_857_973_248, 25_583_592, 53_120),
    "vgg16": (13, 15_470_264_320, 138_357_544, 0),
    "densenet121": (120, 2_834_161_664, 7_978_856, 83_648),
    "xception": (74, 8_357_403_496, 22_855_952, 54_528),
}


def path_of(name):
    folder = FIXTURES / name / "saved_model.pb"
    return folder if folder.exists() else FIXTURES / f"{name}.pb"


def load(name, batch=1):
    return latpred.load(path_of(name), batch=batch)


def count(graph, operator):
    return graph.operators.get(operator, 0)


@pytest.mark.parametrize("name", NETWORKS)
def test_true_numbers(name):
    convolutions, macs, parameters, statistics = NETWORKS[name]
    graph = load(name)
    assert count(graph, "conv") == convolutions
    assert graph.macs == macs
    assert graph.num_parameters == parameters
    assert graph.num_statistics == statistics
    assert count(graph, "rsqrt") == 0  # every batch norm is one operator again
    assert "unknown" not in graph.operators
    assert load(name, 8).macs == 8 * macs


@pytest.mark.parametrize("name", SAVED_MODELS)
def test_outputs_and_variables_are_those_of_tensorflow(name):
    expected = EXPECTED[name]
    batch = {"static_8": 8, "static_1": 1}.get(name, 3)
    graph = load(name, batch)
    shapes = [[batch if size is None else size for size in shape] for shape in expected["outputs"].values()]
    assert [list(output.shape) for output in graph.outputs] == shapes
    # Each variable once, though the file has a handle for it twice more.
    assert graph.num_parameters + graph.num_statistics == expected["elements"]
    assert "unknown" not in graph.operators
    # What the file declares of its tensors is what the shape rules found.
    assert not [warning for warning in graph.warnings if "the file says" in warning]


@pytest.mark.parametrize("name", FROZEN)
def test_frozen_graphs_equal_their_saved_models(name):
    frozen, whole = load(name, 2), load(name.removesuffix("_frozen"), 2)
    assert frozen.macs == whole.macs
    # TensorFlow writes the first states of recurrent layers out as constants: two of the LSTM, one of the GRU.
    states = 2 * (8 + 8 + 6) if name == "recurrent_frozen" else 0
    assert frozen.num_parameters == whole.num_parameters + states
    assert frozen.num_statistics == whole.num_statistics
    assert frozen.operators == whole.operators
    shapes = [[2 if size is None else size for size in shape] for shape in EXPECTED[name]["outputs"]]
    assert [list(output.shape) for output in frozen.outputs] == shapes


@pytest.mark.parametrize("name", sorted(set(SAVED_MODELS) - {"static_1", "static_8"}))
def test_macs_grow_with_the_batch(name):
    assert load(name, 8).macs == 8 * load(name, 1).macs


def test_a_static_file_at_another_batch_is_the_one_saved_at_it():
    asked, saved = load("static_1", 8), load("static_8", 8)
    assert asked.macs == saved.macs
    assert [list(output.shape) for output in asked.outputs] == [[8, 20]]
    assert asked.hash == saved.hash


def test_recurrent_layers_count_every_step():
    graph = load("recurrent")
    lstm, gru = 10 * (16 + 8) * 4 * 8, 10 * (8 + 6) * 3 * 6
    assert graph.macs == lstm + gru + 6 * 4
    graph = load("bidirectional")
    assert graph.macs == 2 * lstm + 10 * (16 + 5) * 5 + 5 * 4


def test_a_branch_counts_once_and_a_loop_each_turn():
    graph = load("control")
    # The first branch is decided by the batch: `outer` has two products. Then three turns of `outer`, and one product
    # of the last branch, which depends on data.
    assert graph.macs == (2 + 3 * 2 + 1) * 8 * 8
    assert sum(node.repeat for node in graph.nodes if node.operator == "matmul") == 2 + 3 * 2 + 1
    assert graph.num_parameters == 128


def test_groups_follow_from_the_channels():
    for name in ("layer_mix", "layer_mix_frozen"):
        grouped = next(node for node in load(name).nodes if node.operator == "conv")
        assert grouped.macs == 32 * 32 * 12 * 3 * 3 * 2


def test_the_folder_is_the_model():
    assert latpred.load(FIXTURES / "vgg16").macs == NETWORKS["vgg16"][1]
    assert latpred.load(FIXTURES / "vgg16", framework="tensorflow").macs == NETWORKS["vgg16"][1]


def test_a_wrong_input_is_answered_with_the_declared_one():
    with pytest.raises(InvalidArgumentError, match=r"keras_tensor.*batch, 224, 224, 3"):
        latpred.load(path_of("vgg16"), input="3,224,224")


@pytest.mark.network
def test_the_same_network_in_two_formats(tmp_path):
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(tmp_path)]
    subprocess.run([*command, "basic-pitch==0.4.0"], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    folder = tmp_path / "basic_pitch/saved_models/icassp_2022"
    onnx, saved = latpred.load(folder / "nmp.onnx"), latpred.load(folder / "nmp")
    assert count(onnx, "conv") == count(saved, "conv") == 32
    assert onnx.macs == saved.macs == 524_079_648
    assert sorted(node.macs for node in onnx.nodes if node.macs) == sorted(
        node.macs for node in saved.nodes if node.macs
    )

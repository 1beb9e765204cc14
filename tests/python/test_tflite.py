"""TensorFlow Lite models: the fixtures of tools/fixtures/make_tflite.py, and models that others made."""

import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import latpred
import pytest
from latpred.errors import ModelFileError, ShapeError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "tflite"
ALL = sorted(path.stem for path in FIXTURES.glob("*.tflite"))

MOBILENET_V2_MACS = 300_774_272
# Its convolutions' kernels and its classifier, with the batch norms folded into one bias for each channel.
MOBILENET_V2_PARAMETERS = 3_504_872 - 2 * 17_056 + 17_056

# Warnings that a file has a reason for.
EXPECTED_WARNINGS = {"control_flow": 1}


def load(name, **settings):
    return latpred.load(FIXTURES / f"{name}.tflite", **settings)


def kernels(graph):
    """What is computed, without names: operators and every shape."""
    return [
        (node.operator, [tuple(tensor.shape) for tensor in node.inputs if tensor is not None]) for node in graph.nodes
    ]


def test_mobilenet_v2_is_exact():
    graph = load("mobilenet_v2")
    assert graph.macs == MOBILENET_V2_MACS
    assert graph.num_parameters == MOBILENET_V2_PARAMETERS
    assert graph.weight_bytes == 4 * MOBILENET_V2_PARAMETERS
    assert graph.operators["conv"] == 52
    assert graph.source.framework == "tensorflow"
    assert graph.source.format == "TensorFlow Lite schema 3"
    assert graph.source.producer.startswith("MLIR Converted, for runtime ")
    assert [tensor.shape for tensor in graph.inputs] == [(1, 224, 224, 3)]


@pytest.mark.parametrize("name", ALL)
def test_the_sizes_are_those_that_the_file_declares(name):
    """A size that differs from the file's own would be a warning."""
    graph = load(name, batch=8 if name.endswith("_8") else 2 if name == "control_flow" else 1)
    assert len(graph.warnings) == EXPECTED_WARNINGS.get(name, 0), graph.warnings
    unknown = [] if name != "flex" else ["flex::MatrixInverse"]
    assert [node.source_operator for node in graph.nodes if node.operator == "unknown"] == unknown


@pytest.mark.parametrize("name", ["small_vision", "operators"])
def test_another_batch_is_the_graph_of_a_file_saved_at_it(name):
    graph = load(name, batch=8)
    assert graph.macs == 8 * load(name).macs
    assert kernels(graph) == kernels(load(f"{name}_8", batch=8))
    assert graph.warnings == []


def test_an_open_batch_is_the_graph_of_a_file_saved_at_it():
    opened = load("small_vision_open", batch=8)
    assert opened.macs == load("small_vision_8", batch=8).macs
    assert opened.macs == 8 * load("small_vision_open").macs


@pytest.mark.parametrize(
    "name", [name for name in ALL if not name.endswith("_8") and name not in ("text", "control_flow")]
)
def test_costs_grow_with_the_batch(name):
    if name == "flex":  # its sizes are declared for one item
        with pytest.raises(latpred.LatpredError, match="MatrixInverse"):
            load(name, batch=8)
        return
    assert load(name, batch=8).macs == 8 * load(name).macs


def test_a_batch_that_is_baked_in_is_refused():
    """At a batch of 1 the converter writes a transposition as a reshape: which of both it was, nobody can tell."""
    with pytest.raises(ShapeError, match=r"fixed at batch 1 and reshape .* bakes it in; re-export"):
        load("text", batch=8)


def test_a_loop_counts_its_turns():
    """An LSTM over 12 tokens, 16 inputs and 24 states: two products in each turn."""
    products = 12 * (16 + 24) * 4 * 24
    graph = load("text")
    turn = [node for node in graph.nodes if node.name.startswith("while_5/")]
    assert 12 * sum(node.macs for node in turn) == products
    assert load("text_8", batch=8).macs == 8 * graph.macs


def test_quantized_tensors_keep_their_types():
    whole, quantized, half = (load(f"small_vision{kind}") for kind in ("", "_int8", "_float16"))
    assert whole.macs == quantized.macs == half.macs
    assert whole.num_parameters == quantized.num_parameters == half.num_parameters
    assert {tensor.dtype for tensor in quantized.inputs + quantized.outputs} == {"int8"}
    convolution = next(node for node in quantized.nodes if node.operator == "conv")
    assert [tensor.dtype for tensor in convolution.inputs] == ["int8", "int8", "int32"]
    assert half.weight_bytes == whole.weight_bytes / 2
    assert whole.weight_bytes / 4 < quantized.weight_bytes < whole.weight_bytes / 3.9


def test_a_fused_activation_is_an_operator_of_its_own():
    graph = load("small_vision")
    assert [node.operator for node in graph.nodes[:2]] == ["conv", "clip"]
    assert graph.source.num_nodes == 21
    assert sum(graph.source.operator_counts.values()) == 21
    assert graph.source.operator_counts["CONV_2D"] == 3


def test_inputs_are_named_where_they_do_not_fit():
    with pytest.raises(latpred.LatpredError) as caught:
        load("operators", input="8,8,4")
    assert "'image' [1, 8, 8, 4] float32, 'sequence' [1, 6, 4] float32, 'ids' [1, 6] int32" in str(caught.value)
    assert '"image": "8,8,4:float32"' in str(caught.value)


@pytest.mark.parametrize("size", [0.1, 0.5, 0.9, 0.99])
def test_a_file_that_is_cut_off(tmp_path, size):
    content = (FIXTURES / "small_vision.tflite").read_bytes()
    path = tmp_path / "m.tflite"
    path.write_bytes(content[: int(size * len(content))])
    with pytest.raises(ModelFileError, match=r"' is damaged: "):
        latpred.load(path)


def download(folder, package):
    """The files of a package, which is not installed."""
    command = [
        sys.executable,
        "-m",
        "pip",
        "download",
        "--no-deps",
        "--no-binary",
        ":none:",
        "-q",
        "-d",
        folder,
        package,
    ]
    subprocess.run(command, check=True, timeout=300)
    for path in Path(folder).iterdir():
        if path.suffix == ".whl":
            zipfile.ZipFile(path).extractall(folder)
        elif path.name.endswith(".tar.gz"):
            with tarfile.open(path) as archive:
                archive.extractall(folder, filter="data")
    return folder


@pytest.mark.network
def test_wake_words(tmp_path):
    models = sorted(download(tmp_path, "pyopen-wakeword==1.1.0").rglob("*.tflite"))
    assert len(models) == 7
    for path in models:
        # One of them takes sound of any length.
        graph = latpred.load(path, input="1760" if path.stem == "melspectrogram" else None)
        assert graph.macs > 0
        assert "unknown" not in graph.operators, path


@pytest.mark.network
def test_basic_pitch_is_the_network_of_its_onnx_file(tmp_path):
    folder = download(tmp_path, "basic-pitch==0.4.0")
    lite = latpred.load(next(folder.rglob("nmp.tflite")))
    onnx = latpred.load(next(folder.rglob("nmp.onnx")))

    def convolutions(graph):
        return sorted(node.macs for node in graph.nodes if node.operator == "conv")

    assert convolutions(lite) == convolutions(onnx)

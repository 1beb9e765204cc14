"""Files that are no network: each is refused in one sentence that says what it is and what to do."""

import subprocess
import sys

import broken_files
import latpred
import pytest
from latpred.cli import main
from latpred.errors import LatpredError, ModelFileError

# What follows the file's name: what it is, and what to do.
MESSAGES = {
    "git_lfs.onnx": (
        "is a Git LFS pointer, not the model",
        "run 'git lfs pull' in its repository",
    ),
    "page.pt": (
        "is an HTML or XML page, not a model",
        "download the model itself; what came instead is often a login or error page",
    ),
    "cut.onnx": ("is damaged: field 7 at byte 2 says 59 bytes, 36 remain",),
    "notes.txt": (
        "is a text file, not a model",
        "give the model file itself; models in text form are not read",
    ),
    "settings.json": (
        "is a JSON file, not a model",
        "give the model file itself",
    ),
    "state_dict.pt": (
        "holds weights only (4 tensors), no graph",
        "pass the nn.Module, or save with torch.export.save",
    ),
    "state_dict_old.pth": (
        "holds weights only (4 tensors), no graph",
        "pass the nn.Module, or save with torch.export.save",
    ),
    "checkpoint.tar": (
        "holds weights only (4 tensors), no graph",
        "pass the nn.Module, or save with torch.export.save",
    ),
    "module.pt": (
        "would execute code from: broken_files.Detector, torch.nn.modules.linear.Linear",
        "export it to .pt2, or pass allow_pickle=True if you trust it",
    ),
    "module_old.pt": (
        "would execute code from: broken_files.Detector, torch.nn.modules.linear.Linear",
        "export it to .pt2, or pass allow_pickle=True if you trust it",
    ),
    "cut.pt": (
        "is a zip archive that is cut off: the directory at its end is missing",
        "download or copy it again",
    ),
    "model.safetensors": (
        "holds weights only (2 tensors), no graph",
        "pass the nn.Module, or save with torch.export.save",
    ),
    "model.safetensors.index.json": (
        "is a list of files of weights, no graph",
        "give the folder, with its config.json",
    ),
    "model.pdparams": (
        "holds weights only (1 tensor), no graph",
        "save the network with paddle.jit.save, which writes .json or .pdmodel",
    ),
    "model.pdiparams": (
        "holds weights only, no graph",
        "give the .json or .pdmodel file beside it",
    ),
    "forest.pkl": (
        "would execute code from: pathlib.PosixPath",
        "save the network in a format of its framework, such as ONNX or .pt2",
    ),
    "arrays.pkl": (
        "holds weights only (1 tensor), no graph",
        "save the network in a format of its framework, such as ONNX or .pt2",
    ),
    "cut.pkl": (
        "holds a pickle that is cut off or broken",
        "save the network in a format of its framework, such as ONNX or .pt2",
    ),
    "compiled.pt2": (
        "is compiled by AOTInductor: machine code, no graph",
        "export the network with torch.export.export and save it with torch.export.save, or as ONNX",
    ),
    "weightless.pt2": (
        "is an archive of torch.export without a network in it",
        "export the network with torch.export.export and save it with torch.export.save, or as ONNX",
    ),
    "model.pte": (
        "is an ExecuTorch program, compiled for a device",
        "export the network with torch.export.export and save it with torch.export.save, or as ONNX",
    ),
    "model.ort": (
        "is a model in ONNX Runtime's own .ort format",
        "use the ONNX file that it was made from",
    ),
    "model.onnx.gz": (
        "is a compressed archive",
        "unpack it and give the model file in it",
    ),
    "model.tar": (
        "is a tar archive",
        "unpack it and give the model file in it",
    ),
    "model.zip": (
        "is a zip archive with a model in it",
        "unpack it and give the model file in it",
    ),
    "photos.zip": (
        "is a zip archive of no kind that is known here",
        "unpack it and give the model file in it",
    ),
    "weights.npz": (
        "is an archive of NumPy arrays: weights only, no graph",
        "give the file of the network itself",
    ),
    "model.gguf": (
        "is a GGUF file: weights of a language model, no graph",
        "give the folder with the config.json of the network that it was made from",
    ),
    "model.plan": (
        "is a TensorRT engine, compiled for one GPU",
        "use the ONNX file that it was made from",
    ),
    "model.mlmodel": (
        "is a Core ML model",
        "use the network that it was converted from",
    ),
    "model.xml": (
        "is an OpenVINO network in XML",
        "use the network that it was converted from",
    ),
    "model.ckpt.meta": (
        "is the .meta file of a TensorFlow 1 checkpoint",
        "save the network with tf.saved_model.save",
    ),
    "model.ckpt.index": (
        "is the index of a TensorFlow checkpoint: weights only, no graph",
        "save the network with tf.saved_model.save",
    ),
    "config.json": (
        "is the configuration of a Keras model, without the archive around it",
        "save the network itself with model.save('model.keras')",
    ),
    "noise.bin": (
        "is of no format that is known here",
        "check that it is the model and that it is whole",
    ),
    "empty_folder": ("is an empty folder",),
    "photos": (
        "is a folder without a model of a known name",
        "give the model file itself",
    ),
    "two_models": (
        "is a folder with 2 models",
        "give one of them: '{folder}/two_models/a.onnx', '{folder}/two_models/b.onnx'",
    ),
    "hub_module": (
        "is a TensorFlow Hub module of TensorFlow 1",
        "load it with tensorflow_hub and save it with tf.saved_model.save",
    ),
    "checkpoint": (
        "holds a TensorFlow checkpoint: weights only, no graph",
        "save the network with tf.saved_model.save",
    ),
    "weights_only": (
        "holds weights without a config.json, no graph",
        "add the config.json, or save the module with torch.export.save",
    ),
    "paddle_weights": (
        "holds weights of Paddle only, no graph",
        "give the .json or .pdmodel file that belongs to them",
    ),
    "adapter": (
        "is an adapter: weights for a network that is not in it",
        "merge it into that network and save that",
    ),
    "pipeline": (
        "is a pipeline of several networks",
        "give the folder of one of them, such as its unet",
    ),
    "model.mlpackage": (
        "is a Core ML package",
        "use the network that it was converted from",
    ),
}
EMPTY = {"empty.onnx": "model file '{folder}/empty.onnx' is empty"}


def message(folder, name):
    if name in EMPTY:
        return EMPTY[name].format(folder=folder)
    return f"'{folder / name}' {'; '.join(MESSAGES[name])}".format(folder=folder)


NAMES = [*EMPTY, *MESSAGES]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("broken")
    broken_files.write(path)
    return path


def test_every_file_has_its_message():
    assert sorted(NAMES) == sorted([*broken_files.FILES, *broken_files.FOLDERS])


@pytest.mark.parametrize("name", NAMES)
def test_message(folder, name):
    with pytest.raises(ModelFileError) as caught:
        latpred.load(folder / name)
    assert str(caught.value) == message(folder, name)
    assert caught.value.path.startswith(str(folder / name))


@pytest.mark.parametrize("name", NAMES)
def test_command_line(folder, name, capsys):
    assert main(["inspect", str(folder / name)]) == 2
    output = capsys.readouterr()
    assert output.out == ""
    assert output.err == f"latpred: error: {message(folder, name)}\n"


def test_command_line_as_a_process(folder):
    command = [sys.executable, "-m", "latpred", "inspect", str(folder / "module.pt")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


# What a file is, asked for as each of the others.
SAID_TO_BE = {
    "an ONNX model": "onnx",
    "a PyTorch model": "pytorch",
    "a Paddle program": "paddle",
    "a TensorFlow model": "tensorflow",
    "a Keras model": "keras",
}


@pytest.mark.parametrize("expected", SAID_TO_BE)
def test_framework_that_contradicts_the_content(tmp_path, expected):
    files = {
        "pytorch": ("m.ts", broken_files.archive({"m/constants.pkl": "", "m/code/m.py": ""}), "a TorchScript archive"),
        "onnx": ("m.bin", broken_files.onnx_model(), "an ONNX model"),
        "tensorflow": ("m.lite", broken_files.flatbuffer(b"TFL3"), "a TensorFlow Lite model"),
        "keras": ("m.zip", broken_files.archive({"config.json": "{}", "metadata.json": "{}"}), "a Keras archive"),
    }
    for framework, (name, content, what) in files.items():
        if framework == SAID_TO_BE[expected]:
            continue
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(ModelFileError) as caught:
            latpred.load(path, framework=SAID_TO_BE[expected])
        assert str(caught.value) == f"'{path}' is {what}, not {expected}; use framework=\"{framework}\""


def test_what_is_no_model_says_so_whatever_the_framework(folder):
    for framework in SAID_TO_BE.values():
        with pytest.raises(ModelFileError) as caught:
            latpred.load(folder / "git_lfs.onnx", framework=framework)
        assert str(caught.value) == message(folder, "git_lfs.onnx")


def test_missing_file(tmp_path):
    with pytest.raises(ModelFileError) as caught:
        latpred.load(tmp_path / "m.onnx")
    assert str(caught.value) == f"model file not found: '{tmp_path / 'm.onnx'}'"


def test_nothing_of_a_pickle_runs(tmp_path):
    """A pickle that would leave a file behind is only looked at."""
    trace = tmp_path / "trace"
    content = f"cos\nsystem\n(S'touch {trace}'\ntR.".encode()
    path = tmp_path / "m.pt"
    path.write_bytes(broken_files.archive({"m/data.pkl": content}))
    with pytest.raises(LatpredError, match=r"would execute code from: os\.system; export it to \.pt2"):
        latpred.load(path)
    assert not trace.exists()

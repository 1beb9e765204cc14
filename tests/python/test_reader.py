"""Reading model files: real ones, damaged ones, huge ones. The reader's own tests are in tests/cpp/onnx*_test.cpp."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import onnx
import pytest
from latpred import _core
from latpred.errors import InvalidArgumentError, ModelFileError
from onnx import TensorProto, helper

LIGHT = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"

# Counted by an independent reader of the same files: nodes, ConstantOfShape among them, Conv, initializers.
LIGHT_COUNTS = {
    "bvlc_alexnet": (40, 16, 5, 17),
    "densenet121": (1746, 836, 121, 848),
    "inception_v1": (237, 93, 57, 118),
    "inception_v2": (916, 407, 69, 486),
    "resnet50": (415, 239, 53, 269),
    "shufflenet": (446, 243, 49, 281),
    "squeezenet": (105, 39, 26, 52),
    "vgg19": (82, 36, 16, 39),
    "zfnet512": (38, 16, 5, 18),
}


@pytest.mark.parametrize("name", LIGHT_COUNTS)
def test_light_networks(name):
    program = _core.read_program(str(LIGHT / f"light_{name}.onnx"))
    source = program.source
    num_nodes, num_filled, num_conv, num_initializers = LIGHT_COUNTS[name]
    assert source.num_nodes == num_nodes
    assert sum(source.operator_counts.values()) == num_nodes
    assert source.operator_counts["ConstantOfShape"] == num_filled
    assert source.operator_counts["Conv"] == num_conv
    assert program.num_stored == num_initializers
    assert len(program.inputs) == 1
    assert source.format == "ONNX IR 3, opset 9"
    assert program.warnings == []


def test_same_counts_as_the_onnx_package():
    for path in sorted(LIGHT.glob("*.onnx")):
        graph = onnx.load(path).graph
        program = _core.read_program(str(path))
        stored = {tensor.name for tensor in graph.initializer}
        assert program.inputs == [value.name for value in graph.input if value.name not in stored]
        assert program.num_stored == len(stored)
        for operator, count in program.source.operator_counts.items():
            assert count == sum(node.op_type == operator for node in graph.node)


def matmul_model(external: bool, rows: int = 4, location: str = "weights.bin") -> onnx.ModelProto:
    weight = TensorProto(name="w", dims=[rows, 8], data_type=TensorProto.FLOAT)
    if external:
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value=location)
    else:
        weight.raw_data = np.zeros((rows, 8), np.float32).tobytes()
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", rows])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph([helper.make_node("MatMul", ["x", "w"], ["y"])], "g", [x], [y], [weight])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])


def test_errors_carry_path_and_offset(tmp_path):
    path = tmp_path / "m.onnx"
    content = matmul_model(external=False).SerializeToString()
    path.write_bytes(content[:-30])
    with pytest.raises(ModelFileError, match="is damaged: field 7 at byte") as caught:
        _core.read_program(str(path))
    assert caught.value.path == str(path)
    assert caught.value.offset > 0


def test_every_cut_is_refused_or_read(tmp_path):
    """A file cut at any byte: an error of ours with the path, or a whole program where only the tail was lost."""
    path = tmp_path / "m.onnx"
    content = matmul_model(external=False).SerializeToString()
    for size in range(1, len(content)):
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match=r"m\.onnx"):
            _core.read_program(str(path))


def test_framework_is_checked(tmp_path):
    with pytest.raises(InvalidArgumentError, match="did you mean 'onnx'"):
        _core.read_program("m.onnx", framework="onyx")
    path = tmp_path / "archive.pt"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as archive:
        for name in ("data.pkl", "code/__torch__.py", "constants.pkl"):
            archive.writestr(f"net/{name}", b"")
    with pytest.raises(ModelFileError, match='is a TorchScript archive, not an ONNX model; use framework="pytorch"'):
        _core.read_program(str(path), framework="onnx")


def test_external_weights_may_be_missing_but_not_elsewhere(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(matmul_model(external=True).SerializeToString())
    program = _core.read_program(str(path))
    assert program.num_stored == 1
    assert program.warnings == [
        "the file of weights 'weights.bin' is missing; their sizes are known from the model itself"
    ]
    path.write_bytes(matmul_model(external=True, location="../weights.bin").SerializeToString())
    with pytest.raises(ModelFileError, match=r"'\.\./weights\.bin', outside the model's folder"):
        _core.read_program(str(path))


def test_limits_are_arguments(tmp_path):
    path = tmp_path / "m.onnx"
    path.write_bytes(matmul_model(external=True).SerializeToString())
    with pytest.raises(ModelFileError, match=r"graph has 1 nodes, limit 0 \(max_nodes\)"):
        _core.read_program(str(path), max_nodes=0)


def varint(value: int) -> bytes:
    result = bytearray()
    while value >= 0x80:
        result.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*result, value])


def write_huge(path: Path, num_layers: int, rows: int) -> None:
    """A model with its weights inside, written around holes: protobuf itself refuses messages of 2 GiB."""
    size = 4 * rows * rows
    tensors = []
    for i in range(num_layers):
        head = TensorProto(name=f"w{i}", dims=[rows, rows], data_type=TensorProto.FLOAT).SerializeToString()
        head += b"\x4a" + varint(size)  # raw_data
        tensors.append(b"\x2a" + varint(len(head) + size) + head)  # initializer
    nodes = [helper.make_node("MatMul", [f"t{i}", f"w{i}"], [f"t{i + 1}"]) for i in range(num_layers)]
    x = helper.make_tensor_value_info("t0", TensorProto.FLOAT, ["batch", rows])
    y = helper.make_tensor_value_info(f"t{num_layers}", TensorProto.FLOAT, None)
    rest = helper.make_graph(nodes, "g", [x], [y]).SerializeToString()
    total = len(rest) + sum(len(tensor) + size for tensor in tensors)
    with path.open("wb") as file:
        file.write(b"\x08\x08" + b"\x42\x02\x10\x11" + b"\x3a" + varint(total) + rest)
        for tensor in tensors:
            file.write(tensor)
            file.seek(size, os.SEEK_CUR)
        file.truncate()


def test_seven_billion_parameters_take_little_memory(tmp_path):
    path = tmp_path / "huge.onnx"
    num_layers, rows = 105, 8192
    try:
        write_huge(path, num_layers, rows)
    except OSError:
        pytest.skip("no room for a sparse file of 28 GB")
    assert path.stat().st_size > 28e9
    script = """if True:
        import sys
        from latpred import _core
        program = _core.read_program(sys.argv[1])
        # Not ru_maxrss: it counts what the process was forked from.
        peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
        print(program.num_stored, peak.split()[1])
    """
    result = subprocess.run([sys.executable, "-c", script, str(path)], capture_output=True, text=True, check=True)
    num_stored, peak_kb = map(int, result.stdout.split())
    assert num_stored == num_layers
    assert peak_kb < 100_000

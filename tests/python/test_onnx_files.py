"""ONNX files made ready to run."""

import numpy as np
import pytest
from latpred.errors import InvalidArgumentError, UnsupportedOperatorError
from latpred.workloads import onnx_files
from latpred.workloads.workload import Setting

onnx = pytest.importorskip("onnx")
FLOAT, INT64 = onnx.TensorProto.FLOAT, onnx.TensorProto.INT64


@pytest.fixture
def make_file(tmp_path):
    """Conv, Relu, Shape, Reshape to the sizes that Shape says, and a table of weights that a constant indexes."""

    def make(shape=("batch", 3, 8, "width"), **more):
        helper = onnx.helper
        nodes = [
            helper.make_node("Conv", ["x", "weight"], ["conv"], name="stage/conv, first", kernel_shape=[1, 1]),
            helper.make_node("Relu", ["conv"], ["relu"]),
            helper.make_node("Identity", ["weight"], ["copy"], name="constant"),
            helper.make_node("ReduceSum", ["copy"], ["total"], keepdims=0),
            helper.make_node("Shape", ["relu"], ["shape"]),
            helper.make_node("Add", ["relu", "total"], ["sum"]),
            helper.make_node("Reshape", ["sum", "shape"], ["y"]),
        ]
        weight = onnx.numpy_helper.from_array(np.ones((4, 3, 1, 1), np.float32), "weight")
        inputs = [helper.make_tensor_value_info("x", FLOAT, shape)]
        outputs = [helper.make_tensor_value_info("y", FLOAT, ("batch", 4, 8, "width"))]
        graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=[weight])
        path = tmp_path / "given.onnx"
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8, **more), path)
        return path

    return make


def prepare(source, folder, **setting):
    made = folder / "made"
    made.mkdir()
    return onnx_files.prepare(Setting(source, **setting), made)


def test_nodes_get_names_that_runtimes_keep(make_file, tmp_path):
    file = prepare(make_file(), tmp_path, batch=2, input="3,8,5")
    assert [(node.index, node.unique_name, node.name) for node in file.nodes] == [
        (0, "n00000_Conv", "stage/conv, first"),
        (1, "n00001_Relu", ""),
        (5, "n00005_Add", ""),
        (6, "n00006_Reshape", ""),
    ]
    written = onnx.load(file.path)
    assert [node.name for node in written.graph.node][:2] == ["n00000_Conv", "n00001_Relu"]
    onnx.checker.check_model(written)


def test_sizes_become_numbers(make_file, tmp_path):
    file = prepare(make_file(), tmp_path, batch=2, input="3,8,5")
    assert file.inputs == {"x": ("float32", (2, 3, 8, 5))}
    session = pytest.importorskip("onnxruntime").InferenceSession(file.path)
    assert session.get_inputs()[0].shape == [2, 3, 8, 5]
    assert session.run(None, {"x": np.zeros((2, 3, 8, 5), np.float32)})[0].shape == (2, 4, 8, 5)


def test_an_input_may_have_no_batch(make_file, tmp_path):
    file = prepare(make_file(), tmp_path, batch=2, input="unbatched,1,3,8,5")
    assert file.inputs == {"x": ("float32", (1, 3, 8, 5))}


def test_open_sizes_are_asked_for(make_file, tmp_path):
    with pytest.raises(InvalidArgumentError, match=r"input 'x' of the file is \[\?, 3, 8, \?\]; say its sizes"):
        prepare(make_file(), tmp_path)


def test_inputs_that_the_file_lacks_are_refused(make_file, tmp_path):
    with pytest.raises(InvalidArgumentError, match="input= names 'z'; inputs of the file: x"):
        prepare(make_file(), tmp_path, input={"z": "3,8,5"})


def test_what_is_no_onnx_file_is_refused(tmp_path):
    path = tmp_path / "broken.onnx"
    path.write_bytes(b"\xff\xff no")
    with pytest.raises(InvalidArgumentError, match=r"broken\.onnx' is no ONNX file"):
        prepare(path, tmp_path)


def test_recipes_become_files_with_weights_that_are_not_zero(tmp_path):
    file = prepare("fnn:16-128-1", tmp_path, batch=4)
    assert [node.operator for node in file.nodes] == ["Gemm", "Relu", "Gemm"]
    written = onnx.load(file.path)
    onnx.checker.check_model(written)
    weights = {tensor.dims[0]: onnx.numpy_helper.to_array(tensor) for tensor in written.graph.initializer
               if len(tensor.dims) == 2}  # fmt: skip
    assert weights[128].shape == (128, 16)
    assert np.std(weights[128]) == pytest.approx((2 / 16) ** 0.5, rel=0.1)


def test_variances_are_positive(tmp_path):
    from example_networks import REPOSITORY

    file = prepare(REPOSITORY / "examples" / "resnet50.onnx", tmp_path)
    written = onnx.load(file.path)
    stored = {tensor.name: onnx.numpy_helper.to_array(tensor) for tensor in written.graph.initializer}
    norms = [node for node in written.graph.node if node.op_type == "BatchNormalization"]
    assert len(norms) == 53
    assert all(stored[node.input[4]].min() >= 0.5 for node in norms)


def test_dense_layers_of_more_than_two_axes(tmp_path):
    import latpred

    net = latpred.GraphBuilder()
    x = net.input("x", (5, 8))
    net.output(net.apply("linear", [x, net.parameter((4, 8)), net.parameter((4,))]))
    path = tmp_path / "dense.onnx"
    net.build(2).to_onnx(path)
    file = prepare(path, tmp_path, batch=2)
    assert [node.operator for node in file.nodes] == ["MatMul", "Add"]
    session = pytest.importorskip("onnxruntime").InferenceSession(file.path)
    assert session.run(None, {"x": np.ones((2, 5, 8), np.float32)})[0].shape == (2, 5, 4)


def test_operators_that_onnx_lacks_are_named(tmp_path):
    with pytest.raises(UnsupportedOperatorError, match=r"node .* \(multi_head_attention\) cannot be written as ONNX"):
        prepare("bert:base?seq=8", tmp_path)


@pytest.mark.parametrize("name", ["convnext", "efficientnet", "swin", "vit"])
def test_recipes_of_operators_that_onnx_writes_as_several_become_files(name, tmp_path):
    from latpred.datasets import family_networks

    recipe = next(text for text, _ in family_networks.graphs([name]))
    written = onnx.load(prepare(recipe, tmp_path).path)
    onnx.checker.check_model(written)
    assert all(node.domain == "" for node in written.graph.node)


def test_inputs_keep_their_names_unless_these_are_taken(tmp_path):
    import latpred

    net = latpred.GraphBuilder()
    net.output(net.apply("add", [net.input("x", (4,)), net.input("t1", (4,))]))
    path = tmp_path / "sum.onnx"
    net.build(2).to_onnx(path)
    assert list(prepare(path, tmp_path, batch=2).inputs) == ["x", "input_1"]

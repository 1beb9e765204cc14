"""What `resolve` makes of files that split what others have whole."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from latpred import _core

onnx = pytest.importorskip("onnx")

helper = onnx.helper
FLOAT = onnx.TensorProto.FLOAT
HEADS, LENGTH, SIZE = 4, 10, 16


def resolve(tmp_path: Path, nodes: list[object], stored: dict[str, np.ndarray], shape: list[int]) -> _core.Graph:
    data = helper.make_tensor_value_info("x", FLOAT, ["N", *shape])
    result = helper.make_tensor_value_info("y", FLOAT, None)
    initializers = [onnx.numpy_helper.from_array(array, name) for name, array in stored.items()]
    graph = helper.make_graph(nodes, "g", [data], [result], initializers)
    path = tmp_path / "network.onnx"
    path.write_bytes(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]).SerializeToString())
    return _core.resolve(_core.read_program(str(path)), batch=2)


def number(value: float) -> np.ndarray:
    return np.array(value, "float32")


def operators(graph: _core.Graph) -> list[str]:
    return [node.operator for node in graph.nodes]


def test_gelu(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("Div", ["x", "root"], ["a"]),
        helper.make_node("Erf", ["a"], ["b"]),
        helper.make_node("Add", ["b", "one"], ["c"]),
        helper.make_node("Mul", ["x", "c"], ["d"]),
        helper.make_node("Mul", ["d", "half"], ["y"]),
    ]
    stored = {"root": number(math.sqrt(2)), "one": number(1), "half": number(0.5)}
    graph = resolve(tmp_path, nodes, stored, [3, 4])
    assert operators(graph) == ["gelu"]
    assert [output.name for output in graph.outputs] == ["y"]


def test_attention_as_torch_exports_it(tmp_path: Path) -> None:
    """Queries and keys are scaled by the root, keys turned together with the heads; a mask is added."""
    width = HEADS * SIZE
    nodes = []
    for name, order in (("q", [0, 2, 1, 3]), ("k", [0, 2, 3, 1]), ("v", [0, 2, 1, 3])):
        nodes += [
            helper.make_node("MatMul", ["x", f"w_{name}"], [f"{name}_0"]),
            helper.make_node("Reshape", [f"{name}_0", "split"], [f"{name}_1"]),
            helper.make_node("Transpose", [f"{name}_1"], [name], perm=order),
        ]
    nodes += [
        helper.make_node("Mul", ["q", "scale"], ["q_scaled"]),
        helper.make_node("Mul", ["k", "scale"], ["k_scaled"]),
        helper.make_node("MatMul", ["q_scaled", "k_scaled"], ["scores"]),
        helper.make_node("Add", ["scores", "mask"], ["masked"]),
        helper.make_node("Softmax", ["masked"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["heads"]),
        helper.make_node("Transpose", ["heads"], ["turned"], perm=[0, 2, 1, 3]),
        helper.make_node("Reshape", ["turned", "join"], ["y"]),
    ]
    stored = {f"w_{name}": np.zeros((width, width), "float32") for name in "qkv"}
    stored |= {"split": np.array([0, 0, HEADS, SIZE]), "join": np.array([0, 0, width]), "scale": number(0.5)}
    stored["mask"] = np.zeros((1, 1, LENGTH, LENGTH), "float32")
    graph = resolve(tmp_path, nodes, stored, [LENGTH, width])
    counted = graph.operators
    assert counted["scaled_dot_product_attention"] == 1
    assert "softmax" not in counted
    assert "mul" not in counted
    assert counted["matmul"] == 3
    assert counted["transpose"] == 4
    assert graph.macs == 2 * (3 * LENGTH * width * width + 2 * HEADS * LENGTH * LENGTH * SIZE)
    attention = next(node for node in graph.nodes if node.operator == "scaled_dot_product_attention")
    assert attention.inputs[1].shape == attention.inputs[0].shape


def test_layer_norm(tmp_path: Path) -> None:
    nodes = [
        helper.make_node("ReduceMean", ["x"], ["mean"], axes=[-1]),
        helper.make_node("Sub", ["x", "mean"], ["d"]),
        helper.make_node("Pow", ["d", "two"], ["square"]),
        helper.make_node("ReduceMean", ["square"], ["variance"], axes=[-1]),
        helper.make_node("Add", ["variance", "epsilon"], ["e"]),
        helper.make_node("Sqrt", ["e"], ["deviation"]),
        helper.make_node("Div", ["d", "deviation"], ["n"]),
        helper.make_node("Mul", ["n", "w"], ["scaled"]),
        helper.make_node("Add", ["scaled", "b"], ["y"]),
    ]
    stored = {"two": number(2), "epsilon": number(1e-5)}
    stored |= {"w": np.ones(8, "float32"), "b": np.zeros(8, "float32")}
    graph = resolve(tmp_path, nodes, stored, [5, 8])
    assert operators(graph) == ["layer_norm"]
    assert graph.num_parameters == 16


def test_quantized_convolution(tmp_path: Path) -> None:
    """x -> Q -> DQ -> conv -> relu -> Q -> DQ: the product is one of integers; the pairs at the border stay."""
    nodes = [
        helper.make_node("QuantizeLinear", ["x", "s", "z"], ["x_q"]),
        helper.make_node("DequantizeLinear", ["x_q", "s", "z"], ["x_d"]),
        helper.make_node("DequantizeLinear", ["w", "w_s", "w_z"], ["w_d"], axis=0),
        helper.make_node("Conv", ["x_d", "w_d"], ["c"]),
        helper.make_node("Relu", ["c"], ["r"]),
        helper.make_node("QuantizeLinear", ["r", "s", "z"], ["r_q"]),
        helper.make_node("DequantizeLinear", ["r_q", "s", "z"], ["y"]),
    ]
    stored = {"s": number(0.1), "z": np.array(0, "int8"), "w": np.zeros((4, 3, 3, 3), "int8")}
    stored |= {"w_s": np.ones(4, "float32"), "w_z": np.zeros(4, "int8")}
    graph = resolve(tmp_path, nodes, stored, [3, 8, 8])
    assert operators(graph) == ["quantize_linear", "conv", "relu", "dequantize_linear"]
    kernels = _core.fuse(graph, "onnxruntime", "default")
    convolution = next(kernel for kernel in kernels.rows if kernel.kind == "conv")
    assert convolution.arithmetic == "int8"
    assert graph.nodes[1].bytes_in == 2 * 3 * 8 * 8


def test_names_of_outputs_stay(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["a"]), helper.make_node("Identity", ["a"], ["y"])]
    graph = resolve(tmp_path, nodes, {}, [3])
    assert operators(graph) == ["relu"]
    assert [output.name for output in graph.outputs] == ["y"]


def test_builder_networks_are_measured_as_written() -> None:
    net = _core.GraphBuilder()
    x = net.input("x", (8,))
    net.output(net.apply("mul", [x, net.apply("sigmoid", [x])]))
    assert operators(net.build(1)) == ["sigmoid", "mul"]

"""The nine networks of the onnx package, which are all saved for batch 1 with that batch baked into their constants."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.inputs import InputSize

onnx = pytest.importorskip("onnx")

FOLDER = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
SAVED_BATCH = 0  # as the file says


@dataclass
class Network:
    name: str
    stored_nodes: int
    convolutions: int
    macs: int  # of one image; each from an independent reader or the same layers counted by ONNX's own sizes
    output: tuple[int, ...]


NETWORKS = [
    Network("bvlc_alexnet", 40, 5, 654_560_384, (1, 1000)),
    Network("densenet121", 1746, 121, 2_834_161_664, (1, 1000, 1, 1)),
    Network("inception_v1", 237, 57, 1_431_556_352, (1, 1000)),
    Network("inception_v2", 916, 69, 2_018_851_840, (1, 1000)),
    Network("resnet50", 415, 53, 4_089_184_256, (1, 1000)),
    Network("shufflenet", 446, 49, 124_664_528, (1, 1000)),
    Network("squeezenet", 105, 26, 349_151_936, (1, 1000, 1, 1)),
    Network("vgg19", 82, 16, 19_632_062_464, (1, 1000)),
    Network("zfnet512", 38, 5, 1_481_727_008, (1, 1000)),
]


def program(network: Network) -> _core.Program:
    return _core.read_program(str(FOLDER / f"light_{network.name}.onnx"))


def count(graph: _core.Graph, operator: str) -> int:
    return sum(node.operator == operator for node in graph.nodes)


@pytest.mark.parametrize("network", NETWORKS, ids=lambda network: network.name)
@pytest.mark.parametrize("batch", [SAVED_BATCH, 1, 8, 32])
def test_light_networks(network: Network, batch: int) -> None:
    graph = _core.resolve(program(network), batch=batch)
    factor = batch or 1
    assert count(graph, "conv") == network.convolutions
    assert graph.macs == factor * network.macs
    assert [tuple(output.shape) for output in graph.outputs] == [(factor, *network.output[1:])]
    # Their weights are made by ConstantOfShape nodes and reshaped by others: nothing of that is left.
    assert count(graph, "constant_of_shape") == 0
    assert graph.warnings == []


def test_resnet50_weights() -> None:
    graph = _core.resolve(program(NETWORKS[4]), batch=8)
    assert graph.num_parameters == 25_557_032
    assert graph.num_statistics == 53_120


def test_batch_of_every_tensor_scales() -> None:
    """Not only the outputs: the sizes of all activations grow with the batch."""
    for network in NETWORKS:
        one = _core.resolve(program(network), batch=1)
        eight = _core.resolve(program(network), batch=8)
        assert [node.name for node in one.nodes] == [node.name for node in eight.nodes]
        for small, large in zip(one.nodes, eight.nodes, strict=True):
            for before, after in zip(small.outputs, large.outputs, strict=True):
                if before is not None:
                    assert after.num_elements == 8 * before.num_elements, (network.name, small.name)


def convolution(sizes: list[int | str]) -> bytes:
    helper = onnx.helper
    data = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, sizes)
    result = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    weight = helper.make_tensor_value_info("w", onnx.TensorProto.FLOAT, [4, 3, 3, 3])
    stored = onnx.numpy_helper.from_array(np.zeros((4, 3, 3, 3), "float32"), "w")
    graph = helper.make_graph([helper.make_node("Conv", ["x", "w"], ["y"])], "g", [data, weight], [result], [stored])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)]).SerializeToString()


def test_open_sizes_come_from_the_request(tmp_path: Path) -> None:
    path = tmp_path / "open.onnx"
    path.write_bytes(convolution(["N", 3, "H", "W"]))
    graph = _core.resolve(_core.read_program(str(path)), batch=2, only=InputSize([3, 10, 12]))
    assert tuple(graph.outputs[0].shape) == (2, 4, 8, 10)
    with pytest.raises(
        InvalidArgumentError, match=r"'x' \[N, 3, H, W\] float32.*input=\{\"x\": \"3,128,128:float32\"\}"
    ):
        _core.resolve(_core.read_program(str(path)))
    with pytest.raises(InvalidArgumentError, match=r"\[4, 10, 12\] does not match 'x' \[N, 3, H, W\]"):
        _core.resolve(_core.read_program(str(path)), only=InputSize([4, 10, 12]))


@pytest.mark.parametrize("unnamed", [0, "?", "batch_size"])
def test_batch_without_a_name(tmp_path: Path, unnamed: int | str) -> None:
    path = tmp_path / "open.onnx"
    path.write_bytes(convolution([unnamed, 3, 10, 12]))
    graph = _core.resolve(_core.read_program(str(path)), batch=5)
    assert tuple(graph.outputs[0].shape) == (5, 4, 8, 10)

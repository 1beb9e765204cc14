from pathlib import Path

import latpred
import numpy as np
import pytest
from example_networks import RESNET50, small_network
from latpred import InvalidArgumentError, MissingDependencyError

onnx = pytest.importorskip("onnx")

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))


def exported(graph, tmp_path):
    path = tmp_path / "exported.onnx"
    graph.to_onnx(path)
    onnx.checker.check_model(str(path), full_check=True)
    return path


@pytest.mark.parametrize("path", LIGHT, ids=lambda path: path.stem)
def test_what_is_written_reads_back_as_the_same_graph(path, tmp_path):
    graph = latpred.load(path, batch=8)
    written = exported(graph, tmp_path)
    again = latpred.load(written, batch=8)
    assert again.hash == graph.hash
    assert again.macs == graph.macs
    assert again.num_parameters == graph.num_parameters
    assert again.num_statistics == graph.num_statistics
    assert {node.domain for node in onnx.load(written).graph.node} == {""}
    assert written.stat().st_size < 200_000


def test_a_built_network_runs_in_the_reference_implementation(tmp_path):
    from onnx.reference import ReferenceEvaluator

    path = exported(small_network(batch=2), tmp_path)
    (output,) = ReferenceEvaluator(str(path)).run(None, {"image": np.ones((2, 3, 32, 32), np.float32)})
    assert output.shape == (2, 10)


def test_names_and_sizes_are_kept(tmp_path):
    model = onnx.load(exported(small_network(batch=2), tmp_path))
    assert [node.name for node in model.graph.node if node.name] == ["conv", "relu", "pool", "flatten", "linear"]
    sizes = {info.name: [d.dim_value for d in info.type.tensor_type.shape.dim] for info in model.graph.value_info}
    assert [2, 16, 32, 32] in sizes.values()
    assert not [tensor for tensor in model.graph.initializer if np.prod(tensor.dims) > 16]


def test_what_autocast_asks_of_an_operator_leaves_it_onnx_s(tmp_path):
    torch = pytest.importorskip("torch")

    class Widened(torch.nn.Module):
        def forward(self, x):
            return x.float() * 2

    graph = latpred.load(model=Widened(), input="8")
    assert graph.nodes[0].attributes["converts"] == [0]
    model = onnx.load(exported(graph, tmp_path))
    assert [(node.domain, node.op_type) for node in model.graph.node] == [("", "Mul")]


def test_what_onnx_cannot_say_goes_to_a_domain_of_its_own(tmp_path):
    net = latpred.GraphBuilder()
    net.output(net.apply("silu", net.input("x", (8,))))
    model = onnx.load(exported(net.build(), tmp_path))
    assert [(node.domain, node.op_type) for node in model.graph.node] == [("latpred", "silu")]


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("torch/mobilenet_v2.pt2", None),
        ("torch/bert.pt2", None),
        ("torch/gpt2.pt2", None),
        ("torch/densenet121.pt2", None),
        ("torch/vgg16.pt2", "3,224,224"),
        ("keras/mobilenetv2.keras", None),
        ("paddle/mobilenet_v2.json", None),
        ("tensorflow/mobilenet_v2", None),
        ("tflite/mobilenet_v2.tflite", None),
    ],
)
def test_a_network_of_any_framework_is_the_same_one_after_a_round_trip(name, size, tmp_path):
    graph = latpred.load(FIXTURES / name, batch=3, input=size)
    again = latpred.load(exported(graph, tmp_path), batch=3)
    assert again.macs == graph.macs
    # What is computed from weights alone, as a table of positions, is done once when the file is read.
    assert 0.99 * graph.num_parameters <= again.num_parameters <= graph.num_parameters
    assert [node.operator for node in again.nodes if node.operator == "unknown"] == []


def test_an_extra_attribute_does_not_break_the_file(tmp_path):
    net = latpred.GraphBuilder()
    net.output(net.apply("relu", net.input("x", (8,)), nonsense=3))
    model = onnx.load(exported(net.build(), tmp_path))
    assert [node.domain for node in model.graph.node] == ["latpred"]


def test_without_onnx_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "latpred\[onnx\]"'):
        small_network().to_onnx(tmp_path / "x.onnx")


def test_a_file_that_cannot_be_written_is_told(run, tmp_path):
    missing = tmp_path / "missing" / "x.onnx"
    for path, why in ((missing, "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(InvalidArgumentError, match=f"network 'graph' cannot be written to '{path}': {why}; name a"):
            small_network().to_onnx(path)
    with pytest.raises(InvalidArgumentError, match=r"path must be the name of the \.onnx file to write, got 5"):
        small_network().to_onnx(5)
    code, out, err = run("inspect", RESNET50, "--onnx", missing)
    assert (code, out) == (2, "")
    assert err.startswith("latpred: error: network 'resnet50.onnx' cannot be written")
    assert err.count("\n") == 1

"""Files of trtexec, typed by hand after their documentation: 8.x, 11.x, names only."""

import json

import numpy as np
import pytest
from example_networks import REPOSITORY
from latpred.errors import ModelFileError
from latpred.labels import tensorrt
from latpred.labels.kernel_type import kernel_type

FOLDER = REPOSITORY / "tests" / "golden" / "tensorrt"


@pytest.fixture
def engine():
    return tensorrt.read_engine(FOLDER / "layers_8.json", FOLDER / "profile_8.json")


def test_nodes_are_read_from_names(engine):
    assert [layer.nodes for layer in engine.layers] == [
        (),
        ("conv_a", "relu_a"),
        ("QuantizeLinear_3", "conv_b", "sigmoid_b", "mul_b", "add"),
        ("fc",),
        (),
    ]
    assert engine.layers[2].stored == ("b.weight",)
    assert engine.layers[3].stored == ("fc.bias",)
    assert engine.layers[3].helpers[0] == "(Unnamed Layer* 12) [Shuffle]"
    assert engine.inputs_and_outputs == ("x", "y")
    assert not engine.unattributed


def test_copies_and_lone_helpers_serve_a_layer(engine):
    assert engine.layers[0].serves == "conv_a + relu_a"
    assert engine.layers[4].serves == "(Unnamed Layer* 13) [ElementWise]"


def test_times_are_medians_in_seconds(engine):
    assert [layer.latency_s for layer in engine.layers] == pytest.approx([11e-6, 40e-6, 30e-6, 14e-6, 2e-6])


def test_a_profile_in_another_order_is_joined_by_name(tmp_path):
    rows = json.loads((FOLDER / "profile_8.json").read_text())
    path = tmp_path / "profile.json"
    path.write_text(json.dumps([rows[0], *reversed(rows[1:-1])]))
    engine = tensorrt.read_engine(FOLDER / "layers_8.json", path)
    assert [layer.latency_s for layer in engine.layers[:4]] == pytest.approx([11e-6, 40e-6, 30e-6, 14e-6])
    assert engine.layers[4].latency_s is None, "what costs nothing may be left out"


def test_a_profile_of_another_engine_is_refused(tmp_path):
    path = tmp_path / "profile.json"
    path.write_text('[{"count": 1}, {"name": "elsewhere", "averageMs": 1.0}]')
    with pytest.raises(ModelFileError, match="times layer 'elsewhere', which the engine lacks"):
        tensorrt.read_engine(FOLDER / "layers_8.json", path)


def test_metadata_says_the_nodes_of_new_versions():
    engine = tensorrt.read_engine(FOLDER / "layers_11.json")
    assert [layer.nodes for layer in engine.layers] == [("mean", "sub", "mul"), ("fc",)]
    assert engine.inputs_and_outputs == ("x", "y")
    assert all(layer.latency_s is None for layer in engine.layers)


def test_names_alone_are_enough():
    engine = tensorrt.read_engine(FOLDER / "layers_names_only.json")
    assert [layer.nodes for layer in engine.layers] == [("conv_a", "relu_a"), ("mean", "fc"), ()]
    assert engine.layers[2].serves == "{ForeignNode[mean...fc]}"


def test_with_the_file_at_hand_a_strange_name_is_said():
    known = {"conv_a", "relu_a", "conv_b", "sigmoid_b", "mul_b", "add"}
    engine = tensorrt.read_engine(FOLDER / "layers_8.json", nodes=known)
    assert engine.layers[2].nodes == ("conv_b", "sigmoid_b", "mul_b", "add")
    assert [layer.unknown for layer in engine.layers[2:4]] == [("QuantizeLinear_3",), ("fc",)]
    assert [name.partition(" ")[0] for name in engine.unattributed] == ["fc"]


@pytest.mark.parametrize("text", ["[]", "{}", '{"Layers": [{}]}', "no json"])
def test_other_files_are_refused(tmp_path, text):
    path = tmp_path / "layers.json"
    path.write_text(text)
    with pytest.raises(ModelFileError, match=r"layers\.json"):
        tensorrt.read_engine(path)


def test_kinds_do_not_name_processors_or_precisions(engine):
    types = [kernel_type(layer.type, layer.kernel) for layer in engine.layers]
    assert types[1] == "CaskConvolution:xmma_fprop_implicit_gemm_nhwckrsc_nhwc"
    assert types[4] == "NoOp"
    assert kernel_type("Convolution", "brgconv_avx512_1x1_f32") == "Convolution:brgconv_1x1"
    assert kernel_type("Convolution", "brgconv_avx512_core_amx_1x1_bf16") == "Convolution:brgconv_1x1"
    assert kernel_type("Pooling", "ref_any_FP32") == "Pooling:ref"
    assert kernel_type("Conv", "") == "Conv"


def test_an_engine_labels_the_file_that_it_was_built_from(tmp_path):
    onnx = pytest.importorskip("onnx")
    from latpred.labels.engine_labels import label_engine

    helper = onnx.helper
    weights = [
        onnx.numpy_helper.from_array(np.ones(shape, np.float32), name)
        for name, shape in (("wa", (8, 3, 3, 3)), ("wb", (8, 8, 3, 3)))
    ]
    nodes = [
        helper.make_node("Conv", ["x", "wa"], ["1"], name="conv_a", pads=[1] * 4),
        helper.make_node("Relu", ["1"], ["2"], name="relu_a"),
        helper.make_node("Conv", ["2", "wb"], ["3"], name="conv_b", pads=[1] * 4),
        helper.make_node("Sigmoid", ["3"], ["4"], name="sigmoid_b"),
        helper.make_node("Mul", ["3", "4"], ["5"], name="mul_b"),
        helper.make_node("Add", ["5", "2"], ["6"], name="add"),
        helper.make_node("GlobalAveragePool", ["6"], ["7"], name="pool"),
    ]
    ends = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            for name, shape in (("x", ("batch", 3, 16, 16)), ("7", ("batch", 8, 1, 1)))]  # fmt: skip
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], initializer=weights)
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)

    labels = label_engine(path, FOLDER / "layers_8.json", FOLDER / "profile_8.json")
    assert labels.runtime == "tensorrt"
    operators = [node.operator for node in labels.graph.nodes]
    assert operators == ["conv", "relu", "conv", "silu", "add", "global_average_pool"]
    assert labels.group[:2].tolist() == [0, 0]
    assert len(set(labels.group[2:5].tolist())) == 1
    assert [tuple(edge) for edge, fused in zip(labels.edges.T.tolist(), labels.edge_label, strict=True) if fused] == [
        (0, 1),
        (2, 3),
        (3, 4),
        (4, 5),
    ]
    first, conv_a, conv_b = labels.kernels[:3]
    assert (first.group, first.charged_to) == (-1, 0), "a copy is charged to the layer that reads it"
    assert conv_a.group == labels.group[0]
    assert conv_a.latency_s == pytest.approx(40e-6)
    assert conv_b.group == labels.group[2]
    assert not labels.is_direct[5], "no layer names the pool: it was inferred"


def test_networks_built_again_are_matched_by_order():
    """The n-th convolution is the n-th by number, whatever comes first in the engine; an activation without a name
    follows its convolution."""
    from latpred.labels.engine_explorer import by_order
    from latpred.workloads.onnx_files import FileNode

    def layer(*nodes):
        return tensorrt.EngineLayer(" + ".join(nodes), "", "", nodes, (), (), (), "", (), (), None)

    engine = tensorrt.Engine((layer("Conv_9"), layer("Conv_3"), layer("QuantizeLinear_1"), layer("Add_12")), ())
    nodes = [
        FileNode(0, "", "first", "Conv", ("x", "w"), ("1",)),
        FileNode(1, "", "bend", "Relu", ("1",), ("2",)),
        FileNode(2, "", "second", "Conv", ("2", "v"), ("3",)),
        FileNode(3, "", "sum", "Add", ("3", "1"), ("4",)),
        FileNode(4, "", "pool", "GlobalAveragePool", ("4",), ("5",)),
    ]
    assert by_order(engine, nodes) == ({"first": 1, "second": 0, "sum": 3}, {"bend": 1})

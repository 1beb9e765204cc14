import subprocess
import sys

import latpred
import numpy as np
import pytest
from example_networks import REPOSITORY, RESNET50, small_network
from latpred import InvalidArgumentError

FIXTURES = REPOSITORY / "tests" / "fixtures"


def test_load_and_predict_agree_on_the_network():
    graph = latpred.load(RESNET50, batch=8)
    from_file = latpred.predict(RESNET50, batch=8)
    from_graph = latpred.predict(graph=graph)
    assert from_file.graph.hash == graph.hash
    assert from_graph.to_dict() == from_file.to_dict()


def test_resnet50_has_its_published_size():
    graph = latpred.load(str(RESNET50))
    assert graph.num_parameters == 25_557_032
    assert graph.macs == 4_089_184_256


def test_a_graph_keeps_its_batch_unless_another_is_asked_for():
    graph = small_network(batch=4)
    assert latpred.predict(graph=graph).batch == 4
    assert latpred.predict(graph=graph, batch=1).batch == 1
    assert latpred.predict(graph=graph, batch=9).graph.inputs[0].shape == (9, 3, 32, 32)
    assert latpred.predict(RESNET50).batch == 1


def test_integers_of_numpy_are_integers():
    assert latpred.load(RESNET50, batch=np.int64(2)).batch == 2


@pytest.mark.parametrize("batch", [0, -1, 1.0, "1", True, 2**80])
def test_batch_is_an_integer_from_one_on(batch):
    with pytest.raises(InvalidArgumentError, match="batch must be an integer >= 1, got"):
        latpred.load(RESNET50, batch=batch)
    with pytest.raises(InvalidArgumentError, match="batch must be an integer >= 1, got"):
        latpred.predict(graph=small_network(), batch=batch)


def test_exactly_one_network():
    with pytest.raises(InvalidArgumentError, match="got none"):
        latpred.predict()
    with pytest.raises(InvalidArgumentError, match="got path= and graph="):
        latpred.predict(RESNET50, graph=small_network())
    with pytest.raises(InvalidArgumentError, match=r"exactly one of path= \(a model file\) and model="):
        latpred.load()


def test_what_this_version_lacks_is_said():
    with pytest.raises(InvalidArgumentError, match=r"model= takes .* got object; .*GraphBuilder"):
        latpred.predict(model=object())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "A1000"}, "did you mean 'A100'"),
        ({"device": 100}, "device must be text"),
        ({"runtime": "eagre"}, "did you mean 'eager'"),
        ({"runtime_version": 2.4}, "runtime_version must be text"),
        (
            {"runtime_version": "2.7"},
            "'2.7' of runtime 'eager' was not measured; measured: '.*torch 1.13', 'torch",
        ),
        ({"runtime": "tensorrt", "runtime_version": "10"}, "'10' of runtime 'tensorrt' was not measured; measured: "),
        ({"runtime": "onnxruntime", "runtime_version": "1"}, "no versions of runtime 'onnxruntime' were told apart"),
        ({"predictor": "analytic", "runtime_version": "torch 2.4"}, "no versions of runtime 'eager' were told apart"),
        ({"predictor": "pmgns", "runtime_version": "torch 2.4"}, "'pmgns' tells no versions of runtimes apart"),
        ({"predictor": "foo"}, "valid: kernel_residual, .*, lilou, pmgns, transformer, "),
        ({"predictor": "lilo"}, "did you mean 'lilou'"),
        ({"precision": "fp61"}, "did you mean 'fp16'"),
        ({"predictor": "analytics"}, "did you mean 'analytic'"),
        ({"partition": "9g.99gb"}, "1g.5gb"),
        ({"input_on": "devices"}, "did you mean 'device'"),
        ({"mig_rule": "memori"}, "did you mean 'memory'"),
        ({"strict": 1}, "strict must be True or False"),
        ({"autograd": "yes"}, "autograd must be True or False"),
        ({"allow_pickle": 0}, "allow_pickle must be True or False"),
    ],
)
def test_arguments_are_checked(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        latpred.predict(RESNET50, **arguments)


def test_what_belongs_to_a_file_is_refused_beside_a_graph():
    with pytest.raises(InvalidArgumentError, match="input= says how to read a file"):
        latpred.predict(graph=small_network(), input="3,32,32")
    with pytest.raises(InvalidArgumentError, match=r"must be a latpred\.Graph"):
        latpred.predict(graph=str(RESNET50))
    with pytest.raises(InvalidArgumentError, match="a loaded Graph goes to graph="):
        latpred.predict(small_network())


def test_framework_is_checked_against_the_content():
    assert latpred.load(RESNET50, framework="onnx").macs == latpred.load(RESNET50).macs
    with pytest.raises(InvalidArgumentError, match="did you mean 'onnx'"):
        latpred.load(RESNET50, framework="onyx")


@pytest.fixture
def open_network(tmp_path):
    """A file whose height and width are open."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    graph = helper.make_graph(
        [helper.make_node("Relu", ["image"], ["y"])],
        "open",
        [helper.make_tensor_value_info("image", 1, ["batch", 3, "height", "width"])],
        [helper.make_tensor_value_info("y", 1, ["batch", 3, "height", "width"])],
    )
    path = tmp_path / "open.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


@pytest.mark.parametrize(
    "sizes",
    [
        "3,20,30",
        " 3, 20 ,30 ",
        "3,20,30:float32",
        (3, 20, 30),
        [3, np.int32(20), 30],
        {"image": "3,20,30"},
        {"image": (3, 20, 30)},
    ],
)
def test_input_in_every_form(open_network, sizes):
    graph = latpred.load(open_network, batch=2, input=sizes)
    assert graph.inputs[0].shape == (2, 3, 20, 30)


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ("", "got ''; expected sizes without the batch"),
        ("3,x", "got '3,x'; expected"),
        ("3,,4", "expected"),
        ("3x224x224", "expected"),
        ((3, 20.5, 3), "got 20.5 as a size"),
        ((3, True, 3), "got True as a size"),
        ((3, 0, 3), "sizes are >= 1"),
        (7, "expected"),
        (np.zeros((2, 3, 20, 30)), r"got ndarray \[2, 3, 20, 30\]; expected sizes without the batch"),
        ((np.zeros((3, 20)), 30), r"got ndarray \[3, 20\] as a size"),
        ({}, "empty mapping"),
        ({1: "3"}, "expected the names of inputs"),
        ({"imag": "3,20,30"}, "image"),
        ("3,20", "image"),
        ("4,20,30", "image"),
        ("3,20,30:float61", "float16"),
        ("3,20,30:int64", "float32"),
    ],
)
def test_input_that_does_not_fit_is_refused(open_network, sizes, message):
    with pytest.raises(InvalidArgumentError, match=message):
        latpred.load(open_network, input=sizes)


def test_an_open_size_must_be_given(open_network):
    with pytest.raises(latpred.LatpredError, match="image"):
        latpred.load(open_network)


def test_predict_many_is_predict_in_order():
    devices = ["A100", "T4"]
    table = latpred.predict_many([RESNET50, small_network()], batches=[1, 8], devices=devices)
    assert len(table) == 2 * 2 * 2
    assert [(p.batch, p.device) for p in table[:4]] == [
        (1, "A100-SXM4-40GB"),
        (1, "T4"),
        (8, "A100-SXM4-40GB"),
        (8, "T4"),
    ]
    assert [p.name for p in table] == ["resnet50.onnx"] * 4 + ["graph"] * 4
    for prediction in table:
        alone = latpred.predict(graph=prediction.graph, device=prediction.device)
        assert alone.to_dict() == prediction.to_dict()


def test_predict_many_takes_one_batch_and_one_device():
    (prediction,) = latpred.predict_many([small_network(batch=3)], devices="T4")
    assert (prediction.batch, prediction.device) == (3, "T4")
    (prediction,) = latpred.predict_many([RESNET50], batches=2)
    assert prediction.batch == 2
    assert len(latpred.predict_many([])) == 0


def test_predict_many_answers_do_not_depend_on_the_threads():
    graphs = [small_network(channels=channels) for channels in range(1, 40)]
    one = latpred.predict_many(graphs, num_threads=1)
    four = latpred.predict_many(graphs, num_threads=4)
    assert [p.to_dict() for p in one] == [p.to_dict() for p in four]


def test_predict_many_names_the_file_that_fails(tmp_path):
    bad = tmp_path / "bad.onnx"
    bad.write_bytes(b"nothing")
    with pytest.raises(latpred.ModelFileError, match=r"bad\.onnx"):
        latpred.predict_many([RESNET50, bad])


@pytest.mark.parametrize(
    ("bad", "arguments", "error", "message"),
    [
        ("keras/recurrent.keras", {}, InvalidArgumentError, r"recurrent\.keras', batch 1: the sizes of input 'tokens'"),
        ("tflite/text.tflite", {"batches": [1, 8]}, latpred.ShapeError, r"text\.tflite', batch 8: input 'tokens'"),
        (
            "tflite/flex.tflite",
            {"strict": True, "devices": ["A100", "T4"]},
            latpred.UnsupportedOperatorError,
            r"flex\.tflite', batch 1, device 'A100': strict: no table knows flex::MatrixInverse",
        ),
        (
            "tflite/text.tflite",
            {"framework": "nonsense"},
            InvalidArgumentError,
            "network 1 of 3, '.*': framework= says",
        ),
    ],
)
def test_predict_many_names_the_network_that_fails(bad, arguments, error, message):
    graph = latpred.load(RESNET50)
    with pytest.raises(error, match=message) as caught:
        latpred.predict_many([graph, FIXTURES / bad, graph], **arguments)
    number = 1 if "framework" in arguments else 2
    assert str(caught.value).startswith(f"network {number} of 3, '")
    assert vars(caught.value) == vars(caught.value.__cause__)


@pytest.mark.parametrize(("predictor", "precision"), [(None, "bf16"), ("roofline", "bf16"), ("pmgns", "default")])
def test_predict_many_names_the_device_that_fails(predictor, precision):
    graphs = [small_network(batch=3), RESNET50]
    with pytest.raises(InvalidArgumentError, match=r"^network 1 of 2, 'graph', batch 3, device 'T4': "):
        latpred.predict_many(graphs, devices=["A100", "T4"], predictor=predictor, precision=precision)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"devices": []}, "devices is empty"),
        ({"batches": []}, "batches is empty"),
        ({"batches": [1, 0]}, "batches must be an integer >= 1, got 0"),
        ({"num_threads": 0}, "num_threads must be an integer >= 1"),
        ({"devices": ["A100", "T44"]}, "did you mean 'T4'"),
    ],
)
def test_predict_many_checks_its_arguments(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        latpred.predict_many([RESNET50], **arguments)


def test_one_network_is_no_list():
    for network, kind in ((str(RESNET50), "str"), (5, "int"), (None, "NoneType")):
        with pytest.raises(InvalidArgumentError, match=f"got {kind}; for one network use predict"):
            latpred.predict_many(network)


def test_public_names_exist_and_are_listed():
    for name in latpred.__all__:
        assert hasattr(latpred, name)
    assert latpred.__version__.count(".") == 2


def test_importing_loads_nothing_heavy():
    code = "import latpred, sys; print(sorted(sys.modules))"
    modules = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    for heavy in ("numpy", "torch", "onnx", "pandas", "matplotlib", "rich"):
        assert f"'{heavy}'" not in modules

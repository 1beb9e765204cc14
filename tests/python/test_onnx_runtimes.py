"""Files under OpenVINO and ONNX Runtime: times, kernels with the nodes that they compute, memory."""

import re
import subprocess
import sys

import numpy as np
import pytest
from example_networks import REPOSITORY
from latpred.errors import MissingDependencyError, ProfilerError
from latpred.workloads import itt, open_workload

onnx = pytest.importorskip("onnx")
RUNTIMES = ["openvino", "onnxruntime"]
NORM_PARAMETERS = ("scale", "bias", "mean", "variance")


@pytest.fixture(params=RUNTIMES)
def runtime(request):
    pytest.importorskip(request.param)
    return request.param


def convolutional(folder, size=64, widths=(16, 32, 32), weight_columns=256):
    """Three times Conv, BatchNormalization and Relu; the mean over the image; a large dense layer."""
    random = np.random.default_rng(0)
    helper = onnx.helper
    stored, nodes = [], []

    def store(name, values):
        stored.append(onnx.numpy_helper.from_array(values.astype(np.float32), name))
        return name

    x, width_in = "x", 3
    for index, width in enumerate(widths):
        weights = [
            store(f"weight{index}", random.normal(size=(width, width_in, 3, 3)) * 0.1),
            *(store(f"{name}{index}", random.uniform(0.5, 1.5, width)) for name in NORM_PARAMETERS),
        ]
        nodes += [
            helper.make_node("Conv", [x, weights[0]], [f"conv{index}"], name=f"block{index}/conv, 3x3", pads=[1] * 4),
            helper.make_node("BatchNormalization", [f"conv{index}", *weights[1:]], [f"norm{index}"]),
            helper.make_node("Relu", [f"norm{index}"], [f"relu{index}"], name=f"block{index}/relu"),
        ]
        x, width_in = f"relu{index}", width
    nodes += [
        helper.make_node("GlobalAveragePool", [x], ["pooled"]),
        helper.make_node("Flatten", ["pooled"], ["flat"]),
        helper.make_node("Gemm", ["flat", store("dense", random.normal(size=(width_in, weight_columns)))], ["y"]),
    ]
    inputs = [helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, ("batch", 3, size, size))]
    outputs = [helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, ("batch", weight_columns))]
    graph = helper.make_graph(nodes, "g", inputs, outputs, initializer=stored)
    path = folder / "convolutional.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)
    return path


def test_a_file_is_measured(runtime, tmp_path):
    with open_workload(convolutional(tmp_path), runtime=runtime, batch=2, precision="fp32") as workload:
        measured = workload.measure("khan")
        assert len(measured.samples) == 5
        assert 1e-5 < measured.latency_s < 1
        assert measured.versions[0][0] == runtime
        graph = workload.graph()
    assert graph.batch == 2
    assert [node.operator for node in graph.nodes][:3] == ["conv", "batch_norm", "relu"]


def test_a_recipe_is_measured(runtime):
    latencies = []
    for recipe in ("fnn:16-16", "fnn:2048-2048-2048"):
        with open_workload(recipe, runtime=runtime, precision="fp32") as workload:
            latencies.append(workload.measure("khan").latency_s)
    assert latencies[1] > 3 * latencies[0]


@pytest.fixture(scope="module")
def times_of(tmp_path_factory):
    """Kernels of the convolutional file, timed once for each runtime."""
    found = {}

    def ask(runtime):
        if runtime not in found:
            path = convolutional(tmp_path_factory.mktemp("file"))
            with open_workload(path, runtime=runtime, precision="fp32") as workload:
                found[runtime] = workload.kernels(runs=10)
        return found[runtime]

    return ask


def test_kernels_have_times_of_every_run(runtime, times_of):
    kernels = times_of(runtime)
    assert [row.order for row in kernels.rows] == sorted(row.order for row in kernels.rows)
    assert all(len(row.samples_s) == 10 for row in kernels.rows)
    assert all(row.latency_s == pytest.approx(np.median(row.samples_s)) for row in kernels.rows)
    assert 0 < kernels.total_s < 1.1 * kernels.latency_s
    convolutions = [row for row in kernels.rows if any(node.operator == "Conv" for node in row.nodes)]
    assert len(convolutions) == 3
    assert max(kernels.rows, key=lambda row: row.latency_s) in convolutions


def test_openvino_says_which_nodes_it_has_fused(times_of):
    pytest.importorskip("openvino")
    kernels = times_of("openvino")
    assert kernels.clock == "thread CPU time, ns"
    assert kernels.total_s > 0.5 * kernels.latency_s, "convolutions of a millisecond"
    blocks = [row for row in kernels.rows if row.kind == "Convolution"]
    assert [[node.operator for node in row.nodes] for row in blocks] == [["Conv", "BatchNormalization", "Relu"]] * 3
    assert all(node.is_direct for row in blocks for node in row.nodes)
    assert [row.nodes[0].name for row in blocks] == [f"block{index}/conv, 3x3" for index in range(3)]
    assert all(row.implementation and row.precision == "f32" for row in blocks)
    assert any(not row.nodes for row in kernels.rows if row.kind == "Reorder")
    assert not kernels.unattributed
    assert any(sample % 1e-6 > 1e-9 for row in kernels.rows for sample in row.samples_s), "finer than microseconds"


def test_every_node_belongs_to_at_most_one_kernel(runtime, times_of):
    kernels = times_of(runtime)
    indices = [node.index for row in kernels.rows for node in row.nodes]
    indices += [node.index for node in (*kernels.not_executed, *kernels.unattributed)]
    assert sorted(indices) == list(range(12))


def test_memory_of_a_fresh_process_holds_weights_and_activations(runtime, tmp_path):
    columns = 1 << 18
    weights = 4 * 32 * columns
    with open_workload(convolutional(tmp_path, weight_columns=columns), runtime=runtime, precision="fp32") as workload:
        found = workload.memory()
    assert weights < found.built_bytes < 6 * weights
    assert found.build_peak_bytes >= found.built_bytes
    assert found.run_peak_bytes > weights


def test_networks_that_a_runtime_refuses_are_one_sentence(runtime, tmp_path):
    helper = onnx.helper
    node = helper.make_node("Nowhere", ["x"], ["y"], domain="nobody")
    value = [helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, (1, 4)) for name in "xy"]
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("nobody", 1)]
    path = tmp_path / "unknown.onnx"
    graph = helper.make_graph([node], "g", value[:1], value[1:])
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    with pytest.raises(ProfilerError, match=r"the network: .*Nowhere") as caught:
        open_workload(path, runtime=runtime)
    assert "\n" not in str(caught.value)


def test_closed_workloads_leave_no_folder(runtime, tmp_path):
    with open_workload("fnn:4-4", runtime=runtime) as workload:
        folder = workload.file.path.parent
        assert folder.is_dir()
    assert not folder.exists()


def test_openvino_reports_nothing_over_the_network():
    """In a process that has not imported it yet: reading a file would start a thread that sends who reads what."""
    pytest.importorskip("openvino")
    code = (
        "import sys, threading\n"
        "from latpred.workloads import open_workload\n"
        "open_workload('fnn:4-4', runtime='openvino').run_many(1)\n"
        "assert sys.modules['openvino_telemetry'] is None\n"
        "print([thread.name for thread in threading.enumerate()])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "['MainThread']"


def test_a_library_that_is_missing_is_said(monkeypatch):
    monkeypatch.setattr(itt, "_LIBRARY", "_no_collector.so")
    with pytest.raises(ProfilerError, match=r"_no_collector\.so' is missing"):
        itt.library_path()


def test_onnx_is_needed_for_files(monkeypatch, runtime):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "latpred\[onnx\]"'):
        open_workload("fnn:4-4", runtime=runtime)


def test_the_example_of_the_documentation_runs(capsys):
    pytest.importorskip("openvino")
    text = (REPOSITORY / "docs" / "workloads.md").read_text()
    code = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)[0]
    namespace = {}
    exec(code, namespace)
    printed = capsys.readouterr().out
    assert "Convolution" in printed
    assert "MB at the peak" in printed
    assert namespace["graph"].operators["conv"] == 2

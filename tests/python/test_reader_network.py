"""ONNX files that others made, from packages that carry them: downloaded, unzipped, never imported."""

import subprocess
import sys
import zipfile
from pathlib import Path

import onnx
import pytest
from latpred import _core

pytestmark = pytest.mark.network

# The packages, and the number of ONNX files in each.
PACKAGES = {"basic-pitch==0.4.0": 1, "silero-vad==6.2.3": 6, "magika==1.0.3": 1, "rapidocr-onnxruntime==1.4.4": 3}


@pytest.fixture(scope="module", params=PACKAGES)
def package(request, tmp_path_factory) -> tuple[str, list[Path]]:
    folder = tmp_path_factory.mktemp("package")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), request.param]
    subprocess.run(command, check=True)
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    return request.param, sorted(folder.rglob("*.onnx"))


def all_graphs(graph: onnx.GraphProto):
    yield graph
    for node in graph.node:
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from all_graphs(attribute.g)


def test_every_file_is_read_as_the_onnx_package_reads_it(package):
    name, paths = package
    assert len(paths) == PACKAGES[name]
    for path in paths:
        program = _core.read_program(str(path))
        model = onnx.load(path)
        assert program.source.num_nodes == len(model.graph.node)
        graphs = list(all_graphs(model.graph))
        constants = sum(node.op_type == "Constant" for graph in graphs for node in graph.node)
        assert program.num_stored == constants + sum(len(graph.initializer) for graph in graphs)
        stored = {tensor.name for tensor in model.graph.initializer}
        assert program.inputs == [value.name for value in model.graph.input if value.name not in stored]

"""Labels from the engines that come with NVIDIA's engine explorer (Apache-2.0), whose ONNX files are not there.

python -m latpred.labels.engine_explorer --data FOLDER --graphs data/measurements/graphs.xz --out tensorrt.parquet

Their networks are built again without batch norms, which PyTorch's exporter had folded: the n-th convolution of the
network is the n-th in the engine's names, and so for every kind of node of which both have as many.
"""

from __future__ import annotations

import argparse
import dataclasses
import re
import tempfile
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from latpred.api import load
from latpred.datasets import label_table
from latpred.datasets.recipe import parse
from latpred.labels.engine_labels import labels_of
from latpred.labels.labelled import Labels
from latpred.labels.networks import Networks, at_size
from latpred.labels.tensorrt import Engine, read_engine
from latpred.workloads import onnx_files, standard_onnx
from latpred.workloads.onnx_files import FileNode
from latpred.workloads.workload import Setting

FOLDER = Path("TensorRT") / "trex"
LICENCE = "Apache-2.0"
_NUMBERED = re.compile(r"([A-Za-z]+)_(\d+)")  # how PyTorch's exporter named nodes: operator and place
_FOLLOWS = {"Relu", "Clip"}  # what is part of an integer convolution without being named
_LAYERS, _PROFILE = "graph.json", "profile.json"


@dataclasses.dataclass(frozen=True)
class ExplorerEngine:
    """An engine whose network can be built again."""

    layers: str  # under FOLDER
    recipe: str
    family: str
    precision: str
    version: str  # of the engine explorer
    device: str
    batch: int


_A100 = "22.07/examples/pytorch/resnet/A100"
_RESNET = ("timm:resnet18@224", "resnet")
_MOBILENET = ("timm:mobilenetv2_100@224", "mobilenet")
_BATCH = 32  # of the engines on an A100
ENGINES: tuple[ExplorerEngine, ...] = (
    *(
        ExplorerEngine(f"{_A100}/{folder}/{file}.onnx.engine.graph.json", *_RESNET, precision, "22.07", "A100", _BATCH)
        for folder, file, precision in (
            ("fp32", "resnet", "tf32"),
            ("fp16", "resnet", "fp16"),
            ("qat", "resnet-qat", "int8"),
            ("qat-residual", "resnet-qat-residual", "int8"),
            ("qat-residual-qgap", "resnet-qat-residual-qgap", "int8"),
        )
    ),
    *(
        ExplorerEngine(
            f"{version}/tests/inputs/{name}.qat.onnx.engine.graph.json", *_MOBILENET, "int8", version, "TITAN RTX", 1
        )
        for version in ("22.04", "22.07")
        for name in ("mobilenet", "mobilenet_v2_residuals")
    ),
)


def read(data: Path, networks: Networks) -> Iterator[tuple[ExplorerEngine, Labels]]:
    """Each of ENGINES under `data` with its labels."""
    for row in ENGINES:
        layers = data / FOLDER / row.layers
        engine = read_engine(layers, layers.with_name(layers.name.replace(_LAYERS, _PROFILE)))
        size = int(parse(row.recipe).name.rpartition("@")[2])
        graph = at_size(networks.graph(row.recipe, 1), size, row.batch, without=("batch_norm",))
        yield row, match(engine, graph, row.version)


def match(engine: Engine, graph: Any, version: str) -> Labels:
    """Labels of a network whose nodes stand in the order in which the engine's are numbered."""
    with tempfile.TemporaryDirectory(prefix="latpred-") as folder:
        path = Path(folder) / "graph.onnx"
        standard_onnx.write(graph, path)
        file = onnx_files.prepare(Setting(str(path), batch=graph.batch), Path(folder))
        read_graph = load(str(file.path), batch=graph.batch)
    direct, inferred = by_order(engine, file.nodes)
    return labels_of(engine, file, read_graph, direct, inferred, f"engine explorer {version}")


def by_order(engine: Engine, nodes: Sequence[FileNode]) -> tuple[dict[str, int], dict[str, int]]:
    """unique name -> place of the layer: of the nodes that are named, and of those that follow one in its layer."""
    places: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, layer in enumerate(engine.layers):
        for name in layer.nodes:
            if numbered := _NUMBERED.fullmatch(name):
                places[numbered[1]].append((int(numbered[2]), place))
    found: dict[str, int] = {}
    for operator, numbered_places in places.items():
        own = [node.unique_name for node in nodes if node.operator == operator]
        if len(own) == len(numbered_places):
            found |= {name: place for name, (_, place) in zip(own, sorted(numbered_places), strict=True)}
    maker = {output: node.unique_name for node in nodes for output in node.outputs}
    follows: dict[str, int] = {}
    for node in nodes:
        before = {**found, **follows}.get(maker.get(node.inputs[0], "")) if node.inputs else None
        if node.unique_name not in found and node.operator in _FOLLOWS and before is not None:
            follows[node.unique_name] = before
    return found, follows


def main() -> None:
    """Writes the table of labels of the engines."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help=f"holds {FOLDER}")
    parser.add_argument("--graphs", type=Path, nargs="+", required=True, help="recorded networks")
    parser.add_argument("--out", type=Path, required=True, help="the .parquet file")
    arguments = parser.parse_args()
    rows = []
    for row, labels in read(arguments.data, Networks(arguments.graphs)):
        print(f"{row.layers}: {labels}")
        rows.append(
            label_table.row_of(
                labels,
                recipe=row.recipe,
                family=row.family,
                precision=row.precision,
                device_fingerprint=row.device,
                state="whole device",
                licence=LICENCE,
            )
        )
    label_table.write(arguments.out, rows)


if __name__ == "__main__":
    main()

"""The table of labelled networks: a row for each, with lists for its nodes, edges and kernels. One form for both sets:
where kernels were not timed their times are missing."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.optional import need
from latpred.units import NANOSECOND
from latpred.writing import replacing

if TYPE_CHECKING:
    from latpred._core import Graph
    from latpred.labels.labelled import Labels

Ints: TypeAlias = npt.NDArray[np.int64]
Floats: TypeAlias = npt.NDArray[np.float64]

ALONE = "1 thread"  # the state of a device that nothing else uses
FEATURES = ("input_elements", "output_elements", "parameter_elements", "flops")  # columns of NetworkLabels.features
_WEIGHTS = ("parameter", "statistic")
_DATA = ("activation", "input")
_ZSTD_LEVEL = 19
_NOISE_DIGITS = 3  # of a share; more are noise themselves, and half of the file

_TEXTS = ("recipe", "family", "runtime", "runtime_version", "precision", "device_fingerprint", "state", "licence")
# Lists of a row and the type of their items: of nodes, of edges, of kernels.
_LISTS = {
    "operator": "string", "node_name": "string", **dict.fromkeys(FEATURES, "int64"), "group": "int32",
    "is_direct": "bool",
    "source": "int32", "target": "int32",
    "kernel_type": "string", "kernel_implementation": "string", "kernel_precision": "string", "kernel_group": "int32",
    "kernel_charged_to": "int32", "kernel_ns": "int64", "kernel_noise": "float32",
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class NetworkLabels:
    """A network under one runtime. N nodes, E edges, K kernels in the order of execution."""

    recipe: str
    family: str
    batch: int
    runtime: str
    runtime_version: str
    precision: str
    device_fingerprint: str
    state: str  # of the device: "1 thread"
    operators: tuple[str, ...]  # [N], names of the operator table
    operator_ids: Ints  # [N]
    features: Floats  # [N, 4]: FEATURES
    edges: Ints  # [2, E]: producer, consumer
    edge_label: npt.NDArray[np.uint8]  # [E]; 1: one kernel computes both ends
    group: Ints  # [N]
    is_direct: npt.NDArray[np.bool_]  # [N]; False: inferred, not read
    kernel_type: tuple[str, ...]  # [K]
    kernel_implementation: tuple[str, ...]  # [K]
    kernel_group: Ints  # [K]; -1: copies to another layout
    kernel_charged_to: Ints  # [K]: the group whose time it counts for; -1: of the whole network
    kernel_s: Floats  # [K]; NaN: not timed
    kernel_noise: Floats  # [K]

    @property
    def device(self) -> str:
        """What ran it, and in which state."""
        return device_name(self.device_fingerprint, self.state)


def device_name(fingerprint: str, state: str = ALONE) -> str:
    """A processor in some state: what times are of."""
    return f"{fingerprint}, {state}"


def node_features(graph: Graph) -> Floats:
    """FEATURES of each node: float64 [N, 4]."""

    def elements(tensors: Iterable[Any], kinds: tuple[str, ...]) -> int:
        return sum(tensor.num_elements for tensor in tensors if tensor is not None and tensor.kind in kinds)

    return np.array(
        [
            (
                elements(node.inputs, _DATA),
                elements(node.outputs, _DATA),
                elements(node.inputs, _WEIGHTS),
                node.flops * node.repeat,
            )
            for node in graph.nodes
        ],
        np.float64,
    ).reshape(-1, len(FEATURES))


def row_of(labels: Labels, *, recipe: str, family: str, precision: str, device_fingerprint: str, state: str,
           licence: str) -> dict[str, Any]:  # fmt: skip
    """What the table keeps of labels, as JSON can hold it."""
    graph = labels.graph
    features = node_features(graph)
    return {
        "recipe": recipe,
        "family": family,
        "batch": graph.batch,
        "runtime": labels.runtime,
        "runtime_version": labels.runtime_version,
        "precision": precision,
        "device_fingerprint": device_fingerprint,
        "state": state,
        "licence": licence,
        "operator": [node.operator for node in graph.nodes],
        "node_name": [node.name for node in graph.nodes],
        **{name: [round(value) for value in features[:, index]] for index, name in enumerate(FEATURES)},
        "group": labels.group.tolist(),
        "is_direct": labels.is_direct.tolist(),
        "source": labels.edges[0].tolist(),
        "target": labels.edges[1].tolist(),
        "kernel_type": [kernel.type for kernel in labels.kernels],
        "kernel_implementation": [kernel.implementation for kernel in labels.kernels],
        "kernel_precision": [kernel.precision for kernel in labels.kernels],
        "kernel_group": [kernel.group for kernel in labels.kernels],
        "kernel_charged_to": [kernel.charged_to for kernel in labels.kernels],
        "kernel_ns": [
            None if kernel.latency_s is None else round(kernel.latency_s / NANOSECOND) for kernel in labels.kernels
        ],
        "kernel_noise": [
            None if kernel.noise is None else round(kernel.noise, _NOISE_DIGITS) for kernel in labels.kernels
        ],
    }


_TIMES = ("kernel_ns", "kernel_noise")


def with_least_times(row: dict[str, Any], again: dict[str, Any]) -> dict[str, Any]:
    """`row`, each kernel with the less of its time and that of the same network labelled `again`.

    Raises InvalidArgumentError where anything but times differs: a runtime may choose other kernels the next time."""
    for name in row:
        if name not in _TIMES and row[name] != again[name]:
            raise InvalidArgumentError(
                f"'{row['recipe']}', batch {row['batch']}: labelled again it has another {name}; the first times stay"
            )
    times, noises = ([row[name], again[name]] for name in _TIMES)
    best = [0 if other is None or (one is not None and one <= other) else 1 for one, other in zip(*times, strict=True)]
    return row | {
        name: [some[which][place] for place, which in enumerate(best)]
        for name, some in zip(_TIMES, (times, noises), strict=True)
    }


def write(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """The rows as one Parquet file."""
    arrow = need("pyarrow", "data", "tables of labels")
    parquet = need("pyarrow.parquet", "data", "tables of labels")
    fields = [(name, arrow.string()) for name in _TEXTS] + [("batch", arrow.int32())]
    fields += [
        (name, arrow.list_(getattr(arrow, {"bool": "bool_"}.get(kind, kind))())) for name, kind in _LISTS.items()
    ]
    table = arrow.Table.from_pylist(list(rows), schema=arrow.schema(fields))
    with replacing(path) as unfinished:
        parquet.write_table(
            table, unfinished, compression="zstd", compression_level=_ZSTD_LEVEL, row_group_size=1 << 20
        )


def read(path: Path) -> list[NetworkLabels]:
    """Every network of a table that `write` wrote."""
    parquet = need("pyarrow.parquet", "data", "tables of labels")
    if not path.is_file():
        raise InvalidArgumentError(f"'{path}': no such file; 'latpred label --out FILE.parquet' writes one")
    table = parquet.read_table(path)
    if missing := {*_TEXTS, *_LISTS, "batch"} - set(table.column_names):
        raise InvalidArgumentError(f"'{path}' is no table of labels: it lacks {', '.join(sorted(missing))}")
    ids = {row.name: row.id for row in _core.operators()}
    return [_network(row, ids) for row in table.to_pylist()]


def _network(row: dict[str, Any], ids: dict[str, int]) -> NetworkLabels:
    edges = np.array([row["source"], row["target"]], np.int64).reshape(2, -1)
    group = np.array(row["group"], np.int64)
    times = [np.nan if time is None else time * NANOSECOND for time in row["kernel_ns"]]
    noise = [np.nan if value is None else value for value in row["kernel_noise"]]
    return NetworkLabels(
        **{name: row[name] for name in _TEXTS if name != "licence"},
        batch=row["batch"],
        operators=tuple(row["operator"]),
        operator_ids=np.array([ids[name] for name in row["operator"]], np.int64),
        features=np.array([row[name] for name in FEATURES], np.float64).T.reshape(-1, len(FEATURES)),
        edges=edges,
        edge_label=(group[edges[0]] == group[edges[1]]).astype(np.uint8),
        group=group,
        is_direct=np.array(row["is_direct"], bool),
        kernel_type=tuple(row["kernel_type"]),
        kernel_implementation=tuple(row["kernel_implementation"]),
        kernel_group=np.array(row["kernel_group"], np.int64),
        kernel_charged_to=np.array(row["kernel_charged_to"], np.int64),
        kernel_s=np.array(times, np.float64),
        kernel_noise=np.array(noise, np.float64),
    )

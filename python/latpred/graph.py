"""How a Graph shows itself; the Graph is made by the compiled part."""

from __future__ import annotations

import os
from collections import Counter
from typing import TYPE_CHECKING, Any

from latpred.tables import Column, Table, number_column, scaled, text_column

if TYPE_CHECKING:
    import pandas

    from latpred._core import Graph, Node


def _shape(tensor: Any) -> str:
    return "[" + ", ".join(map(str, tensor.shape)) + "]"


def _tensor_names(tensors: list[Any]) -> list[str | None]:
    return [None if tensor is None else tensor.name for tensor in tensors]


def _nodes_columns() -> list[Column[Node]]:
    return [
        text_column("name"),
        text_column("operator"),
        text_column("source_operator", is_shown=False),
        text_column("family", is_shown=False),
        Column("inputs", lambda node: _tensor_names(node.inputs), is_shown=False),
        Column("outputs", lambda node: _tensor_names(node.outputs), is_shown=False),
        Column(
            "output_shapes",
            lambda node: [tensor.shape for tensor in node.outputs if tensor is not None],
            "output",
            lambda shapes: " ".join("[" + ", ".join(map(str, shape)) + "]" for shape in shapes),
            is_left=True,
        ),
        number_column("repeat", text=str, is_shown=False),
        number_column("macs", "MACs", scaled),
        number_column("flops", "FLOPs", scaled),
        number_column("bytes_in", text=scaled),
        number_column("bytes_out", text=scaled),
        number_column("weight_bytes", text=scaled),
    ]


def name(graph: Graph) -> str:
    """What a prediction calls the network: its file's name."""
    return os.path.basename(graph.source.path) or "graph"


def nodes_table(graph: Graph) -> Table[Node]:
    return Table(graph.nodes, _nodes_columns(), what="node")


def inputs_text(graph: Graph) -> str:
    return ", ".join(f"{tensor.name} {_shape(tensor)} {tensor.dtype}" for tensor in graph.inputs)


def outputs_text(graph: Graph) -> str:
    return ", ".join(f"{tensor.name} {_shape(tensor)} {tensor.dtype}" for tensor in graph.outputs)


def line(graph: Graph) -> str:
    return (
        f"<Graph {name(graph)}: batch {graph.batch}, {len(graph)} nodes, {scaled(graph.macs, 'MACs')}, "
        f"{scaled(graph.num_parameters, 'parameters')}>"
    )


def unknown_operators(graph: Graph) -> dict[str, int]:
    """How often each operator occurs that no table knows, under the name that the file gives it."""
    return dict(Counter(node.source_operator for node in graph.nodes if node.operator == "unknown"))


def facts(graph: Graph) -> list[tuple[str, str]]:
    """What one wants to know first, as pairs of words."""
    source = graph.source
    stored = f"{source.num_nodes} stored nodes" if source.num_nodes else ""
    origin = ", ".join(part for part in (source.format, source.producer, stored) if part)
    histogram = sorted(graph.operators.items(), key=lambda item: (-item[1], item[0]))
    pairs = [
        ("network", name(graph)),
        ("framework", source.framework),
        ("source", origin),
        ("batch", str(graph.batch)),
        ("memory format", "channels last" if graph.channels_last else ""),
        ("inputs", inputs_text(graph)),
        ("outputs", outputs_text(graph)),
        ("nodes", f"{len(graph)}: " + ", ".join(f"{operator} {count}" for operator, count in histogram)),
        ("unknown operators", ", ".join(f"{operator} {count}" for operator, count in unknown_operators(graph).items())),
        ("MACs", scaled(graph.macs)),
        ("FLOPs", scaled(graph.flops)),
        ("parameters", scaled(graph.num_parameters)),
        ("statistics", scaled(graph.num_statistics) if graph.num_statistics else ""),
        ("weights", scaled(graph.weight_bytes, "B")),
        ("hash", graph.hash),
        *(("warning", warning) for warning in graph.warnings),
    ]
    return [(heading, text) for heading, text in pairs if text]


def html(graph: Graph) -> str:
    from latpred.tables import html_table

    return html_table(facts(graph))


def to_pandas(graph: Graph) -> pandas.DataFrame:
    """One row for each node, in execution order. Needs latpred[data]."""
    return nodes_table(graph).to_pandas()

"""What graph neural networks read of a graph, as arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING

from latpred import _core
from latpred.checks import check_text
from latpred.loading import check_graph

if TYPE_CHECKING:
    from latpred._core import Graph, NodeFeatures


def features(graph: Graph, set: str = "dippm") -> NodeFeatures:
    """Numbers of each node and of the whole graph by the recipe of a paper, with the data flow between nodes.

    set: "dippm": 32 numbers of each node (operator, attributes of convolutions, output shape) and five of the graph.
        "lilou": elements in and out, parameters and FLOPs of each node.
    The result has nodes [N, F], operators [N], edges [2, E] (producers, then consumers), graph [S], adjacency() [N, N],
    and its columns with their meanings in set.node_columns and set.graph_columns.
    """
    check_graph(graph, files_go_to="load()")
    return _core.node_features(graph, check_text("set", set))

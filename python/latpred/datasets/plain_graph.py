"""Any Graph that is a plain net, read as one."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from latpred.datasets import cnn, fnn

if TYPE_CHECKING:
    from latpred._core import Graph


@dataclasses.dataclass(frozen=True)
class PlainGraph:
    """A Graph read as a plain net, and where it differs from those that are measured."""

    units: tuple[int, ...]  # of each node; channels of a convolution
    size: int  # of the images; 0: dense layers
    notes: tuple[str, ...] = ()


def from_graph(graph: Graph) -> PlainGraph:
    """The net that `graph` is; an error that names the operator where it is another kind of network."""
    if any(node.operator == "conv" for node in graph.nodes):
        found = cnn.from_graph(graph)
        return PlainGraph(found.channels, found.size, found.notes)
    dense = fnn.from_graph(graph)
    return PlainGraph(dense.widths, 0, dense.notes)

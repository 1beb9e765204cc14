"""Whether a rebuilt network of timm is the one that a table measured: timm changes networks, and what it counts as a
multiply-accumulate, from release to release."""

from __future__ import annotations

from latpred._core import Graph

# How far a rebuilt network may be from what the table states before it counts as another one.
MAX_PARAMETER_ERROR = 0.02
MAX_MACS_ERROR = 0.10
ROUNDING = 0.005  # of the tables: two digits

ATTENTION = "attention"  # the family of operators whose products some releases of timm do not count


def difference(graph: Graph, parameters_m: float, macs_g: float | None) -> str | None:
    """How `graph` differs from what a table states, millions of parameters and billions of MACs for one image (None:
    not stated); None where it is that network."""
    parameters = graph.num_parameters / 1e6
    if abs(parameters - parameters_m) > MAX_PARAMETER_ERROR * parameters_m + ROUNDING:
        return f"{parameters:.2f} million parameters when rebuilt, the table states {parameters_m:.2f}"
    if macs_g is None:
        return None
    macs = graph.macs / graph.batch / 1e9
    of_attention = sum(node.macs for node in graph.nodes if node.family == ATTENTION) / graph.batch / 1e9
    if min(abs(macs - macs_g), abs(macs - of_attention - macs_g)) > MAX_MACS_ERROR * macs_g + ROUNDING:
        return f"{macs:.2f} GMACs when rebuilt, the table states {macs_g:.2f}"
    return None


def is_as_stated(graph: Graph, parameters_m: float, macs_g: float | None) -> bool:
    """Whether `graph` is the network that a table states."""
    return difference(graph, parameters_m, macs_g) is None

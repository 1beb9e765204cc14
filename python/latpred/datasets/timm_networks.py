"""Whether a rebuilt network of timm is the one that a table measured: timm changes networks, and what it counts as a
multiply-accumulate, from release to release."""

from __future__ import annotations

from latpred._core import Graph

# How far a rebuilt network may be from what the table states before it counts as another one.
MAX_PARAMETER_ERROR = 0.02
MAX_MACS_ERROR = 0.10
ROUNDING = 0.005  # of the tables: two digits


def is_as_stated(graph: Graph, parameters_m: float, macs_g: float) -> bool:
    """Whether `graph` is the network that a table states: millions of parameters, billions of MACs for one image."""
    parameters = graph.num_parameters / 1e6
    macs = graph.macs / graph.batch / 1e9
    return (
        abs(parameters - parameters_m) <= MAX_PARAMETER_ERROR * parameters_m + ROUNDING
        and abs(macs - macs_g) <= MAX_MACS_ERROR * macs_g + ROUNDING
    )

"""predict(predictor="pmgns"): latency, memory, energy and MIG profile from one graph neural network, after DIPPM.

Ours reads what DIPPM's reads, with logarithms; it learnt what the default predictor says of timm's networks on an A100,
so it is a small student for search loops and no second opinion.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.fusion import network, whole_graph
from latpred.fusion.graph_arrays import Arrays
from latpred.prediction import Pair, Prediction
from latpred.request import make_request
from latpred.units import MEBIBYTE, MEGABYTE, MILLISECONDS_PER_S

if TYPE_CHECKING:
    from latpred._core import Graph, Session

NAME = "pmgns"


@dataclass(frozen=True)
class GraphNetworkRow:
    """A predictor that is a graph neural network."""

    name: str
    description: str


ROW = GraphNetworkRow(
    NAME, "DIPPM's network over whole graphs on an A100: latency, memory, energy; taught by the first"
)
CHECKPOINT = Path(__file__).parents[1] / "data" / "trained" / f"{NAME}.safetensors"
PROVENANCE = "modelled"


@cache
def load() -> network.GraphNetwork:
    """The shipped checkpoint. Needs latpred[torch]."""
    return network.load(CHECKPOINT)


def arrays_of(graphs: Sequence[Graph], device: str) -> Arrays:
    """What the network reads of graphs, and what it multiplies."""
    return with_bases(whole_graph.joined([whole_graph.of_graph(graph) for graph in graphs]), device)


def with_bases(joined: Arrays, device: str) -> Arrays:
    """The columns of totals, and bases [G, 3]: a bound of the time for latency and energy, one megabyte for memory."""
    arrays = whole_graph.with_totals(joined)
    time_s = whole_graph.latency_base_s(arrays, device)
    return arrays | {"bases": np.column_stack([time_s, np.full(len(time_s), MEGABYTE), time_s])}


def predict(graphs: Sequence[Graph], asked: dict[str, Any], session: Session) -> list[GraphPrediction]:
    """One answer for each graph; `asked`: the arguments of make_request."""
    trained = load()
    conditions = trained.trained_on
    _check(asked, conditions)
    answers = trained.predict(arrays_of(graphs, conditions["device"]))["targets"]
    half_widths = conditions["log_half_widths"]
    found = []
    for graph, values in zip(graphs, answers, strict=True):
        pairs = [
            (float(value) / math.exp(width), float(value) * math.exp(width))
            for value, width in zip(values, half_widths, strict=True)
        ]
        coverage = [f"it learnt what {conditions['teacher']} answers on {conditions['device']}, not measurements"]
        given = _core.GivenLatency(
            latency_s=float(values[0]), interval_s=pairs[0], provenance=PROVENANCE, coverage=coverage
        )
        request = make_request(**asked, given=given)
        answer = session.predict(graph, request)
        prediction = GraphPrediction(answer, graph, request, session)
        prediction.take(float(values[1]), pairs[1], float(values[2]), pairs[2])
        found.append(prediction)
    return found


def _check(asked: dict[str, Any], conditions: dict[str, Any]) -> None:
    """Refuses what the network never saw."""
    allowed = {
        "device": (conditions["device"],),
        "partition": (None,),
        "runtime": (None, conditions["runtime"]),
        "precision": ("default", conditions["precision"]),
        "autograd": (False,),
        "calibration": (None,),
    }
    is_alias = _core.device(asked["device"]).name == conditions["device"] if asked["device"] != "cpu" else False
    for argument, values in allowed.items():
        if asked[argument] in values or (argument == "device" and is_alias):
            continue
        raise InvalidArgumentError(
            f"predictor '{NAME}' answers for the whole {conditions['device']} with runtime {conditions['runtime']} and "
            f"precision {conditions['precision']}, {argument}={asked[argument]!r} is asked for: leave predictor= out"
        )


class GraphPrediction(Prediction):
    """Latency, memory and energy of a graph neural network, which sees a call as one: the tables kernels and partitions
    are refused. fits() and largest_batch() are by latpred's own memory model."""

    def take(self, memory_bytes: float, memory_pair: Pair, energy_j: float, energy_pair: Pair) -> None:
        """What the network says besides the latency."""
        self._memory_bytes, self._memory_pair = memory_bytes, memory_pair
        self._energy_j, self._energy_pair = energy_j, energy_pair

    @property
    def memory_mb(self) -> float:
        return self._memory_bytes / MEGABYTE

    @property
    def memory_mib(self) -> float:
        return self._memory_bytes / MEBIBYTE

    @property
    def memory_parts(self) -> dict[str, float]:
        """Empty: the network says one number for all."""
        return {}

    @property
    def peak_node(self) -> str | None:
        """None: the network knows no order of nodes."""
        return None

    @property
    def energy_j(self) -> float | None:
        return self._energy_j

    @property
    def mean_power_w(self) -> float | None:
        return self._energy_j / self.latency_s if self.latency_s > 0 else None

    @property
    def mig_profile(self) -> str | None:
        return _core.pick_mig_profile(self.device, self.mig_rule, self._memory_bytes, self._memory_pair[1])

    @property
    def intervals(self) -> dict[str, Pair | None]:
        low, high = self._answer.latency_interval_s
        return {
            "latency_ms": (low * MILLISECONDS_PER_S, high * MILLISECONDS_PER_S),
            "memory_mb": (self._memory_pair[0] / MEGABYTE, self._memory_pair[1] / MEGABYTE),
            "energy_j": self._energy_pair,
        }

    @property
    def provenance(self) -> dict[str, str | None]:
        return dict.fromkeys(("latency_ms", "memory_mb", "energy_j"), PROVENANCE)

"""predict(runtime="openvino") on a processor: fusion and kernels as two graph networks learnt them, after Lilou."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.datasets.label_table import device_name
from latpred.errors import InvalidArgumentError, MissingDependencyError
from latpred.fusion import graph_arrays, network
from latpred.fusion.inputs import SAME
from latpred.fusion.optimized import OptimizedGraph, optimize
from latpred.host_device import NAME as HOST
from latpred.host_device import OTHER_DEVICE_HALF_WIDTH
from latpred.prediction import Prediction
from latpred.request import make_request

if TYPE_CHECKING:
    from latpred._core import Graph, Session
    from latpred.fusion.network import GraphNetwork

NAME = "lilou"
RUNTIME = "openvino"
FOLDER = Path(__file__).parents[1] / "data" / "trained"

# A network of five nodes, far below all labelled ones, was off by such a factor.
UNLIKE_NETWORK_HALF_WIDTH = math.log(2.7)


@dataclass(frozen=True)
class LearntFusionRow:
    """A predictor of learnt kernels."""

    name: str
    description: str


ROW = LearntFusionRow(
    NAME, "Lilou's networks of fusion and kernels on a processor under openvino: the default there; needs torch"
)


@dataclass(frozen=True)
class Pair:
    """What fuses, and what each group costs."""

    edges: GraphNetwork
    kernels: GraphNetwork


@cache
def load(folder: Path = FOLDER) -> Pair:
    """The pair that is shipped. Needs latpred[torch]."""
    try:
        return Pair(*(network.load(folder / f"{NAME}_{part}.safetensors") for part in ("edges", "kernels")))
    except MissingDependencyError as error:
        raise MissingDependencyError(
            f"predictor '{NAME}', the default for runtime {RUNTIME} on this processor: {error}; "
            f"predictor='{_core.predictors()[0].name}' answers without it, fusing by rules"
        ) from error


def is_default(asked: dict[str, Any]) -> bool:
    """Whether the pair answers where no predictor is named: it learnt one runtime, on the whole of a processor."""
    return (
        asked["predictor"] is None
        and asked["runtime"] == RUNTIME
        and asked["partition"] is None
        and asked["calibration"] is None
        and asked["precision"] in ("default", "fp32")
        and asked["device"] == HOST
    )


def predict(graphs: Sequence[Graph], asked: dict[str, Any], session: Session) -> list[Prediction]:
    """One answer for each graph; `asked`: the arguments of make_request."""
    _check(asked)
    pair = load()
    found = []
    device = _asked_device(asked["device"])
    for graph in graphs:
        where = f"on {asked['device']}, {fusion_of(pair)}"
        optimized = optimize(graph, pair.edges, pair.kernels, device, where=where)
        request = make_request(
            **(asked | {"predictor": NAME, "runtime": RUNTIME}), given=_given(pair, graph, optimized, device)
        )
        found.append(LearntPrediction(session.predict(graph, request), graph, request, session))
        found[-1].optimized_graph = optimized
    return list(found)


def fusion_of(pair: Pair) -> str:
    """Where it was learnt, in words."""
    return f"fusion learnt from {pair.kernels.trained_on['runtime']}"


def _asked_device(name: str) -> str:
    fingerprint = _core.host_facts().fingerprint if name == HOST else name
    return device_name(fingerprint)


def _given(pair: Pair, graph: Graph, optimized: OptimizedGraph, device: str) -> _core.GivenLatency:
    half_widths: dict[str, float] = pair.kernels.trained_on["log_half_widths"]
    measured_on = device if device in half_widths else "; ".join(half_widths)
    notes = [f"{fusion_of(pair)}; kernels measured on {measured_on}"]
    outside = []
    if device in half_widths:
        half_width = half_widths[device]
    else:
        outside.append(f"processor {device} was not measured")
        half_width = math.hypot(max(half_widths.values()), OTHER_DEVICE_HALF_WIDTH)
    if beyond := _beyond(graph, *pair.kernels.trained_on["network_range"]):
        outside.append(f"labelled networks were unlike: {'; '.join(beyond)}")
        half_width = math.hypot(half_width, UNLIKE_NETWORK_HALF_WIDTH)
    known = set(pair.edges.trained_on["operators"])
    if new := sorted({SAME.get(node.operator, node.operator) for node in graph.nodes} - known):
        outside.append(f"operators that no labelled network has: {', '.join(new)}")
    latency_s = float(optimized.latency_s or 0.0)
    factor = math.exp(half_width)
    return _core.GivenLatency(
        latency_s=latency_s,
        interval_s=(latency_s / factor, latency_s * factor),
        provenance="extrapolated" if outside else "fitted",
        coverage=[*notes, *outside],
    )


def _beyond(graph: Graph, least: Sequence[float], most: Sequence[float]) -> list[str]:
    """The numbers of a network that no labelled one has."""
    numbers = graph_arrays.network_numbers(graph_arrays.of_graph(graph)["nodes"])
    return [
        f"{value:.3g} {name}, theirs {low:.3g} to {high:.3g}"
        for name, value, low, high in zip(graph_arrays.NETWORK_NUMBERS, numbers, least, most, strict=True)
        if not low <= value <= high
    ]


def _check(asked: dict[str, Any]) -> None:
    """Refuses what the pair never saw."""
    if asked["device"] != HOST and _core.device(asked["device"]).is_gpu:
        raise InvalidArgumentError(
            f"predictor '{NAME}' learnt a processor, device '{asked['device']}' is a GPU: leave predictor= out"
        )
    allowed = {
        "partition": (None,),
        "runtime": (None, RUNTIME),
        "runtime_version": (None,),
        "precision": ("default", "fp32"),
        "calibration": (None,),
    }
    for argument, values in allowed.items():
        if asked[argument] not in values:
            raise InvalidArgumentError(
                f"predictor '{NAME}' answers for a whole processor under {RUNTIME} in fp32, without a calibration; "
                f"{argument}={asked[argument]!r} is asked for: leave predictor= out, or name another"
            )


class LearntPrediction(Prediction):
    """An answer whose kernels were learnt: optimized shows them. Memory is by latpred's model."""

    optimized_graph: OptimizedGraph

    @property
    def optimized(self) -> OptimizedGraph:
        return self.optimized_graph

    @property
    def fusion(self) -> str:
        return fusion_of(load())

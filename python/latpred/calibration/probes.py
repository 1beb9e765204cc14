"""Which few networks to time: those that tell most about the factors of a calibration."""

from __future__ import annotations

import dataclasses
import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from latpred import _core
from latpred.calibration.fit import CLASSES, FIRST_CLASS, HOST, NUM_PARAMETERS, SCALE, Expected, design_of
from latpred.calibration.timing import Clock, measure_module
from latpred.errors import InvalidArgumentError, ProfilerError
from latpred.optional import need
from latpred.tables import Column, Table, number_column, text_column

if TYPE_CHECKING:
    from latpred._core import Graph, PredictRequest, Session
    from latpred.datasets.graph_cache import GraphCache

# Networks that timm builds by name without weights to download, from every common family.
# tools/make_probes.py records them for those who have no timm at hand.
NETWORKS = (
    "timm:resnet18@224",
    "timm:resnet50@224",
    "timm:resnext50_32x4d@224",
    "timm:vgg16@224",
    "timm:densenet121@224",
    "timm:inception_v3@299",
    "timm:mobilenetv2_100@224",
    "timm:mobilenetv3_large_100@224",
    "timm:efficientnet_b0@224",
    "timm:regnety_016@224",
    "timm:convnext_tiny@224",
    "timm:vit_tiny_patch16_224@224",
    "timm:vit_base_patch16_224@224",
    "timm:swin_tiny_patch4_window7_224@224",
    "timm:mixer_b16_224@224",
)
BATCHES = (1, 8, 64)
DEFAULT_COUNT = 5

# What is left of a network's error when every factor is right: the median of unseen families (docs/accuracy.md).
_NETWORK_SD = 0.08
_TAUGHT = {SCALE: "kernels", HOST: "host", **{FIRST_CLASS + i: name for i, name in enumerate(CLASSES)}}

Array = NDArray[np.float64]


@dataclasses.dataclass(frozen=True)
class Probe:
    """A network to time."""

    network: str  # as a path of calibrate()'s rows takes it
    batch: int
    input: str
    predicted_ms: float
    teaches: str  # the parameter that it narrows most
    spread_left: float  # of all candidates, from the factors, once this one and those above are timed


PROBE_COLUMNS: list[Column[Probe]] = [
    text_column("network"),
    number_column("batch", text=str),
    text_column("input"),
    number_column("predicted_ms", "predicted ms"),
    text_column("teaches", "tells most about"),
    Column("spread_left", lambda probe: probe.spread_left, "spread left", lambda sd: f"x/{math.exp(sd):.2f}"),
]


@cache
def _recorded() -> GraphCache:
    from latpred.datasets.graph_cache import GraphCache

    return GraphCache(Path(__file__).resolve().parents[1] / "data" / "probes.sqlite")


def probe_graph(network: str, batch: int) -> Graph:
    """One of NETWORKS."""
    if network not in NETWORKS:
        raise InvalidArgumentError(_core.unknown_name_message("network", network, list(NETWORKS)), valid=NETWORKS)
    return _recorded().graph(network, batch)


def _sizes(network: str) -> tuple[int, int, int]:
    size = int(network.rpartition("@")[2])
    return 3, size, size


def choose_probes(request: PredictRequest, session: Session, count: int = DEFAULT_COUNT) -> Table[Probe]:
    """The `count` calls whose times determine the factors best (D-optimal, one after another).

    Each adds most to the determinant of the information about the factors, given those before it.
    """
    calls = [(network, batch) for network in NETWORKS for batch in BATCHES]
    graphs = [probe_graph(network, batch) for network, batch in calls]
    fitting = [index for index, graph in enumerate(graphs) if _core.memory_fit(graph, request).fits]
    if len(fitting) < count:
        raise InvalidArgumentError(
            f"{count} probes were asked for, and {len(fitting)} of {len(calls)} calls fit {request.device}"
        )
    calls, graphs = [calls[index] for index in fitting], [graphs[index] for index in fitting]
    design = design_of(graphs, request, session)
    shares = design.jacobian(np.zeros(NUM_PARAMETERS))
    answer = session.predict(graphs[0], request)
    expected = Expected.of(session.evidence(answer.predictor), answer)
    chosen = most_telling(shares, expected.parameters_sd, count)
    latency_s = np.exp(design.log_s(np.zeros(NUM_PARAMETERS)))
    rows = [
        Probe(
            network=calls[index][0],
            batch=calls[index][1],
            input=",".join(map(str, _sizes(calls[index][0]))),
            predicted_ms=float(latency_s[index]) * 1e3,
            teaches=_TAUGHT[narrowed],
            spread_left=spread,
        )
        for index, narrowed, spread in chosen
    ]
    return Table(rows, PROBE_COLUMNS, what="network")


def most_telling(shares: Array, parameters_sd: Array, count: int) -> list[tuple[int, int, float]]:
    """Rows of `shares` [N, parameters], the sensitivities of log-latency, in the order in which they tell most of
    parameters that are expected to be off by `parameters_sd` [parameters].

    With each: the parameter whose deviation it shrinks most, and the spread of all rows that is left then.
    """
    covariance = np.diag(parameters_sd**2)
    chosen: list[tuple[int, int, float]] = []
    open_rows = list(range(len(shares)))
    for _ in range(count):
        # det(M + a a^T / sd^2) = det(M) (1 + a^T C a / sd^2): the row of the largest variance.
        variances = np.einsum("np,pq,nq->n", shares[open_rows], covariance, shares[open_rows])
        index = open_rows.pop(int(np.argmax(variances)))
        row = shares[index]
        before = np.diag(covariance)
        gain = covariance @ row
        covariance = covariance - np.outer(gain, gain) / (_NETWORK_SD**2 + row @ gain)
        narrowed = int(np.argmin(np.diag(covariance) / before))
        left = np.einsum("np,pq,nq->n", shares, covariance, shares)
        chosen.append((index, narrowed, float(np.sqrt(np.mean(left)))))
    return chosen


def time_probe(probe: Probe, clock: Clock, precision: str) -> dict[str, Any]:
    """A row for calibrate(), with the network built by timm."""
    timm = need("timm", "architectures", "timing the probes")
    name = probe.network.partition(":")[2].partition("@")[0]
    measured = measure_module(timm.create_model(name), _sizes(probe.network), probe.batch, clock, precision)
    if not measured.spread < 1:
        raise ProfilerError(
            f"{probe.network} at batch {probe.batch}: {measured.calls} calls differed by {measured.spread:.0%} of "
            "their median, which is no timing; stop what else runs on this machine's GPU, and try again"
        )
    return {
        "path": probe.network,
        "batch": probe.batch,
        "seconds": measured.seconds,
        "spread": measured.spread,
    }

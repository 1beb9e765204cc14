"""Where the time and the memory of a prediction go, and what would change them. Every number is a prediction."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from latpred.errors import LatpredError
from latpred.request import changed
from latpred.tables import Column, Table, number_column, percent_text, scaled, text_column

if TYPE_CHECKING:
    from latpred.prediction import Prediction


@dataclass(frozen=True)
class KindShare:
    """All kernels of one kind."""

    kind: str
    kernels: int
    latency_ms: float
    share: float
    compute_bound_share: float  # of this kind's time
    flops: float
    bytes: float


@dataclass(frozen=True)
class MemoryPart:
    name: str
    size_mb: float
    share: float


@dataclass(frozen=True)
class Alternative:
    """The same network, one thing changed; numbers are None where that is refused."""

    change: str
    latency_ms: float | None
    throughput_per_s: float | None
    memory_mb: float | None
    energy_j: float | None
    note: str | None  # the provenance of the latency and whether the calibration is left out, or why it is refused


def time_by_kind(prediction: Prediction) -> Table[KindShare]:
    """The longest first; shares add up to 1. Refused where the predictor answers for a whole call."""
    groups: dict[str, list[Any]] = {}
    for kernel in prediction.kernels:
        groups.setdefault(kernel.kind, []).append(kernel)
    rows = []
    for kind, kernels in groups.items():
        latency_ms = sum(kernel.latency_ms for kernel in kernels)
        bound_ms = sum(kernel.latency_ms for kernel in kernels if kernel.bound == "compute")
        rows.append(
            KindShare(
                kind=kind,
                kernels=sum(kernel.repeat for kernel in kernels if kernel.bound),
                latency_ms=latency_ms,
                share=latency_ms / prediction.latency_ms,
                compute_bound_share=bound_ms / latency_ms if latency_ms else 0,
                flops=sum(kernel.flops for kernel in kernels),
                bytes=sum(kernel.bytes for kernel in kernels),
            )
        )
    rows.sort(key=lambda row: -row.latency_ms)
    columns: list[Column[KindShare]] = [
        text_column("kind"),
        number_column("kernels", text=str),
        number_column("latency_ms", "ms"),
        number_column("share", text=partial(percent_text, digits=1)),
        number_column("compute_bound_share", "compute-bound", percent_text),
        number_column("flops", "FLOPs", scaled),
        number_column("bytes", text=scaled),
    ]
    return Table(rows, columns, what="kind")


def memory_parts(prediction: Prediction) -> Table[MemoryPart]:
    """Shares add up to 1; empty where the predictor says one number for all."""
    rows = [
        MemoryPart(name.removesuffix("_mb"), size_mb, size_mb / prediction.memory_mb)
        for name, size_mb in prediction.memory_parts.items()
    ]
    columns: list[Column[MemoryPart]] = [
        text_column("name", "part"),
        number_column("size_mb", "MB"),
        number_column("share", text=partial(percent_text, digits=1)),
    ]
    return Table(rows, columns, what="part")


def alternatives(prediction: Prediction) -> Table[Alternative]:
    """The answer at other precisions, runtimes and batches. A calibration is left out where it was made for another
    precision or runtime; a row of what was asked without it is then what such rows compare to. Where the change has
    another default predictor, that one answers and is named."""
    from latpred.catalog import runtimes

    graph = prediction.graph
    runtime = runtimes()[prediction.runtime]
    is_gpu = prediction.device_row.is_gpu
    changes: list[tuple[str, dict[str, Any]]] = [("as asked", {})]
    changes += [
        (f"precision {name}", {"precision": name}) for name in runtime.precisions if name != prediction.precision
    ]
    changes += [
        (f"runtime {row.name}", {"runtime": row.name})
        for row in runtimes()
        if row.name != prediction.runtime and (row.on_gpu if is_gpu else row.on_cpu)
    ]
    changes += [
        (f"batch {batch}", {"batch": batch})
        for batch in (graph.batch // 2, graph.batch * 2, graph.batch * 4)
        if batch >= 1
    ]
    if any(_leaves_calibration(prediction, change) for _, change in changes):
        changes.insert(1, ("as asked, uncalibrated", {"calibration": None}))
    rows = [_alternative(prediction, words, change) for words, change in changes]
    columns: list[Column[Alternative]] = [
        text_column("change"),
        number_column("latency_ms", "ms"),
        number_column("throughput_per_s", "per s"),
        number_column("memory_mb", "MB"),
        number_column("energy_j", "J"),
        text_column("note", "how"),
    ]
    return Table(rows, columns, what="change")


def _leaves_calibration(prediction: Prediction, changes: dict[str, Any]) -> bool:
    """Whether the prediction's calibration says nothing about it with `changes`."""
    used = prediction.calibration
    if used is None:
        return False
    of_precision = "precision" in changes and used.precision is not None
    of_runtime = "runtime" in changes and used.runtime is not None
    return of_precision or of_runtime or "calibration" in changes


def _asked(prediction: Prediction) -> dict[str, Any]:
    """What it was made with; a predictor that answers unnamed is not named, so that it refuses no change."""
    from latpred.fusion import lilou

    asked = prediction.asked()
    unnamed = asked | {"predictor": None}
    return unnamed if asked["predictor"] == lilou.NAME and lilou.is_default(unnamed) else asked


def _alternative(prediction: Prediction, words: str, changes: dict[str, Any]) -> Alternative:
    from latpred.api import predict

    is_uncalibrated = _leaves_calibration(prediction, changes)
    if is_uncalibrated:
        # Without it another predictor might answer than the one that it corrects.
        changes = changes | {"calibration": None, "predictor": prediction.predictor}
    try:
        other = predict(graph=prediction.graph, **changed(_asked(prediction), changes))
    except LatpredError as error:
        return Alternative(words, None, None, None, None, f"refused: {error}")
    how = other.provenance["latency_ms"]
    if other.predictor != prediction.predictor:
        how = f"{how}, by {other.predictor}"
    return Alternative(
        words,
        other.latency_ms,
        other.throughput_per_s,
        other.memory_mb,
        other.energy_j,
        f"{how}, without your timings" if is_uncalibrated else how,
    )

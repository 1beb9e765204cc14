"""latpred.calibrate: from rows to a Calibration."""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.calibration import Calibration, CalibrationRecord, check_name, checkpoint_digest
from latpred.calibration.fit import HOST, NUM_PARAMETERS, SCALE, Array, Expected, check_design, design_of
from latpred.calibration.levels import choose, error_of, factor_of, kind_factors_of, log_sd_left
from latpred.calibration.rows import Timing, read_timings
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.quantile import NORMAL_80

if TYPE_CHECKING:
    from latpred._core import Graph, PredictRequest, Session

# Beyond this factor timings are of another unit, call or device: no host or cooling makes as much.
_LARGEST_FACTOR = 20.0


def make(
    rows_or_path: Any,
    request: PredictRequest,
    session: Session,
    *,
    any_precision: bool,
    name: str | None,
    fingerprint: str | None,
) -> Calibration:
    """`request` says what was timed."""
    timings = read_timings(rows_or_path)
    graphs = [timing.graph for timing in timings]
    answer = session.predict(graphs[0], request)
    design = design_of(graphs, request, session)
    check_design(design, [timing.network for timing in timings])
    log_measured = np.log([timing.latency_s for timing in timings])
    log_before = design.log_s(np.zeros(NUM_PARAMETERS))
    _check_units(timings, log_measured - log_before, answer.device)
    evidence = session.evidence(answer.predictor)
    expected = Expected.of(evidence, answer)
    choice = choose(design, log_measured, [_network_of(graph) for graph in graphs], expected)
    after = choice.log_left_out
    return Calibration(
        name=check_name(name) if name is not None else _name_from(rows_or_path, answer.device, answer.partition),
        device=answer.device,
        fingerprint=fingerprint,
        partition=answer.partition or None,
        runtime=answer.runtime,
        precision=None if any_precision else answer.precision,
        input_on=answer.input_on,
        predictor=answer.predictor,
        checkpoint=checkpoint_digest(answer.predictor),
        level=choice.level.name,
        scale=factor_of(choice, SCALE),
        host_scale=factor_of(choice, HOST),
        kind_factors=kind_factors_of(choice),
        timed_kinds=tuple(sorted(design.kinds)),
        log_sd=log_sd_left(choice, log_measured, expected.network_sd, evidence.terms.known_device / NORMAL_80),
        error_before=error_of(log_before, log_measured),
        error_after=None if after is None else error_of(after, log_measured),
        tried=choice.tried,
        reason=choice.reason,
        records=tuple(
            CalibrationRecord(
                network=timing.network,
                graph_hash=timing.graph.hash,
                batch=timing.graph.batch,
                latency_s=timing.latency_s,
                spread=timing.spread,
                predicted_s=float(np.exp(log_before[index])),
                left_out_s=None if after is None else float(np.exp(after[index])),
                weight=float(choice.fitted.weights[index]),
            )
            for index, timing in enumerate(timings)
        ),
    )


def _check_units(timings: list[Timing], log_ratios: Array, device: str) -> None:
    """Refuses timings that as a whole are of something else; one among many is left to the fit."""
    if abs(float(np.median(log_ratios))) <= math.log(_LARGEST_FACTOR):
        return
    index = int(np.argmax(np.abs(log_ratios)))
    timing, ratio = timings[index], math.exp(float(log_ratios[index]))
    raise InvalidArgumentError(
        f"'{timing.network}' at batch {timing.graph.batch} is given as {timing.latency_s:.4g} s, {ratio:.3g} times "
        f"what is predicted on {device}, and half of the timings are as far off; expected is a factor of up to "
        f"{_LARGEST_FACTOR:g} either way. Are they in seconds (column 'seconds') or milliseconds ('latency_ms'), of "
        "one call on the whole batch, on this device?"
    )


def _network_of(graph: Graph) -> str:
    """The same at every batch."""
    try:
        return graph.with_batch(1).hash
    except LatpredError:  # its sizes do not follow the batch
        return graph.hash


def _name_from(rows_or_path: Any, device: str, partition: str) -> str:
    if isinstance(rows_or_path, (str, os.PathLike)):
        stem = Path(rows_or_path).stem
        return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in stem).lstrip(".") or "mine"
    return "-".join(filter(None, (device, partition))).replace("%", "pct").replace(" ", "-")

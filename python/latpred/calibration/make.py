"""latpred.calibrate: from rows to a Calibration."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.calibration import Calibration, CalibrationRecord, check_name, checkpoint_digest
from latpred.calibration.fit import (
    HOST,
    NUM_PARAMETERS,
    SCALE,
    check_design,
    choose,
    design_of,
    error_of,
    factor_of,
    kind_factors_of,
    log_sd_left,
)
from latpred.calibration.rows import read_timings
from latpred.errors import LatpredError

if TYPE_CHECKING:
    from latpred._core import Graph, PredictRequest, Session


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
    choice = choose(design, log_measured, [_network_of(graph) for graph in graphs])
    log_before = design.log_s(np.zeros(NUM_PARAMETERS))
    evidence = session.evidence(answer.predictor)
    is_known = answer.device in evidence.devices and not answer.partition
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
        log_sd=log_sd_left(choice, log_measured, evidence.terms.known_device, evidence.terms.unknown_device, is_known),
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

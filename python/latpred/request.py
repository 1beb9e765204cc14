"""What is asked besides the network: arguments checked, in the compiled part's words."""

from __future__ import annotations

from typing import Any

from latpred import _core
from latpred._core import GivenLatency, PredictRequest
from latpred.calibration import Calibration, check_checkpoint
from latpred.checks import check_flag, check_text
from latpred.host_device import NAME as HOST
from latpred.host_device import request_fields


def make_request(
    *,
    device: str,
    partition: str | None,
    runtime: str | None,
    precision: str,
    input_on: str,
    autograd: bool,
    predictor: str | None,
    mig_rule: str,
    strict: bool,
    calibration: Calibration | None = None,
    runtime_version: str | None = None,
    given: GivenLatency | None = None,
) -> PredictRequest:
    """The request in the compiled part's words; names are looked up there. `given`: the latency, where a trained
    predictor has answered already."""
    if calibration is not None:
        check_checkpoint(calibration)
    host = {}
    if device == HOST:
        # A trained predictor, which is none of the table, knows the machine that it was trained on.
        is_physics = predictor is None or predictor in [row.name for row in _core.predictors()]
        host = request_fields(is_physics=given is None and is_physics)
    return _core.PredictRequest(
        device=check_text("device", device),
        partition="" if partition is None else check_text("partition", partition),
        runtime="" if runtime is None else check_text("runtime", runtime),
        runtime_version="" if runtime_version is None else check_text("runtime_version", runtime_version),
        precision=check_text("precision", precision),
        input_on=check_text("input_on", input_on),
        autograd=check_flag("autograd", autograd),
        predictor="" if predictor is None else check_text("predictor", predictor),
        mig_rule=check_text("mig_rule", mig_rule),
        strict=check_flag("strict", strict),
        calibration=None if calibration is None else calibration.factors,
        given=given,
        **host,
    )


def changed(asked: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Arguments of predict() with `changes`: another runtime has versions of its own."""
    of_version = {"runtime_version": None} if "runtime" in changes else {}
    return {**asked, **of_version, **changes}

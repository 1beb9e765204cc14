"""Trained predictors behind predict(predictor=...): found by name or file, asked about Graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred import _core, catalog
from latpred._core import unknown_name_message
from latpred.errors import InvalidArgumentError
from latpred.host_device import NAME as HOST
from latpred.request import make_request
from latpred.training.trainable import trainable_names
from latpred.training.trained import Trained, load

if TYPE_CHECKING:
    from latpred._core import Graph, PredictRequest

SUFFIX = ".safetensors"
_DEFAULT_PRECISION = "default"
# LibTorch runs the calls that PyTorch makes eagerly, without Python between them.
_ANSWERS_FOR = {"libtorch": "eager"}


def shipped(name: str) -> Path:
    """Where the checkpoint of a trained predictor lies that comes with latpred, if one does."""
    return Path(__file__).parents[1] / "data" / "trained" / (name + SUFFIX)


def find(predictor: str | os.PathLike[str] | None) -> Trained | None:
    """The trained predictor of this name or file; None: one of the compiled part's table, or none named."""
    if predictor is None:
        return None
    name = os.fspath(predictor)
    compiled = [row.name for row in _core.predictors()]
    if name in compiled:
        return None
    path = shipped(name) if name in trainable_names() else Path(name)
    if path.is_file():
        return _loaded(str(path), path.stat().st_mtime_ns)
    if name in trainable_names():
        raise InvalidArgumentError(
            f"predictor '{name}' comes without a checkpoint: it answers for the machine that it was trained on; make "
            f"one with train('{name}', dataset=..., out='{name}{SUFFIX}') and give predictor='{name}{SUFFIX}'"
        )
    valid = [row.name for row in catalog.predictors()]
    raise InvalidArgumentError(
        f"{unknown_name_message('predictor', name, valid)}; a trained one is named by its file, and there is no file "
        f"'{name}'",
        valid=valid,
    )


@lru_cache(maxsize=8)
def _loaded(path: str, modified_ns: int) -> Trained:
    """Read once, and again when the file has changed."""
    return load(Path(path))


def requests(trained: Trained, graphs: Sequence[Graph], asked: dict[str, Any]) -> list[PredictRequest]:
    """What is asked about each graph, with the answer of `trained` in it; `asked`: the arguments of make_request."""
    runtime = _ANSWERS_FOR.get(trained.conditions.runtime, trained.conditions.runtime)
    _check(trained, asked, runtime)
    asked = asked | {"runtime": runtime}
    request = make_request(**asked)
    fingerprint = _core.host_facts().fingerprint if asked["device"] == HOST else None
    answers = trained.answer(graphs, fingerprint, request.device_name)
    return [
        make_request(
            **asked,
            given=_core.GivenLatency(
                latency_s=answer.latency_s,
                interval_s=answer.interval_s,
                provenance=answer.provenance,
                coverage=answer.coverage,
            ),
        )
        for answer in answers
    ]


def _check(trained: Trained, asked: dict[str, Any], runtime: str) -> None:
    conditions = trained.conditions
    name = f"predictor '{trained.name}'"
    if asked["device"] != HOST and _core.device(asked["device"]).is_gpu:
        raise InvalidArgumentError(
            f"{name} was trained on a processor, {conditions.device_fingerprint}; device '{asked['device']}' is a GPU: "
            f"ask for device='{HOST}', or leave predictor= out"
        )
    allowed = {
        "partition": (None,),
        "runtime": (None, runtime),
        "precision": (_DEFAULT_PRECISION, conditions.precision),
        "calibration": (None,),
    }
    for argument, values in allowed.items():
        if asked[argument] not in values:
            raise InvalidArgumentError(
                f"{name} was trained on the whole processor with runtime {runtime} and precision "
                f"{conditions.precision}, and takes no calibration: leave {argument}= out"
            )

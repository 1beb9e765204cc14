"""Who answers: a predictor of the compiled part, a graph network or a trained predictor; and what it is asked."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from latpred import _core
from latpred._core import Graph
from latpred.calibration import Calibration
from latpred.errors import InvalidArgumentError
from latpred.host_device import NAME as HOST
from latpred.prediction import Prediction

if TYPE_CHECKING:
    from latpred._core import Session
    from latpred.training.trained import Trained

    GraphNetworkAnswers: TypeAlias = Callable[[Sequence[Graph], dict[str, Any], Session], Sequence[Prediction]]


def request_words(
    device: str,
    partition: str | None,
    runtime: str | None,
    runtime_version: str | None,
    precision: str,
    input_on: str,
    autograd: bool,
    predictor: str | os.PathLike[str] | None,
    mig_rule: str,
    strict: bool,
    calibration: Calibration | None,
) -> dict[str, Any]:
    """The arguments of make_request."""
    asked: dict[str, Any] = dict(locals())
    if predictor is not None and not isinstance(predictor, (str, os.PathLike)):
        raise InvalidArgumentError(f"predictor must be a name or the file of a trained one, got {predictor!r}")
    if isinstance(device, str) and device.lower() == HOST:
        asked["device"] = HOST  # names of the device table are found in any case too
    if _is_learnt_by_default(asked):
        return asked | {"predictor": "lilou"}
    return asked | {"predictor": None if predictor is None else os.fspath(predictor)}


def _is_learnt_by_default(asked: dict[str, Any]) -> bool:
    """Whether networks that learnt the runtime's fusion answer where no predictor is named."""
    if asked["predictor"] is not None or asked["device"] != HOST or asked["runtime"] is None:
        return False
    from latpred.fusion import lilou

    return lilou.is_default(asked)


def find_graph_network(predictor: str | None) -> GraphNetworkAnswers | None:
    """What answers for predictor="pmgns" and "lilou"."""
    if predictor is None:
        return None
    from latpred.fusion import lilou, pmgns

    answers: dict[str, GraphNetworkAnswers] = {pmgns.NAME: pmgns.predict, lilou.NAME: lilou.predict}
    return answers.get(predictor)


def find_trained(predictor: str | os.PathLike[str] | None) -> Trained | None:
    if predictor is None:
        return None
    from latpred.training.use import find

    return find(predictor)


def trained_requests(trained: Trained, graphs: list[Graph], asked: dict[str, Any]) -> list[_core.PredictRequest]:
    from latpred.training.use import requests

    return requests(trained, graphs, asked)


class Asking(NamedTuple):
    """What is asked about every network on one device."""

    words: dict[str, Any]  # the arguments of make_request
    request: _core.PredictRequest
    network: GraphNetworkAnswers | None  # what answers, where it is no predictor of the compiled part


def answer_many(
    graphs: list[Graph],
    asking: list[Asking],
    trained: Trained | None,
    used: Calibration | None,
    threads: int,
    answering: Session,
) -> list[Prediction]:
    """For every graph on every device, in that order."""
    if any(one.network for one in asking):
        by_device = [
            one.network(graphs, one.words, answering)
            if one.network
            else _by_table(graphs, one.request, answering, used)
            for one in asking
        ]
        return [answers[place] for place in range(len(graphs)) for answers in by_device]
    if trained is None:
        requests = [one.request for one in asking]
        pairs = [(graph, request) for graph in graphs for request in requests]
        answers = answering.predict_many(graphs, requests, threads)
    else:
        given_by_device = [trained_requests(trained, graphs, one.words) for one in asking]
        pairs = [(graph, given[place]) for place, graph in enumerate(graphs) for given in given_by_device]
        answers = [answering.predict(graph, request) for graph, request in pairs]
    return [
        Prediction(answer, graph, request, answering, used)
        for answer, (graph, request) in zip(answers, pairs, strict=True)
    ]


def _by_table(
    graphs: list[Graph], request: _core.PredictRequest, answering: Session, used: Calibration | None
) -> list[Prediction]:
    """Answers by the compiled part's predictors."""
    return [Prediction(answering.predict(graph, request), graph, request, answering, used) for graph in graphs]

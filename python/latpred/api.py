"""The functions that a user calls about a network: load, predict, predict_many, calibrate."""

from __future__ import annotations

import os
from collections.abc import Iterable
from functools import cache
from typing import TYPE_CHECKING, Any

from latpred import _core, dispatch, loading, record
from latpred._core import Graph
from latpred.calibration import Calibration
from latpred.calibration import find as find_calibration
from latpred.checks import as_list, check_count, check_flag
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.inputs import Inputs
from latpred.loading import Path
from latpred.prediction import Prediction
from latpred.prediction_tables import PredictionTable
from latpred.request import make_request

if TYPE_CHECKING:
    from latpred._core import Session


@cache
def session() -> Session:
    """What answers, with its predictors read once."""
    return _core.Session(os.path.join(os.path.dirname(__file__), "data"))


def load(
    path: Path | None = None,
    *,
    model: Any = None,
    framework: str | None = None,
    batch: int = 1,
    input: Inputs = None,
    allow_pickle: bool = False,
) -> Graph:
    """The Graph of a model file: every operator with its sizes and costs, at this batch.

    path: the file or folder; weights are not read and nothing in it is executed.
    model: a live object instead: a torch.nn.Module, a torch.export.ExportedProgram, a config of transformers. Its
        weights are not copied, and afterwards it is as it was before.
    framework: a name in frameworks(); None: the content decides.
    input: sizes without the batch where the network leaves them open; sizes that a file fixes stay as they are.
        "3,224,224", "128:int64", (3, 224, 224), or {input name: one of these}; "20,batch,64" where the batch does not
        stand first, "unbatched,20,20" where there is none.
    allow_pickle: let a file of torch.save(module) execute what its author wrote; only for files that you trust.
    """
    check_flag("allow_pickle", allow_pickle)
    if (path is None) == (model is None):
        found = "neither" if path is None else "both"
        raise InvalidArgumentError(
            f"load() needs exactly one of path= (a model file) and model= (a live object), got {found}"
        )
    batch = check_count("batch", batch)
    if model is not None:
        loading.refuse_with_model(framework)
        return loading.load_model(model, batch, input)
    assert path is not None
    return loading.Opened(path, framework, input, allow_pickle).at(batch)


def predict(
    path: Path | None = None,
    *,
    model: Any = None,
    graph: Graph | None = None,
    framework: str | None = None,
    batch: int | None = None,
    input: Inputs = None,
    device: str = "A100",
    partition: str | None = None,
    runtime: str | None = None,
    runtime_version: str | None = None,
    precision: str = "default",
    input_on: str = "device",
    autograd: bool = False,
    predictor: Path | None = None,
    calibration: Calibration | Path | None = None,
    mig_rule: str = "memory",
    allow_pickle: bool = False,
    strict: bool = False,
) -> Prediction:
    """Predicts one call of a network on a device: latency, peak memory, energy, MIG profile.

    Give the network as path= (a model file), model= (a live torch.nn.Module, ...: see load()) or graph= (from load,
    GraphBuilder or with_batch).

    batch: items in the call; None: its own for a Graph, else 1.
    device: a name or alias in devices(), or "cpu": this machine, which is measured when it is asked for first.
    partition: a part of it: "2g.10gb" (MIG), "50%" (MPS), "32sm".
    runtime: a name in runtimes(); None: "eager". precision: a name in precisions().
    runtime_version: of it or of a stack that runs it: "torch 2.4", "tensorrt 10", "paddle inference" (docs/runtimes.md
        has those that were measured, of which one stands for the others); None: not said, which answers by the newest
        that several chips, or this one, ran. With a wider interval, both.
    input_on: where the input lies when the call starts: "device", "pinned" or "pageable".
    autograd: keep what a backward pass needs (memory only).
    predictor: a name in predictors(), or the checkpoint of train(); None: "kernel_residual"; on "cpu"
        under openvino "lilou".
    calibration: what calibrate() made of your own timings: itself, its .json file, or its name.
    mig_rule: "memory" (the smallest profile that holds the upper end of the memory interval) or "dippm".
    strict: refuse what lies outside of what was measured.
    framework, input, allow_pickle: as in load().
    """
    check_flag("allow_pickle", allow_pickle)
    used = find_calibration(calibration)
    sources = {"path=": path, "model=": model, "graph=": graph}
    given = [name for name, value in sources.items() if value is not None]
    if len(given) != 1:
        raise InvalidArgumentError(
            f"predict() needs exactly one of {', '.join(sources)}, got {' and '.join(given) or 'none'}"
        )
    asked = dispatch.request_words(
        device, partition, runtime, runtime_version, precision, input_on, autograd, predictor, mig_rule, strict, used
    )
    network = dispatch.find_graph_network(asked["predictor"])
    trained = None if network else dispatch.find_trained(asked["predictor"])
    request = make_request(**asked)
    if graph is not None:
        loading.check_graph(graph)
        loading.refuse_with_graph(framework=framework, input=input)
        if batch is not None and check_count("batch", batch) != graph.batch:
            graph = graph.with_batch(batch)
    else:
        graph = load(
            path,
            model=model,
            framework=framework,
            batch=1 if batch is None else batch,
            input=input,
            allow_pickle=allow_pickle,
        )
    if trained is not None:
        (request,) = dispatch.trained_requests(trained, [graph], asked)
    answering = session()
    prediction = (
        Prediction(answering.predict(graph, request), graph, request, answering, used)
        if network is None
        else network([graph], asked, answering)[0]
    )
    record.add_predictions([prediction])
    return prediction


def predict_many(
    graphs_or_paths: Iterable[Any],
    *,
    batches: int | Iterable[int] | None = None,
    devices: str | Iterable[str] = ("A100",),
    framework: str | None = None,
    input: Inputs = None,
    partition: str | None = None,
    runtime: str | None = None,
    runtime_version: str | None = None,
    precision: str = "default",
    input_on: str = "device",
    autograd: bool = False,
    predictor: Path | None = None,
    calibration: Calibration | Path | None = None,
    mig_rule: str = "memory",
    allow_pickle: bool = False,
    strict: bool = False,
    num_threads: int | None = None,
) -> PredictionTable:
    """Predicts every network at every batch on every device, in that order, on several threads.

    graphs_or_paths: Graphs, names of model files, and live models as model= of load() takes them.
    batches: None: its own for a Graph, else 1. num_threads: None: one for each core.
    The other arguments are those of predict() and hold for all.
    """
    if isinstance(graphs_or_paths, (str, os.PathLike, Graph)) or not isinstance(graphs_or_paths, Iterable):
        raise InvalidArgumentError(
            f"predict_many() takes a list of graphs or paths, got {type(graphs_or_paths).__name__}; "
            "for one network use predict()"
        )
    wanted_batches = None if batches is None else as_list("batches", batches, int)
    if wanted_batches is not None:
        wanted_batches = [check_count("batches", batch) for batch in wanted_batches]
    used = find_calibration(calibration)
    asked = [
        dispatch.request_words(
            device,
            partition,
            runtime,
            runtime_version,
            precision,
            input_on,
            autograd,
            predictor,
            mig_rule,
            strict,
            used,
        )
        for device in as_list("devices", devices, str)
    ]
    networks = [dispatch.find_graph_network(words["predictor"]) for words in asked]
    trained = None if any(networks) else dispatch.find_trained(predictor)
    asking = [
        dispatch.Asking(words, make_request(**words), network) for words, network in zip(asked, networks, strict=True)
    ]
    threads = 0 if num_threads is None else check_count("num_threads", num_threads)

    check_flag("allow_pickle", allow_pickle)

    items = list(graphs_or_paths)

    def at_batches(place: int) -> list[Graph]:
        item, name = items[place], loading.network_name(items, place)
        with loading.naming(name):
            at = loading.reader(item, framework, input, allow_pickle)
        graphs = []
        for size in wanted_batches or [item.batch if isinstance(item, Graph) else 1]:
            with loading.naming(name, size):
                graphs.append(at(size))
        return graphs

    groups = _map_threads(at_batches, list(range(len(items))), threads)
    try:
        answers = dispatch.answer_many(
            [graph for group in groups for graph in group], asking, trained, used, threads, session()
        )
    except LatpredError:
        # The workers do not say whose failure it was: each is asked again by itself, until one fails.
        for place, group in enumerate(groups):
            for graph in group:
                for one in asking:
                    with loading.naming(loading.network_name(items, place), graph.batch, one.words["device"]):
                        dispatch.answer_many([graph], [one], trained, used, 1, session())
        raise
    record.add_predictions(answers)
    return PredictionTable(answers)


def _map_threads(function: Any, items: list[Any], num_threads: int) -> list[Any]:
    """Reading and shapes run without the interpreter lock, so that threads help from a few files on."""
    if len(items) < 2 or num_threads == 1:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(num_threads or os.cpu_count()) as pool:
        return list(pool.map(function, items))


def calibrate(
    rows_or_path: Any = None,
    *,
    device: str,
    partition: str | None = None,
    runtime: str | None = None,
    precision: str | None = "default",
    input_on: str = "device",
    predictor: str | None = None,
    name: str | None = None,
    fingerprint: str | None = None,
    from_record: bool = False,
    save: Path | None = None,
) -> Calibration:
    """Corrects predictions for one device by your own timings on it: predict(..., calibration=) takes the result.

    rows_or_path: a list of rows, a pandas frame, or a .csv, .json, .jsonl or .parquet file. A row has one of graph,
        path, model; batch; one of seconds, latency_s, latency_ms; and, where they apply, input (as in load()) and
        spread (relative). A tuple (network, batch, seconds) will do. Paths in a file are relative to it.
    device, partition, runtime, precision, input_on: what all of them were timed on; precision=None: any.
    predictor: the one to correct; None: "kernel_residual".
    name: what answers call it; None: the file's name, or the device's.
    fingerprint: what else should be kept about the machine: driver, clocks.
    from_record: take the timings that history() has of this device, runtime and precision; rows_or_path are then the
        networks (Graphs, files, recipes), or None: all that recipes name.
    save: the .json file to write.
    """
    from latpred.calibration.from_record import rows_from_record
    from latpred.calibration.make import make

    if check_flag("from_record", from_record):
        rows_or_path, of_record = rows_from_record(
            rows_or_path, device=device, partition=partition, runtime=runtime, precision=precision
        )
        fingerprint = fingerprint or of_record
    elif rows_or_path is None:
        raise InvalidArgumentError("calibrate() needs timings, or from_record=True for those of history()")
    request = make_request(
        device=device,
        partition=partition,
        runtime=runtime,
        precision="default" if precision is None else precision,
        input_on=input_on,
        autograd=False,
        predictor=predictor,
        mig_rule="memory",
        strict=False,
    )
    calibration = make(
        rows_or_path, request, session(), any_precision=precision is None, name=name, fingerprint=fingerprint
    )
    if save is not None:
        calibration.save(save)
    return calibration

"""The functions that a user calls. Arguments are checked here; the answers come from the compiled part."""

from __future__ import annotations

import operator
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from latpred import _core, record
from latpred._core import Graph
from latpred.calibration import Calibration
from latpred.calibration import find as find_calibration
from latpred.errors import (
    InvalidArgumentError,
    LatpredError,
    MissingDependencyError,
    ModelFileError,
    UnsupportedOperatorError,
)
from latpred.frontends import FALLBACK_FRONTENDS, FILE_FRONTENDS
from latpred.graph import name as graph_name
from latpred.host_device import NAME as HOST
from latpred.inputs import Inputs, parse_inputs
from latpred.prediction import Prediction, PredictionTable
from latpred.request import check_flag, check_text, make_request
from latpred.tables import Column, Table, number_column, scaled, text_column

if TYPE_CHECKING:
    from latpred._core import Session
    from latpred.fusion.lilou import LearntFusionRow
    from latpred.fusion.pmgns import GraphNetworkRow
    from latpred.training.learner import TrainableRow
    from latpred.training.trained import Trained

    GraphNetworkAnswers: TypeAlias = Callable[[Sequence[Graph], dict[str, Any], Session], Sequence[Prediction]]

Path = str | os.PathLike[str]


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
    input: sizes without the batch where the network leaves them open or others are wanted: "3,224,224",
        "128:int64", (3, 224, 224), or {input name: one of these}.
    allow_pickle: let a file of torch.save(module) execute what its author wrote; only for files that you trust.
    """
    check_flag("allow_pickle", allow_pickle)
    if (path is None) == (model is None):
        found = "neither" if path is None else "both"
        raise InvalidArgumentError(
            f"load() needs exactly one of path= (a model file) and model= (a live object), got {found}"
        )
    batch = _check_batch(batch)
    if model is not None:
        _refuse_with_model(framework)
        return _load_model(model, batch, input)
    assert path is not None
    return _Opened(path, framework, input, allow_pickle).at(batch)


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
    runtime_version: a measured one of it, as "torch 2.4" of eager and compiled; None: not said, which answers by the
        newest measured one with a wider interval.
    input_on: where the input lies when the call starts: "device", "pinned" or "pageable".
    autograd: keep what a backward pass needs (memory only).
    predictor: a name in predictors(), or the checkpoint of train(); None: "kernel_residual", for "cpu" "roofline",
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
    asked = _asked(
        device, partition, runtime, runtime_version, precision, input_on, autograd, predictor, mig_rule, strict, used
    )
    network = _find_graph_network(asked["predictor"])
    trained = None if network else _find_trained(asked["predictor"])
    request = make_request(**asked)
    if graph is not None:
        _check_graph(graph)
        _refuse_with_graph(framework=framework, input=input)
        if batch is not None and _check_batch(batch) != graph.batch:
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
        (request,) = _trained_requests(trained, [graph], asked)
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
    wanted_batches = None if batches is None else _as_list("batches", batches, int)
    if wanted_batches is not None:
        wanted_batches = [_check_batch(batch, "batches") for batch in wanted_batches]
    used = find_calibration(calibration)
    asked = [
        _asked(
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
        for device in _as_list("devices", devices, str)
    ]
    networks = [_find_graph_network(words["predictor"]) for words in asked]
    trained = None if any(networks) else _find_trained(predictor)
    asking = [_Asking(words, make_request(**words), network) for words, network in zip(asked, networks, strict=True)]
    threads = 0 if num_threads is None else _check_count("num_threads", num_threads)

    check_flag("allow_pickle", allow_pickle)

    items = list(graphs_or_paths)

    def at_batches(place: int) -> list[Graph]:
        item, name = items[place], _network_name(items, place)
        with _naming(name):
            at = _reader(item, framework, input, allow_pickle)
        graphs = []
        for size in wanted_batches or [item.batch if isinstance(item, Graph) else 1]:
            with _naming(name, size):
                graphs.append(at(size))
        return graphs

    groups = _map_threads(at_batches, list(range(len(items))), threads)
    try:
        answers = _answers([graph for group in groups for graph in group], asking, trained, used, threads)
    except LatpredError:
        # The workers do not say whose failure it was: each is asked again by itself, until one fails.
        for place, group in enumerate(groups):
            for graph in group:
                for one in asking:
                    with _naming(_network_name(items, place), graph.batch, one.words["device"]):
                        _answers([graph], [one], trained, used, 1)
        raise
    record.add_predictions(answers)
    return PredictionTable(answers)


class _Asking(NamedTuple):
    """What is asked about every network on one device."""

    words: dict[str, Any]  # the arguments of make_request
    request: _core.PredictRequest
    network: GraphNetworkAnswers | None  # what answers, where it is no predictor of the compiled part


def _answers(
    graphs: list[Graph], asking: list[_Asking], trained: Trained | None, used: Calibration | None, threads: int
) -> list[Prediction]:
    """For every graph on every device, in that order."""
    answering = session()
    if any(one.network for one in asking):
        by_device = [(one.network or _by_table)(graphs, one.words, answering) for one in asking]
        return [answers[place] for place in range(len(graphs)) for answers in by_device]
    if trained is None:
        requests = [one.request for one in asking]
        pairs = [(graph, request) for graph in graphs for request in requests]
        answers = answering.predict_many(graphs, requests, threads)
    else:
        given_by_device = [_trained_requests(trained, graphs, one.words) for one in asking]
        pairs = [(graph, given[place]) for place, graph in enumerate(graphs) for given in given_by_device]
        answers = [answering.predict(graph, request) for graph, request in pairs]
    return [
        Prediction(answer, graph, request, answering, used)
        for answer, (graph, request) in zip(answers, pairs, strict=True)
    ]


def _reader(item: Any, framework: str | None, input: Inputs, allow_pickle: bool) -> Callable[[int], Graph]:
    """What makes the Graph of one of many networks at a batch."""
    if isinstance(item, Graph):
        _refuse_with_graph(framework=framework, input=input)
        return lambda size: item if size == item.batch else item.with_batch(size)
    if isinstance(item, (str, os.PathLike)):
        return _Opened(item, framework, input, allow_pickle).at
    _refuse_with_model(framework)
    return lambda size: _load_model(item, size, input, is_swept=True)


def _network_name(items: list[Any], place: int) -> str:
    """Which of many networks it is, and its file or kind."""
    item = items[place]
    if isinstance(item, Graph):
        name = item.source.path or graph_name(item)
    else:
        name = os.fsdecode(item) if isinstance(item, (str, os.PathLike)) else type(item).__name__
    return f"network {place + 1} of {len(items)}, '{name}'"


@contextmanager
def _naming(network: str, batch: int | None = None, device: str | None = None) -> Iterator[None]:
    """Errors from within say which of many networks they are about; those about a file do so already."""
    try:
        yield
    except LatpredError as error:
        if error.path is not None:
            raise
        at_batch = "" if batch is None else f", batch {batch}"
        on_device = "" if device is None else f", device '{device}'"
        raise type(error)(
            f"{network}{at_batch}{on_device}: {error}",
            offset=error.offset,
            node=error.node,
            operator=error.operator,
            valid=error.valid,
        ) from error


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
    predictor: the one to correct; None: the one that answers when none is named.
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


def _asked(
    device: str,
    partition: str | None,
    runtime: str | None,
    runtime_version: str | None,
    precision: str,
    input_on: str,
    autograd: bool,
    predictor: Path | None,
    mig_rule: str,
    strict: bool,
    calibration: Calibration | None,
) -> dict[str, Any]:
    """The arguments of make_request."""
    asked: dict[str, Any] = dict(locals())
    if predictor is not None and not isinstance(predictor, (str, os.PathLike)):
        raise InvalidArgumentError(f"predictor must be a name or the file of a trained one, got {predictor!r}")
    if _is_learnt_by_default(asked):
        return asked | {"predictor": "lilou"}
    return asked | {"predictor": None if predictor is None else os.fspath(predictor)}


def _is_learnt_by_default(asked: dict[str, Any]) -> bool:
    """Whether networks that learnt the runtime's fusion answer where no predictor is named."""
    if asked["predictor"] is not None or asked["device"] != HOST or asked["runtime"] is None:
        return False
    from latpred.fusion import lilou

    return lilou.is_default(asked)


def _find_graph_network(predictor: str | None) -> GraphNetworkAnswers | None:
    """What answers for predictor="pmgns" and "lilou"."""
    if predictor is None:
        return None
    from latpred.fusion import lilou, pmgns

    answers: dict[str, GraphNetworkAnswers] = {pmgns.NAME: pmgns.predict, lilou.NAME: lilou.predict}
    return answers.get(predictor)


def _by_table(graphs: Sequence[Graph], asked: dict[str, Any], answering: Session) -> list[Prediction]:
    """Answers by the compiled part's predictors."""
    request = make_request(**asked)
    calibration = asked["calibration"]
    return [Prediction(answering.predict(graph, request), graph, request, answering, calibration) for graph in graphs]


def _find_trained(predictor: Path | None) -> Trained | None:
    if predictor is None:
        return None
    from latpred.training.use import find

    return find(predictor)


def _trained_requests(trained: Trained, graphs: list[Graph], asked: dict[str, Any]) -> list[_core.PredictRequest]:
    from latpred.training.use import requests

    return requests(trained, graphs, asked)


def _map_threads(function: Any, items: list[Any], num_threads: int) -> list[Any]:
    """Reading and shapes run without the interpreter lock, so that threads help from a few files on."""
    if len(items) < 2 or num_threads == 1:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(num_threads or os.cpu_count()) as pool:
        return list(pool.map(function, items))


class _Opened:
    """A file, read once where that serves every batch; what a framework has to read is read at each."""

    def __init__(self, path: Path, framework: str | None, input: Inputs, allow_pickle: bool) -> None:
        if not isinstance(path, (str, os.PathLike)):
            raise InvalidArgumentError(
                f"path must be the name of a model file, got {type(path).__name__}; a loaded Graph goes to graph=, a "
                "live model to model="
            )
        # Bytes: a file's name need not be text.
        name, framework = os.fsencode(path), "" if framework is None else check_text("framework", framework)
        self.input = input
        self.allow_pickle = allow_pickle
        self.unsupported: UnsupportedOperatorError | None = None
        self.program: _core.Program | None = None
        # What kind of file it is, is asked a second time only where the compiled readers do not take it.
        try:
            self.program = _core.read_program(name, framework)
        except (ModelFileError, UnsupportedOperatorError) as error:
            refusal = error
        else:
            return
        self.file = _core.sniff_path(name, framework)
        if isinstance(refusal, UnsupportedOperatorError) and self.file.kind in FALLBACK_FRONTENDS:
            # A class that only its framework knows; where that is missing, the first message says more.
            self.unsupported = refusal
        elif self.file.kind not in FILE_FRONTENDS:
            raise refusal

    def at(self, batch: int) -> Graph:
        if self.program is not None:
            return _resolve(self.program, batch, self.input)
        from latpred.frontends import models

        try:
            live = models.read_file(self.file, self.input, batch, allow_pickle=self.allow_pickle)
        except MissingDependencyError as error:
            if self.unsupported is None:
                raise
            raise MissingDependencyError(f"{self.unsupported}; {error}") from error
        return _resolve(live.program, batch, None if live.is_sized else self.input)


def _load_model(model: Any, batch: int, input: Inputs, *, is_swept: bool = False) -> Graph:
    from latpred.frontends import models

    live = models.read_model(model, input, batch, is_swept=is_swept)
    return _resolve(live.program, batch, None if live.is_sized else input)


def _resolve(program: _core.Program, batch: int, input: Inputs) -> Graph:
    only, by_name = parse_inputs(input)
    return _core.resolve(program, batch, only, by_name)


def _refuse_with_graph(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgumentError(
                f"{name}= says how to read a file; a Graph has been read already: give {name}= to load()"
            )


def _refuse_with_model(framework: str | None) -> None:
    if framework is not None:
        raise InvalidArgumentError("framework= says how to read a file; a live model (model=) is none: leave it out")


def _check_graph(graph: Any) -> None:
    if not isinstance(graph, Graph):
        raise InvalidArgumentError(
            f"graph must be a latpred.Graph, from load() or GraphBuilder, got {type(graph).__name__}; "
            "a model file goes to path="
        )


def _check_count(name: str, value: Any) -> int:
    try:
        if isinstance(value, bool):
            raise TypeError
        count = operator.index(value)
    except TypeError:
        raise InvalidArgumentError(f"{name} must be an integer >= 1, got {value!r}") from None
    if not 1 <= count < 2**63:
        raise InvalidArgumentError(f"{name} must be an integer >= 1, got {value!r}")
    return count


def _check_batch(batch: Any, name: str = "batch") -> int:
    return _check_count(name, batch)


def _as_list(name: str, value: Any, kind: type) -> list[Any]:
    values = [value] if isinstance(value, kind) or not isinstance(value, Iterable) else list(value)
    if not values:
        raise InvalidArgumentError(f"{name} is empty; give at least one")
    return values


# The tables.


def frameworks() -> list[str]:
    """Frameworks whose files can be read."""
    return _core.frameworks()


def devices() -> Table[_core.Device]:
    """The devices that can be predicted for; devices()["A100"] finds one by name or alias."""
    return _DeviceTable(_core.devices(), _DEVICE_COLUMNS, what="device")


class _DeviceTable(Table[_core.Device]):
    def _find(self, name: str) -> _core.Device:
        return _core.device(name)


def operators() -> Table[_core.Operator]:
    """The operators that are known."""
    return Table(_core.operators(), _OPERATOR_COLUMNS, what="operator")


def predictors() -> Table[_core.Predictor | LearntFusionRow | GraphNetworkRow | TrainableRow]:
    """What can answer: predictor=. First those for every network, then the learnt pair for openvino on a processor,
    then a student for one device, then those that train() makes for feed-forward nets on a processor."""
    from latpred.fusion import lilou, pmgns
    from latpred.training.learner import TRAINABLE

    return Table([*_core.predictors(), lilou.ROW, pmgns.ROW, *TRAINABLE], _NAME_COLUMNS, what="predictor")


def runtimes() -> Table[_core.Runtime]:
    """What executes the network on the device: runtime=."""
    return Table(_core.runtimes(), _RUNTIME_COLUMNS, what="runtime")


def precisions() -> Table[_core.Precision]:
    """The arithmetic that can be asked for: precision=."""
    return Table(_core.precisions(), _NAME_COLUMNS, what="precision")


_NAME_COLUMNS: Sequence[Column[Any]] = (text_column("name"), text_column("description"))

_OPERATOR_COLUMNS: Sequence[Column[Any]] = (
    number_column("id", text=str),
    text_column("name"),
    text_column("family"),
    text_column("cost_kind"),
    number_column("flops_per_element", text=scaled),
)

_RUNTIME_COLUMNS: Sequence[Column[Any]] = (
    text_column("name"),
    text_column("description"),
    Column("fuses", lambda row: row.fuses, text=lambda fuses: "yes" if fuses else "no", is_left=True),
    Column(
        "devices",
        lambda row: " and ".join(word for word, runs in (("GPU", row.on_gpu), ("CPU", row.on_cpu)) if runs),
        is_left=True,
    ),
    Column("precisions", lambda row: ["default", *row.precisions], text=", ".join, is_left=True),
)

_DEVICE_COLUMNS: Sequence[Column[Any]] = (
    text_column("name"),
    text_column("architecture"),
    Column("kind", lambda row: "GPU" if row.is_gpu else "CPU", is_left=True),
    number_column("sms", "SMs"),
    number_column("memory_bytes", "memory", lambda value: scaled(value, "B")),
    number_column("bandwidth_bytes_per_s", "bandwidth", lambda value: scaled(value, "B/s")),
    number_column("l2_bytes", "L2", lambda value: scaled(value, "B"), is_shown=False),
    number_column("fp32_flops_per_s", "fp32 FLOP/s", scaled),
    number_column("tf32_flops_per_s", "tf32 FLOP/s", scaled, is_shown=False),
    number_column("fp16_flops_per_s", "fp16 FLOP/s", scaled),
    number_column("bf16_flops_per_s", "bf16 FLOP/s", scaled, is_shown=False),
    number_column("int8_ops_per_s", "int8 op/s", scaled),
    number_column("fp8_flops_per_s", "fp8 FLOP/s", scaled, is_shown=False),
    number_column("power_limit_w", "power limit W"),
    Column("has_mig", lambda row: row.has_mig, "MIG", lambda mig: "yes" if mig else "no", is_left=True),
    text_column("source", is_shown=False),
    text_column("note", is_shown=False),
)

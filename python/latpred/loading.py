"""A model file, a live model or a Graph, as Graphs at the batches that are asked for."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from latpred import _core
from latpred._core import Graph
from latpred.checks import check_text
from latpred.errors import (
    InvalidArgumentError,
    LatpredError,
    MissingDependencyError,
    ModelFileError,
    UnsupportedOperatorError,
)
from latpred.frontends import FALLBACK_FRONTENDS, FILE_FRONTENDS
from latpred.graph import name as graph_name
from latpred.inputs import Inputs, parse_inputs

Path = str | os.PathLike[str]


class Opened:
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
        return _resolve(live.program, batch, live.open_input)


def load_model(model: Any, batch: int, input: Inputs, *, is_swept: bool = False) -> Graph:
    from latpred.frontends import models

    live = models.read_model(model, input, batch, is_swept=is_swept)
    return _resolve(live.program, batch, live.open_input)


def _resolve(program: _core.Program, batch: int, input: Inputs) -> Graph:
    only, by_name = parse_inputs(input)
    return _core.resolve(program, batch, only, by_name)


def refuse_with_graph(**arguments: Any) -> None:
    for name, value in arguments.items():
        if value is not None:
            raise InvalidArgumentError(
                f"{name}= says how to read a file; a Graph has been read already: give {name}= to load()"
            )


def refuse_with_model(framework: str | None) -> None:
    if framework is not None:
        raise InvalidArgumentError("framework= says how to read a file; a live model (model=) is none: leave it out")


def check_graph(graph: Any, files_go_to: str = "path=") -> None:
    if not isinstance(graph, Graph):
        raise InvalidArgumentError(
            f"graph must be a latpred.Graph, from load() or GraphBuilder, got {type(graph).__name__}; "
            f"a model file goes to {files_go_to}"
        )


def reader(item: Any, framework: str | None, input: Inputs, allow_pickle: bool) -> Callable[[int], Graph]:
    """What makes the Graph of one of many networks at a batch."""
    if isinstance(item, Graph):
        refuse_with_graph(framework=framework, input=input)
        return lambda size: item if size == item.batch else item.with_batch(size)
    if isinstance(item, (str, os.PathLike)):
        return Opened(item, framework, input, allow_pickle).at
    refuse_with_model(framework)
    return lambda size: load_model(item, size, input, is_swept=True)


def network_name(items: list[Any], place: int) -> str:
    """Which of many networks it is, and its file or kind."""
    item = items[place]
    if isinstance(item, Graph):
        name = item.source.path or graph_name(item)
    else:
        name = os.fsdecode(item) if isinstance(item, (str, os.PathLike)) else type(item).__name__
    return f"network {place + 1} of {len(items)}, '{name}'"


@contextmanager
def naming(network: str, batch: int | None = None, device: str | None = None) -> Iterator[None]:
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

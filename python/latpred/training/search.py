"""The search for a hyper-parameter: a training for each value, side by side, each kept once it is done."""

from __future__ import annotations

import dataclasses
import os
import shutil
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

from latpred import checkpoint_file
from latpred.datasets.measured_nets import MeasuredNets
from latpred.training import loop
from latpred.training import trained as trained_file
from latpred.training.progress import progress
from latpred.training.trainable import Search, TrainableRow
from latpred.training.trained import Trained


class _StoppedError(Exception):
    """Another value's training has failed, or the user has had enough."""


def run(
    row: TrainableRow, measured: MeasuredNets, out: Path, epochs: int, seed: int, *, resume: bool, is_shown: bool
) -> Trained:
    """Trains `row` with every value of its search and writes the best one's checkpoint to `out`, with the errors of all
    in it. While it runs, out + ".training" is a folder of the others' checkpoints."""
    search = row.search
    assert search is not None
    loop.check_kinds(row, measured)
    asked = _asked(row, search, row.hyper_parameters(epochs), seed, measured)
    if resume and out.is_file():
        manifest, _ = checkpoint_file.read(out)
        loop.check_same(out, manifest | {"hyper_parameters": _others(search, manifest["hyper_parameters"])}, asked)
        return trained_file.load(out)
    folder = out.with_name(out.name + loop.UNFINISHED)
    with loop.writing_alone(out):
        if not resume:
            shutil.rmtree(folder, ignore_errors=True)
        found = _train_all(row, search, measured, folder, epochs, seed, is_shown)
        errors = {value: _best_error(one) for value, one in found.items()}
        chosen = min(errors, key=lambda value: errors[value])
        manifest, arrays = checkpoint_file.read(folder / _file_name(search, chosen))
        curve = [
            {"value": value, "validation_error": errors[value], "epochs_done": found[value].manifest["epochs_done"]}
            for value in search.values
        ]
        checkpoint_file.write(
            out, manifest | {"search": asked["search"], "searched": {"chosen": chosen, "curve": curve}}, arrays
        )
        shutil.rmtree(folder)
    return trained_file.load(out)


def without_search(row: TrainableRow, value: int) -> TrainableRow:
    """The row with one value of its search."""
    assert row.search is not None
    chosen = {row.search.parameter: value}
    return dataclasses.replace(row, search=None, hyper_parameters=lambda epochs: row.hyper_parameters(epochs) | chosen)


def _asked(
    row: TrainableRow, search: Search, parameters: dict[str, Any], seed: int, measured: MeasuredNets
) -> dict[str, Any]:
    asked = loop.what_is_asked(row, _others(search, parameters), seed, measured)
    return asked | {"search": {"parameter": search.parameter, "values": list(search.values)}}


def _others(search: Search, parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != search.parameter}


def _file_name(search: Search, value: int) -> str:
    return f"{search.parameter}-{value}.safetensors"


def _best_error(trained: Trained) -> float:
    return min(line["validation_error"] for line in trained.history)


def _train_all(
    row: TrainableRow, search: Search, measured: MeasuredNets, folder: Path, epochs: int, seed: int, is_shown: bool
) -> dict[int, Trained]:
    """The training of each value, the largest and slowest first, as many at a time as there are cores."""
    must_stop = threading.Event()

    def after_epoch(done: int, loss: float, error: float) -> None:
        if must_stop.is_set():
            raise _StoppedError

    def train(value: int) -> Trained:
        if must_stop.is_set():
            raise _StoppedError
        alone, file = without_search(row, value), folder / _file_name(search, value)
        return loop.run(alone, measured, file, epochs, seed, resume=True, is_shown=False, after_epoch=after_epoch)

    _ = measured.nets, measured.parts, measured.digest  # made once, before threads ask for them
    found: dict[int, Trained] = {}
    title = f"{row.name}, {search.parameter}"
    with (
        ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as threads,
        progress(title, len(search.values), 0, is_shown, unit="value") as show,
    ):
        jobs = {threads.submit(train, value): value for value in sorted(search.values, reverse=True)}
        try:
            for job in as_completed(jobs):
                one = found[jobs[job]] = job.result()
                show(len(found), one.history[-1]["loss"], _best_error(one))
        finally:
            must_stop.set()
    return found

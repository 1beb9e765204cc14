"""The loop of training: epochs, the best of them by validation, a checkpoint after each, and going on from it."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from latpred import checkpoint_file
from latpred.datasets.measured_nets import MeasuredNets
from latpred.datasets.nets import PARTS, words_of
from latpred.errors import CheckpointError, InvalidArgumentError
from latpred.lock import Lock
from latpred.training import trained as trained_file
from latpred.training.learner import Arrays, Learner, Parameters
from latpred.training.net_errors import by_band, noise_floor
from latpred.training.progress import Show, progress
from latpred.training.trainable import TrainableRow, names_taking
from latpred.training.trained import Trained
from latpred.writing import writing

UNFINISHED = ".training"  # at the end of the name of a file that training goes on from
LEAST_TRAINING_NETS = 30
LEAST_VALIDATION_NETS = 5

# Intervals: 80 % of validation nets lie within; wider where predicted latencies of some size are further off.
COVERAGE = 0.8
LEAST_NETS_OF_A_WIDTH = 50
MOST_WIDTHS = 5


def _log_error(predicted_s: np.ndarray, measured_s: np.ndarray) -> float:
    return float(np.mean(np.abs(np.log(predicted_s / measured_s))))


def _seconds_error(predicted_s: np.ndarray, measured_s: np.ndarray) -> float:
    return float(np.mean(np.abs(predicted_s - measured_s)) / measured_s.mean())


VALIDATION_ERRORS = {"log": _log_error, "seconds": _seconds_error}


@dataclasses.dataclass
class _Progress:
    """Where a training stands."""

    epochs_done: int = 0
    best_epoch: int = 0
    history: list[dict[str, float]] = dataclasses.field(default_factory=list)
    best: Arrays = dataclasses.field(default_factory=dict)

    @property
    def best_error(self) -> float:
        return self.history[self.best_epoch - 1]["validation_error"] if self.best_epoch else math.inf


def run(
    row: TrainableRow, measured: MeasuredNets, out: Path, epochs: int, seed: int, *, resume: bool, is_shown: bool,
    after_epoch: Show | None = None,
) -> Trained:  # fmt: skip
    """Trains `row` on the training part of `measured` and writes its checkpoint to `out`. `after_epoch` is called with
    what is shown; what it throws ends the training, which goes on another time."""
    part = {name: measured.part(name) for name in PARTS}
    check_kinds(row, measured)
    _check_enough(part)
    parameters = row.hyper_parameters(epochs)
    asked = what_is_asked(row, parameters, seed, measured)
    if resume and out.is_file():
        manifest, _ = checkpoint_file.read(out)
        check_same(out, manifest, asked)
        return trained_file.load(out)
    learner = row.make(seed, parameters)
    unfinished = out.with_name(out.name + UNFINISHED)
    with writing_alone(out):
        state = _resumed(unfinished, learner, asked) if resume and unfinished.is_file() else _Progress()
        with progress(row.name, epochs, state.epochs_done, is_shown) as show:
            shows = [show, *([after_epoch] if after_epoch else [])]
            _epochs(row, learner, part, state, epochs, unfinished, asked, shows)
        learner.load_arrays(state.best)
        manifest = asked | _findings(row, learner, part, state, measured)
        checkpoint_file.write(out, manifest, state.best)
        unfinished.unlink(missing_ok=True)
    return trained_file.load(out)


@contextlib.contextmanager
def writing_alone(out: Path) -> Iterator[None]:
    """Around a training: its folder is there, and no other process trains to `out` meanwhile. What cannot be written
    is told before the first epoch."""
    with writing("the checkpoint", out):
        out.parent.mkdir(parents=True, exist_ok=True)
        lock = Lock(
            out,
            f"'{out}' is being trained by another process now; wait for it and give the same command again, or give "
            "another out=",
        )
    try:
        yield
    finally:
        lock.release()


def what_is_asked(row: TrainableRow, parameters: Parameters, seed: int, measured: MeasuredNets) -> dict[str, Any]:
    """What a stored training must agree with to be gone on with."""
    return {
        "kind": trained_file.KIND,
        "format_version": trained_file.FORMAT_VERSION,
        "schema": trained_file.SCHEMA,
        "predictor": row.name,
        "hyper_parameters": parameters,
        "seed": seed,
        "data": measured.digest,
    }


def check_kinds(row: TrainableRow, measured: MeasuredNets) -> None:
    """Refuses nets that the row does not take."""
    if other := measured.kinds - set(row.kinds):
        raise InvalidArgumentError(
            f"predictor '{row.name}' takes {words_of(row.kinds)}, the data set has {words_of(other)}; those are taken "
            f"by {', '.join(names_taking(other))}"
        )


def _check_enough(part: dict[str, MeasuredNets]) -> None:
    for name, least in (("train", LEAST_TRAINING_NETS), ("validation", LEAST_VALIDATION_NETS)):
        if len(part[name]) < least:
            raise InvalidArgumentError(
                f"the data set has {len(part[name])} nets in its part '{name}', at least {least} are needed: "
                "measure more"
            )


def _epochs(
    row: TrainableRow, learner: Learner, part: dict[str, MeasuredNets], state: _Progress, epochs: int, file: Path,
    asked: dict[str, Any], shows: Sequence[Show],
) -> None:  # fmt: skip
    nets, latency_s = part["train"].nets, part["train"].latency_s
    least_s = latency_s.min()
    validation = part["validation"]
    error_of = VALIDATION_ERRORS[row.chosen_by]
    while state.epochs_done < epochs and not _is_stuck(row, state):
        loss = learner.fit_epoch(nets, latency_s)
        predicted_s = np.maximum(learner.predict(validation.nets), least_s)
        error = error_of(predicted_s, validation.latency_s)
        if not (math.isfinite(loss) and math.isfinite(error)):
            raise CheckpointError(
                f"training of '{row.name}' diverged in epoch {state.epochs_done + 1}: loss {loss}, validation "
                f"error {error}; another seed or fewer epochs may do"
            )
        state.history.append({"loss": loss, "validation_error": error})
        state.epochs_done += 1
        if error < state.best_error:
            state.best_epoch = state.epochs_done
            state.best = {name: np.array(values) for name, values in learner.arrays().items()}
        _store(file, learner, state, asked)
        for show in shows:
            show(state.epochs_done, loss, error)


def _is_stuck(row: TrainableRow, state: _Progress) -> bool:
    return row.patience is not None and state.epochs_done - state.best_epoch >= row.patience


def _store(file: Path, learner: Learner, state: _Progress, asked: dict[str, Any]) -> None:
    manifest = asked | {"done": state.epochs_done, "best_epoch": state.best_epoch, "history": state.history}
    arrays = {f"state/{name}": values for name, values in learner.state().items()}
    arrays |= {f"best/{name}": values for name, values in state.best.items()}
    checkpoint_file.write(file, manifest, arrays)


def _resumed(file: Path, learner: Learner, asked: dict[str, Any]) -> _Progress:
    manifest, arrays = checkpoint_file.read(file)
    check_same(file, manifest, asked)

    def group(prefix: str) -> Arrays:
        return {name.removeprefix(prefix): values for name, values in arrays.items() if name.startswith(prefix)}

    learner.load_state(group("state/"))
    return _Progress(manifest["done"], manifest["best_epoch"], manifest["history"], group("best/"))


def check_same(file: Path, found: dict[str, Any], asked: dict[str, Any]) -> None:
    differences = [
        f"{name} is {found.get(name)!r} there and {value!r} asked for"
        for name, value in asked.items()
        if name != "hyper_parameters" and found.get(name) != value
    ]
    there, here = found.get("hyper_parameters", {}), asked["hyper_parameters"]
    differences += [
        f"{name} is {there.get(name)!r} there and {here.get(name)!r} asked for"
        for name in sorted({*there, *here})
        if there.get(name) != here.get(name)
    ]
    if differences:
        raise CheckpointError(
            f"'{file}' is of another training: {'; '.join(differences)}; give another out=, or resume=False to "
            "start anew in its place",
            path=str(file),
        )


# What stands in the checkpoint besides the numbers.


def _findings(
    row: TrainableRow, learner: Learner, part: dict[str, MeasuredNets], state: _Progress, measured: MeasuredNets
) -> dict[str, Any]:
    training, validation, test = (part[name] for name in PARTS)
    lengths = training.nets.lengths
    least_s = float(training.latency_s.min())

    def predict(measured: MeasuredNets) -> np.ndarray:
        return np.asarray(np.maximum(learner.predict(measured.nets), least_s))

    edges_s, half_widths = interval_widths(predict(validation), validation.latency_s)
    return {
        "max_nodes": row.max_nodes,
        "epochs_done": state.epochs_done,
        "best_epoch": state.best_epoch,
        "history": state.history,
        "trained_on": {
            "conditions": dataclasses.asdict(measured.conditions),
            "nets": {name: len(nets) for name, nets in part.items()},
            "least_nodes": int(lengths.min()),
            "most_nodes": int(lengths.max()),
            "most_units": int(training.nets.units.max()),
            "most_units_of": {
                kind: int(training.nets.units[training.nets.kinds == kind].max()) for kind in sorted(training.kinds)
            },
            "kinds": sorted(training.kinds),
            "image_positions": sorted({int(count) for count in training.nets.positions if count > 1}),
            "least_s": least_s,
        },
        "interval": {
            "edges_s": edges_s,
            "log_half_width": half_widths,
            "source": f"validation nets: {COVERAGE:.0%} of them lie within",
        },
        "errors": [line.to_dict() for line in by_band(predict(test), test.latency_s, test.nets.weight_bytes())]
        if len(test)
        else [],
        "noise_floor": [line.to_dict() for line in noise_floor(measured)],
    }


def interval_widths(predicted_s: np.ndarray, measured_s: np.ndarray) -> tuple[list[float], list[float]]:
    """Edges [W - 1] between ranges of predicted seconds, and for each range the half-width [W] on the logarithmic
    scale that holds COVERAGE of its nets, as a conformal predictor takes it."""
    off = np.abs(np.log(measured_s / predicted_s))
    widths = min(MOST_WIDTHS, max(1, len(off) // LEAST_NETS_OF_A_WIDTH))
    order = np.argsort(predicted_s, kind="stable")
    ranges = np.array_split(order, widths)
    edges_s = [float(predicted_s[places[0]]) for places in ranges[1:]]
    return edges_s, [_quantile(off[places]) for places in ranges]


def _quantile(values: np.ndarray) -> float:
    rank = min(math.ceil((len(values) + 1) * COVERAGE), len(values))
    return float(np.sort(values)[rank - 1])

"""Factors from timings: robust least squares on the logarithm of time, the level chosen by leaving networks out."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from latpred import _core
from latpred.calibration import CalibrationError
from latpred.errors import InvalidArgumentError
from latpred.prediction_tables import NO_KERNELS

if TYPE_CHECKING:
    from latpred._core import Graph, PredictRequest, Session

Array = NDArray[np.float64]

_KINDS: tuple[str, ...] = tuple(_core.checkpoint_format()["cost_kinds"])
_NAMED_CLASSES: dict[str, tuple[str, ...]] = {
    "convolution": ("conv", "conv_1x1", "conv_grouped"),
    "depth-wise": ("conv_depthwise",),
    "product": ("matmul", "batch_matmul", "attention", "recurrent"),
}
# Kinds of kernels that are expected to be off together.
CLASSES: dict[str, tuple[str, ...]] = {
    **_NAMED_CLASSES,
    "memory-bound": tuple(
        kind for kind in _KINDS if kind != "view" and not any(kind in kinds for kinds in _NAMED_CLASSES.values())
    ),
}

# The parameters: logarithms of the factors on all kernels, on the host, and on each class.
SCALE, HOST, FIRST_CLASS = 0, 1, 2
NUM_PARAMETERS = FIRST_CLASS + len(CLASSES)

# How far from 0 each is expected: a weak guess for the scale; hosts differ by 2 (docs/accuracy.md); a class as far as
# the common factor of a device that nobody measured (0.13 to 0.16 there).
PRIOR_SD: Array = np.array([1.0, math.log(2), *[0.15] * len(CLASSES)])

_HUBER = 1.345  # residuals beyond this many deviations count less: 95 % efficient where there are no outliers
_MAD_TO_SD = 1.4826
_SMALLEST_SD = 0.02  # of a residual: what a timing itself is good for
_MAX_ROUNDS = 50
_MAX_STEP = 1.0  # of a logarithm, in one round
_ROWS_FOR_CLASSES = 10
_GROUPS_FOR_CHOICE = 3  # below, there is too little to compare levels by
_MAX_FOLDS = 20
_HOST_MATTERS = 0.2  # difference in the host's share of log-latency that tells host and kernels apart
_WORTH_IT = 0.002  # of mean error: what a richer level must bring, below what timings are good for
_CLEARLY = 0.8  # share of the error that a simpler level must get along with to be taken instead
_CLIPPED_ERROR = 0.5  # what an outlier adds to the error that levels are compared by
_NORMAL_80 = 1.2816
_PRIOR_ROWS = 3  # timings that the predictor's own record weighs as much as, in the spread that is left


@dataclasses.dataclass(frozen=True)
class Design:
    """What a predictor says of N calls, apart into what the parameters scale."""

    class_s: Array  # [N, classes] kernels
    host_s: Array  # [N]
    copy_s: Array  # [N]
    kinds: frozenset[str] = frozenset()  # of kernels that they hold

    def __len__(self) -> int:
        return len(self.host_s)

    def __getitem__(self, rows: NDArray[np.intp]) -> Design:
        return Design(self.class_s[rows], self.host_s[rows], self.copy_s[rows])

    def log_s(self, parameters: Array) -> Array:
        """[N] logarithm of each call's time."""
        device_s = self.class_s @ np.exp(parameters[SCALE] + parameters[FIRST_CLASS:])
        call_s: Array = _core.join_host_s(device_s, self.host_s * math.exp(parameters[HOST])) + self.copy_s
        return np.log(call_s)

    def jacobian(self, parameters: Array) -> Array:
        """[N, parameters] of log_s, by central differences."""
        step = 1e-5
        columns = []
        for index in range(NUM_PARAMETERS):
            shift = np.zeros(NUM_PARAMETERS)
            shift[index] = step
            columns.append((self.log_s(parameters + shift) - self.log_s(parameters - shift)) / (2 * step))
        return np.stack(columns, axis=1)


def design_of(graphs: Sequence[Graph], request: PredictRequest, session: Session) -> Design:
    """The parts of every graph's time, as predicted without a calibration."""
    class_of = {kind: index for index, kinds in enumerate(CLASSES.values()) for kind in kinds}
    class_s = np.zeros((len(graphs), len(CLASSES)))
    host_s, copy_s = np.zeros(len(graphs)), np.zeros(len(graphs))
    kinds = set()
    for index, graph in enumerate(graphs):
        answer = session.predict(graph, request)
        host_s[index], copy_s[index] = answer.host_s, answer.input_copy_s
        for row in session.kernels(graph, request):
            if row.kind not in NO_KERNELS:
                class_s[index, class_of[row.kind]] += row.latency_s
                kinds.add(row.kind)
    return Design(class_s, host_s, copy_s, frozenset(kinds))


@dataclasses.dataclass(frozen=True)
class Level:
    """Which parameters are fitted."""

    name: str
    active: tuple[int, ...]


def levels_for(design: Design) -> list[Level]:
    """What these rows can tell, the simplest first."""
    shares = design.jacobian(np.zeros(NUM_PARAMETERS))
    host = shares[:, HOST]
    classes = tuple(range(FIRST_CLASS, NUM_PARAMETERS))
    is_host_bound = float(np.median(host)) > 0.5
    levels = [Level("host", (HOST,)) if is_host_bound else Level("scale", (SCALE,))]
    if float(np.ptp(host)) > _HOST_MATTERS:
        levels.append(Level("scale + host", (SCALE, HOST)))
    if len(design) >= _ROWS_FOR_CLASSES and SCALE in levels[-1].active:
        levels.append(Level(f"{levels[-1].name} + classes", (*levels[-1].active, *classes)))
    return levels


@dataclasses.dataclass(frozen=True)
class Fitted:
    parameters: Array
    weights: Array  # [N]


def _weights(residuals: Array, sd: float) -> Array:
    return np.minimum(1.0, _HUBER * sd / np.maximum(np.abs(residuals), 1e-300))


def _spread(residuals: Array) -> float:
    return float(_MAD_TO_SD * np.median(np.abs(residuals)))


def fit(design: Design, log_measured: Array, level: Level) -> Fitted:
    """The parameters of a level: Huber's loss on log(measured / predicted), a ridge towards PRIOR_SD."""
    active = list(level.active)
    parameters = np.zeros(NUM_PARAMETERS)
    # From where most rows agree, so that an outlier does not stretch the first deviation.
    first = float(np.median(log_measured - design.log_s(parameters)))
    parameters[active[0]] = first
    ridge = np.diag(PRIOR_SD[active] ** -2)
    sd = _SMALLEST_SD
    for count in range(_MAX_ROUNDS):
        residuals = log_measured - design.log_s(parameters)
        if count < _MAX_ROUNDS // 2:  # then it stays, so that the rounds come to rest
            sd = max(_SMALLEST_SD, _spread(residuals))
        weights = _weights(residuals, sd)
        jacobian = design.jacobian(parameters)[:, active]
        weighted = jacobian * (weights / sd**2)[:, None]
        gradient = weighted.T @ residuals - ridge @ parameters[active]
        step = np.clip(np.linalg.solve(weighted.T @ jacobian + ridge, gradient), -_MAX_STEP, _MAX_STEP)
        parameters[active] += step
        if float(np.max(np.abs(step))) < 1e-9:
            break
    return Fitted(parameters, _weights(log_measured - design.log_s(parameters), sd))


def left_out(design: Design, log_measured: Array, level: Level, groups: Sequence[object]) -> Array:
    """[N] log-times, each group's predicted from the others."""
    names = list(dict.fromkeys(groups))
    folds = min(len(names), _MAX_FOLDS)
    fold = np.array([names.index(group) % folds for group in groups])
    answers = np.empty(len(design))
    for index in range(folds):
        train, test = np.flatnonzero(fold != index), np.flatnonzero(fold == index)
        answers[test] = design[test].log_s(fit(design[train], log_measured[train], level).parameters)
    return answers


def error_of(log_predicted: Array, log_measured: Array) -> CalibrationError:
    relative = np.abs(np.expm1(log_predicted - log_measured))
    return CalibrationError(float(np.mean(relative)), float(np.median(relative)))


@dataclasses.dataclass(frozen=True)
class Choice:
    """The level that was taken."""

    level: Level
    fitted: Fitted
    log_left_out: Array | None  # [N]
    tried: Mapping[str, CalibrationError]
    reason: str


def _score(residuals: Array) -> float:
    """The mean error, an outlier counted as far and no farther."""
    return float(np.mean(np.minimum(np.abs(residuals), _CLIPPED_ERROR)))


def _best(levels: Sequence[Level], score: Mapping[str, float]) -> tuple[Level, str]:
    """The level to take, and why. Rows that can tell kernels from the host are taken at their word unless left-out
    networks speak clearly against it: few rows make the comparison noisy, and an unfitted host costs more."""
    chosen = next((level for level in levels if level.active == (SCALE, HOST)), levels[0])
    simpler, richer = levels[: levels.index(chosen)], levels[levels.index(chosen) + 1 :]
    for level in simpler:
        if score[level.name] < _CLEARLY * score[chosen.name]:
            chosen = level
    for level in richer:
        if score[level.name] < score[chosen.name] - _WORTH_IT:
            chosen = level
    return chosen, "best" if score[chosen.name] <= min(score.values()) else "as good as any"


def choose(design: Design, log_measured: Array, groups: Sequence[object]) -> Choice:
    """Fits at the level that the rows allow and that left-out networks speak for."""
    levels = levels_for(design)
    num_groups = len(set(groups))
    tried: dict[str, CalibrationError] = {}
    answers: dict[str, Array] = {}
    if num_groups > 1:
        for level in levels:
            answers[level.name] = left_out(design, log_measured, level, groups)
            tried[level.name] = error_of(answers[level.name], log_measured)
    if len(levels) == 1:
        chosen, reason = levels[0], "all that these rows can tell"
    elif num_groups < _GROUPS_FOR_CHOICE:
        chosen, reason = levels[-1], "rows with and without the host's share; too few networks to compare levels by"
    else:
        chosen, reason = _best(levels, {name: _score(answer - log_measured) for name, answer in answers.items()})
        others = ", ".join(f"{level.name} {tried[level.name]}" for level in levels if level is not chosen)
        reason = f"{reason} on networks left out ({others})"
    return Choice(chosen, fit(design, log_measured, chosen), answers.get(chosen.name), tried, reason)


def kind_factors_of(choice: Choice) -> dict[str, float]:
    """Factors by kind of kernel; empty where no classes were fitted."""
    if FIRST_CLASS not in choice.level.active:
        return {}
    factors = np.exp(choice.fitted.parameters[FIRST_CLASS:])
    return {kind: float(f) for f, kinds in zip(factors, CLASSES.values(), strict=True) for kind in kinds}


def factor_of(choice: Choice, parameter: int) -> float | None:
    """exp of a parameter; None where it was not fitted."""
    return math.exp(choice.fitted.parameters[parameter]) if parameter in choice.level.active else None


def log_sd_left(
    choice: Choice, log_measured: Array, known_device: float, unknown_device: float, is_known: bool
) -> float:
    """The spread that is left: that of the left-out rows, held to the predictor's own record where they are few.

    `known_device` and `unknown_device` are its half-widths on networks left out whole.
    """
    count = len(log_measured)
    # The rows' networks are off by as much as the next one is.
    own_sd = (known_device if is_known else unknown_device) / _NORMAL_80 * math.sqrt(1 + 1 / count)
    if choice.log_left_out is None:
        return max(own_sd, known_device / _NORMAL_80)
    found_sd = _spread(choice.log_left_out - log_measured)
    variance = (_PRIOR_ROWS * own_sd**2 + count * found_sd**2) / (_PRIOR_ROWS + count)
    return max(math.sqrt(variance), known_device / _NORMAL_80)


def check_design(design: Design, networks: Sequence[str]) -> None:
    """Refuses calls that take no time."""
    total = design.class_s.sum(axis=1) + design.host_s
    for network, seconds in zip(networks, total, strict=True):
        if not seconds > 0:
            raise InvalidArgumentError(
                f"'{network}' runs nothing (views alone): its timing teaches nothing; leave it out"
            )

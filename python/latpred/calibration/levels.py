"""Which factors a few timings can tell, and how far off predictions are with them."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from latpred.calibration import CalibrationError
from latpred.calibration.fit import (
    CLASSES,
    FIRST_CLASS,
    HOST,
    NUM_PARAMETERS,
    SCALE,
    Array,
    Design,
    Expected,
    Fitted,
    Level,
    fit,
    misfit,
    spread,
)

_SCALE_ALONE, _HOST_ALONE = Level("scale", (SCALE,)), Level("host", (HOST,))
_BOTH = Level("scale + host", (SCALE, HOST))
_ROWS_FOR_CLASSES = 10
_GROUPS_FOR_CHOICE = 3  # below, there is too little to compare levels by
_MAX_FOLDS = 20
_HOST_MATTERS = 0.2  # difference in the host's share of log-latency that tells host and kernels apart
_DEMANDED = 2.0  # misfit that a second factor must take away where the rows do not tell both: Akaike's two
_WORTH_IT = 0.002  # of mean error: what a richer level must bring, below what timings are good for
_CLEARLY = 0.8  # share of the error that a simpler level must get along with to be taken instead
_CLIPPED_ERROR = 0.5  # what an outlier adds to the error that levels are compared by
_PRIOR_ROWS = 3  # timings that the predictor's own record weighs as much as, in the spread that is left
_FAR = 2.0  # deviations from which on a row does not fit


def levels_for(design: Design, log_measured: Array, expected: Expected) -> list[Level]:
    """What these rows can tell, the simplest first."""
    host = design.jacobian(np.zeros(NUM_PARAMETERS), [HOST])[:, 0]
    levels = [_HOST_ALONE if float(np.median(host)) > 0.5 else _SCALE_ALONE]
    alone = fit(design, log_measured, levels[0], expected)
    is_told = float(np.ptp(host)) > _HOST_MATTERS
    if levels[0].rows_for_outliers <= len(design) < _BOTH.rows_for_outliers:
        # Too few to tell an outlier from the second factor, which would follow it.
        is_told = is_told and not np.any(_far(design, log_measured, alone, _FAR * expected.network_sd))
    if is_told or _demand_both(design, log_measured, levels[0], alone, expected):
        levels.append(_BOTH)
    if len(design) >= _ROWS_FOR_CLASSES and SCALE in levels[-1].active:
        classes = range(FIRST_CLASS, NUM_PARAMETERS)
        levels.append(Level(f"{levels[-1].name} + classes", (*levels[-1].active, *classes)))
    return levels


def _far(design: Design, log_measured: Array, fitted: Fitted, log_distance: float) -> NDArray[np.bool_]:
    """[N] rows that a fit does not get to."""
    return np.abs(log_measured - design.log_s(fitted.parameters)) > log_distance


def _demand_both(design: Design, log_measured: Array, simple: Level, alone: Fitted, expected: Expected) -> bool:
    """One factor does not get to the timings, or only where it is far from what is expected."""
    both = fit(design, log_measured, _BOTH, expected)
    of_alone, of_both = (
        misfit(design, log_measured, fitted, expected, simple.rows_for_outliers) for fitted in (alone, both)
    )
    return of_alone - of_both > _DEMANDED


def left_out(design: Design, log_measured: Array, level: Level, groups: Sequence[object], expected: Expected) -> Array:
    """[N] log-times, each group's predicted from the others."""
    names = list(dict.fromkeys(groups))
    folds = min(len(names), _MAX_FOLDS)
    fold = np.array([names.index(group) % folds for group in groups])
    answers = np.empty(len(design))
    for index in range(folds):
        train, test = np.flatnonzero(fold != index), np.flatnonzero(fold == index)
        answers[test] = design[test].log_s(fit(design[train], log_measured[train], level, expected).parameters)
    return answers


def error_of(log_predicted: Array, log_measured: Array) -> CalibrationError:
    relative = np.abs(np.expm1(log_predicted - log_measured))
    return CalibrationError(float(np.mean(relative)), float(np.median(relative)))


@dataclasses.dataclass(frozen=True)
class Choice:
    """The level that was taken."""

    level: Level
    fitted: Fitted
    log_off: Array  # [N] |log(measured / fitted)|
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


def choose(design: Design, log_measured: Array, groups: Sequence[object], expected: Expected) -> Choice:
    """Fits at the level that the rows allow and that left-out networks speak for."""
    levels = levels_for(design, log_measured, expected)
    num_groups = len(set(groups))
    tried: dict[str, CalibrationError] = {}
    answers: dict[str, Array] = {}
    if num_groups > 1:
        for level in levels:
            answers[level.name] = left_out(design, log_measured, level, groups, expected)
            tried[level.name] = error_of(answers[level.name], log_measured)
    if len(levels) == 1:
        chosen, reason = levels[0], "all that these rows can tell"
    elif num_groups < _GROUPS_FOR_CHOICE:
        chosen, reason = levels[-1], f"the rows tell more than {levels[0].name}; too few networks to compare levels by"
    else:
        chosen, reason = _best(levels, {name: _score(answer - log_measured) for name, answer in answers.items()})
        others = ", ".join(f"{level.name} {tried[level.name]}" for level in levels if level is not chosen)
        reason = f"{reason} on networks left out ({others})"
    fitted = fit(design, log_measured, chosen, expected)
    off = np.abs(log_measured - design.log_s(fitted.parameters))
    num_far = int(np.sum(_far(design, log_measured, fitted, _FAR * expected.network_sd)))
    if num_far:
        far = f"x/{math.exp(_FAR * expected.network_sd):.2f}"
        reason += f"; {num_far} of {len(design)} timings are farther off than {far} with it: look at .rows"
    return Choice(chosen, fitted, off, answers.get(chosen.name), tried, reason)


def kind_factors_of(choice: Choice) -> dict[str, float]:
    """Factors by kind of kernel; empty where no classes were fitted."""
    if FIRST_CLASS not in choice.level.active:
        return {}
    factors = np.exp(choice.fitted.parameters[FIRST_CLASS:])
    return {kind: float(f) for f, kinds in zip(factors, CLASSES.values(), strict=True) for kind in kinds}


def factor_of(choice: Choice, parameter: int) -> float | None:
    """exp of a parameter; None where it was not fitted."""
    return math.exp(choice.fitted.parameters[parameter]) if parameter in choice.level.active else None


def log_sd_left(choice: Choice, log_measured: Array, own_sd: float, known_sd: float) -> float:
    """The spread that is left: that of the left-out rows, held to the predictor's own record where they are few.

    `own_sd` is the predictor's deviation on networks and, where nobody measured it, a device that it has not seen;
    `known_sd` on networks alone: no calibration brings it below.
    """
    count = len(log_measured)
    # The rows' networks are off by as much as the next one is.
    prior_sd = own_sd * math.sqrt(1 + 1 / count)
    if choice.log_left_out is None:
        return max(prior_sd, known_sd, _fitted_sd(choice))
    found_sd = spread(choice.log_left_out - log_measured)
    variance = (_PRIOR_ROWS * prior_sd**2 + count * found_sd**2) / (_PRIOR_ROWS + count)
    return max(math.sqrt(variance), known_sd)


def _fitted_sd(choice: Choice) -> float:
    """Of the fitted rows, those apart that enough others speak against."""
    agreeing = choice.log_off[choice.fitted.weights > 0]
    freedom = max(1, len(agreeing) - choice.level.num_free)
    return math.sqrt(float(np.sum(agreeing**2)) / freedom)

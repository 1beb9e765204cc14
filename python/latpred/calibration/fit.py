"""Factors from timings: robust least squares on the logarithm of time."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.prediction_tables import NO_KERNELS
from latpred.quantile import NORMAL_80

if TYPE_CHECKING:
    from latpred._core import Answer, Evidence, Graph, PredictRequest, Session

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

# Student's t about no effect, heavy-tailed: a device twice as slow as expected is no longer drawn back.
_FREEDOM = 3.0

_HUBER = 1.345  # residuals beyond this many deviations count less: 95 % efficient where there are no outliers
_TUKEY = 4.685  # and beyond this many nothing, where enough rows speak against them: 95 % efficient likewise
_MAD_TO_SD = 1.4826
_SMALLEST_SD = 0.02  # of a residual: what a timing itself is good for
_FEW_SD = 0.05  # of a residual against the ridge where rows are few: between a timing's own and a network's
_ROWS_FOR_SPREAD = 5  # below, the rows do not say how far they scatter
_MAX_ROUNDS = 50
_MAX_STEP = 1.0  # of a logarithm, in one round
_AT_REST = 1e-9  # a step that changes nothing any more


@dataclasses.dataclass(frozen=True)
class Expected:
    """How far off a predictor is expected to be, by its record: standard deviations of log(measured / predicted)."""

    network_sd: float  # of one network on such a device
    device_sd: float  # of all kernels on one device together
    host_sd: float  # of one machine's time for a launch

    @classmethod
    def of(cls, evidence: Evidence, answer: Answer) -> Expected:
        """Of what `answer` was asked about, by the record of its predictor."""
        terms = evidence.terms
        is_gpu = any(row.is_gpu for row in _core.devices() if row.name == answer.device)
        if not is_gpu and terms.cpu:
            return cls(terms.cpu / NORMAL_80, terms.cpu / NORMAL_80, terms.host_sd)
        is_known = answer.device in evidence.devices and not answer.partition
        width = terms.known_device if is_known else terms.unknown_device
        return cls(width / NORMAL_80, terms.device_sd, terms.host_sd)

    @property
    def parameters_sd(self) -> Array:
        """[parameters]: a class is off as far as all kernels together are."""
        return np.array([self.device_sd, self.host_sd, *[self.device_sd] * len(CLASSES)])

    def ridge(self, parameters: Array) -> Array:
        """[parameters] weights of their squares."""
        variance = self.parameters_sd**2
        return np.asarray((_FREEDOM + 1) / (_FREEDOM * variance + parameters**2))

    def surprise(self, parameters: Array) -> float:
        """How unexpected `parameters` are, as the square of a normal deviation near none."""
        squares = (parameters / self.parameters_sd) ** 2
        return float((_FREEDOM + 1) * np.sum(np.log1p(squares / _FREEDOM)))


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

    def jacobian(self, parameters: Array, active: Sequence[int] = range(NUM_PARAMETERS)) -> Array:
        """[N, active] of log_s, by central differences."""
        step = 1e-5
        columns = []
        for index in active:
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

    @property
    def num_free(self) -> int:
        """Parameters that need rows of their own: classes are held by the ridge."""
        return sum(index < FIRST_CLASS for index in self.active)

    @property
    def rows_for_outliers(self) -> int:
        """As many as leave most rows in agreement when one is far off."""
        return 2 * self.num_free + 1


@dataclasses.dataclass(frozen=True)
class Fitted:
    parameters: Array
    weights: Array  # [N]


def spread(residuals: Array) -> float:
    return float(_MAD_TO_SD * np.median(np.abs(residuals)))


def _huber_weights(residuals: Array, sd: float) -> Array:
    return np.minimum(1.0, _HUBER * sd / np.maximum(np.abs(residuals), 1e-300))


def _tukey_weights(residuals: Array, sd: float) -> Array:
    return np.maximum(0.0, 1 - (residuals / (_TUKEY * sd)) ** 2) ** 2


def _step(
    design: Design, log_measured: Array, parameters: Array, active: list[int], weights: Array, ridge: Array
) -> Array:
    """Gauss and Newton's, halved until the weighted squares and the ridge become less: where one factor hardly changes
    the time, a whole step leads too far."""

    def loss(values: Array) -> float:
        residuals = log_measured - design.log_s(values)
        return float(np.sum(weights * residuals**2) + np.sum(ridge * values**2))

    jacobian = design.jacobian(parameters, active)
    weighted = jacobian * weights[:, None]
    held = ridge[active]
    gradient = weighted.T @ (log_measured - design.log_s(parameters)) - held * parameters[active]
    step = np.clip(np.linalg.solve(weighted.T @ jacobian + np.diag(held), gradient), -_MAX_STEP, _MAX_STEP)
    before = loss(parameters)
    while float(np.max(np.abs(step))) > _AT_REST:
        after = parameters.copy()
        after[active] += step
        if loss(after) <= before:
            break
        step /= 2
    return step


def fit(design: Design, log_measured: Array, level: Level, expected: Expected) -> Fitted:
    """The parameters of a level: Huber's loss on log(measured / predicted), a ridge towards what is expected of them,
    and rows far from what the others say left out in the end. Rows scatter no farther than networks are expected to
    before they are outliers."""
    active = list(level.active)
    parameters = np.zeros(NUM_PARAMETERS)
    # From where most rows agree, so that an outlier does not stretch the first deviation.
    parameters[active[: level.num_free]] = np.median(log_measured - design.log_s(parameters))
    own_sd = expected.network_sd
    tolerated_sd, ridge_sd, far_sd = own_sd, _FEW_SD, own_sd
    for is_last in (False, True):  # deviations stay in the last rounds, so that these come to rest
        for _ in range(_MAX_ROUNDS // 2):
            residuals = log_measured - design.log_s(parameters)
            if not is_last and len(design) >= _ROWS_FOR_SPREAD:
                found_sd = spread(residuals)
                tolerated_sd = ridge_sd = min(max(_SMALLEST_SD, found_sd), own_sd)
                far_sd = max(own_sd, found_sd)
            weights = _huber_weights(residuals, tolerated_sd)
            if is_last and len(design) >= level.rows_for_outliers:
                weights *= _tukey_weights(residuals, far_sd)
            ridge = expected.ridge(parameters)
            step = _step(design, log_measured, parameters, active, weights / ridge_sd**2, ridge)
            parameters[active] += step
            if float(np.max(np.abs(step))) < _AT_REST:
                break
    return Fitted(parameters, weights)


def misfit(design: Design, log_measured: Array, fitted: Fitted, expected: Expected, rows_for_outliers: int) -> float:
    """Loss of the residuals in their deviation, as fit() has it, and how far the parameters are from where they are
    expected."""
    distance = np.abs(log_measured - design.log_s(fitted.parameters)) / expected.network_sd
    loss = np.where(distance < _HUBER, distance**2, _HUBER * (2 * distance - _HUBER))
    if len(design) >= rows_for_outliers:
        loss = np.minimum(loss, _TUKEY**2 / 3)  # of an outlier in Tukey's
    return float(np.sum(loss)) + expected.surprise(fitted.parameters)


def check_design(design: Design, networks: Sequence[str]) -> None:
    """Refuses calls that take no time."""
    total = design.class_s.sum(axis=1) + design.host_s
    for network, seconds in zip(networks, total, strict=True):
        if not seconds > 0:
            raise InvalidArgumentError(
                f"'{network}' runs nothing (views alone): its timing teaches nothing; leave it out"
            )

"""Fits the analytic predictor: what each kind of kernel takes over its roofline.

    seconds = pnorm(ic x FLOPs / peak, ib x bytes / bandwidth) + gap

with ic and ib the product of a common value, effects of the kernel's kind and arithmetic and of the chip and device,
each effect drawn towards 1 as strongly as it is poorly measured. C++ evaluates the same form (predict/analytic.cpp).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from latpred.fitting.measurements import ARITHMETICS, HOST_NORM, KINDS, Samples, join_host_s
from latpred.fitting.split import CHIPS, OTHER_BOARDS

KERNEL_NORM = 3.0  # 2 to 6 fit alike

SMALLEST_INVERSE = 0.9
SMALLEST_WINOGRAD_INVERSE = 1 / 2.25
TILE_ELEMENTS = 128 * 128
WINOGRAD = "winograd"  # a kind of its own for compute: 3 x 3 convolutions with stride 1 at float32

# Kinds whose small sizes cost extra, and whose edge costs are fitted together.
EDGE_GROUPS = {
    "conv": "conv",
    "conv_1x1": "conv",
    "conv_grouped": "conv",
    "matmul": "matmul",
    "batch_matmul": "batch_matmul",
}
EDGES = ("m", "n", "k", "waves")

# Priors: mean of the value and standard deviation of its logarithm. Wide where operators are known to differ (compute),
# narrow where they hardly can (a stream of bytes).
COMMON_COMPUTE = (1.4, 1.0)
COMMON_MEMORY = (1.2, 0.3)
KIND_COMPUTE_SD = 0.7
KIND_MEMORY_SD = 0.3
ARITHMETIC_COMPUTE_SD = 0.3
CELL_COMPUTE_SD = 0.3  # of one kind at one arithmetic
CELL_MEMORY_SD = 0.15
CHIP_SD = 0.2
DEVICE_SD = 0.1  # of one board beside its chip
EDGE_PRIORS = {"m": (16.0, 1.0), "n": (16.0, 1.0), "k": (16.0, 1.0), "waves": (0.3, 0.7)}
GAP = (2e-6, 0.3)  # shortest replayed kernels take 2 to 3 us

HUBER = 0.1  # relative errors above it count linearly
PRIOR_WEIGHT = 0.02  # of the priors against one sample: samples of one table share their errors
NETWORK_WEIGHT = 1.0
OPERATOR_WEIGHT = 0.3
# Linear layers on the P4 are 38 % off any smooth law: it throttles.
LOW_WEIGHTS = {("P4", "gemm"): 0.03}
NETWORK_FAMILIES = ("anb",)

MAX_STEPS = 40
MAX_STEP = 0.7  # of a logarithm
STOP_GAIN = 1e-5


class _Parameters:
    """Named logarithms with normal priors."""

    def __init__(self) -> None:
        self.index: dict[str, int] = {}
        self.means: list[float] = []
        self.sds: list[float] = []

    def add(self, name: str, prior: tuple[float, float]) -> int:
        """The index of parameter `name`, made with (value, sd of the logarithm) where it is new."""
        if name not in self.index:
            self.index[name] = len(self.means)
            self.means.append(np.log(prior[0]))
            self.sds.append(prior[1])
        return self.index[name]

    def value(self, fitted: np.ndarray, name: str) -> float:
        """exp of the fitted logarithm; 1, the mean of an effect, where nothing was measured."""
        return float(np.exp(fitted[self.index[name]])) if name in self.index else 1.0


def _is_winograd(samples: Samples) -> np.ndarray:
    return np.asarray(
        (samples.kind == KINDS.index("conv"))
        & (samples.arithmetic == ARITHMETICS.index("fp32"))
        & (samples.window == 9)
        & (samples.stride == 1)
    )


def _units(arithmetic: str) -> str:
    return "general" if arithmetic == "fp32" else "matrix"


class _Design:
    """Which parameters each kernel's time is made of."""

    def __init__(self, samples: Samples) -> None:
        self.samples = samples
        self.parameters = _Parameters()
        self.winograd = _is_winograd(samples)
        self.product = (samples.m * samples.n * samples.k > 0) & np.isin(
            samples.kind, [KINDS.index(kind) for kind in EDGE_GROUPS]
        )
        keys = np.stack(
            [samples.kind, samples.arithmetic, self.winograd, self._codes(samples.device)[samples.sample]], axis=1
        )
        unique, cell = np.unique(keys, axis=0, return_inverse=True)
        cell = cell.ravel()
        devices = np.unique(samples.device)
        chip_of = dict(zip(samples.device, samples.chip, strict=True))
        compute, memory, edges = [], [], []
        for kind_index, arithmetic_index, winograd, device_index in unique:
            kind, arithmetic = KINDS[kind_index], ARITHMETICS[arithmetic_index]
            device = devices[device_index]
            compute.append(self._compute(WINOGRAD if winograd else kind, arithmetic, device, chip_of[device]))
            memory.append(self._memory(kind, arithmetic, device, chip_of[device]))
            edges.append(self._edges(kind, arithmetic))
        self.compute = np.array(compute)[cell]  # [K, 6]
        self.memory = np.array(memory)[cell]  # [K, 5]
        self.edges = np.array(edges)[cell]  # [K, 4]
        self.gap = self.parameters.add("gap", GAP)
        self.means = np.array(self.parameters.means)
        self.sds = np.array(self.parameters.sds)

    @staticmethod
    def _codes(values: np.ndarray) -> np.ndarray:
        return np.unique(values, return_inverse=True)[1].ravel()

    def _compute(self, kind: str, arithmetic: str, device: str, chip: str) -> list[int]:
        add, units = self.parameters.add, _units(arithmetic)
        return [
            add("compute", COMMON_COMPUTE),
            add(f"compute/{kind}", (1.0, KIND_COMPUTE_SD)),
            add(f"compute/{arithmetic}", (1.0, ARITHMETIC_COMPUTE_SD)),
            add(f"compute/{kind}/{arithmetic}", (1.0, CELL_COMPUTE_SD)),
            add(f"compute@{chip}/{units}", (1.0, CHIP_SD)),
            add(f"compute@{device}/{units}", (1.0, DEVICE_SD)),
        ]

    def _memory(self, kind: str, arithmetic: str, device: str, chip: str) -> list[int]:
        add = self.parameters.add
        return [
            add("memory", COMMON_MEMORY),
            add(f"memory/{kind}", (1.0, KIND_MEMORY_SD)),
            add(f"memory/{kind}/{arithmetic}", (1.0, CELL_MEMORY_SD)),
            add(f"memory@{chip}", (1.0, CHIP_SD)),
            add(f"memory@{device}", (1.0, DEVICE_SD)),
        ]

    def _edges(self, kind: str, arithmetic: str) -> list[int]:
        group, units = EDGE_GROUPS.get(kind), _units(arithmetic)
        if group is None:
            return [0] * len(EDGES)
        return [self.parameters.add(f"edge/{group}/{units}/{edge}", EDGE_PRIORS[edge]) for edge in EDGES]

    def times(self, logs: np.ndarray) -> np.ndarray:
        """[S] seconds of the samples."""
        return self._evaluate(logs, with_slopes=False)[0]

    def times_and_slopes(self, logs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """[S] seconds of the samples, and d log seconds / d parameters: [S, P]."""
        return self._evaluate(logs, with_slopes=True)

    def _evaluate(self, logs: np.ndarray, with_slopes: bool) -> tuple[np.ndarray, np.ndarray]:
        samples = self.samples
        floor = np.where(self.winograd, SMALLEST_WINOGRAD_INVERSE, SMALLEST_INVERSE)
        inverse_compute = np.exp(logs[self.compute].sum(axis=1))
        inverse_memory = np.exp(logs[self.memory].sum(axis=1))
        compute = samples.compute_s * np.maximum(inverse_compute, floor)
        memory = samples.memory_s * np.maximum(inverse_memory, SMALLEST_INVERSE)
        is_product = self.product
        edge = np.exp(logs[self.edges[is_product]]).T
        m, n, k = (getattr(samples, name)[is_product] for name in "mnk")
        gemm_batch, sms = samples.gemm_batch[is_product], samples.sms[is_product]
        elements = gemm_batch * (m + edge[0]) * (n + edge[1]) + edge[3] * sms * TILE_ELEMENTS
        compute[is_product] *= elements * (k + edge[2]) / (gemm_batch * m * n * k)
        joined = (compute**KERNEL_NORM + memory**KERNEL_NORM) ** (1 / KERNEL_NORM)
        gap = np.exp(logs[self.gap])
        device_s = samples.sum_kernels(joined + gap)
        total = join_host_s(device_s, samples.host_s)
        if not with_slopes:
            return total, np.empty((0, 0))
        of_device = (device_s / total) ** (HOST_NORM - 1) / total  # d log total / d device_s
        scale = of_device[samples.sample] * samples.repeat
        of_compute = np.divide(compute, joined, out=np.zeros_like(joined), where=joined > 0) ** KERNEL_NORM * joined
        of_memory = (joined - of_compute) * scale
        of_compute = of_compute * scale
        width = len(logs)
        base = samples.sample * width
        cells, slopes = [base + self.gap], [gap * scale]
        for column in self.compute.T:
            cells.append(base + column)
            slopes.append(of_compute * (inverse_compute > floor))
        for column in self.memory.T:
            cells.append(base + column)
            slopes.append(of_memory * (inverse_memory > SMALLEST_INVERSE))
        shares = (
            gemm_batch * (n + edge[1]) * edge[0] / elements,
            gemm_batch * (m + edge[0]) * edge[1] / elements,
            edge[2] / (k + edge[2]),
            edge[3] * sms * TILE_ELEMENTS / elements,
        )
        for column, share in zip(self.edges[is_product].T, shares, strict=True):
            cells.append(base[is_product] + column)
            slopes.append(of_compute[is_product] * share)
        flat = np.bincount(np.concatenate(cells), np.concatenate(slopes), samples.size * width)
        return total, flat.reshape(samples.size, width)


def _weights(samples: Samples) -> np.ndarray:
    weights = np.where(np.isin(samples.family, NETWORK_FAMILIES), NETWORK_WEIGHT, OPERATOR_WEIGHT)
    for (device, family), low in LOW_WEIGHTS.items():
        weights = np.where((samples.device == device) & (samples.family == family), low, weights)
    return weights


def _solve(design: _Design) -> np.ndarray:
    """Levenberg-Marquardt on the Huber loss of log(predicted / measured) and the priors."""
    root_weights = np.sqrt(_weights(design.samples))
    measured = design.samples.latency_s

    def cost(residuals: np.ndarray, logs: np.ndarray) -> float:
        size = np.abs(residuals)
        loss = np.where(size < HUBER, residuals**2 / 2, HUBER * (size - HUBER / 2)).sum()
        return float(loss + PRIOR_WEIGHT / 2 * (((logs - design.means) / design.sds) ** 2).sum())

    logs, damping = design.means.copy(), 1e-2
    total, slopes = design.times_and_slopes(logs)
    residuals = np.log(total / measured) * root_weights
    best = cost(residuals, logs)
    for _ in range(MAX_STEPS):
        jacobian = slopes * root_weights[:, None]
        robust = HUBER / np.maximum(np.abs(residuals), HUBER)
        normal = jacobian.T @ (jacobian * robust[:, None]) + np.diag(PRIOR_WEIGHT / design.sds**2)
        gradient = jacobian.T @ (robust * residuals) + PRIOR_WEIGHT * (logs - design.means) / design.sds**2
        while True:
            step = -np.linalg.solve(normal + damping * np.diag(np.diag(normal)), gradient)
            candidate = logs + np.clip(step, -MAX_STEP, MAX_STEP)
            found = cost(np.log(design.times(candidate) / measured) * root_weights, candidate)
            if found < best or damping > 1e8:
                break
            damping *= 5
        if not found < best:
            break
        logs, gain, best, damping = candidate, best - found, found, max(damping / 4, 1e-7)
        if gain < STOP_GAIN * best:
            break
        total, slopes = design.times_and_slopes(logs)
        residuals = np.log(total / measured) * root_weights
    return np.asarray(logs)


@dataclasses.dataclass(frozen=True)
class Analytic:
    """The fitted arrays, as the checkpoint holds them. A = arithmetics, D = devices with factors of their own."""

    inverse_compute: np.ndarray  # [kinds, A]
    inverse_memory: np.ndarray  # [kinds, A]
    edge_costs: np.ndarray  # [kinds, A, 4]
    winograd_inverse_compute: float
    gap_s: float
    devices: tuple[str, ...]
    device_factors: np.ndarray  # [D, 3]: compute on general units, on matrix units, memory

    def arrays(self) -> dict[str, np.ndarray]:
        """What the checkpoint stores."""
        return {
            "inverse_compute": self.inverse_compute,
            "inverse_memory": self.inverse_memory,
            "edge_costs": self.edge_costs,
            "winograd_inverse_compute": np.array([self.winograd_inverse_compute]),
            "gap_s": np.array([self.gap_s]),
            "kernel_norm": np.array([KERNEL_NORM]),
            "device_factors": self.device_factors,
        }

    def predict(self, samples: Samples) -> np.ndarray:
        """[S] seconds, by the form that C++ evaluates."""
        factors = np.ones((samples.size, 3))
        for name, row in zip(self.devices, self.device_factors, strict=True):
            factors[samples.device == name] = row
        factors = factors[samples.sample]
        is_general = samples.arithmetic == ARITHMETICS.index("fp32")
        winograd = _is_winograd(samples)
        cell = (samples.kind, samples.arithmetic)
        inverse = np.where(winograd, self.winograd_inverse_compute, self.inverse_compute[cell])
        inverse = inverse * np.where(is_general, factors[:, 0], factors[:, 1])
        compute = samples.compute_s * np.maximum(
            inverse, np.where(winograd, SMALLEST_WINOGRAD_INVERSE, SMALLEST_INVERSE)
        )
        memory = samples.memory_s * np.maximum(self.inverse_memory[cell] * factors[:, 2], SMALLEST_INVERSE)
        edge = self.edge_costs[cell].T
        product = samples.gemm_batch * samples.m * samples.n * samples.k
        elements = (
            samples.gemm_batch * (samples.m + edge[0]) * (samples.n + edge[1]) + edge[3] * samples.sms * TILE_ELEMENTS
        )
        compute *= np.divide(elements * (samples.k + edge[2]), product, out=np.ones_like(product), where=product > 0)
        device_s = samples.sum_kernels((compute**KERNEL_NORM + memory**KERNEL_NORM) ** (1 / KERNEL_NORM) + self.gap_s)
        return join_host_s(device_s, samples.host_s)


def _resolve(parameters: _Parameters, logs: np.ndarray) -> Analytic:
    """The products of effects for every kind, arithmetic and device; effects that were not measured are 1."""
    value: Callable[[str], float] = lambda name: parameters.value(logs, name)  # noqa: E731
    shape = (len(KINDS), len(ARITHMETICS))
    compute, memory, edges = np.ones(shape), np.ones(shape), np.zeros((*shape, len(EDGES)))
    for row, kind in enumerate(KINDS):
        for column, arithmetic in enumerate(ARITHMETICS):
            compute[row, column] = np.prod(
                [value(name) for name in ("compute", f"compute/{kind}", f"compute/{arithmetic}")]
            ) * value(f"compute/{kind}/{arithmetic}")
            memory[row, column] = value("memory") * value(f"memory/{kind}") * value(f"memory/{kind}/{arithmetic}")
            group = EDGE_GROUPS.get(kind)
            if group is None:
                continue
            for position, edge in enumerate(EDGES):
                name = f"edge/{group}/{_units(arithmetic)}/{edge}"
                measured = parameters.index.get(name)
                edges[row, column, position] = np.exp(logs[measured]) if measured is not None else EDGE_PRIORS[edge][0]
    winograd = value("compute") * value("compute/fp32") * value(f"compute/{WINOGRAD}")
    devices: list[str] = []
    factors: list[list[float]] = []
    for chip, boards in CHIPS.items():
        for device in (*boards, *OTHER_BOARDS.get(chip, ())):
            found = [
                value(f"compute@{chip}/{units}") * value(f"compute@{device}/{units}") for units in ("general", "matrix")
            ]
            found.append(value(f"memory@{chip}") * value(f"memory@{device}"))
            if found != [1.0] * 3:
                devices.append(device)
                factors.append(found)
    return Analytic(
        compute,
        memory,
        edges,
        winograd * value(f"compute/{WINOGRAD}/fp32"),
        value("gap"),
        tuple(devices),
        np.array(factors).reshape(len(devices), 3),
    )


def fit(samples: Samples) -> Analytic:
    """The arrays that fit `samples`; the same samples give the same numbers."""
    design = _Design(samples)
    return _resolve(design.parameters, _solve(design))


if __name__ == "__main__":
    from latpred.fitting.checkpoint import run

    run("analytic", fit)

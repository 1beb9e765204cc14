"""Fits what kernels draw that no table of kernel power has, to joules of whole networks on an H200.

python -m latpred.fitting.network_energy --data data/measurements --graphs data/measurements/graphs.xz
    --out cpp/src/energy/network_power.h

The model is that of latpred.fitting.energy. Where a trace tells how long each group of kernels of a network ran, its
joules tell two of the coefficients for all kernels but products and attention in half precision, whose power was read
one by one: what a kernel draws for being there, and what full bandwidth adds.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.datasets import gpu_campaign, kernel_traces
from latpred.datasets.graph_cache import GraphCache, graph_of
from latpred.datasets.kernel_traces import Trace
from latpred.fitting.energy import Board, Coefficients, board_of

if TYPE_CHECKING:
    from collections.abc import Sequence

RUNTIME = "eager"
START = (0.4, 0.4)


@dataclasses.dataclass(frozen=True)
class Group:
    """Kernels of one group in a call: how long they ran, and the shares of the units that they achieved."""

    seconds: float
    compute_share: float
    memory_share: float


@dataclasses.dataclass(frozen=True)
class Reading:
    """Mean power of a network's calls."""

    recipe: str
    power_w: float
    latency_s: float
    groups: tuple[Group, ...]


def read(data: Path, graphs: GraphCache) -> list[Reading]:
    """Every reading of energy that a trace of the same call explains."""
    traces = {(trace.recipe, trace.batch, trace.precision, trace.device): trace for trace in kernel_traces.read(data)}
    found = []
    for row, latency_s in gpu_campaign.read_energy(data):
        trace = traces.get((row.recipe, row.batch, row.precision, row.device))
        if trace is not None:
            found.append(Reading(row.recipe, row.value / latency_s, latency_s, _groups(trace, graphs)))
    return sorted(found, key=lambda reading: reading.recipe)


def _groups(trace: Trace, graphs: GraphCache) -> tuple[Group, ...]:
    board = board_of(trace.device)
    fused = _core.fuse(graph_of(trace.recipe, trace.batch, graphs), RUNTIME, trace.precision)
    features = _core.featurize(fused, trace.device, "")
    compute_s = dict.fromkeys(trace.group_s, 0.0)
    moved_bytes = dict.fromkeys(trace.group_s, 0.0)
    for kernel, of_kernel_s in zip(fused.rows, features.compute_s, strict=True):
        group = kernel_traces.group_of_kind(kernel.kind)
        if group not in trace.group_s:
            continue
        compute_s[group] += kernel.repeat * of_kernel_s
        activations = kernel.bytes_in + kernel.bytes_out
        if activations + kernel.weight_bytes > board.l2_bytes:  # what stays in L2 draws no memory power
            moved_bytes[group] += kernel.repeat * activations
    return tuple(
        Group(
            seconds,
            min(1.0, compute_s[group] / seconds),
            min(1.0, moved_bytes[group] / seconds / board.bytes_per_s),
        )
        for group, seconds in trace.group_s.items()
    )


def power_w(reading: Reading, board: Board, fitted: Coefficients) -> float:
    """Mean power of a call: its kernels, and waiting for the host."""
    running_s = sum(group.seconds for group in reading.groups)
    joules = fitted.gap * max(0.0, reading.latency_s - running_s)
    for group in reading.groups:
        share = fitted.active + fitted.compute_product * group.compute_share + fitted.memory * group.memory_share
        joules += min(1.0, share) * group.seconds
    return board.idle_w + (board.limit_w - board.idle_w) * joules / reading.latency_s


def fit(readings: Sequence[Reading], board: Board, alone: Coefficients) -> Coefficients:
    """`alone`, the coefficients of kernels read one by one, with those of the others."""
    from scipy.optimize import least_squares

    def changed(values: Any) -> Coefficients:
        return dataclasses.replace(alone, active=float(values[0]), memory=float(values[1]))

    def residuals(values: Any) -> Any:
        return [np.log(power_w(reading, board, changed(values)) / reading.power_w) for reading in readings]

    return changed(least_squares(residuals, START, bounds=(0, np.inf)).x)


def left_out(readings: Sequence[Reading], board: Board, alone: Coefficients) -> Any:
    """[N] log of predicted over measured power, each network by a fit of the others."""
    off = []
    for reading in readings:
        fitted = fit([other for other in readings if other.recipe != reading.recipe], board, alone)
        off.append(np.log(power_w(reading, board, fitted) / reading.power_w))
    return np.array(off)


def header(readings: Sequence[Reading], board: Board, alone: Coefficients) -> str:
    """The C++ header that holds the coefficients."""
    fitted, off = fit(readings, board, alone), left_out(readings, board, alone)
    error = 100 * np.abs(np.expm1(off))
    before = [100 * abs(power_w(reading, board, alone) / reading.power_w - 1) for reading in readings]
    typical = float(np.median([reading.power_w for reading in readings]))
    constant = [100 * abs(typical / reading.power_w - 1) for reading in readings]
    return f"""#pragma once

// Written by `python -m latpred.fitting.network_energy`; change it there.
// Source: data/measurements/gpu_campaign (Apache-2.0): {len(readings)} networks in eager PyTorch on an H200.
// Error of mean power in percent at measured times of kernels, each network left out of the fit:
//   MAPE {error.mean():.1f}, median {np.median(error):.1f}, most {error.max():.1f}
//   coefficients of half-precision products and attention: MAPE {np.mean(before):.1f}
//   one power for all: MAPE {np.mean(constant):.1f}

namespace latpred {{

// Shares of what lies between idle and the board limit, of all kernels but those of power_coefficients.h.
inline constexpr double kNetworkActiveShare = {fitted.active:.4f};
inline constexpr double kNetworkMemoryShare = {fitted.memory:.4f};
// Root mean square on the log scale, networks left out.
inline constexpr double kNetworkPowerLogSd = {np.sqrt(np.mean(off**2)):.4f};

}}  // namespace latpred
"""


def coefficients_alone(path: Path) -> Coefficients:
    """What latpred.fitting.energy wrote into the header at `path`."""
    found = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        name, equals, value = line.removeprefix("inline constexpr double k").partition(" = ")
        if equals and name.endswith("Share"):
            found[name.removesuffix("Share")] = float(value.rstrip(";"))
    fields = {
        field.name: "".join(word.title() for word in field.name.split("_"))
        for field in dataclasses.fields(Coefficients)
    }
    return Coefficients(**{name: found[title] for name, title in fields.items()})


def main() -> None:
    """Writes the header."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", type=Path, required=True, help="folder that holds gpu_campaign")
    parser.add_argument("--graphs", type=Path, required=True, help="graph cache of its networks")
    parser.add_argument("--out", type=Path, required=True, help="C++ header to write, beside power_coefficients.h")
    arguments = parser.parse_args()
    readings = read(arguments.data, GraphCache(arguments.graphs))
    [device] = {row.device for row in gpu_campaign.read_all(arguments.data)}
    alone = coefficients_alone(arguments.out.with_name("power_coefficients.h"))
    text = header(readings, board_of(device), alone)
    arguments.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()

"""Fits the power model of cpp/src/energy to the readings of power that aiconfigurator's H200 tables carry.

python -m latpred.fitting.energy --data DATA --out cpp/src/energy/power_coefficients.h

The model, of a kernel that runs for t seconds and keeps the units busy to the shares u_compute and u_memory:

    P = idle + (limit - idle) x min(1, gap + busy x (active - gap) + c x u_compute + d x u_memory)

`busy` leaves out the launch and drain of the kernel. Everything is a share of what lies between idle and the board
limit, which is how the coefficients are carried to other boards. Bytes of a working set that stays in L2 draw no memory
power: the tables repeat one kernel, and such rows show none.
"""

from __future__ import annotations

import argparse
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.units import MILLIWATT

if TYPE_CHECKING:
    import pandas as pd

    Array = np.ndarray[Any, np.dtype[np.float64]]

FOLDER = Path("aiconfigurator/h200_sxm")
VERSION = Path("vllm/0.22.0")
DEVICE = "H200-SXM-141GB"
PEAK = "bf16"
BYTES = 2  # of a bfloat16
CACHE_BYTES = {"bfloat16": 2, "fp8": 1}

# A reading is the mean of samples in mW, so the number of samples is the least one that makes it whole. With fewer than
# these, and for shorter kernels, the reading still climbs: the driver averages over a second.
STEADY_SAMPLES = 5
STEADY_S = 50e-6
MOST_SAMPLES = 64

LAUNCH_S = 2e-6  # launch and drain, in which the SMs draw little: floor of an empty kernel, 1.5-3 us
FOLDS = 5
OUTLIER_SCALE = 0.1  # relative error from which a row pulls linearly, not by its square


@dataclasses.dataclass(frozen=True)
class Board:
    """What the readings are relative to."""

    idle_w: float
    limit_w: float
    flops_per_s: float
    bytes_per_s: float
    l2_bytes: float


@dataclasses.dataclass(frozen=True)
class Coefficients:
    """Shares of limit - idle."""

    active: float  # a kernel is on the SMs, whatever it does
    compute_product: float  # at the full peak: convolutions, matrix products and everything else
    compute_attention: float
    memory: float  # at the full bandwidth
    gap: float  # nothing runs, clocks stay up


def num_samples(power_w: float) -> int:
    """How many readings in whole mW `power_w` is the mean of."""
    total = power_w / MILLIWATT
    for count in range(1, MOST_SAMPLES + 1):
        if abs(total * count - round(total * count)) < 1e-4 * count:
            return count
    return MOST_SAMPLES


def read(data: Path) -> pd.DataFrame:
    """Rows of GEMM and attention kernels: kind, block (what is held out together), latency_s, power_w, flops, bytes."""
    import pandas as pd

    def table(operator: str, name: str) -> pd.DataFrame:
        return pd.read_csv(data / FOLDER / operator / VERSION / f"{name}_perf.csv.gz")

    products = table("gemm", "gemm")
    products = products[products.gemm_dtype == "bfloat16"]
    m, n, k = (products[name].astype(float) for name in ("m", "n", "k"))
    parts = [
        pd.DataFrame(
            {
                "kind": "gemm",
                "block": "gemm " + products.n.astype(str) + " " + products.k.astype(str),
                "latency_s": products.latency * 1e-3,
                "power_w": products.power,
                "flops": 2 * m * n * k,
                "bytes": BYTES * (m * k + k * n + m * n),
            }
        )
    ]
    for name in ("context_attention", "generation_attention"):
        rows = table("attention", name)
        prefill = name == "context_attention"
        length = (rows.isl if prefill else rows.isl + rows.step).astype(float)
        window = np.where(rows.window_size > 0, np.minimum(rows.window_size, length), length)
        queries = rows.isl if prefill else 1
        # A causal query sees what stands before it, up to the window.
        pairs = window * (window + 1) / 2 + (length - window) * window if prefill else window
        cache = BYTES if prefill else rows.kv_cache_dtype.map(CACHE_BYTES)
        cached = length if prefill else window
        heads = rows.head_dim.astype(float) * rows.batch_size
        parts.append(
            pd.DataFrame(
                {
                    "kind": name,
                    "block": f"{name} " + rows.num_heads.astype(str) + " " + rows.num_key_value_heads.astype(str),
                    "latency_s": rows.latency * 1e-3,
                    "power_w": rows.power,
                    "flops": 4 * heads * rows.num_heads * pairs,
                    "bytes": heads * 2 * (BYTES * rows.num_heads * queries + cache * rows.num_key_value_heads * cached),
                }
            )
        )
    result = pd.concat(parts, ignore_index=True)
    result["samples"] = [num_samples(power) for power in result.power_w]
    return result


def steady(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows whose reading has settled."""
    kept = (rows.samples >= STEADY_SAMPLES) & (rows.latency_s >= STEADY_S)
    return rows[kept].reset_index(drop=True)


def predict(rows: pd.DataFrame, board: Board, fitted: Coefficients) -> Array:
    """Mean power of each row in watts."""
    compute = np.minimum(1.0, rows.flops / rows.latency_s / board.flops_per_s)
    in_l2 = rows.bytes <= board.l2_bytes
    memory = np.where(in_l2, 0.0, np.minimum(1.0, rows.bytes / rows.latency_s / board.bytes_per_s))
    busy = np.maximum(0.0, 1 - LAUNCH_S / rows.latency_s)
    per_compute = np.where(rows.kind == "gemm", fitted.compute_product, fitted.compute_attention)
    share = fitted.gap + busy * (fitted.active - fitted.gap) + per_compute * compute + fitted.memory * memory
    return np.asarray(board.idle_w + (board.limit_w - board.idle_w) * np.clip(share, 0.0, 1.0), dtype=float)


def fit(rows: pd.DataFrame, board: Board, gap: float) -> Coefficients:
    """Least squares of log power with a soft outlier bound; each kind of kernel weighs the same."""
    from scipy.optimize import least_squares

    weight = np.sqrt(1 / rows.groupby("kind").power_w.transform("size").to_numpy(dtype=float))
    weight /= weight.mean()
    log_power = np.log(rows.power_w.to_numpy())

    def coefficients(values: Array) -> Coefficients:
        active, compute_product, compute_attention, memory = (float(value) for value in values)
        return Coefficients(active, compute_product, compute_attention, memory, gap)

    def residuals(values: Array) -> Array:
        return np.asarray(weight * (np.log(predict(rows, board, coefficients(values))) - log_power))

    start = (0.3, 1.0, 0.5, 0.5)
    solution = least_squares(residuals, start, bounds=(0, np.inf), loss="soft_l1", f_scale=OUTLIER_SCALE)
    return coefficients(solution.x)


def gap_share(rows: pd.DataFrame, board: Board) -> float:
    """The lowest reading of all: kernels of 2-3 us, for most of which nothing runs."""
    return float((rows.power_w.min() - board.idle_w) / (board.limit_w - board.idle_w))


def held_out(rows: pd.DataFrame, board: Board, gap: float) -> pd.DataFrame:
    """Measured and predicted power, each block of shapes predicted by a fit that has not seen it."""
    import pandas as pd

    blocks = {block: index % FOLDS for index, block in enumerate(sorted(rows.block.unique()))}
    fold = rows.block.map(blocks)
    parts = []
    for index in range(FOLDS):
        train, test = rows[fold != index].reset_index(drop=True), rows[fold == index].reset_index(drop=True)
        typical = float(train.power_w.median())
        parts.append(
            pd.DataFrame(
                {
                    "kind": test.kind,
                    "measured": test.power_w,
                    "model": predict(test, board, fit(train, board, gap)),
                    "constant power": typical,
                    "limit": board.limit_w,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def errors(table: pd.DataFrame, column: str) -> str:
    """Mean, median and 90th percentile of the absolute error in percent."""
    error = (table[column] / table.measured - 1).abs() * 100
    return f"MAPE {error.mean():.1f}, median {error.median():.1f}, p90 {error.quantile(0.9):.1f}"


def log_half_width(table: pd.DataFrame) -> float:
    """Half-width on the log scale that holds 80 % of the held-out rows."""
    return float(np.log(table.model / table.measured).abs().quantile(0.8))


def report(table: pd.DataFrame) -> list[str]:
    """One line for each kind and predictor."""
    lines = []
    for kind in ["all", *table.kind.unique()]:
        part = table if kind == "all" else table[table.kind == kind]
        for column in ("model", "constant power", "limit"):
            lines.append(f"{kind} ({len(part)}), {column}: {errors(part, column)}")
    return lines


def header(fitted: Coefficients, num_rows: int, half_width: float, lines: list[str]) -> str:
    """The C++ header that holds the coefficients."""
    told = "\n".join(f"//   {line}" for line in lines)
    constants = "\n".join(
        f"inline constexpr double k{''.join(word.title() for word in field.name.split('_'))}Share = "
        f"{getattr(fitted, field.name):.4f};"
        for field in dataclasses.fields(Coefficients)
    )
    return f"""#pragma once

// Written by `python -m latpred.fitting.energy`; change it there.
// Source: aiconfigurator 095f58a5 (Apache-2.0), {FOLDER.name}, {VERSION}: {num_rows} bfloat16 GEMM and attention rows
// with a settled reading of board power on an H200. Error of power in percent, blocks of shapes held out:
{told}

namespace latpred {{

// Shares of what lies between idle and the board limit: see power_model.cpp.
{constants}
// Launch and drain of a kernel, in which the SMs draw little.
inline constexpr double kLaunchSeconds = {LAUNCH_S:g};
// On the log scale; holds 80 % of the rows, blocks held out.
inline constexpr double kPowerLogHalfWidth = {half_width:.4f};

}}  // namespace latpred
"""


def board_of(name: str) -> Board:
    """The facts of the device table."""
    from latpred import _core

    row = _core.device(name)
    peak = row.peak_flops_per_s(PEAK)
    if row.power_limit_w is None or peak is None or row.l2_bytes is None:
        raise ValueError(f"device {name!r} lacks a power limit, a {PEAK} peak or an L2 size: the fit needs all three")
    return Board(
        idle_w=row.idle_power_w.value,
        limit_w=row.power_limit_w,
        flops_per_s=peak,
        bytes_per_s=row.bandwidth_bytes_per_s,
        l2_bytes=row.l2_bytes,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="Fit the power model to kernel power of an H200.")
    parser.add_argument("--data", type=Path, required=True, help="folder that holds aiconfigurator")
    parser.add_argument("--out", type=Path, required=True, help="C++ header to write")
    arguments = parser.parse_args()
    board = board_of(DEVICE)
    rows = read(arguments.data)
    settled = steady(rows)
    gap = gap_share(rows, board)
    fitted = fit(settled, board, gap)
    tested = held_out(settled, board, gap)
    lines = report(tested)
    arguments.out.write_text(header(fitted, len(settled), log_half_width(tested), lines))
    print("\n".join([str(fitted), f"{len(settled)} of {len(rows)} rows", *lines]))
    everything = rows.assign(measured=rows.power_w, model=predict(rows, board, fitted))
    print(f"all rows, most of them with a reading that lags behind: {errors(everything, 'model')}")


if __name__ == "__main__":
    main()

"""Prints how many cycles of an SM PyTorch's own kernels take, from the traces under data/measurements/gpu_campaign
(cpp/src/features/kernel_terms.cpp holds what the default predictor starts from).

python benchmarks/kernel_cycles.py

A trace names its kernels and we name ours: the two meet in order, where a network has as many of both. Cycles are those
of the data sheet's highest clock, of one SM: all SMs work at once. Kernels under 10 us are left out, since starting
them is part of their time.

Of average pools it prints too what whole networks show on older cards: those of NAS-Bench-201 at their largest batch
differ in how many pools, convolutions and sums they have, so that least squares tell what each kind takes.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from latpred import _core
from latpred.datasets import kernel_traces
from latpred.datasets.graph_cache import GraphCache, graph_of
from scipy.optimize import nnls

MEASUREMENTS = Path(__file__).resolve().parents[1] / "data" / "measurements"
SHORTEST_S = 10e-6
LARGEST_BATCH = 256  # of NAS-Bench-201


@dataclasses.dataclass(frozen=True)
class Kind:
    """Kernels that work through pieces of one size."""

    name: str  # in what CUDA calls them
    piece: str
    is_of: Callable[[_core.Kernel], bool]
    pieces: Callable[[_core.Kernel], float]
    size: Callable[[_core.Kernel], float]


KINDS = (
    Kind(
        "bn_fw",
        "an image of so many pixels",
        lambda kernel: kernel.kind == "batch_norm" and kernel.positions > 0,
        lambda kernel: kernel.normalised / kernel.positions,
        lambda kernel: kernel.positions,
    ),
    Kind(
        "layer_norm",
        "a row of so many elements",
        lambda kernel: kernel.kind == "layer_norm",
        lambda kernel: kernel.normalised / kernel.row,
        lambda kernel: kernel.row,
    ),
    Kind(
        "conv_depthwise2d",
        "an output of a window of so many elements",
        lambda kernel: kernel.is_native_depthwise,
        lambda kernel: kernel.macs / kernel.window,
        lambda kernel: kernel.window,
    ),
    Kind(
        "max_pool_forward_nchw",
        "an output of a window of so many elements",
        lambda kernel: kernel.pooled > 0 and "max_pool" in kernel.name,
        lambda kernel: kernel.pooled,
        lambda kernel: kernel.window,
    ),
    Kind(
        "avg_pool2d",
        "an output of a window of so many elements",
        lambda kernel: kernel.pooled > 0 and "avg_pool" in kernel.name,
        lambda kernel: kernel.pooled,
        lambda kernel: kernel.window,
    ),
)


def cycles(trace: kernel_traces.Trace, kind: Kind, rows: list[_core.Kernel]) -> Iterator[tuple[float, float]]:
    """Of each kernel of the kind: the size of its pieces, and cycles of one SM for a piece."""
    device = _core.device(trace.device)
    taken_s = [seconds for name, seconds in trace.kernels if kind.name in name]
    ours = [row for row in rows if kind.is_of(row) for _ in range(row.repeat)]
    if device.clock_hz is None or len(taken_s) != len(ours):
        return
    for seconds, row in zip(taken_s, ours, strict=True):
        if seconds >= SHORTEST_S and kind.pieces(row) > 0:
            yield kind.size(row), seconds * device.sms * device.clock_hz / kind.pieces(row)


def measured() -> dict[str, dict[tuple[float, str], list[float]]]:
    """Cycles of each kernel by the name of its kind, then the size of its pieces and precision."""
    graphs = GraphCache(MEASUREMENTS / "graphs.xz")
    found: dict[str, dict[tuple[float, str], list[float]]] = {kind.name: defaultdict(list) for kind in KINDS}
    for trace in kernel_traces.read(MEASUREMENTS):
        rows = _core.fuse(graph_of(trace.recipe, trace.batch, graphs), "eager", trace.precision).rows
        for kind in KINDS:
            for size, count in cycles(trace, kind, rows):
                found[kind.name][size, trace.precision].append(count)
    return found


def work_by_kind(recipe: str, batch: int) -> dict[str, float]:
    """FLOPs of convolutions, results of pools and bytes of all others, by the kind of kernel."""
    work: dict[str, float] = defaultdict(float)
    for kernel in _core.fuse(graph_of(recipe, batch), "eager", "fp32").rows:
        amount = kernel.flops if kernel.kind.startswith("conv") else kernel.pooled or kernel.bytes_in + kernel.bytes_out
        work[kernel.kind] += kernel.repeat * amount
    return work


def of_networks() -> dict[str, float]:
    """Cycles of an SM for an output of a 3 x 3 average pool in the networks of NAS-Bench-201, by card."""
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    rows = rows[(rows.family == "nb201") & (rows.batch == LARGEST_BATCH)]
    work = pd.DataFrame({recipe: work_by_kind(recipe, LARGEST_BATCH) for recipe in rows.recipe.unique()}).T.fillna(0)
    found = {}
    for name, timed in rows.groupby("device"):
        design = work.loc[timed.recipe].to_numpy() / timed.value.to_numpy()[:, None]
        scale = design.max(axis=0)
        taken_s, _ = nnls(design / scale, np.ones(len(timed)))
        card = _core.device(str(name))
        of_output_s = (taken_s / scale)[work.columns.get_loc("pool")]
        found[str(name)] = float(of_output_s * card.sms * (card.clock_hz or np.nan))
    return found


def main() -> None:
    """Prints a line for each kind, size and precision."""
    found = measured()
    for kind in KINDS:
        print(f"{kind.name}: cycles of an SM for {kind.piece}")
        for (size, precision), counts in sorted(found[kind.name].items()):
            ends = f"{min(counts):.3g} to {max(counts):.3g}"
            print(f"  {size:6.0f} {precision:8} {statistics.median(counts):6.3g} ({ends}; {len(counts)} kernels)")
    print("avg_pool2d: cycles of an SM for an output of a window of 9 elements in whole networks")
    for device, count in of_networks().items():
        print(f"  {device:18} {count:6.3g}")


if __name__ == "__main__":
    main()

"""Prints how many cycles of an SM PyTorch's own kernels take, from the traces under data/measurements/gpu_campaign
(cpp/src/features/kernel_terms.cpp holds what the default predictor starts from).

python benchmarks/kernel_cycles.py

A trace names its kernels and we name ours: the two meet in order, where a network has as many of both. Cycles are those
of the data sheet's highest clock, of one SM: all SMs work at once. Kernels under 10 us are left out, since starting
them is part of their time.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path

from latpred import _core
from latpred.datasets import kernel_traces
from latpred.datasets.graph_cache import GraphCache, graph_of

MEASUREMENTS = Path(__file__).resolve().parents[1] / "data" / "measurements"
SHORTEST_S = 10e-6


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


def main() -> None:
    """Prints a line for each kind, size and precision."""
    found = measured()
    for kind in KINDS:
        print(f"{kind.name}: cycles of an SM for {kind.piece}")
        for (size, precision), counts in sorted(found[kind.name].items()):
            ends = f"{min(counts):.3g} to {max(counts):.3g}"
            print(f"  {size:6.0f} {precision:8} {statistics.median(counts):6.3g} ({ends}; {len(counts)} kernels)")


if __name__ == "__main__":
    main()

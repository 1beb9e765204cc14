"""Predictions per second of a loaded graph of about 200 operators, batch unchanged, on one core.

    python benchmarks/speed/session.py [--seconds 3] [--json session.json]

Counts whole answers: latency, memory, energy, intervals, MIG profile; tables are computed only when asked for.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from pathlib import Path

import latpred


def chain(blocks: int) -> latpred.Graph:
    """A residual network of 4 operators a block."""
    net = latpred.GraphBuilder()
    x = net.input("data", [64, 56, 56])
    for _ in range(blocks):
        weight = net.parameter([64, 64, 3, 3])
        y = net.apply("conv", [x, weight], kernel_shape=[3, 3], pads=[1, 1, 1, 1])
        y = net.apply("batch_norm", [y, *(net.parameter([64]) for _ in range(4))])
        y = net.apply("relu", [y])
        x = net.apply("add", [x, y])
    net.output(x)
    return net.build(batch=8)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--seconds", type=float, default=3.0)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    graph = chain(50)
    latpred.predict(graph=graph)
    times = []
    end = time.perf_counter() + options.seconds
    while time.perf_counter() < end:
        start = time.perf_counter()
        latpred.predict(graph=graph, device="A100")
        times.append(time.perf_counter() - start)
    median_s = statistics.median(times)
    row = {"operators": len(graph.nodes), "median_us": 1e6 * median_s, "predictions_per_s": 1 / median_s}
    print(
        f"{row['operators']} operators: {row['median_us']:.0f} us a prediction, "
        f"{row['predictions_per_s']:.0f} per second"
    )
    if options.json is not None:
        options.json.write_text(json.dumps(row, indent=1) + "\n")


if __name__ == "__main__":
    main()

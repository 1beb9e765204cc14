"""What a process on a processor holds, by runtime: the law in cpp/src/memory/runtime_memory.cpp and its errors.

python benchmarks/memory/processes.py

process = own + a x weights + b x (inputs + activations at their peak), non-negative least squares of the relative error
on the resident memory of whole processes in the set "families"; errors with each family left out in turn.
"""

from __future__ import annotations

import numpy as np
from latpred import _core
from latpred.datasets import families, load
from latpred.datasets.families_measured import ALLOCATOR
from latpred.datasets.rows import MEASURED_HERE
from scipy.optimize import nnls

COVERED_PERCENT = 80
PROCESSOR = "Xeon Gold 6240"  # any: these parts are the same on all


def parts_of(calls: families.Families, runtime: str) -> np.ndarray:
    """[calls, 3]: one, bytes of weights, bytes of inputs and activations."""
    rows = []
    for place in range(len(calls)):
        graph = calls.graph(place)
        memory = _core.estimate_memory(graph, _core.fuse(graph, runtime, "fp32"), PROCESSOR, False)
        rows.append([1.0, memory.weights_bytes, memory.inputs_bytes + memory.activations_peak_bytes])
    return np.array(rows)


def law_of(parts: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """[3] own bytes, and the two factors."""
    scale = parts.max(axis=0)
    found, _ = nnls(parts / scale / measured[:, None], np.ones(len(measured)))
    return np.asarray(found / scale)


def main() -> None:
    """Prints a line for each runtime."""
    whole = load("families")
    rows = whole.rows
    is_process = (rows.source == MEASURED_HERE) & (rows.device != ALLOCATOR) & rows.memory_bytes.notna()
    print("runtime      calls   own MB  weights  activations   left out: MAPE  median  p90    80 % within")
    for runtime in sorted(set(rows.runtime[is_process])):
        calls = whole.select((is_process & (rows.runtime == runtime)).to_numpy())
        measured, family = calls.rows.memory_bytes.to_numpy(), calls.rows.family.to_numpy()
        parts = parts_of(calls, runtime)
        own, weights, activations = law_of(parts, measured)
        told = np.empty(len(measured))
        for name in set(family):
            is_out = family == name
            told[is_out] = parts[is_out] @ law_of(parts[~is_out], measured[~is_out])
        errors = 100 * np.abs(told / measured - 1)
        within = np.exp(np.percentile(np.abs(np.log(told / measured)), COVERED_PERCENT))
        print(
            f"{runtime:12} {len(measured):5}  {own / 1e6:7.1f}  {weights:7.2f}  {activations:11.2f}  "
            f"{errors.mean():15.1f}  {np.median(errors):6.1f}  {np.percentile(errors, 90):4.1f}  x/{within:.3f}"
        )


if __name__ == "__main__":
    main()

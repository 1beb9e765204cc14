"""Prints, for each network of tests/python/memory_networks.py, PyTorch's activation peak, ours, and the CPU's scratch.

python benchmarks/memory/activations.py [--batch 2] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path

import torch
from latpred import _core

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))

from allocator_events import record
from memory_networks import DESCRIPTIONS, describe


def measure(name: str, batch: int, gradients: bool) -> dict[str, object]:
    network = describe(name, batch)
    truth = record(network.torch_module(), network.torch_inputs(), gradients=gradients)
    graph = network.graph()
    kernels = _core.fuse(graph, "eager", "fp32")
    start = time.perf_counter()
    ours = _core.estimate_memory(graph, kernels, "A100", gradients)
    return {
        "network": name,
        "batch": batch,
        "autograd": gradients,
        "nodes": len(graph.nodes),
        "torch_peak_bytes": truth.activation_peak,
        "latpred_peak_bytes": int(ours.activations_peak_bytes),
        "torch_peak_with_scratch_bytes": truth.total_peak,
        "scratch_bytes": dict(truth.scratch_peaks),
        "estimate_s": time.perf_counter() - start,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch", type=int, default=2)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    rows = [measure(name, arguments.batch, gradients) for name in DESCRIPTIONS for gradients in (False, True)]
    print(f"{'network':28}{'autograd':>9}{'torch':>12}{'latpred':>12}{'with scratch':>14}")
    for row in rows:
        print(
            f"{row['network']:28}{'yes' if row['autograd'] else 'no':>9}{row['torch_peak_bytes']:>12}"
            f"{row['latpred_peak_bytes']:>12}{row['torch_peak_with_scratch_bytes']:>14}"
        )
    equal = sum(row["torch_peak_bytes"] == row["latpred_peak_bytes"] for row in rows)
    print(f"{equal} of {len(rows)} equal to the byte (PyTorch {torch.__version__})")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()

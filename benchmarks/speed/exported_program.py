"""Reading a .pt2 archive: latpred against torch.export.load, side by side; then a network of 7 billion parameters.

    python benchmarks/speed/exported_program.py [--rounds 11] [--json exported_program.json]

Needs torch and torchvision; for the second part transformers. The first part writes ResNet50 with its weights (104 MB)
and reads it from the cache; latpred also derives every size at batch 1, torch does not. The second part exports Llama
7B on fake tensors, which torch.export.load cannot read, and reads it in a process of its own for its peak memory.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import latpred
import torch
from common import paired, report, summary
from torch._subclasses import FakeTensorMode

AIM_RATIO, AIM_SECONDS, AIM_RSS_MB = 20, 0.5, 100
# VmHWM: getrusage would tell of the process that started this one.
MEASURE = """
import json, re, sys, time
from latpred import _core
def peak_mb():
    return int(re.search(r"VmHWM:\\s+([0-9]+)", open("/proc/self/status").read())[1]) * 1024 / 1e6
before = peak_mb()
start = time.perf_counter()
graph = _core.resolve(_core.read_program(sys.argv[1]))
seconds = time.perf_counter() - start
print(json.dumps({"seconds": seconds, "rss_mb": peak_mb(), "rss_before_mb": before, "nodes": len(graph.nodes),
                  "parameters": graph.num_parameters}))
"""


def torchvision_models():
    """torchvision's own operators are missing beside a CPU build of torch: their schemas are enough to import it."""
    library = torch.library.Library("torchvision", "DEF")
    for name in ("nms", "qnms"):
        library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    torchvision_models.library = library
    from torchvision import models

    return models


def save_resnet50(path: Path) -> None:
    module = torchvision_models().resnet50(weights=None).eval()
    with torch.no_grad():
        torch.export.save(torch.export.export(module, (torch.zeros(1, 3, 224, 224),), strict=False), path)


def save_llama_7b(path: Path) -> None:
    from transformers import LlamaConfig, LlamaForCausalLM

    with torch.device("meta"):
        module = LlamaForCausalLM(LlamaConfig(use_cache=False)).eval()
    with FakeTensorMode(allow_non_fake_inputs=True), torch.no_grad():
        module.to_empty(device="cpu")
        ids = torch.zeros(1, 128, dtype=torch.int64)
        torch.export.save(torch.export.export(module, (), {"input_ids": ids}, strict=False), path)


def measure_alone(path: Path) -> dict[str, float]:
    answer = subprocess.run([sys.executable, "-c", MEASURE, str(path)], check=True, capture_output=True, text=True)
    return json.loads(answer.stdout)


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=11)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "resnet50.pt2"
        save_resnet50(path)
        contestants = {"latpred.load": lambda: latpred.load(path), "torch.export.load": lambda: torch.export.load(path)}
        rows = summary(paired(contestants, options.rounds), ours="latpred.load")
        report(f"ResNet50, {path.stat().st_size / 1e6:.0f} MB (aim: x{AIM_RATIO})", rows, options.json)
        try:
            import transformers  # noqa: F401
        except ImportError:
            print("transformers is not installed: Llama 7B is left out (pip install transformers)")
            return
        path = Path(folder) / "llama_7b.pt2"
        save_llama_7b(path)
        best = min((measure_alone(path) for _ in range(3)), key=lambda answer: answer["seconds"])
        size = f"{best['parameters']:,} parameters, {best['nodes']} operators, {path.stat().st_size / 1e6:.1f} MB"
        memory = f"peak {best['rss_mb']:.0f} MB (aim {AIM_RSS_MB}; {best['rss_before_mb']:.0f} MB before it was read)"
        print(f"Llama 7B, {size}: {best['seconds']:.3f} s (aim {AIM_SECONDS}), {memory}")


if __name__ == "__main__":
    main()

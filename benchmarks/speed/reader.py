"""Load + shapes of the nine networks in the onnx package: latpred against onnx and OpenVINO, side by side.

    python benchmarks/speed/reader.py [--rounds 11] [--json reader.json]

Needs the packages onnx and, for its row, openvino. Each contestant reads the nine files from disk (cached by the first
round) and works out every shape at batch 1.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path

import latpred
import onnx
import onnx.shape_inference
from common import paired, report, summary

LIGHT = sorted((Path(onnx.__file__).parent / "backend/test/data/light").glob("light_*.onnx"))
INPUT = (3, 224, 224)


def run_latpred() -> None:
    for path in LIGHT:
        latpred.load(path)


def run_onnx() -> None:
    for path in LIGHT:
        onnx.shape_inference.infer_shapes(onnx.load(path))


def openvino_contestant() -> Callable[[], object]:
    import openvino

    core = openvino.Core()

    def run() -> None:
        for path in LIGHT:
            model = core.read_model(path)
            model.reshape({model.inputs[0]: [1, *INPUT]})

    return run


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=11)
    arguments.add_argument("--json", type=Path)
    options = arguments.parse_args()
    contestants = {"latpred.load": run_latpred, "onnx.load + infer_shapes": run_onnx}
    try:
        contestants["openvino read_model + reshape"] = openvino_contestant()
    except ImportError:
        print("openvino is not installed: its row is left out (pip install openvino)")
    rows = summary(paired(contestants, options.rounds), ours="latpred.load")
    report(f"load + shapes of {len(LIGHT)} networks, batch 1", rows, options.json)


if __name__ == "__main__":
    main()

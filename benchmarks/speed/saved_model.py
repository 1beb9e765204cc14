"""Reading a SavedModel: latpred against tf.saved_model.load, each in a process of its own, in turn.

    python benchmarks/speed/saved_model.py --tensorflow PYTHON [--rounds 5] [--json saved_model.json]

PYTHON is an interpreter that has tensorflow and keras; this one needs neither. The networks are exported from
keras.applications without weights of their own. Imports and one load that is not counted come first. latpred's time
ends with every shape known at batch 1; TensorFlow's with the functions restored.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from common import report, summary

NETWORKS = ("MobileNetV2", "ResNet50", "DenseNet121")

EXPORT = """
import sys, keras
for name in sys.argv[2:]:
    getattr(keras.applications, name)(weights=None).export(sys.argv[1] + "/" + name, verbose=False)
"""

# Loads the folders that it is told, one on each line, and answers with seconds.
CHILD = """
import sys, time
{imports}
print("ready", flush=True)
for line in sys.stdin:
    start = time.perf_counter()
    {load}(line.strip())
    print(time.perf_counter() - start, flush=True)
"""


class Contestant:
    """A child process that loads what it is told to."""

    def __init__(self, python: str, imports: str, load: str) -> None:
        code = CHILD.format(imports=imports, load=load)
        self.process = subprocess.Popen(
            [python, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.answer()

    def answer(self) -> str:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the child process ended with code {self.process.wait()}")
        return line

    def seconds(self, folder: Path) -> float:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{folder}\n")
        self.process.stdin.flush()
        return float(self.answer())

    def close(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.close()
        self.process.wait()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tensorflow", required=True, metavar="PYTHON")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    rows = {}
    with tempfile.TemporaryDirectory() as scratch:
        subprocess.run([arguments.tensorflow, "-c", EXPORT, scratch, *NETWORKS], check=True, capture_output=True)
        contestants = {
            "latpred": Contestant(sys.executable, "import latpred", "latpred.load"),
            "tensorflow": Contestant(arguments.tensorflow, "import tensorflow as tf", "tf.saved_model.load"),
        }
        for network in NETWORKS:
            seconds: dict[str, list[float]] = {name: [] for name in contestants}
            for counted in range(-1, arguments.rounds):
                for name, contestant in contestants.items():
                    elapsed = contestant.seconds(Path(scratch) / network)
                    if counted >= 0:
                        seconds[name].append(elapsed)
            for name, row in summary(seconds, "latpred").items():
                rows[f"{network}, {name}"] = row
        for contestant in contestants.values():
            contestant.close()
    report("Reading a SavedModel", rows, arguments.json)


if __name__ == "__main__":
    main()

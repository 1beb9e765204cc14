"""What starting costs: `import latpred` over `import numpy`, and `latpred predict` from a cold shell.

    python benchmarks/speed/startup.py [--rounds 11]

Seconds and peak memory of whole processes, medians over the rounds, contestants in turn.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

import onnx

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
KIB_PER_MIB = 1024


def run_process(command: list[str]) -> tuple[float, float]:
    """Wall seconds and peak resident MiB of one run of `command`."""
    start = time.perf_counter()
    silent = os.open(os.devnull, os.O_WRONLY)
    pid = os.posix_spawn(command[0], command, os.environ, file_actions=[(os.POSIX_SPAWN_DUP2, silent, 1)])
    _, status, usage = os.wait4(pid, 0)
    os.close(silent)
    if status != 0:
        raise SystemExit(f"{' '.join(command)} ended with status {status}")
    return time.perf_counter() - start, usage.ru_maxrss / KIB_PER_MIB


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=11)
    options = arguments.parse_args()
    densenet = str(LIGHT / "light_densenet121.onnx")
    commands = {
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import numpy, latpred": [sys.executable, "-c", "import numpy, latpred"],
        "latpred predict densenet121": [sys.executable, "-m", "latpred", "predict", densenet, "--device", "A100"],
    }
    results: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    for counted in range(-1, options.rounds):
        for name, command in commands.items():
            result = run_process(command)
            if counted >= 0:
                results[name].append(result)
    medians = {name: [statistics.median(column) for column in zip(*rows, strict=True)] for name, rows in results.items()}
    for name, (seconds, mib) in medians.items():
        print(f"{name:32s} {1e3 * seconds:8.1f} ms {mib:8.1f} MiB")
    (base_s, base_mib), (ours_s, ours_mib) = medians["import numpy"], medians["import numpy, latpred"]
    print(f"{'import latpred on top':32s} {1e3 * (ours_s - base_s):8.1f} ms {ours_mib - base_mib:8.1f} MiB")


if __name__ == "__main__":
    main()

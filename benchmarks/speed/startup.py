"""What starting costs: `import latpred` over `import numpy`, and `latpred predict` from a cold shell.

    python benchmarks/speed/startup.py [--rounds 11]

Seconds of whole processes and peak resident memory, medians over the rounds, contestants in turn.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

import onnx

LIGHT = Path(onnx.__file__).parent / "backend/test/data/light"
KIB_PER_MIB = 1024


# Of the process itself: the operating system's own figure for a finished child counts what it was forked from.
PRINT_PEAK = "; print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')).split()[1])"


def run_process(command: list[str]) -> tuple[float, str]:
    """Wall seconds of one run of `command`, and what it printed."""
    start = time.perf_counter()
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    return time.perf_counter() - start, result.stdout


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rounds", type=int, default=11)
    options = arguments.parse_args()
    densenet = str(LIGHT / "light_densenet121.onnx")
    commands = {
        "import numpy": [sys.executable, "-c", "import numpy" + PRINT_PEAK],
        "import numpy, latpred": [sys.executable, "-c", "import numpy, latpred" + PRINT_PEAK],
        "latpred predict densenet121": [sys.executable, "-m", "latpred", "predict", densenet, "--device", "A100"],
    }
    results: dict[str, list[tuple[float, str]]] = {name: [] for name in commands}
    for counted in range(-1, options.rounds):
        for name, command in commands.items():
            result = run_process(command)
            if counted >= 0:
                results[name].append(result)
    seconds = {name: statistics.median(row[0] for row in rows) for name, rows in results.items()}
    for name, value in seconds.items():
        print(f"{name:32s} {1e3 * value:8.1f} ms")
    base, ours = "import numpy", "import numpy, latpred"
    mib = {name: statistics.median(int(row[1]) for row in results[name]) / KIB_PER_MIB for name in (base, ours)}
    added_ms = 1e3 * (seconds[ours] - seconds[base])
    print(f"{'import latpred on top':32s} {added_ms:8.1f} ms {mib[ours] - mib[base]:8.1f} MiB")


if __name__ == "__main__":
    main()

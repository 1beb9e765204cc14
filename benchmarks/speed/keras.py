"""Reading a .keras archive: latpred against keras.saving.load_model, which runs in a process of its own.

    python benchmarks/speed/keras.py [--keras-python PYTHON] [--rounds 5] [--json keras.json]

PYTHON has keras and a backend (KERAS_BACKEND says which); it writes MobileNetV2 with its weights (14 MB) and loads it
from the cache. latpred also derives every size at batch 1, Keras does not.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from latpred import _core

AIM_RATIO = 50
PEER = """
import json, sys, time
import keras
path, rounds = sys.argv[1], int(sys.argv[2])
keras.applications.MobileNetV2(weights=None).save(path)
times = []
for _ in range(rounds):
    keras.backend.clear_session()
    start = time.perf_counter()
    keras.saving.load_model(path, compile=False)
    times.append(time.perf_counter() - start)
print(json.dumps({"seconds": times, "version": keras.__version__, "backend": keras.backend.backend()}))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--keras-python", default=sys.executable)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = str(Path(folder) / "mobilenetv2.keras")
        command = [arguments.keras_python, "-c", PEER, path, str(arguments.rounds)]
        output = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, cwd=folder).stdout
        peer = json.loads(output.splitlines()[-1])
        times = []
        for _ in range(10 * arguments.rounds):
            start = time.perf_counter()
            _core.resolve(_core.read_program(path))
            times.append(time.perf_counter() - start)
    ours_s, peer_s = statistics.median(times), statistics.median(peer["seconds"])
    result = {"latpred_s": ours_s, "keras_s": peer_s, "ratio": peer_s / ours_s, "aim": AIM_RATIO, **peer}
    print(
        f"latpred {ours_s * 1e3:.2f} ms, keras {peer['version']} on {peer['backend']} {peer_s * 1e3:.0f} ms: "
        f"{result['ratio']:.0f}x (aim {AIM_RATIO}x)"
    )
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()

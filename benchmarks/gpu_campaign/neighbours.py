"""Several processes on one GPU at a time. As a program: one of them, which waits for the word and then runs."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from gpu_campaign.journal import Result
from gpu_campaign.settings import Setting

_READY, _GO = "ready", "go"
_RUN_S, _SMOKE_S = 3.0, 0.3
# Only what lies in the middle counts: the processes do not start and stop at once.
_EDGE_SHARE = 0.2
_START_TIMEOUT_S = 120.0


def measure_together(bench: Any, setting: Setting) -> Result:
    """A row for each member, beside the others."""
    members = ((setting.recipe, setting.batch), *setting.beside)
    seconds = _SMOKE_S if bench.is_smoke else _RUN_S
    processes = [_start(bench.device, setting.precision, member, seconds) for member in members]
    try:
        for process in processes:
            _expect_ready(process)
        for process in processes:
            process.stdin.write(_GO + "\n")
            process.stdin.flush()
        answers = [json.loads(process.communicate(timeout=_START_TIMEOUT_S)[0]) for process in processes]
    except (RuntimeError, ValueError, OSError, subprocess.TimeoutExpired) as error:
        return Result(setting.key, error=f"{type(error).__name__}: {error}")
    finally:
        for process in processes:
            process.kill()
            process.wait()
    rows = []
    for i, (recipe, batch) in enumerate(members):
        others = " and ".join(f"{other} x{count}" for j, (other, count) in enumerate(members) if j != i)
        own = Setting(recipe, batch, setting.precision)
        answer = answers[i]
        protocol = f"median of calls in the middle of {seconds:g} s, wall clock, each process synchronised"
        rows.append(
            bench.row(
                own, f"latency_s beside {others}", answer["latency_s"], protocol, "", answer["noise"], answer["runs"]
            )
        )
    return Result(setting.key, tuple(rows))


def _start(device: str, precision: str, member: tuple[str, int], seconds: float) -> subprocess.Popen[str]:
    recipe, batch = member
    folders = [str(Path(__file__).resolve().parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(folder for folder in folders if folder)}
    program = [sys.executable, "-m", __name__, device, recipe, str(batch), precision, str(seconds)]
    return subprocess.Popen(program, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment)


def _expect_ready(process: subprocess.Popen[str]) -> None:
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if line != _READY:
        raise RuntimeError(f"a process beside the others could not start: it said '{line}'")


def main(device: str, recipe: str, batch: str, precision_name: str, seconds: str) -> None:
    """One process: builds, warms up, says so, waits, runs, prints."""
    import torch

    from gpu_campaign.measuring import Bench, precision

    bench = Bench(device, is_smoke=True)
    with torch.inference_mode(), precision(precision_name, device):
        call = bench.call_of(Setting(recipe, int(batch), precision_name))
        for _ in range(5):
            call()
        bench.synchronize()
        print(_READY, flush=True)
        if sys.stdin.readline().strip() != _GO:
            return
        times: list[tuple[float, float]] = []
        start = time.perf_counter()
        while (begin := time.perf_counter()) - start < float(seconds):
            call()
            bench.synchronize()
            times.append((begin - start, time.perf_counter() - begin))
    edge = _EDGE_SHARE * float(seconds)
    middle = [taken for begun, taken in times if edge <= begun <= float(seconds) - edge] or [times[-1][1]]
    latency_s = statistics.median(middle)
    noise = statistics.pstdev(middle) / latency_s
    print(json.dumps({"latency_s": latency_s, "noise": noise, "runs": len(middle)}))


if __name__ == "__main__":
    main(*sys.argv[1:])

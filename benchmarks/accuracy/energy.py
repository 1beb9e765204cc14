"""Checks predicted power and energy against what was measured: kernels of an H200 left out of the fit by blocks of
shapes (aiconfigurator), language models on A100 and H100 (splitwise-sim, LLM-Inference-Bench), and, as bounds only,
whole systems at the wall (MLPerf) and training (MISO).

python benchmarks/accuracy/energy.py --data FOLDER --graphs graphs.sqlite --json FILE [--docs docs/energy.md]
python benchmarks/accuracy/energy.py --json FILE --docs docs/energy.md     draws the tables again
"""

from __future__ import annotations

import dataclasses
import gzip
import json
import math
import sys
import time
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from latpred import _core
from latpred.api import session
from latpred.datasets import mlperf, splitwise
from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import energy as fit
from latpred.fitting.errors import summarise
from latpred.units import MILLIWATT

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docs_table

if TYPE_CHECKING:
    import pandas as pd

MARK = "benchmarks/accuracy/energy.py"
RUNTIME, PRECISION = "kernel", "fp16"  # serving stacks replay CUDA graphs
SHORTEST_PEAK_S = 0.2  # two readings: boards refresh theirs about every 100 ms
BENCH_FILE = Path("LLM-Inference-Bench") / "Plots" / "Fig_16_a_b" / "power_results.csv"
BENCH_DEVICES = {
    "Nvidia A100 GPU": "A100-SXM4-40GB",
    "Nvidia H100 GPU": "H100-SXM5-80GB",
    "Nvidia GH200 GPU": "GH200-96GB",
}
BENCH_MODELS = {"meta-llama/Llama-2-7b-hf": "llama2-7b", "meta-llama/Meta-Llama-3-8B": "llama3-8b"}
MISO_FOLDER = Path("socc22-miso") / "mps" / "configs" / "util_collection"
MISO_DEVICE = "A100-SXM4-40GB"


@dataclasses.dataclass(frozen=True)
class Check:
    """One reading of power over a known time, and what we say."""

    kind: str
    device: str
    measured_w: float
    predicted_w: float  # at the measured time
    log_half_width: float
    measured_s: float
    answer_j: float  # at the predicted time, as a user gets it
    answer_lower_j: float
    answer_upper_j: float

    @property
    def measured_j(self) -> float:
        return self.measured_w * self.measured_s


def default_predictor() -> _core.LoadedPredictor:
    """The one that answers when none is named."""
    name = _core.predictors()[0].name
    return _core.load_predictor(
        name, str(resources.files("latpred").joinpath("data", "predictors", f"{name}.safetensors"))
    )


def shares_of(kernel_s: list[float], latency_s: float) -> list[float]:
    """The kernels' seconds within a call that was measured to take `latency_s`: longer ones shrink to it, and of
    shorter ones the rest is waiting, for the host or for other workers."""
    total = sum(kernel_s)
    factor = min(1.0, latency_s / total) if total > 0 else 1.0
    return [factor * seconds for seconds in kernel_s]


def check(kind: str, graph: _core.Graph, device: str, latency_s: float, power_w: float, is_peak: bool = False) -> Check:
    """What we say of a call that took `latency_s` at `power_w`. A peak is reached while kernels run, not while they
    wait."""
    kernels = _core.fuse(graph, RUNTIME, PRECISION)
    kernel_s = [float(value) for value in default_predictor().latency(graph, kernels, device).kernel_s]
    kernel_s = shares_of(kernel_s, latency_s)
    estimate = _core.estimate_energy(kernels, kernel_s, sum(kernel_s) if is_peak else latency_s, device)
    answer = session().predict(graph, _core.PredictRequest(device=device, runtime=RUNTIME, precision=PRECISION))
    return Check(
        kind, device, power_w, estimate.mean_power_w, estimate.power_log_half_width, latency_s, answer.energy_j,
        *answer.energy_interval_j,
    )  # fmt: skip


def splitwise_checks(data: Path, cache: GraphCache) -> list[Check]:
    """Prompts at their highest power, steps of a token at the mean of their request. Prompts that are over before the
    power was read twice are left out."""
    rows = list(splitwise.read(data))
    latencies = {(row.recipe, row.batch, row.device): row.value for row in rows if row.quantity == "latency_s"}
    kinds = {"peak_power_w": "splitwise-sim, prompt", "mean_power_w": "splitwise-sim, token"}
    checks = []
    for row in rows:
        is_peak = row.quantity == "peak_power_w"
        if row.quantity not in kinds:
            continue
        latency_s = latencies[row.recipe, row.batch, row.device]
        if is_peak and latency_s < SHORTEST_PEAK_S:
            continue
        graph = cache.graph(row.recipe, row.batch)
        checks.append(check(kinds[row.quantity], graph, row.device, latency_s, row.value, is_peak))
    return checks


def bench_checks(data: Path, cache: GraphCache) -> list[Check]:
    """Requests of a prompt and as many tokens: nearly all of their time is steps of one token, taken half-way. Requests
    that do not fit the memory at once were run in several waves and are left out, as are boards whose limit is unknown,
    for which we answer nothing."""
    import pandas as pd

    checks = []
    for row in pd.read_csv(data / BENCH_FILE).itertuples(index=False):
        device = BENCH_DEVICES[row.Hardware]
        if _core.device(device).power_limit_w is None:
            continue
        length, batch = int(row[4]), int(row[5])
        graph = cache.graph(f"llm:{BENCH_MODELS[row.Model]}?seq=1&past={length + length // 2}", batch)
        whole = cache.graph(f"llm:{BENCH_MODELS[row.Model]}?seq=1&past={2 * length}", batch)
        kernels = _core.fuse(whole, RUNTIME, PRECISION)
        if _core.estimate_memory(whole, kernels, device).total_bytes > _core.device(device).memory_bytes:
            continue
        checks.append(
            check(
                f"LLM-Inference-Bench, {row.Framework}", graph, device, row.Latency / length, row.avg_power * MILLIWATT
            )
        )
    return checks


def kernel_lines(data: Path) -> list[dict[str, object]]:
    """Rows of the H200 whose reading has settled, each predicted by a fit that has not seen its block of shapes."""
    board = fit.board_of(fit.DEVICE)
    rows = fit.read(data)
    settled = fit.steady(rows)
    tested = fit.held_out(settled, board, fit.gap_share(rows, board))
    half_width = fit.log_half_width(tested)
    lines = []
    for kind in ["all kernels", *tested.kind.unique()]:
        part = tested if kind == "all kernels" else tested[tested.kind == kind]
        for column in ("model", "constant power", "limit"):
            predicted, measured = part[column].to_numpy(float), part.measured.to_numpy(float)
            line = {"kind": kind, "predictor": column, **dataclasses.asdict(summarise(predicted, measured))}
            if column == "model":
                line |= covered(np.log(measured / predicted), np.full(len(part), half_width))
            lines.append(line)
    return lines


def same_work_scatter(rows: pd.DataFrame) -> dict[str, float]:
    """For each kind of kernel the median, over kernels of the same work and traffic, of the standard deviation of their
    power over its mean: what no formula of work and traffic can explain."""
    groups = rows.groupby(["kind", "flops", "bytes"]).power_w
    scatter = (groups.std() / groups.mean()).dropna()
    return {str(kind): float(value) for kind, value in scatter.groupby(level="kind").median().items()}


def covered(log_error: np.ndarray, log_half_width: np.ndarray) -> dict[str, object]:
    """How many of log_error [S] lie within log_half_width [S], and its median as a factor."""
    return {
        "covered": float(np.mean(np.abs(log_error) <= log_half_width)),
        "interval_factor": float(np.exp(np.median(log_half_width))),
    }


def board_lines(checks: list[Check]) -> list[dict[str, object]]:
    """Power at the measured time and energy at the predicted one, by source and board."""
    lines = []
    for kind, device in sorted({(each.kind, each.device) for each in checks}):
        inside = [each for each in checks if (each.kind, each.device) == (kind, device)]
        columns = {name: np.array([getattr(each, name) for each in inside]) for name in
                   ("measured_w", "predicted_w", "log_half_width", "measured_j", "answer_j", "answer_lower_j",
                    "answer_upper_j")}  # fmt: skip
        power = summarise(columns["predicted_w"], columns["measured_w"])
        lines.append(
            {"kind": kind, "device": device, "what": "power", **dataclasses.asdict(power),
             **covered(np.log(columns["measured_w"] / columns["predicted_w"]), columns["log_half_width"])}
        )  # fmt: skip
        joules = summarise(columns["answer_j"], columns["measured_j"])
        is_inside = (columns["answer_lower_j"] <= columns["measured_j"]) & (
            columns["measured_j"] <= columns["answer_upper_j"]
        )
        factor = np.sqrt(columns["answer_upper_j"] / columns["answer_lower_j"])
        lines.append(
            {"kind": kind, "device": device, "what": "energy", **dataclasses.asdict(joules),
             "covered": float(is_inside.mean()), "interval_factor": float(np.median(factor))}
        )  # fmt: skip
    return lines


def system_lines(data: Path, cache: GraphCache) -> list[dict[str, object]]:
    """ResNet-50 of MLPerf with the system measured at the wall: millijoules for an image, all of the system's over ours
    of the boards. What the rest of the system draws, idle, is not stated and cannot be taken off: a bound, no error."""
    import pandas as pd

    table = pd.read_csv(data / "mlperf_inference" / "mlperf_runs.csv.gz")
    table = table[(table.benchmark == mlperf.BENCHMARK) & (table.scenario == "Offline") & table.samples_per_s.notna()]
    lines = []
    for row in table[table.system_watts_mean.notna()].itertuples(index=False):
        device, partition = mlperf.DEVICES.get(row.accelerator, ("", ""))
        if not device or partition or row.submitter != "NVIDIA":
            continue
        images = 256
        request = _core.PredictRequest(device=device, runtime="tensorrt", precision="int8")
        answer = session().predict(cache.graph(mlperf.RECIPE, images), request)
        system_w_per_board = row.system_watts_mean / row.n_accel
        lines.append(
            {
                "system": row.system,
                "device": device,
                "system_w_per_board": system_w_per_board,
                "system_mj_per_image": 1e3 * row.system_watts_mean / row.samples_per_s,
                "predicted_mj_per_image": 1e3 * answer.energy_j / images,
                "board_limit_w": _core.device(device).power_limit_w,
            }
        )
    return lines


def training_range(data: Path) -> dict[str, object]:
    """Mean power of MISO's training jobs beside the range that we can answer with. The networks are not described well
    enough to be built, and training is not what we predict."""
    watts = []
    for path in sorted((data / MISO_FOLDER).glob("power_*.json.gz")):
        watts += [float(value) for value in json.loads(gzip.decompress(path.read_bytes())).values()]
    board = _core.device(MISO_DEVICE)
    inside = [board.idle_power_w.value <= value <= (board.power_limit_w or math.inf) for value in watts]
    return {
        "device": MISO_DEVICE,
        "readings": len(watts),
        "least_w": min(watts),
        "most_w": max(watts),
        "idle_w": board.idle_power_w.value,
        "limit_w": board.power_limit_w,
        "between": sum(inside) / len(inside),
    }


def _cells(line: dict[str, object], *names: str) -> list[str]:
    factor = line.get("interval_factor")
    return [
        *(str(line[name]) for name in names),
        str(line["rows"]),
        f"{line['bias']:.2f}",
        f"{line['mape_percent']:.1f}",
        f"{line['median_percent']:.1f}",
        f"{line['p90_percent']:.1f}",
        "" if factor is None else f"{100 * float(line['covered']):.0f}",  # type: ignore[arg-type]
        "" if factor is None else f"x/{factor:.2f}",
    ]


ERROR_HEADINGS = ["rows", "bias", "MAPE %", "median %", "p90 %", "interval covers %", "interval"]


def markdown(result: dict[str, object]) -> str:
    """The tables as docs/energy.md shows them."""
    training = result["training"]
    return (
        f"Made by `{result['command']}`, predictor `{result['predictor']}`; {result['seconds']:.0f} s.\n\n"
        "Power of kernels on an H200, blocks of shapes left out of the fit:\n\n"
        + docs_table.table(
            ["kind", "predictor", *ERROR_HEADINGS],
            [_cells(line, "kind", "predictor") for line in result["kernels"]],  # type: ignore[attr-defined]
        )
        + "\nReadings of the same work and traffic differ among themselves, standard deviation over mean: "
        + ", ".join(
            f"{kind} {100 * value:.1f} %"
            for kind, value in result["same_work_scatter"].items()  # type: ignore[attr-defined]
        )
        + ".\n"
        + "\nOther boards: power at the measured time, and energy at the predicted one:\n\n"
        + docs_table.table(
            ["source", "device", "what", *ERROR_HEADINGS],
            [_cells(line, "kind", "device", "what") for line in result["boards"]],  # type: ignore[attr-defined]
        )
        + "\nMLPerf, ResNet-50 at int8, whole system at the wall (boards capped below the limit that we know):\n\n"
        + docs_table.table(
            [
                "system",
                "device",
                "system W per board",
                "board limit W",
                "system mJ per image",
                "predicted mJ per image",
            ],
            [
                [
                    str(line["system"]),
                    str(line["device"]),
                    f"{line['system_w_per_board']:.0f}",
                    f"{line['board_limit_w']:.0f}",
                    f"{line['system_mj_per_image']:.2f}",
                    f"{line['predicted_mj_per_image']:.2f}",
                ]
                for line in result["systems"]  # type: ignore[attr-defined]
            ],
        )
        + f"\nMISO, training on {training['device']}: {training['readings']} mean readings from "  # type: ignore[index]
        f"{training['least_w']:.0f} to {training['most_w']:.0f} W, "  # type: ignore[index]
        f"{100 * training['between']:.0f} % of them between idle ({training['idle_w']:.0f} W) and the limit "  # type: ignore[index]
        f"({training['limit_w']:.0f} W).\n"  # type: ignore[index]
    )


def run(data: Path, graphs: Path) -> dict[str, object]:
    """All checks."""
    start = time.perf_counter()
    cache = GraphCache(graphs)
    checks = splitwise_checks(data, cache) + bench_checks(data, cache)
    return {
        "command": "python benchmarks/accuracy/energy.py --data FOLDER --graphs FILE",
        "predictor": _core.predictors()[0].name,
        "kernels": kernel_lines(data),
        "same_work_scatter": same_work_scatter(fit.steady(fit.read(data))),
        "boards": board_lines(checks),
        "checks": [dataclasses.asdict(each) for each in checks],
        "systems": system_lines(data, cache),
        "training": training_range(data),
        "seconds": time.perf_counter() - start,
    }


if __name__ == "__main__":
    docs_table.command(__doc__, MARK, run, markdown)

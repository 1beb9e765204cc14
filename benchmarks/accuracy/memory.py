"""Checks predicted memory against what ran and what ran out: the largest batches of timm's tables, and the peaks that
lambda-diffusers measured of Stable Diffusion.

python benchmarks/accuracy/memory.py --data FOLDER --graphs data/measurements/graphs.xz --json FILE
    [--docs docs/memory.md]
python benchmarks/accuracy/memory.py --json FILE --docs docs/memory.md     draws the tables again

timm's benchmark starts at the batch that it was asked for and, whenever a call raises, goes on with the next smaller
one of 2048, 1536, 1024, 768, 512, ...: the batch in the table ran, and where it is smaller than the one asked for, the
step above it did not. Any error counts there, not only a lack of memory: what also hits one of the limits below is
counted apart.
"""

from __future__ import annotations

import dataclasses
import math
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
from latpred import _core
from latpred.api import session
from latpred.datasets import lambda_diffusers, timm
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.rows import Row
from latpred.errors import LatpredError
from latpred.fitting.errors import summarise
from latpred.fitting.split import TEST, part_of_family

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docs_table

MARK = "benchmarks/accuracy/memory.py"
MOST_ELEMENTS = 2**31  # of a tensor that a kernel with 32-bit indices reaches: many kernels go on
MOST_ATTENTION_BATCH = 65_535  # the largest second and third size of a CUDA grid: nothing goes on
GRID, INDEX = "grid", "index"
BYTES_OF_PRECISION = {"fp16": 2, "tf32": 4, "fp32": 4}


def step_above(batch: int) -> int:
    """The batch that timm's benchmark tried before it went down to `batch`."""
    floor = 1 << (batch.bit_length() - 1)
    return floor * 3 // 2 if batch == floor and floor > 1 else floor * 2


@dataclasses.dataclass(frozen=True)
class Estimate:
    """What we say of one network at one batch."""

    total_bytes: float
    lower_bytes: float
    upper_bytes: float
    context_bytes: float


@dataclasses.dataclass(frozen=True)
class Trial:
    """A batch that ran or failed on a card, and what we say."""

    table: str
    part: str  # of the committed split: TEST, or a fold
    ran: bool
    is_largest: bool  # one step more failed, or this is that step
    capacity_bytes: float
    estimate: Estimate
    other_limit: str = ""  # GRID or INDEX: what else than memory may have stopped it


def find_other_limit(graph: _core.Graph) -> str:
    """GRID or INDEX where a kernel cannot, or may not, run whatever the memory."""
    for node in graph.nodes:
        if node.operator == "scaled_dot_product_attention" and node.inputs[0].shape[0] > MOST_ATTENTION_BATCH:
            return GRID
    sizes = (math.prod(tensor.shape) for node in graph.nodes for tensor in node.outputs if tensor is not None)
    return INDEX if max(sizes, default=0) >= MOST_ELEMENTS else ""


def estimate(graph: _core.Graph, row: Row) -> Estimate:
    """Our answer about the network of `row`."""
    request = _core.PredictRequest(
        device=row.device, partition=row.partition, runtime=row.runtime, precision=row.precision, predictor="roofline"
    )
    answer = session().predict(graph, request)
    memory = answer.memory
    return Estimate(memory.total_bytes, *answer.memory_interval_bytes, memory.context_bytes)


def trials(rows: Iterable[Row], cache: GraphCache) -> Iterator[Trial]:
    """Every batch that ran on a GPU, and the step above it where the table stopped short of the batch asked for."""
    listed = sorted((row for row in rows if _core.device(row.device).is_gpu), key=lambda row: (row.recipe, row.batch))
    names = [f"{row.device}, {row.runtime} {row.precision}, {row.layout}, {row.runtime_version}" for row in listed]
    asked: dict[str, int] = {}
    for name, row in zip(names, listed, strict=True):
        asked[name] = max(asked.get(name, 0), row.batch)
    parts = part_of_family()
    made: dict[tuple[object, ...], Estimate] = {}
    limits: dict[tuple[str, int], str] = {}
    for name, row in zip(names, listed, strict=True):
        recipe = row.executed or row.recipe
        if recipe not in cache:
            continue
        is_largest = row.batch < asked[name]
        for batch in (row.batch, step_above(row.batch)) if is_largest else (row.batch,):
            key = (recipe, batch, row.runtime, row.precision, row.device)
            ran = batch == row.batch
            try:
                if key not in made or (not ran and key[:2] not in limits):
                    graph = cache.graph(recipe, batch)
                    made[key] = estimate(graph, row)
                    if not ran:
                        limits[recipe, batch] = find_other_limit(graph)
            except LatpredError:
                break  # captured at one batch alone
            limit = "" if ran else limits[recipe, batch]
            capacity = _core.device(row.device).memory_bytes
            yield Trial(name, parts[row.family], ran, is_largest, capacity, made[key], limit)


def share(values: Iterable[bool]) -> float | None:
    """Of those that are true; None of none."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else None


def count(listed: Iterable[Trial]) -> dict[str, float | None]:
    """How often the point, and how often the whole interval, is on the wrong side of the card's memory."""
    listed = list(listed)
    ran = [trial for trial in listed if trial.ran]
    largest = [trial for trial in ran if trial.is_largest]
    failed = [trial for trial in listed if not trial.ran and trial.other_limit != GRID]
    alone = [trial for trial in failed if not trial.other_limit]

    def above(trial: Trial, value: float) -> bool:
        return value > trial.capacity_bytes

    return {
        "ran": len(ran),
        "ran_said_too_large": share(above(t, t.estimate.total_bytes) for t in ran),
        "ran_interval_too_large": share(above(t, t.estimate.lower_bytes) for t in ran),
        "largest": len(largest),
        "largest_said_too_large": share(above(t, t.estimate.total_bytes) for t in largest),
        "largest_interval_too_large": share(above(t, t.estimate.lower_bytes) for t in largest),
        "failed": len(failed),
        "failed_said_fits": share(not above(t, t.estimate.total_bytes) for t in failed),
        "failed_interval_fits": share(not above(t, t.estimate.upper_bytes) for t in failed),
        "alone": len(alone),
        "alone_said_fits": share(not above(t, t.estimate.total_bytes) for t in alone),
        "alone_interval_fits": share(not above(t, t.estimate.upper_bytes) for t in alone),
        "failed_at_grid": sum(not t.ran and t.other_limit == GRID for t in listed),
    }


def count_all(listed: list[Trial]) -> list[dict[str, object]]:
    """One line for each table, and for all of one kind, of the families to choose by and of those left for the end."""
    lines: list[dict[str, object]] = []
    for is_test in (False, True):
        inside = [trial for trial in listed if (trial.part == TEST) == is_test]
        part = "test families" if is_test else "other families"
        groups = {"all eager, nchw": [t for t in inside if ", eager" in t.table and "nchw" in t.table]}
        groups |= {"all eager, nhwc": [t for t in inside if ", eager" in t.table and "nhwc" in t.table]}
        groups |= {"all compiled": [t for t in inside if ", compiled" in t.table]}
        groups |= {name: [t for t in inside if t.table == name] for name in sorted({t.table for t in inside})}
        lines += [{"table": name, "part": part, **count(group)} for name, group in groups.items()]
    return lines


def diffusion(data: Path, cache: GraphCache) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Measured and predicted peaks of Stable Diffusion, and what ran out of memory. What torch reserves, without the
    context; the weights that the pipeline holds and never calls are added to ours."""
    lines = []
    for row in lambda_diffusers.read(data):
        if row.quantity != "memory_bytes":
            continue
        ours = estimate(cache.graph(row.recipe, row.batch), row)
        unused = lambda_diffusers.UNUSED_PARAMETERS * BYTES_OF_PRECISION[row.precision]
        away = unused - ours.context_bytes
        lines.append(
            {
                "device": row.device,
                "partition": row.partition,
                "recipe": row.recipe,
                "precision": row.precision,
                "batch": row.batch,
                "measured_bytes": row.value,
                "predicted_bytes": ours.total_bytes + away,
                "lower_bytes": ours.lower_bytes + away,
                "upper_bytes": ours.upper_bytes + away,
            }
        )
    failed = []
    for row in lambda_diffusers.read_out_of_memory(data):
        part = _core.partition(row.device, row.partition)
        ours = estimate(cache.graph(row.recipe, row.batch), row)
        failed.append(
            {"said_fits": ours.total_bytes <= part.memory_bytes, "interval_fits": ours.upper_bytes <= part.memory_bytes}
        )
    return lines, failed


def summarise_diffusion(lines: list[dict[str, object]]) -> list[dict[str, object]]:
    """Errors by how attention is computed and by precision."""
    summaries = []
    kinds = {
        f"{precision}, attention {attention}": [
            line
            for line in lines
            if (line["precision"] == "fp16") == (precision == "fp16")
            and f"attention={attention}" in str(line["recipe"])
        ]
        for attention in ("fused", "products")
        for precision in ("fp16", "float32")
    }
    for name, inside in {"all": lines, **kinds}.items():
        measured, predicted, lower, upper = (
            np.array([line[f"{column}_bytes"] for line in inside], dtype=float)
            for column in ("measured", "predicted", "lower", "upper")
        )
        summaries.append(
            {
                "kind": name,
                **dataclasses.asdict(summarise(predicted, measured)),
                "covered": float(np.mean((lower <= measured) & (measured <= upper))),
                "median_interval_factor": float(np.median(np.sqrt(upper / lower))),
            }
        )
    return summaries


def percent(value: object) -> str:
    return "-" if value is None else f"{100 * float(value):.1f}"  # type: ignore[arg-type]


def markdown(result: dict[str, object]) -> str:
    """The tables as docs/memory.md shows them."""
    columns = ("ran", "ran_said_too_large", "ran_interval_too_large", "largest", "largest_said_too_large",
               "largest_interval_too_large", "failed", "failed_said_fits", "failed_interval_fits",
               "alone", "alone_said_fits", "alone_interval_fits", "failed_at_grid")  # fmt: skip
    counted = [
        [str(line["table"]), str(line["part"])]
        + [str(line[name]) if isinstance(line[name], int) else percent(line[name]) for name in columns]
        for line in result["timm"]  # type: ignore[attr-defined]
    ]
    headings = ["table", "families", "ran", "point above the card %", "interval above %", "largest that ran",
                "point above %", "interval above %", "raised one step above", "point below the card %",
                "interval below %", "of these, no 2^31 tensor", "point below %", "interval below %",
                "raised at a grid"]  # fmt: skip
    summaries = [
        [
            str(line["kind"]),
            str(line["rows"]),
            f"{line['bias']:.2f}",
            f"{line['mape_percent']:.1f}",
            f"{line['median_percent']:.1f}",
            f"{line['p90_percent']:.1f}",
            percent(line["covered"]),
            f"x/{line['median_interval_factor']:.2f}",
        ]
        for line in result["stable_diffusion"]  # type: ignore[attr-defined]
    ]
    out_of_memory = result["stable_diffusion_out_of_memory"]
    return (
        f"Made by `{result['command']}`.\n\n"
        "The largest batches of timm's tables:\n\n"
        + docs_table.table(headings, counted)
        + "\nStable Diffusion (lambda-diffusers), what torch reserves:\n\n"
        + docs_table.table(
            ["kind", "rows", "bias", "MAPE %", "median %", "p90 %", "interval covers %", "interval"], summaries
        )
        + f"\nOf {out_of_memory['rows']} calls of it that ran out of memory, "  # type: ignore[index]
        f"{percent(out_of_memory['said_fits'])} % are said to fit, "  # type: ignore[index]
        f"{percent(out_of_memory['interval_fits'])} % by the whole interval.\n"  # type: ignore[index]
    )


def run(data: Path, graphs: Path) -> dict[str, object]:
    """All checks."""
    cache = GraphCache(graphs)
    counted = count_all(list(trials(timm.read(data), cache)))
    lines, failed = diffusion(data, cache)
    return {
        "command": "python benchmarks/accuracy/memory.py --data FOLDER --graphs FILE",
        "timm": counted,
        "stable_diffusion": summarise_diffusion(lines),
        "stable_diffusion_out_of_memory": {
            "rows": len(failed),
            **{name: share(bool(line[name]) for line in failed) for name in ("said_fits", "interval_fits")},
        },
        "stable_diffusion_rows": lines,
    }


if __name__ == "__main__":
    docs_table.command(__doc__, MARK, run, markdown)

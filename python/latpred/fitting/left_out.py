"""What is left out of a fit, and the fits: each one's answers are kept in a folder, so that the next call goes on."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from latpred.fitting import fit_inputs, kernel_residual, processes, thinning
from latpred.fitting.conformal import ANSWERS
from latpred.fitting.evidence import Evidence
from latpred.fitting.kernel_terms import KernelTable, lower
from latpred.fitting.measurements import is_latency
from latpred.fitting.split import FOLDS, TEST
from latpred.writing import replacing

if TYPE_CHECKING:
    from latpred.datasets.graph_cache import GraphCache

# Chips with whole networks. Those with operators alone are left out by gpu.py.
CHIPS = ("GA100", "GA102", "AD102", "GB202", "TU102", "GP102", "GV100", "TU104", "GH100")
# Those that single operators were timed on too: left out are their networks alone.
CHIPS_WITH_OPERATORS = ("GA100", "AD102", "GV100", "TU104", "GH100")
# Families outside the folds that are left out whole.
FAMILIES = ("anb", "nb201", "fbnet", "ofa", "bert")
TIMM_SOURCE = "pytorch-image-models"
ONE_RECIPE_IN = 10  # of known families

Masks = Callable[[pd.DataFrame, str], np.ndarray]
Call = Callable[[Path, Path], str]  # of a table's folder and the work's, its name returned


def _known(rows: pd.DataFrame, _part: str) -> np.ndarray:
    chosen = {recipe: zlib.crc32(recipe.encode()) % ONE_RECIPE_IN == 0 for recipe in rows.recipe.unique()}
    return np.asarray(rows.recipe.map(chosen) & ~rows.recipe.str.startswith("op:"))


# What is left out, but for the rows of the part that no choice looks at, which only "test" asks for.
LEFT_OUT: dict[str, Masks] = {
    "fold": lambda rows, part: np.asarray(rows.part == part),
    "family": lambda rows, part: np.asarray(rows.family == part),
    "known": _known,
    "chip": lambda rows, part: np.asarray(rows.chip == part),
    "network": lambda rows, part: np.asarray((rows.chip == part) & ~rows.recipe.str.startswith("op:")),
    "version": lambda rows, part: np.asarray(rows.runtime_version == part),
    "block": lambda rows, _part: np.asarray(rows.is_left_out, dtype=bool),
    "test": lambda rows, _part: np.asarray(rows.part == TEST),
}


def plan(rows: pd.DataFrame, situations: Sequence[str]) -> list[tuple[str, str]]:
    """Every situation and part that `rows` can show."""
    versions = sorted(set(rows.runtime_version[rows.source.str.startswith(TIMM_SOURCE)]))
    parts = {
        "fold": [str(fold) for fold in range(FOLDS)],
        "family": list(FAMILIES),
        "known": ["known"],
        "chip": list(CHIPS),
        "network": list(CHIPS_WITH_OPERATORS),
        "version": versions,
        "block": ["block"],
        "test": ["test"],
    }
    return [
        (situation, part)
        for situation in situations
        for part in parts[situation]
        if masks(rows, situation, part)[1].any()
    ]


def masks(rows: pd.DataFrame, situation: str, part: str) -> tuple[np.ndarray, np.ndarray]:
    """[N] twice: what the fit sees, and what it is asked about."""
    left_out = LEFT_OUT[situation](rows, part)
    is_test = np.asarray(rows.part == TEST)
    of_block = np.asarray(rows.is_left_out, dtype=bool)
    asked = left_out if situation == "test" else left_out & ~is_test
    return ~left_out & ~is_test & ~of_block, asked


def part_file(work: Path, prefix: str, situation: str, part: str, seed: int | None = None) -> Path:
    """Where a fit's answers are kept."""
    tail = "" if seed is None else f"_{seed}"
    return work / f"{prefix}_{situation}_{part.replace(' ', '_')}{tail}.parquet"


def write(path: Path, table: pd.DataFrame) -> None:
    """Whole, or not there."""
    with replacing(path) as unfinished:
        table.to_parquet(unfinished)


def lowered(rows: pd.DataFrame, graphs: GraphCache, work: Path, done: Callable[[int, int], None]) -> KernelTable:
    """The rows that fits are made on; kept in `work`."""
    rows = rows[is_latency(rows, on_gpu=True)]
    folder = work / "terms"
    folder.mkdir(parents=True, exist_ok=True)
    return lower(thinning.thin(rows), graphs.graph, folder, done, failed=lambda text: print(f"left out: {text}"))


def keep_apart(work: Path, table: KernelTable, **changes: object) -> None:
    """Refuses a folder that keeps answers of fits on another table, other rows or kernels of another build, or with
    other `changes` to the fit's options."""
    digest = hashlib.sha256((", ".join(ANSWERS) + "".join(table.rows.id) + repr(sorted(changes.items()))).encode())
    for array in (table.terms, table.inputs, table.input):
        digest.update(np.ascontiguousarray(array).tobytes())
    path = work / "table.sha256"
    if path.is_file() and path.read_text(encoding="utf-8") != digest.hexdigest():
        raise SystemExit(
            f"{work}: fits on other rows, on kernels of another build or with other options are kept here; "
            "take a new folder"
        )
    path.write_text(digest.hexdigest(), encoding="utf-8")


def save(table: KernelTable, folder: Path) -> None:
    """For the processes that fit."""
    folder.mkdir(parents=True, exist_ok=True)
    table.rows.to_parquet(folder / "rows.parquet")
    for name in ("first_kernel", "input", "count", "terms", "inputs"):
        np.save(folder / f"{name}.npy", getattr(table, name))


@cache
def load(folder: Path) -> KernelTable:
    """What save() wrote; its arrays stay in the file, shared by all processes."""
    arrays = [
        np.load(folder / f"{name}.npy", mmap_mode="r") for name in ("first_kernel", "input", "count", "terms", "inputs")
    ]
    return KernelTable(pd.read_parquet(folder / "rows.parquet"), *arrays)


def _hosts(fitted: kernel_residual.KernelResidual, training: KernelTable) -> pd.DataFrame:
    waiting = training.select(fit_inputs.waits_for_host(training))
    found = waiting.rows.assign(log_factor=fitted.log_host_factors(waiting), host=fit_inputs.hosts(waiting.rows))
    return found.groupby(["host", "runtime"], as_index=False).agg(
        host_rows=("log_factor", "size"), log_factor=("log_factor", "first")
    )


def fit(folder: Path, work: Path, situation: str, part: str, seed: int, changes: dict[str, Any]) -> str:
    """One fit and its answers, in a process of its own."""
    table = load(folder)
    seen, asked = masks(table.rows, situation, part)
    training, test = table.select(seen), table.select(asked)
    fitted = kernel_residual.fit(training, (seed,), **changes)
    write(part_file(work, "hosts", situation, part, seed), _hosts(fitted, training))
    latency_s, host_s = fitted.answer(test)
    known = fitted.alike
    assert known is not None
    answers = test.rows.assign(pred=latency_s, host_s=host_s, **Evidence.of(training).described(test, known))
    write(part_file(work, "rows", situation, part, seed), answers.drop(columns="protocol", errors="ignore"))
    return f"{situation} {part}, seed {seed}"


def run(
    table: KernelTable,
    work: Path,
    situations: Sequence[str],
    seeds: int,
    beside: Sequence[Call] = (),
    **changes: object,
) -> Iterator[tuple[int, int, str]]:
    """Makes the fits that `work` has no answers of, and the calls `beside` them. Yields how many there are of how many,
    and the last one's name."""
    wanted = [(*cell, seed) for seed in range(seeds) for cell in plan(table.rows, situations)]
    missing = [cell for cell in wanted if not part_file(work, "rows", *cell).is_file()]
    done, of = len(wanted) - len(missing), len(wanted) + len(beside)
    yield done, of, ""
    fits = [
        partial(fit, situation=situation, part=part, seed=seed, changes=changes) for situation, part, seed in missing
    ]
    for name in side_by_side(table, work, [*beside, *fits]):
        done += 1
        yield done, of, name


def side_by_side(table: KernelTable, work: Path, calls: Sequence[Call]) -> Iterator[str]:
    """What each of `calls` returns of the folder that keeps `table` and of `work`, in processes, as they end."""
    if not calls:
        return
    folder = work / "table"
    save(table, folder)
    yield from processes.side_by_side([partial(call, folder, work) for call in calls])

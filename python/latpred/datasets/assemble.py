"""From folders of raw tables to one table of rows and one file of networks, what does not fit taken out."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from latpred.datasets import graph_cache, older_versions, rows, timm_networks, unified
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.recipe import parse
from latpred.datasets.recorded import BUILDERS, EXTRA, is_recorded
from latpred.errors import LatpredError, MissingDependencyError
from latpred.optional import need
from latpred.step import Step
from latpred.writing import replacing

if TYPE_CHECKING:
    import pandas as pd

ROWS_FILE = "rows.parquet"
GRAPHS_FILE = "graphs.sqlite"
DROPPED_FILE = "dropped.csv"
CHECKS_FILE = "checks.parquet"

READ, RECORD, CHECK = "read tables", "record networks", "check networks"  # the stages, in order

# Why a row goes; the column "detail" of DROPPED_FILE says more where there is more to say.
REPEATED = "stands in its source again"
NO_TIME = "no positive value"
NO_FRAMEWORK = "its framework is left out"
CANNOT_BE_REBUILT = "cannot be rebuilt"
NOT_AS_STATED = "rebuilt otherwise than its table states"
EXECUTED_OTHERWISE = "executed otherwise by the version it was measured with"


def assemble(
    data: Path, out: Path, only: Sequence[str] = (), workers: int | None = None, with_frameworks: bool = True
) -> Iterator[Step]:
    """Reads the sources under `data`, records the networks that need a framework, and writes ROWS_FILE, GRAPHS_FILE,
    DROPPED_FILE and CHECKS_FILE (rows that no fit sees) into the folder `out`. Yields each step; a killed run loses no
    recorded network."""
    import pandas as pd

    names = unified.present(data, only)
    out.mkdir(parents=True, exist_ok=True)
    tables, dropped = [], []
    for done, name in enumerate(names, 1):
        table = rows.to_table(unified.SOURCES[name](data), is_unique=False)
        is_repeated = table.id.duplicated()
        is_positive = table.value > 0
        dropped.append(table[is_repeated].assign(reason=REPEATED, detail=""))
        dropped.append(table[~is_positive & ~is_repeated].assign(reason=NO_TIME, detail=""))
        tables.append(table[is_positive & ~is_repeated])
        yield Step(READ, done, len(names), name)
    table = pd.concat(tables, ignore_index=True)

    graphs = out / GRAPHS_FILE
    recipes = {*table.recipe, *rows.executed(table)}
    if with_frameworks:
        _need_frameworks(graph_cache.missing(graphs, recipes))
        for done, total, recipe in graph_cache.build_cache(graphs, recipes, workers):
            yield Step(RECORD, done, total, recipe)

    reasons = yield from _check(table, graphs, _stated(data, names))
    is_dropped = table.id.isin(reasons)
    found = [reasons[row_id] for row_id in table.id[is_dropped]]
    gone = table[is_dropped].assign(reason=[reason for reason, _ in found], detail=[detail for _, detail in found])
    dropped.append(gone)
    _write(out, table[~is_dropped], pd.concat(dropped))
    checks = [read_source for name, read_source in unified.CHECKS.items() if (data / name).exists()]
    rows.to_table(row for read_source in checks for row in read_source(data)).to_parquet(out / CHECKS_FILE, index=False)


def _write(out: Path, kept: pd.DataFrame, dropped: pd.DataFrame) -> None:
    columns = [
        "reason", "detail", "source", "recipe", "family", "batch", "device", "runtime", "runtime_version", "precision",
        "layout", "value", "id",
    ]  # fmt: skip
    dropped.sort_values(["reason", "id"])[columns].to_csv(out / DROPPED_FILE, index=False)
    with replacing(out / ROWS_FILE) as unfinished:
        kept.sort_values("id", ignore_index=True).to_parquet(unfinished, compression="zstd", index=False)


def _need_frameworks(recipes: list[str]) -> None:
    """An error before the work starts, where what builds `recipes` is not installed."""
    kinds = sorted({parse(recipe).kind for recipe in recipes})
    if not kinds:
        return
    feature = f"recording {len(recipes)} networks ({', '.join(f'{kind}:' for kind in kinds)})"
    try:
        for package in ("torch", *(BUILDERS[kind].package for kind in kinds)):
            need(package, EXTRA, feature)
    except MissingDependencyError as error:
        raise MissingDependencyError(f"{error}; or leave their rows out with --without-frameworks") from error


def _stated(data: Path, names: Sequence[str]) -> dict[str, tuple[float, float | None]]:
    """What sources state of a row's network: id -> millions of parameters, billions of MACs."""
    return {
        row.id: (parameters_m, macs_g)
        for name in names
        if name in unified.STATED
        for row, parameters_m, macs_g in unified.STATED[name](data)
    }


def _check(
    table: pd.DataFrame, graphs: Path, stated: dict[str, tuple[float, float | None]]
) -> Generator[Step, None, dict[str, tuple[str, str]]]:
    """Why rows must go: id -> reason and detail. Networks that need no framework have their tests."""
    reasons: dict[str, tuple[str, str]] = {}
    networks = [(recipe, part) for recipe, part in table.groupby(rows.executed(table)) if is_recorded(parse(recipe))]
    cache = GraphCache(graphs) if graphs.is_file() else None
    failures = cache.failures() if cache else {}
    for done, (recipe, part) in enumerate(networks, 1):
        if cache is None or not (recipe in cache or recipe in failures):
            reasons |= dict.fromkeys(part.id, (NO_FRAMEWORK, ""))
        else:
            reasons |= _check_network(cache, recipe, part, stated)
        yield Step(CHECK, done, len(networks), recipe)
    return reasons


def _check_network(
    cache: GraphCache, recipe: str, part: pd.DataFrame, stated: dict[str, tuple[float, float | None]]
) -> dict[str, tuple[str, str]]:
    try:
        graph = cache.graph(recipe, 1)
    except LatpredError as error:
        return dict.fromkeys(part.id, (CANNOT_BE_REBUILT, str(error)))
    reasons = {}
    for row in part.itertuples():
        if (text := older_versions.difference(graph, row.runtime, row.runtime_version, row.precision)) is not None:
            reasons[row.id] = (EXECUTED_OTHERWISE, text)
        elif row.id in stated and (text := timm_networks.difference(graph, *stated[row.id])) is not None:
            reasons[row.id] = (NOT_AS_STATED, text)
    return reasons

"""Measured calls as flat arrays of kernels: what the predictor kernel_residual is fitted on.

Rebuilding and fusing the networks of 45,000 rows takes minutes, so that it is done once: shards of rows are kept beside
the graph cache, under a name that changes with the rows and with the build that made them.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from latpred import _core
from latpred.datasets import accel_nasbench, fbnet
from latpred.datasets.recipe import Recipe, parse
from latpred.datasets.rows import executed
from latpred.errors import LatpredError
from latpred.fitting.processes import side_by_side
from latpred.fitting.split import CHIP_OF, block_of, left_out_blocks, part_of_family
from latpred.writing import replacing

if TYPE_CHECKING:
    import pandas as pd

GraphOf = Callable[[str, int], _core.Graph]  # of a recipe at a batch: GraphCache.graph, recipe.graph

TERMS = tuple(row.name for row in _core.term_rows())
COLUMNS = tuple(row.name for row in _core.term_columns())
KINDS = tuple(_core.checkpoint_format()["cost_kinds"])
_KIND_COLUMNS = [COLUMNS.index(f"kind_{kind}") for kind in KINDS]

CHANNELS_LAST = "nhwc"  # the rows' word
SHARD_ROWS = 4000

# By the kind of recipe: what each call of a table took that is no operator's.
BESIDE_OPERATORS_S: dict[str, Callable[[Recipe], float]] = {
    "anb": accel_nasbench.beside_operators_s,
    "fbnet": fbnet.beside_operators_s,
}

# What a row's kernels depend on; rows that agree in these share one fused network.
_NETWORK = ["recipe", "executed", "batch", "runtime", "precision", "layout"]
_CALL = [*_NETWORK, "device", "partition", "input_on"]


def laid_out(graph: _core.Graph, layout: str) -> _core.Graph:
    """As a row's column `layout` says that it ran."""
    return graph.with_channels_last() if layout == CHANNELS_LAST else graph


@dataclasses.dataclass(frozen=True)
class KernelTable:
    """N measured calls, the K kernels that they ran, and the U different inputs of these. Seconds and bytes."""

    rows: pd.DataFrame  # [N]: the rows' columns, launches, views, beside_s, part, is_left_out, chip
    first_kernel: np.ndarray  # [N + 1]: kernels of call n are first_kernel[n] to [n + 1]
    input: np.ndarray  # [K], index into U
    count: np.ndarray  # [K]
    terms: np.ndarray  # [K, T]
    inputs: np.ndarray  # [U, F]

    @property
    def size(self) -> int:
        """Number of calls."""
        return len(self.rows)

    @property
    def latency_s(self) -> np.ndarray:
        """[N] measured."""
        return np.asarray(self.rows.value, dtype=float)

    @property
    def launches_s(self) -> np.ndarray:
        """[N] launches times the runtime's time for one: what a prediction knows of the host."""
        of_launch = {row.name: row.host_s_per_launch for row in _core.runtimes()}
        return np.asarray(self.rows.launches * self.rows.runtime.map(of_launch), dtype=float)

    @property
    def floor_s(self) -> np.ndarray:
        """[N] the host's time where the row's table shows it, else 0."""
        return np.asarray(self.rows.host_floor_s, dtype=float)

    @property
    def beside_s(self) -> np.ndarray:
        """[N] of the measured time that is no operator's: in which the input travels to the device, and what each call
        of a table took (BESIDE_OPERATORS_S)."""
        return np.asarray(self.rows.beside_s, dtype=float)

    def of_operators(self) -> KernelTable:
        """The same calls as if they had taken nothing beside their operators."""
        rows = self.rows.assign(value=self.latency_s - self.beside_s, beside_s=0.0)
        return dataclasses.replace(self, rows=rows)

    def term(self, name: str) -> np.ndarray:
        """[K] one column of the terms."""
        return np.asarray(self.terms[:, TERMS.index(name)])

    def call(self) -> np.ndarray:
        """[K] the call that each kernel belongs to."""
        return np.repeat(np.arange(self.size), np.diff(self.first_kernel))

    def input_kind(self) -> np.ndarray:
        """[U] the place in KINDS; of generated point-wise kernels, which have no column, that of views."""
        return np.asarray(self.inputs[:, _KIND_COLUMNS].argmax(axis=1))

    def roofline_s(self) -> np.ndarray:
        """[K] peak or bandwidth, whichever takes longer, repeats included."""
        moved_s = (self.term("activation_bytes") + self.term("weight_bytes")) / self.term("bandwidth")
        return np.asarray(np.maximum(self.term("compute"), moved_s) * self.count)

    def select(self, mask: np.ndarray) -> KernelTable:
        """The calls where `mask` [N] holds, with their kernels."""
        counts = np.diff(self.first_kernel)
        kernels = np.repeat(np.asarray(mask, dtype=bool), counts)
        return KernelTable(
            self.rows[np.asarray(mask, dtype=bool)].reset_index(drop=True),
            np.concatenate([[0], np.cumsum(counts[mask])]),
            self.input[kernels],
            self.count[kernels],
            self.terms[kernels],
            self.inputs,
        )


@dataclasses.dataclass(frozen=True)
class _Shard:
    launches: np.ndarray  # [n]; NaN where the network could not be lowered
    views: np.ndarray  # [n]
    copy_s: np.ndarray  # [n]
    num_kernels: np.ndarray  # [n]
    input: np.ndarray  # [k]
    count: np.ndarray  # [k]
    terms: np.ndarray  # [k, T]
    inputs: np.ndarray  # [u, F]
    errors: np.ndarray  # texts of what failed


def _unique_rows(values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different rows of `values` [n, F], and for each row its place among them."""
    values = np.ascontiguousarray(values)
    whole = values.view(np.dtype((np.void, values.dtype.itemsize * values.shape[1]))).ravel()
    _, first, place = np.unique(whole, return_index=True, return_inverse=True)
    return values[first], place.ravel()


def _lower_shard(rows: pd.DataFrame, graph_of: GraphOf) -> _Shard:
    launches, num_kernels = np.full(len(rows), np.nan), np.zeros(len(rows), dtype=np.int64)
    views, copy_s = np.zeros(len(rows)), np.zeros(len(rows))
    tables: list[_core.KernelTerms] = []
    errors: list[str] = []
    network: tuple[object, ...] | None = None
    fused: _core.Kernels | None = None
    of_call: dict[tuple[object, ...], _core.KernelTerms] = {}
    for index, row in enumerate(rows.itertuples(index=False)):
        if network != tuple(row[: len(_NETWORK)]):
            network, fused, of_call = tuple(row[: len(_NETWORK)]), None, {}
            try:
                graph = graph_of(row.executed, int(row.batch))
                fused = _core.fuse(laid_out(graph, row.layout), row.runtime, row.precision)
            except LatpredError as error:
                errors.append(f"{row.executed}, batch {row.batch}: {error}")
        if fused is None:
            continue
        call = (row.device, row.partition)
        if call not in of_call:
            of_call[call] = _core.kernel_terms(fused, row.device, row.partition)
        tables.append(of_call[call])
        launches[index], views[index] = fused.num_launches, fused.num_views
        num_kernels[index] = len(of_call[call].counts)
        copy_s[index] = _core.input_copy_s(graph, row.device, row.input_on)
    columns = np.concatenate([table.columns for table in tables] or [np.empty((0, len(COLUMNS)))])
    inputs, place = _unique_rows(columns.astype(np.float32))
    return _Shard(
        launches,
        views,
        copy_s,
        num_kernels,
        place,
        np.concatenate([table.counts for table in tables] or [np.empty(0)]),
        np.concatenate([table.terms for table in tables] or [np.empty((0, len(TERMS)))]).astype(np.float32),
        inputs,
        np.array(errors, dtype=np.str_),
    )


@cache
def _build() -> bytes:
    """Of the compiled part: other code may give other numbers."""
    return hashlib.sha256(Path(_core.__file__).read_bytes()).digest()


def _shards(parts: list[pd.DataFrame], graph_of: GraphOf, done: Callable[[int], None]) -> Iterator[_Shard]:
    for part in parts:
        yield _lower_shard(part, graph_of)
        done(len(part))


def _keep_shard(rows: pd.DataFrame, graph_of: GraphOf, path: Path) -> int:
    with replacing(path) as unfinished:
        np.savez(unfinished, **vars(_lower_shard(rows, graph_of)))
    return len(rows)


def _kept_shards(
    parts: list[pd.DataFrame], graph_of: GraphOf, folder: Path, done: Callable[[int], None]
) -> Iterator[_Shard]:
    paths = []
    for part in parts:
        digest = hashlib.sha256(_build() + part.to_csv(index=False).encode()).hexdigest()[:16]
        paths.append(folder / f"terms-{digest}.npz")
    missing = []
    for part, path in zip(parts, paths, strict=True):
        if path.is_file():
            done(len(part))
        else:
            missing.append(partial(_keep_shard, part, graph_of, path))
    for lowered in side_by_side(missing, lone_here=True):
        done(lowered)
    for path in paths:
        with np.load(path) as arrays:
            yield _Shard(**arrays)


def lower(
    rows: pd.DataFrame,
    graph_of: GraphOf,
    folder: Path | None = None,
    done: Callable[[int, int], None] = lambda _rows, _of: None,
    failed: Callable[[str], None] | None = None,
) -> KernelTable:
    """The kernels of `rows`. Shards are kept in `folder`, where an interrupted call goes on; several are made side by
    side, if `graph_of` can be pickled. Calls `done` with the rows lowered and their number. A network that cannot be
    lowered is an error, or told to `failed` and left out."""
    rows = rows.assign(executed=executed(rows)).sort_values([*_CALL, "id"], ignore_index=True)
    parts = [rows[_CALL].iloc[start : start + SHARD_ROWS] for start in range(0, len(rows), SHARD_ROWS)]
    num_lowered = 0

    def add(lowered: int) -> None:
        nonlocal num_lowered
        num_lowered += lowered
        done(num_lowered, len(rows))

    shards = []
    for shard in _shards(parts, graph_of, add) if folder is None else _kept_shards(parts, graph_of, folder, add):
        shards.append(shard)
        for text in shard.errors:
            if failed is None:
                raise LatpredError(str(text))
            failed(str(text))
    launches = np.concatenate([shard.launches for shard in shards])
    views = np.concatenate([shard.views for shard in shards])
    copy_s = np.concatenate([shard.copy_s for shard in shards])
    of_table_s = {recipe: _beside_operators_s(parse(recipe)) for recipe in rows.recipe.unique()}
    rows = rows.assign(launches=launches, views=views, beside_s=copy_s + rows.recipe.map(of_table_s))
    kept = ~np.isnan(launches)
    rows = _with_splits(rows[kept].reset_index(drop=True))
    offsets = np.cumsum([0] + [len(shard.inputs) for shard in shards])
    inputs, place = _unique_rows(np.concatenate([shard.inputs for shard in shards]))
    input_of = np.concatenate([shard.input + offset for shard, offset in zip(shards, offsets[:-1], strict=True)])
    num_kernels = np.concatenate([shard.num_kernels for shard in shards])[kept]
    return KernelTable(
        rows,
        np.concatenate([[0], np.cumsum(num_kernels)]),
        place[input_of],
        np.concatenate([shard.count for shard in shards]),
        np.concatenate([shard.terms for shard in shards]),
        inputs,
    )


def _beside_operators_s(recipe: Recipe) -> float:
    of_table_s = BESIDE_OPERATORS_S.get(recipe.kind)
    return 0.0 if of_table_s is None else of_table_s(recipe)


def _with_splits(rows: pd.DataFrame) -> pd.DataFrame:
    parts, blocks = part_of_family(), left_out_blocks()
    is_operator = rows.recipe.str.startswith(("op:", "anb:"))
    of_block = [
        known and block_of(recipe, int(batch)) in blocks
        for recipe, batch, known in zip(rows.recipe, rows.batch, is_operator, strict=True)
    ]
    return rows.assign(
        part=[parts.get(family, "") for family in rows.family],
        is_left_out=of_block,
        chip=[CHIP_OF.get(device, device) for device in rows.device],
        host_floor_s=rows.host_floor_s.fillna(0.0),
    )

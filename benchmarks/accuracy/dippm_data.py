"""What DIPPM's benchmark learns from and keeps: calls of one device, graphs as arrays, the answers of each fit."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from latpred import _core
from latpred.datasets import families, load
from latpred.datasets.rows import MEASURED_HERE
from latpred.fusion import whole_graph
from latpred.fusion.graph_arrays import Arrays
from latpred.units import MEGABYTE

JOURNALS = Path(__file__).resolve().parent / "dippm"
LATENCY, MEMORY = whole_graph.TARGETS[:2]


@dataclass(frozen=True)
class Source:
    """Calls of one device under one runtime."""

    where: Callable[[pd.DataFrame], pd.Series]
    targets: tuple[str, ...]  # that are known of all of them
    peaks: tuple[float, float]  # FLOP/s, bytes/s


def _of_rtx_4090(rows: pd.DataFrame) -> pd.Series:
    return (rows.device == "RTX 4090") & (rows.runtime == "eager") & (rows.runtime_version == "torch 2.9.1 cuda 12.8")


def _of_one_core(rows: pd.DataFrame) -> pd.Series:
    is_ours = (rows.source == MEASURED_HERE) & (rows.runtime == "openvino") & ~rows.autograd
    return is_ours & rows[LATENCY].notna() & rows[MEMORY].notna()


_RTX_4090 = Source(_of_rtx_4090, (LATENCY,), whole_graph.peaks_of("RTX 4090"))
# Of that core by `latpred host`, the bandwidth beyond its caches; only their ratio matters to what learns a factor.
_ONE_CORE = Source(_of_one_core, (LATENCY, MEMORY), (1.46e11, 1.06e10))


@dataclass(frozen=True)
class Rows:
    """Some calls of a source."""

    source: Source
    select: Callable[[pd.DataFrame], pd.Series]


TEN, ALL, HERE = "ten families", "all networks", "measured here"
ROWS: Mapping[str, Rows] = {
    TEN: Rows(_RTX_4090, lambda rows: rows.family.isin(set(families.FAMILIES) - {families.UNSEEN})),
    ALL: Rows(_RTX_4090, lambda rows: rows.family.notna()),
    HERE: Rows(_ONE_CORE, lambda rows: rows.family != families.UNSEEN),
}


def short(rows: str) -> str:
    """The first word, as it stands in names of files."""
    return rows.partition(" ")[0]


class Data:
    """All sources, each read when it is asked for; `work` keeps graphs."""

    def __init__(self, work: Path | None = None) -> None:
        self._work = work
        self._whole = load("families")
        self._chosen: dict[int, families.Families] = {}
        self._arrays: dict[tuple[int, bool], Arrays] = {}

    def of(self, rows: str) -> families.Families:
        """The calls of a row of ROWS' source."""
        source = ROWS[rows].source
        if id(source) not in self._chosen:
            self._chosen[id(source)] = self._whole.select(source.where(self._whole.rows))
        return self._chosen[id(source)]

    def is_in(self, rows: str) -> np.ndarray:
        """[calls of the source] whether each is one of `rows`."""
        return ROWS[rows].select(self.of(rows).rows).to_numpy()

    def arrays(self, rows: str, is_published: bool = False) -> Arrays:
        """All graphs of the source: totals, targets and the bases that ours multiplies; is_published: as DIPPM's code
        reads a graph."""
        source, data = ROWS[rows].source, self.of(rows)
        if (key := (id(source), is_published)) not in self._arrays:
            self._arrays[key] = with_bases(self._graphs(data, is_published), source)
        return self._arrays[key]

    def _graphs(self, data: families.Families, is_published: bool) -> Arrays:
        if self._work is None:
            return arrays_of(data, is_published)
        path = self._work / f"graphs-{'published-' if is_published else ''}{digest(data.rows)}.npz"
        if not path.is_file():
            np.savez(path, **arrays_of(data, is_published))
        return dict(np.load(path))


def arrays_of(data: families.Families, is_published: bool) -> Arrays:
    """All graphs behind each other."""
    if not is_published:
        return data.arrays()
    graphs = [published(data.graph(place)) for place in range(len(data))]
    return whole_graph.joined(graphs) | {"targets": data.rows[list(whole_graph.TARGETS)].to_numpy(dtype=float)}


def with_bases(graphs: Arrays, source: Source) -> Arrays:
    """The targets that the source knows, and what ours learns factors of."""
    arrays = whole_graph.with_totals(graphs)
    places = [whole_graph.TARGETS.index(name) for name in source.targets]
    bound_s = whole_graph.base_s(arrays, *source.peaks)
    # Ours learns a factor of a megabyte, as the shipped predictor does.
    bases = {LATENCY: bound_s, MEMORY: np.full(len(bound_s), MEGABYTE)}
    return arrays | {
        "targets": arrays["targets"][:, places],
        "bases": np.column_stack([bases[name] for name in source.targets]),
    }


def published(graph: Any) -> Arrays:
    """A graph as DIPPM's published code reads it, other than its paper: nodes without weights are dropped, the others
    stand in a chain, sizes are those of the weight, the operator's one is one column further."""
    features = _core.node_features(graph, whole_graph.FEATURE_SET)
    names = [column.name for column in features.set.node_columns]
    num_operators = sum(name.startswith("is_") for name in names)
    nodes = features.nodes.copy()
    nodes[:, :num_operators] = np.roll(nodes[:, :num_operators], 1, axis=1)
    kept = []
    for place, node in enumerate(graph.nodes):
        stored = [tensor for tensor in node.inputs if tensor is not None and tensor.kind in ("parameter", "constant")]
        if stored and features.nodes[place, :num_operators].any():
            sizes = tuple(stored[0].shape)[: whole_graph.NUM_SIZES]
            nodes[place, -whole_graph.NUM_SIZES :] = (*sizes, *[0] * (whole_graph.NUM_SIZES - len(sizes)))
            kept.append(place)
    kept = kept or list(range(len(nodes)))
    chain = np.arange(len(kept) - 1)
    return {"nodes": nodes[kept], "edges": np.stack([chain, chain + 1]), "graph": features.graph}


def digest(rows: pd.DataFrame) -> str:
    """Of the rows that answers stand beside."""
    return hashlib.sha256("".join(rows.id).encode()).hexdigest()[:16]


def journal(name: str) -> Path:
    """Where a fit's answers lie."""
    return JOURNALS / f"{name}.json"


def write(name: str, rows: pd.DataFrame, answers: Mapping[str, np.ndarray], **facts: Any) -> None:
    """Answers of each target for all rows, whichever of them a fit saw."""
    numbers = {target: [float(f"{answer:.4g}") for answer in told] for target, told in answers.items()}
    JOURNALS.mkdir(exist_ok=True)
    journal(name).write_text(json.dumps(facts | {"rows": digest(rows)} | numbers) + "\n", encoding="utf-8")


def read(name: str, rows: pd.DataFrame) -> dict[str, Any] | None:
    """What write() wrote; None: not trained yet, or on other rows."""
    if not journal(name).is_file():
        return None
    found: dict[str, Any] = json.loads(journal(name).read_text(encoding="utf-8"))
    return found if found["rows"] == digest(rows) else None

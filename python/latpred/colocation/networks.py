"""ONNX files of a combination's networks, made once with random weights."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

from latpred import _core
from latpred.colocation.combination import Member
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.recipe import build, parse
from latpred.datasets.recorded import is_recorded, record

_FILE = "network.onnx"


def graph_of(recipe: str, batch: int, cache: GraphCache | None = None) -> _core.Graph:
    """The network of a recipe; one that a framework builds is read from `cache` where that has it."""
    if cache is not None and recipe in cache:
        return cache.graph(recipe, batch)
    parsed = parse(recipe)
    if is_recorded(parsed):
        return _core.resolve(record(parsed).program(), batch, None, {})
    net = _core.GraphBuilder()
    build(net, parsed)
    return net.build(batch)


def prepare(members: Iterable[Member], folder: Path, cache: GraphCache | None = None) -> dict[Member, Path]:
    """Each network's file at its batch under `folder`. Files of an earlier time are kept."""
    from latpred.labels import standard_onnx

    found = {}
    for member in sorted(set(members)):
        place = folder / hashlib.sha256(str(member).encode()).hexdigest()[:16]
        if not (place / _FILE).is_file():
            folder.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryDirectory(dir=folder) as part:
                made = Path(part) / "made"
                made.mkdir()
                standard_onnx.write(graph_of(member.recipe, member.batch, cache), made / _FILE)
                made.rename(place)  # whole, or not there
        found[member] = place / _FILE
    return found

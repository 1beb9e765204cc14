"""ONNX files of a combination's networks, made once with random weights."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Iterable
from pathlib import Path

from latpred.colocation.combination import Member
from latpred.datasets.graph_cache import GraphCache, graph_of

_FILE = "network.onnx"


def prepare(members: Iterable[Member], folder: Path, cache: GraphCache | None = None) -> dict[Member, Path]:
    """Each network's file at its batch under `folder`. Files of an earlier time are kept."""
    from latpred.workloads import standard_onnx

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

"""The finished table of a co-location campaign: a row for each network of each combination, medians and means of both
clocks in each phase. Machine and version stand in the file's metadata."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.campaign import health
from latpred.campaign.journal import Journal
from latpred.colocation import combination, processes
from latpred.errors import InvalidArgumentError
from latpred.optional import need
from latpred.writing import replacing

if TYPE_CHECKING:
    import pandas as pd

METADATA_KEY = b"latpred co-location"
_PHASE_NAMES = dict(zip(processes.PHASES, ("before", "beside", "after"), strict=True))
_CLOCKS = ("cpu_median_s", "wall_median_s", "wall_mean_s")
LICENCE = "Apache-2.0"
# A few turns of Linux's scheduler, which are 3 ms and more.
_SHORT_CALL_S = 10e-3


@dataclasses.dataclass(frozen=True)
class Measured:
    """What a file holds."""

    rows: pd.DataFrame
    machine: dict[str, Any]  # fingerprint, caches, speed of one core, versions


def from_journal(journal: Journal) -> Measured:
    """Combinations that failed are left out; what was repeated stands beside its first time."""
    pandas = need("pandas", "data", "the table of a co-location campaign")
    by_position: dict[int, list[dict[str, Any]]] = {}
    for row in journal.rows():
        by_position.setdefault(row["position"], []).append(row)
    lines = []
    versions = set()
    for results in by_position.values():
        if any(row["error"] for row in results):
            continue
        found = combination.parse(results[0]["recipe"])
        details = [json.loads(row["details"]) for row in results]
        versions |= {row["runtime_version"] for row in results}
        on_core = Counter(detail["core"] for detail in details if detail["phase"] == processes.PHASES[0])
        for index, member in enumerate(found.members):
            if member.is_stream:
                continue
            own = {_PHASE_NAMES[detail["phase"]]: detail for detail in details if detail["member"] == index}
            others = [str(other) for place, other in enumerate(found.members) if place != index]
            lines.append(
                {
                    "placement": found.placement,
                    "repeat": found.repeat,
                    "combination": str(dataclasses.replace(found, repeat=0)),
                    "recipe": member.recipe,
                    "batch": member.batch,
                    "member": index,
                    "neighbours": ";".join(others),
                    "shares_core": on_core[own["beside"]["core"]] > 1,
                    "calls": own["beside"]["calls"],
                    **{f"{phase}_{clock}": own[phase][clock] for phase in own for clock in _CLOCKS},
                }
            )
    ((fingerprint, facts),) = journal.machines().items()
    machine = facts | {"fingerprint": fingerprint, "runtime": ", ".join(sorted(versions)), "licence": LICENCE}
    return Measured(pandas.DataFrame(lines), machine)


def write(path: Path, measured: Measured) -> None:
    """Whole, or not there."""
    need("pyarrow", "data", "the table of a co-location campaign")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(measured.rows, preserve_index=False)
    table = table.replace_schema_metadata({METADATA_KEY: json.dumps(measured.machine).encode()})
    with replacing(path) as unfinished:
        pq.write_table(table, unfinished, compression="zstd")


def read(path: Path) -> Measured:
    """What write() wrote."""
    need("pyarrow", "data", "the table of a co-location campaign")
    import pyarrow.parquet as pq

    if not path.is_file():
        raise InvalidArgumentError(f"there is no file '{path}'", path=str(path))
    table = pq.read_table(path)
    metadata = table.schema.metadata or {}
    if METADATA_KEY not in metadata:
        raise InvalidArgumentError(f"'{path}' is no table of a co-location campaign", path=str(path))
    return Measured(table.to_pandas(), json.loads(metadata[METADATA_KEY]))


def with_labels(rows: pd.DataFrame) -> pd.DataFrame:
    """Adds "alone_s", "beside_s", "slow_down", "drift" and "is_steady".

    By CPU time for a member that has its core for itself, which no other load on the machine touches. By the wall clock
    for those that take turns: its median, because the last call of the longest member is partly alone, after the others
    have stopped, and is one of a few; its mean for calls so short that some of them lie within one turn. Drift: how far
    the two times alone, before and after, are from each other; steady: no farther than a campaign's probes may be.
    """
    shares = rows.shares_core.to_numpy()
    is_short = rows.before_wall_mean_s.to_numpy() < _SHORT_CALL_S

    def label(phase: str) -> Any:
        wall = np.where(is_short, rows[f"{phase}_wall_mean_s"], rows[f"{phase}_wall_median_s"])
        return np.where(shares, wall, rows[f"{phase}_cpu_median_s"])

    before, after = label("before"), label("after")
    alone = (before + after) / 2
    drift = np.abs(before - after) / alone
    return rows.assign(
        alone_s=alone,
        beside_s=label("beside"),
        slow_down=label("beside") / alone,
        drift=drift,
        is_steady=drift <= health.THRESHOLD,
    )

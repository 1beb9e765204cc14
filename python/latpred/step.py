"""How far something long is, as campaigns and data sets tell it to whoever shows it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class Step:
    """How far a stage is."""

    stage: str
    done: int
    total: int
    what: str  # was done last

"""Data sets: recipes of networks, the rows that were measured of them, and what builds both."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from latpred._core import unknown_name_message
from latpred.errors import InvalidArgumentError

if TYPE_CHECKING:
    from latpred.datasets.families import Families

_NAMES = ("families",)


def load(name: str, folder: str | os.PathLike[str] | None = None, labels: str = "measured") -> Families:
    """A data set by its name: "families". folder: data/measurements of latpred's sources; None: where it is expected.

    labels: "measured", or "modelled": what the default predictor says, for teaching and not for judging.

    The result has rows (a pandas frame: labels, device, runtime, protocol, source), graphs as NumPy arrays by place
    (set[0]), parts of its splits, and to_pyg() where PyTorch Geometric is there.
    """
    if name not in _NAMES:
        raise InvalidArgumentError(unknown_name_message("data set", name, list(_NAMES)), valid=_NAMES)
    from latpred.datasets import families

    return families.load(None if folder is None else Path(folder), labels)


__all__ = ["load"]

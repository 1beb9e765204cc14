"""Copies of what the compiled part answers with: it never changes, so that a copy is the object itself. Pickling, for
which it has no form, is refused in a sentence."""

from __future__ import annotations

import copyreg
from typing import Any

from latpred import _core
from latpred.errors import LatpredError

_UNCHANGING = (
    _core.BandwidthPoint, _core.Cache, _core.Device, _core.Fact, _core.Graph, _core.HostFacts, _core.HostSpeed,
    _core.Node, _core.Operator, _core.Partition, _core.Precision, _core.Predictor, _core.Runtime, _core.Sample,
    _core.Source, _core.Statistics, _core.Tensor,
)  # fmt: skip
# What to hand to another process in the place of an object.
_INSTEAD = {
    _core.Graph: "the name of its file, or its recipe, and load() it there",
    _core.Device: "its name, and look it up there: devices()[name]",
}
_PLAIN_VALUES = "plain values, as .to_dict() and .to_dicts() give them"


def _itself(value: Any, memo: Any = None) -> Any:
    return value


def _refuse(value: Any) -> str:
    kind = type(value)
    raise LatpredError(
        f"a {kind.__name__} cannot be pickled: it is an object of the compiled part; hand on "
        f"{_INSTEAD.get(kind, _PLAIN_VALUES)}"
    )


def register() -> None:
    """For the modules copy and pickle."""
    for kind in _UNCHANGING:
        for name in ("__copy__", "__deepcopy__"):
            setattr(kind, name, _itself)
        copyreg.pickle(kind, _refuse)
    copyreg.pickle(_core.Measurement, _refuse)

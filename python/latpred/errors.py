"""The errors that latpred raises on purpose; each is also the builtin that a Python user expects."""

from __future__ import annotations

from collections.abc import Sequence


class LatpredError(Exception):
    """Base of all of them. What it knows besides its sentence stands in attributes, None where it does not apply."""

    path: str | None  # the file that was read
    offset: int | None  # byte in that file
    node: str | None  # node of the network
    operator: str | None  # its operator
    valid: tuple[str, ...]  # values that would have been accepted

    def __init__(
        self,
        message: str,
        *,
        path: str | None = None,
        offset: int | None = None,
        node: str | None = None,
        operator: str | None = None,
        valid: Sequence[str] = (),
    ) -> None:
        super().__init__(message)
        self.path = path
        self.offset = offset
        self.node = node
        self.operator = operator
        self.valid = tuple(valid)


class InvalidArgumentError(LatpredError, ValueError):
    """An argument that latpred does not take; `valid` lists the accepted values where there is a list."""


class ModelFileError(LatpredError, ValueError):
    """A model file that is missing, damaged or of another kind than said."""


class ShapeError(LatpredError, ValueError):
    """Sizes that contradict each other; `node` names the place."""


class UnsupportedOperatorError(LatpredError, NotImplementedError):
    """Operators without a rule that leave a size open, or, with strict=True, that are not in the table."""


class CheckpointError(LatpredError, RuntimeError):
    """A predictor's file that does not fit this build."""


class ProfilerError(LatpredError, RuntimeError):
    """A measurement that could not be made."""


class MissingDependencyError(LatpredError, ImportError):
    """A package that an optional feature needs; the message names the extra to install."""


__all__ = [
    "CheckpointError",
    "InvalidArgumentError",
    "LatpredError",
    "MissingDependencyError",
    "ModelFileError",
    "ProfilerError",
    "ShapeError",
    "UnsupportedOperatorError",
]

"""Files that a user asks for: why one could not be written, in a sentence."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from latpred.errors import InvalidArgumentError


@contextlib.contextmanager
def writing(what: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Around what writes `what` to `path`."""
    try:
        yield
    except OSError as error:
        raise InvalidArgumentError(
            f"{what} cannot be written to '{os.fspath(path)}': {error.strerror or error}; name a file in a folder that "
            "exists and may be written to",
            path=os.fspath(path),
        ) from error

"""Files that are there whole or not at all, and why one that a user asks for could not be written, in a sentence."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from pathlib import Path

from latpred.errors import InvalidArgumentError

_IS_FULL = (errno.ENOSPC, errno.EDQUOT)
_IS_NO_PLACE = (errno.ENOENT, errno.EEXIST, errno.ENOTDIR, errno.EISDIR, errno.EACCES, errno.EPERM, errno.EROFS)


@contextlib.contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """The file to write for `path`: of the same name in a folder beside it. It takes its place when all is written, and
    is removed where that fails."""
    target = Path(os.path.realpath(path))  # a link stays one
    if target.exists() and not target.is_file():  # a pipe or a device, which nothing may be put in the place of
        yield target
        return
    if target.exists() and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".latpred-") as folder:
        unfinished = Path(folder) / target.name
        yield unfinished
        if target.exists():
            shutil.copymode(target, unfinished)
        os.replace(unfinished, target)


@contextlib.contextmanager
def writing(what: str, path: str | os.PathLike[str]) -> Iterator[None]:
    """Around what writes `what` to `path`."""
    try:
        yield
    except OSError as error:
        raise InvalidArgumentError(
            f"{what} cannot be written to '{os.fspath(path)}': {error.strerror or error}; {_advice(error)}",
            path=os.fspath(path),
        ) from error


@contextlib.contextmanager
def writing_journal(path: Path) -> Iterator[None]:
    """Around what writes the journal at `path`: why SQLite cannot."""
    try:
        yield
    except (sqlite3.ProgrammingError, sqlite3.IntegrityError):  # ours, not the disk's
        raise
    except sqlite3.Error as error:
        raise InvalidArgumentError(
            f"journal '{path}' cannot be written: {error}; make room there and go on with the same command, move a "
            "damaged one away, or choose another --out, in a folder that may be written to",
            path=str(path),
        ) from error


def _advice(error: OSError) -> str:
    if error.errno in _IS_FULL:
        return "make room there, or name a file on another disk"
    if error.errno in _IS_NO_PLACE:
        return "name a file in a folder that exists and may be written to"
    return "name another file"

"""One process at a time: a lock beside the file that it writes."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from latpred.errors import LatpredError

_TRIES, _PAUSE_S = 5, 0.1  # somebody may be looking whether it is held


class Lock:
    """Held until release(); the system gives it back when its process is gone, however."""

    def __init__(self, path: Path, held: str) -> None:
        """path: of what is written. held: the sentence of the error where another process writes it now."""
        self._path = _lock_of(path)
        for _ in range(_TRIES):
            self._file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o644)
            if self._is_taken():
                return
            os.close(self._file)
            time.sleep(_PAUSE_S)
        raise LatpredError(held, path=str(path))

    def _is_taken(self) -> bool:
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # Who held it may have removed the file in between: the lock of one that is gone keeps nobody out.
            return os.fstat(self._file).st_ino == os.stat(self._path).st_ino
        except (BlockingIOError, FileNotFoundError):
            return False

    def release(self) -> None:
        self._path.unlink(missing_ok=True)
        os.close(self._file)


def is_held(path: Path) -> bool:
    """Whether a process writes `path` now; asked without writing anything."""
    try:
        file = os.open(_lock_of(path), os.O_RDONLY)
    except FileNotFoundError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(file)
    return False


def _lock_of(path: Path) -> Path:
    return path.with_name(path.name + ".lock")

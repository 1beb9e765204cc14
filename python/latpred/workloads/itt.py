"""The collector of latpred, a shared library that OpenVINO loads and reports its nodes to."""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import latpred
from latpred.errors import ProfilerError

ENVIRONMENT_VARIABLE = "INTEL_LIBITTNOTIFY64"
_LIBRARY = "_itt_collector.so"
_LONGEST_NAME = 4096


class _Record(ctypes.Structure):
    """TaskRecord of cpp/src/itt/task_log.h."""

    _fields_ = (
        ("begin_ns", ctypes.c_int64),
        ("wall_ns", ctypes.c_int64),
        ("cpu_ns", ctypes.c_int64),
        ("name", ctypes.c_int32),
        ("depth", ctypes.c_int32),
    )


@dataclasses.dataclass(frozen=True)
class Task:
    """One executed node."""

    name: str
    wall_ns: int
    cpu_ns: int  # of the thread that ran it, the reading of the clock taken off
    depth: int  # 0: inside no other


def library_path() -> str:
    """For the environment of a process that is to load OpenVINO."""
    path = Path(latpred.__file__).parent / _LIBRARY
    if not path.is_file():
        raise ProfilerError(f"'{path}' is missing: install latpred again")
    return str(path)


@cache
def _library() -> ctypes.CDLL:
    library = ctypes.CDLL(library_path())
    library.latpred_itt_clock_overhead_ns.restype = ctypes.c_int64
    library.latpred_itt_records.restype = ctypes.c_int64
    library.latpred_itt_records.argtypes = [ctypes.POINTER(_Record), ctypes.c_int64]
    library.latpred_itt_name.restype = ctypes.c_int64
    library.latpred_itt_name.argtypes = [ctypes.c_int32, ctypes.c_char_p, ctypes.c_int64]
    return library


@cache
def _name(index: int) -> str:
    text = ctypes.create_string_buffer(_LONGEST_NAME)
    length = _library().latpred_itt_name(index, text, _LONGEST_NAME)
    return text.raw[: min(length, _LONGEST_NAME)].decode()


@cache
def _clock_overhead_ns() -> int:
    return int(_library().latpred_itt_clock_overhead_ns())


@contextlib.contextmanager
def collected() -> Iterator[list[Task]]:
    """The tasks of the body, by their begin; the list is filled when the body has ended."""
    overhead_ns = _clock_overhead_ns()
    tasks: list[Task] = []
    _library().latpred_itt_start()
    try:
        yield tasks
    finally:
        _library().latpred_itt_stop()
    count = _library().latpred_itt_records(None, 0)
    records = (_Record * count)()
    _library().latpred_itt_records(records, count)
    tasks += [
        Task(_name(record.name), record.wall_ns, max(0, record.cpu_ns - overhead_ns), record.depth)
        for record in records
    ]

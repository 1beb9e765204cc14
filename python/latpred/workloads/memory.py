"""The memory of a process that runs one network: its peak of resident pages, as the kernel counts it."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from latpred.errors import ProfilerError
from latpred.workloads import child
from latpred.workloads.workload import MemoryUse, Setting

_PEAK, _NOW = "VmHWM", "VmRSS"
_RESET_PEAK = "5"  # what proc(5) says for clear_refs
_KIBIBYTE = 1024
_CALLS = 2  # the second finds what the first has left in caches and arenas


def of_fresh_process(opens: str, setting: Setting) -> MemoryUse:
    """Opens the setting with a class ("module:class") in a new process that has called its imports(), and runs it."""
    request = {"opens": opens, "setting": dataclasses.asdict(setting)}
    return MemoryUse(**child.ask("memory", request))


def measure_here(request: Mapping[str, Any]) -> dict[str, int]:
    """The same in this process, which should be fresh."""
    module, _, name = request["opens"].partition(":")
    opener = getattr(importlib.import_module(module), name)
    opener.imports()
    imports_bytes = _status(_NOW)
    _reset_peak()
    with contextlib.closing(opener(Setting(**request["setting"]))) as opened:
        build_peak_bytes = _status(_PEAK)
        built_bytes = _status(_NOW)
        _reset_peak()
        opened.run_many(_CALLS)
        run_peak_bytes = _status(_PEAK)
    return {
        "build_peak_bytes": build_peak_bytes - imports_bytes,
        "built_bytes": built_bytes - imports_bytes,
        "run_peak_bytes": run_peak_bytes - imports_bytes,
        "imports_bytes": imports_bytes,
    }


def _status(field: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * _KIBIBYTE
    raise ProfilerError(f"this system's /proc/self/status does not tell {field}: no memory can be measured")


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError as error:
        raise ProfilerError(f"the peak of memory cannot be reset here ({error})") from error

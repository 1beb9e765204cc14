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
    imports = _resident()
    _reset_peak()
    with contextlib.closing(opener(Setting(**request["setting"]))) as opened:
        built = _resident()
        _reset_peak()
        opened.run_many(_CALLS)
        run = _resident()
    return {
        "build_peak_bytes": built.peak_bytes - imports.now_bytes,
        "built_bytes": built.now_bytes - imports.now_bytes,
        "run_peak_bytes": run.peak_bytes - imports.now_bytes,
        "imports_bytes": imports.now_bytes,
    }


@dataclasses.dataclass(frozen=True)
class _Resident:
    peak_bytes: int
    now_bytes: int


def _resident() -> _Resident:
    """Both numbers of one reading: between two, reading itself touches pages that only the second would count."""
    fields = dict(line.partition(":")[::2] for line in Path("/proc/self/status").read_text().splitlines())
    for field in (_PEAK, _NOW):
        if field not in fields:
            raise ProfilerError(f"this system's /proc/self/status does not tell {field}: no memory can be measured")
    peak, now = (int(fields[field].split()[0]) * _KIBIBYTE for field in (_PEAK, _NOW))
    # The kernel counts pages by thread and adds them up late: the peak that it has noted can lag behind what is there.
    return _Resident(peak_bytes=max(peak, now), now_bytes=now)


def _reset_peak() -> None:
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError as error:
        raise ProfilerError(f"the peak of memory cannot be reset here ({error})") from error

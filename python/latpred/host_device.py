"""The machine that this runs on, as the device "cpu"."""

from __future__ import annotations

from functools import cache

from latpred import _core
from latpred.errors import InvalidArgumentError

NAME = "cpu"  # among devices: this machine


@cache
def host_device() -> _core.Device:
    """By what the system says; peaks and bandwidth are unknown."""
    facts = _core.host_facts()
    if not facts.model_name or facts.memory_bytes is None:
        raise InvalidArgumentError(
            f"device '{NAME}' is this machine, and its system names no processor or no memory; name a processor of the "
            "device table instead"
        )
    caches = [cache.size_bytes for cache in facts.caches if cache.kind != "Instruction"]
    return _core.host_device(facts.model_name, facts.logical_cores, facts.memory_bytes, max(caches, default=None))

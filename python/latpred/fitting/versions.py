"""Versions of runtimes: their names in the rows, their order, and which of them a request can name."""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np
import pandas as pd

# NVIDIA's containers are named by year and month ("tensorrt 22.06"), and none is newer than the newest named version.
FIRST_CONTAINER_YEAR = 17
# Others name a backend, a serving stack or nothing: who asks would not know them by these names.
TOLD_APART = r"torch \d"


def age(version: str) -> tuple[int, ...]:
    """The numbers of a version, the oldest first when sorted: "torch 2.9.1" is newer than "torch 2.4.0"."""
    numbers = tuple(int(number) for number in re.findall(r"\d+", version))
    is_container = bool(numbers) and numbers[0] >= FIRST_CONTAINER_YEAR
    return (0, *numbers) if is_container else numbers


def of_rows(rows: pd.DataFrame) -> pd.Series:
    """[N] "runtime|version", without that of CUDA: one device each was measured with some, whose own effect could not
    be told from it."""
    return rows.runtime + "|" + rows.runtime_version.str.replace(r" cuda .*", "", regex=True)


def can_be_named(name: str) -> bool:
    """Whether a request can name this "runtime|version"."""
    return re.match(TOLD_APART, name.partition("|")[2]) is not None


def is_told_apart(rows: pd.DataFrame) -> np.ndarray:
    """[N] whose version a request can name."""
    return np.asarray(of_rows(rows).map(can_be_named), dtype=bool)


def told_apart(rows: pd.DataFrame) -> dict[str, list[str]]:
    """For each runtime the versions in `rows` that a request can name, the oldest first."""
    found: dict[str, list[str]] = {}
    for name in oldest_first(of_rows(rows[is_told_apart(rows)]).unique()):
        runtime, _, version = name.partition("|")
        found.setdefault(runtime, []).append(version)
    return dict(sorted(found.items()))


def by_device(rows: pd.DataFrame) -> dict[str, dict[str, list[str]]]:
    """told_apart() of each device that has any."""
    found = {str(device): told_apart(of_device) for device, of_device in rows.groupby("device")}
    return {device: of_device for device, of_device in found.items() if of_device}


def are_others(rows: pd.DataFrame, measured: pd.DataFrame) -> np.ndarray:
    """[N] of `rows` whose runtime's versions were told apart in `measured` and whose own is none of them: none of the
    device's, or of all devices' where the device has none."""
    named = measured[is_told_apart(measured)]
    names = of_rows(named)
    seen, tables = set(zip(named.device, names, strict=True)), set(zip(named.device, named.runtime, strict=True))
    asked = of_rows(rows)
    keys = zip(rows.device, rows.runtime, asked, asked.isin(set(names)), strict=True)
    is_seen = [
        (device, name) in seen if (device, runtime) in tables else anywhere for device, runtime, name, anywhere in keys
    ]
    return np.asarray(rows.runtime.isin(set(named.runtime)) & ~np.array(is_seen, dtype=bool))


def oldest_first(names: Iterable[str]) -> list[str]:
    """ "runtime|version" by age."""
    return sorted(names, key=lambda name: (age(name.partition("|")[2]), name))

"""Versions of runtimes, and stacks that run one: their names in the rows, their order, which stands for another."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import pandas as pd

from latpred import _core

# The stack that is a runtime itself. Others run it with kernels of their own, or build its engines in their own way.
# What has no such name runs single products, which all stacks take from the same libraries.
OWN_STACKS = {"compiled": "torch", "eager": "torch", "tensorrt": "tensorrt"}

# Prior standard deviations, on the log scale: of what a version does to kernels, and of the time between them. Paddle
# Inference's engines take ResNet-50 on a T4 at fp16 and batch 1 three times as long as NVIDIA's do at int8 (2.64 and
# 0.81 ms): held as narrowly as versions, what they take was taken for TensorRT's at fp16 on every card.
VERSION_SD = 0.03  # hardly a device was measured with several, so it cannot be told from theirs
STACK_SD = 0.4
GAP_SD = 0.3
STACK_GAP_SD = 0.6
# The GPU goes through an engine alone. Wider, the versions that alone ran convolutions at int8 had half the gap of all
# others.
OWN_GAP_SD = {"tensorrt": 0.1}


def named(version: str) -> str:
    """A row's `runtime_version` as a request says it: "tensorrt v10.8.0" is "tensorrt 10.8.0". Without CUDA's version:
    one device each was measured with some, whose own effect could not be told from it."""
    return re.sub(r"\bv(?=\d)| cuda .*", "", version)


def of_rows(rows: pd.DataFrame) -> pd.Series:
    """[N] "runtime|version"."""
    return rows.runtime + "|" + rows.runtime_version.map(named)


def is_said(rows: pd.DataFrame) -> np.ndarray:
    """[N] whose source says by which version or stack they ran."""
    return np.asarray(rows.runtime_version != "")


def told_apart(rows: pd.DataFrame) -> dict[str, list[str]]:
    """For each runtime the versions in `rows`, the oldest first."""
    found: dict[str, list[str]] = {}
    for name in oldest_first(of_rows(rows[is_said(rows)]).unique()):
        runtime, _, version = name.partition("|")
        found.setdefault(runtime, []).append(version)
    return dict(sorted(found.items()))


def by_device(rows: pd.DataFrame) -> dict[str, dict[str, list[str]]]:
    """told_apart() of each device that has any."""
    found = {str(device): told_apart(of_device) for device, of_device in rows.groupby("device")}
    return {device: of_device for device, of_device in found.items() if of_device}


def of_several(rows: pd.DataFrame, column: str) -> tuple[str, ...]:
    """ "runtime|version" of those that two and more of `column` ran."""
    counts = rows.groupby(of_rows(rows))[column].nunique()
    return tuple(sorted(counts.index[counts > 1]))


def newer_on_chips(rows: pd.DataFrame, usual: Mapping[str, str]) -> dict[str, dict[str, str]]:
    """For each chip and runtime the newest version that it ran, where that is newer than the `usual` one of the runtime
    ("runtime|version")."""
    found: dict[str, dict[str, str]] = {}
    for chip, of_chip in rows[is_said(rows)].groupby("chip"):
        for runtime, name in newest(of_rows(of_chip).unique()).items():
            if runtime in usual and "|" not in runtime and oldest_first([usual[runtime], name])[-1] != usual[runtime]:
                found.setdefault(str(chip), {})[runtime] = name.partition("|")[2]
    return found


def are_others(rows: pd.DataFrame, measured: pd.DataFrame) -> np.ndarray:
    """[N] of `rows` whose runtime's versions were told apart in `measured` and whose own is none of them: none of the
    device's, or of all devices' where the device has none."""
    said = measured[is_said(measured)]
    names = of_rows(said)
    seen, tables = set(zip(said.device, names, strict=True)), set(zip(said.device, said.runtime, strict=True))
    asked = of_rows(rows)
    keys = zip(rows.device, rows.runtime, asked, asked.isin(set(names)), strict=True)
    is_seen = [
        (device, name) in seen if (device, runtime) in tables else anywhere for device, runtime, name, anywhere in keys
    ]
    return np.asarray(rows.runtime.isin(set(said.runtime)) & ~np.array(is_seen, dtype=bool))


def oldest_first(names: Iterable[str]) -> list[str]:
    """ "runtime|version" by age."""
    return sorted(names, key=lambda name: (_core.version_age(name.partition("|")[2]), name))


def newest(names: Iterable[str]) -> dict[str, str]:
    """Of "runtime|version" the newest one of each "runtime" and of each "runtime|stack"."""
    found: dict[str, str] = {}
    for name in oldest_first(names):
        found[name.partition("|")[0]] = found[stack(name)] = name
    return found


def stack(name: str) -> str:
    """ "runtime|stack" of a version: "tensorrt|paddle inference" of "tensorrt|paddle inference, tensorrt 8"."""
    runtime, _, version = name.partition("|")
    return f"{runtime}|{_core.version_stack(version)}"


def _is_another_stack(name: str) -> bool:
    runtime, _, of_name = stack(name).partition("|")
    return of_name != OWN_STACKS.get(runtime, of_name)


def kernel_sd(names: Sequence[str]) -> np.ndarray:
    """[N] the prior standard deviation of what each "runtime|version" does to kernels, on the log scale."""
    return np.array([STACK_SD if _is_another_stack(name) else VERSION_SD for name in names])


def gap_sd(names: Sequence[str]) -> np.ndarray:
    """[N] of what it does to the time between kernels, likewise."""
    own = [OWN_GAP_SD.get(name.partition("|")[0], GAP_SD) for name in names]
    return np.where([_is_another_stack(name) for name in names], STACK_GAP_SD, own)


def answered_by(asked: pd.Series, measured: Sequence[str]) -> pd.Series:
    """[N] which of `measured` answers for each of `asked`, "runtime|version" both: itself, else the one that stands for
    it as in a request (runtime_versions.h), else the newest of its stack, else of its runtime, else none: ""."""
    usual = newest(measured)
    ordered = oldest_first(measured)

    def answer(name: str) -> str:
        runtime, _, version = name.partition("|")
        of_runtime = [other.partition("|")[2] for other in ordered if other.partition("|")[0] == runtime]
        other = _core.version_standing_for(version, of_runtime)
        return f"{runtime}|{other}" if other else usual.get(stack(name), usual.get(runtime, ""))

    others = {name: answer(name) for name in asked.unique()}
    return asked.where(asked.isin(measured), asked.map(others))

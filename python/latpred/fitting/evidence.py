"""What a table of measured calls shows: which devices, runtimes, arithmetics and kinds of kernels a fit on it knows.

A checkpoint keeps it (`evidence` of its manifest), and predict/interval.cpp widens what goes beyond it. Rows left out
of a fit are described by the same, so that widths are measured in the situations that they are answered in.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.fitting import alike_networks, checkpoint, versions
from latpred.fitting.checkpoint import OPERATOR_RECIPES, SHARE_THAT_TEACHES
from latpred.fitting.kernel_terms import COLUMNS, KINDS, KernelTable
from latpred.fitting.measurements import ARITHMETICS, is_clear_of_floor
from latpred.fitting.situation import lone_kernels

if TYPE_CHECKING:
    import pandas as pd

    from latpred.fitting.alike_networks import AlikeNetworks

ROWS_THAT_TEACH = 10  # a kind that fewer rows show stays one by analogy
GENERAL_UNITS = 0  # among the units of a kernel: those of no product
# Timings of networks from which on a device counts as measured: calibration settles with 5 to 10 of one machine.
NETWORKS_THAT_MEASURE = 20

_ARITHMETIC_COLUMNS = [COLUMNS.index(f"arithmetic_{name}") for name in ARITHMETICS]


def _arithmetic(table: KernelTable) -> np.ndarray:
    """[K] the place in ARITHMETICS."""
    return np.asarray(table.inputs[:, _ARITHMETIC_COLUMNS].argmax(axis=1)[table.input])


def _is_operator(rows: pd.DataFrame) -> np.ndarray:
    return np.asarray(rows.recipe.str.startswith(OPERATOR_RECIPES), dtype=bool)


def _shares(table: KernelTable, cell: np.ndarray, cells: int, roofline_s: np.ndarray) -> np.ndarray:
    """[N, cells] of each call's roofline, which kernels in `cell` [K] have by `roofline_s` [K]."""
    of_cells = np.bincount(table.call() * cells + cell, roofline_s, table.size * cells).reshape(table.size, cells)
    whole_s = np.bincount(table.call(), table.roofline_s(), table.size)
    return np.asarray(of_cells / np.maximum(whole_s, np.finfo(float).tiny)[:, None])


def _counts(shares: np.ndarray) -> np.ndarray:
    """[cells] of `shares` [N, cells] that teach, none where they are too few."""
    counts = (shares >= SHARE_THAT_TEACHES).sum(axis=0)
    return np.where(counts >= ROWS_THAT_TEACH, counts, 0)


def _rows_by_kind(table: KernelTable) -> np.ndarray:
    """[kinds, arithmetics] rows that teach about each."""
    cell = table.input_kind()[table.input] * len(ARITHMETICS) + _arithmetic(table)
    shares = _shares(table, cell, len(KINDS) * len(ARITHMETICS), table.roofline_s())
    return _counts(shares).reshape(len(KINDS), len(ARITHMETICS))


def _arithmetics_by_device(table: KernelTable, roofline_s: np.ndarray) -> dict[str, list[str]]:
    """Those in which `roofline_s` [K] of the calls is enough to teach, on each device that has any."""
    shares = _shares(table, _arithmetic(table), len(ARITHMETICS), roofline_s)
    found = {}
    for device, where in table.rows.groupby("device").indices.items():
        found[str(device)] = [
            name for name, count in zip(ARITHMETICS, _counts(shares[where]), strict=True) if count > 0
        ]
    return {device: names for device, names in found.items() if names}


def _are_measured(arithmetics: dict[str, list[str]], device: pd.Series, otherwise: bool) -> np.ndarray:
    """[N, arithmetics] of rows on `device` [N]; of devices that are not named, `otherwise`."""
    of_device = {
        name: np.isin(ARITHMETICS, arithmetics[name]) if name in arithmetics else [otherwise] * len(ARITHMETICS)
        for name in device.unique()
    }
    return np.array([of_device[name] for name in device], dtype=bool).reshape(-1, len(ARITHMETICS))


def _families(networks: pd.DataFrame) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for (device, runtime), count in networks.groupby(["device", "runtime"]).family.nunique().items():
        found.setdefault(device, {})[runtime] = int(count)
    return found


@dataclasses.dataclass(frozen=True)
class Evidence:
    """What rows that say something about their device show."""

    rows: pd.DataFrame
    devices: tuple[str, ...]  # that whole networks were timed on: operators alone do not show what a network takes
    rows_by_kind: np.ndarray  # [kinds, arithmetics]
    device_arithmetics: dict[str, list[str]]  # of products in whole networks, by device
    operator_arithmetics: dict[str, list[str]]  # of single operators, by device
    families: dict[str, dict[str, int]]  # of whole networks, by device and runtime

    @staticmethod
    def of(table: KernelTable) -> Evidence:
        """Of what a predictor is fitted on."""
        clear = table.select(is_clear_of_floor(table.rows))
        networks, operators = clear.select(~_is_operator(clear.rows)), clear.select(_is_operator(clear.rows))
        of_products_s = np.where(networks.term("units") == GENERAL_UNITS, 0.0, networks.roofline_s())
        timings = networks.rows.device.value_counts()
        return Evidence(
            clear.rows,
            tuple(sorted(timings.index[timings >= NETWORKS_THAT_MEASURE])),
            _rows_by_kind(clear),
            _arithmetics_by_device(networks, of_products_s),
            _arithmetics_by_device(operators, operators.roofline_s()),
            _families(networks.rows),
        )

    def manifest(self) -> dict[str, Any]:
        """The checkpoint's entry."""
        by_kind = {
            kind: {name: int(count) for name, count in zip(ARITHMETICS, counts, strict=True) if count}
            for kind, counts in zip(KINDS, self.rows_by_kind, strict=True)
            if counts.any()
        }
        return {
            "is_fitted": True,
            "devices": list(self.devices),
            "runtimes": sorted(set(self.rows.runtime)),
            "versions": versions.told_apart(self.rows),
            "device_versions": versions.by_device(self.rows),
            "precisions": sorted(set(self.rows.precision)),
            "device_arithmetics": self.device_arithmetics,
            "operator_arithmetics": self.operator_arithmetics,
            "part_rows": int((self.rows.partition != "").sum()),
            **checkpoint.measured_batches(self.rows),
            "rows": by_kind,
            "families": self.families,
        }

    def described(self, asked: KernelTable, known: AlikeNetworks) -> dict[str, np.ndarray]:
        """Columns about `asked` [N], rows left out of the fit, which has `known` networks: how far they are from these,
        and from those there; whether the whole device (or such operators on it), the runtime and its version were
        measured, and how many families; which kernel stands alone; the shares of the roofline by analogy to other kinds
        of kernels and to other devices, for the shares of the time that the answer goes by."""
        rows, call, arithmetic = asked.rows, asked.call(), _arithmetic(asked)
        kind = asked.input_kind()[asked.input]
        lone = lone_kernels(asked)
        lone_kind = np.where(lone < 0, "", np.asarray(KINDS, dtype=object)[kind[lone]])
        measured_alone = _are_measured(self.operator_arithmetics, rows.device, otherwise=False)
        is_measured_alone = (lone >= 0) & measured_alone[np.arange(len(rows)), arithmetic[lone]]
        is_analogy = self.rows_by_kind[kind, arithmetic] == 0
        in_networks = _are_measured(self.device_arithmetics, rows.device, otherwise=True)
        is_elsewhere = ~is_analogy & ~in_networks[call, arithmetic] & ~is_measured_alone[call]
        is_elsewhere &= asked.term("units") != GENERAL_UNITS
        networks = alike_networks.signatures(asked)
        apart = _shares(asked, np.where(is_analogy, 1, np.where(is_elsewhere, 2, 0)), 3, asked.roofline_s())
        keys = zip(rows.device, rows.runtime, strict=True)
        is_whole = np.asarray(rows.partition == "")
        return {
            "distance": known.distance(networks),
            "distance_there": known.distance_there(networks, alike_networks.places(rows)),
            "families": np.array([self.families.get(device, {}).get(runtime, 0) for device, runtime in keys]),
            "is_device_measured": is_whole & (rows.device.isin(self.devices).to_numpy() | is_measured_alone),
            "is_runtime_measured": rows.runtime.isin(set(self.rows.runtime)).to_numpy(),
            "is_other_version": versions.are_others(rows, self.rows),
            "analogy_share": apart[:, 1],
            "elsewhere_share": apart[:, 2],
            "lone_kind": lone_kind,
        }

"""What a fit of kernel_residual is given: measured calls as arrays, what each of them counts, and what has effects."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.fitting import host_calls, versions
from latpred.fitting.checkpoint import OPERATOR_RECIPES
from latpred.fitting.kernel_terms import COLUMNS, KINDS, KernelTable

if TYPE_CHECKING:
    import pandas as pd

# Every table has the same weight: one source and version, device and layout, and of operators each of them; one of few
# rows less, or each of these would drown a hundred others. Within it a family of n counts as the root of n. Small or
# lopsided families count less than the networks of timm.
FULL_TABLE_ROWS = 300
NETWORK_WEIGHT = 1.0
OPERATOR_WEIGHT = 0.02
FAMILY_WEIGHTS = {"anb": 0.5, "nb201": 0.15, "bert": 0.25, "fbnet": 0.15, "ofa": 0.3}
DEVICE_WEIGHTS = {"P4": 0.3}  # throttles
# A call shows what its host takes where the roofline of its kernels takes less than this share of it (19 of 20 networks
# of timm take twice that and more), or the runtime's time for its launches more than that. Elsewhere the host would be
# fitted to what the kernels leave over.
IDLE_SHARE = 0.2
HOST_SHARE = 0.5

# bf16 runs on the units of fp16 with as many bytes: it counts as fp16. Networks in it were measured on one card alone;
# with a column of its own, what products in it showed elsewhere was taken for all kinds. int8 has peaks and bytes of
# its own and is tiled alike: TensorRT's own convolutions were measured in it alone, those in fp16 were old engines' on
# one card.
ALIKE = {"arithmetic_bf16": "arithmetic_fp16", "arithmetic_int8": "arithmetic_fp16"}


def row_weights(rows: pd.DataFrame) -> np.ndarray:
    """[N] how much each row counts."""
    is_operator = rows.recipe.str.startswith(OPERATOR_RECIPES)
    of_table = rows.source + "|" + rows.device + "|" + rows.runtime + "|" + rows.runtime_version + "|" + rows.layout
    table = of_table + "|" + rows.family.where(is_operator, "networks")
    family = table + "|" + rows.family
    weights = 1 / np.sqrt(family.map(family.value_counts()))
    weights = weights / weights.groupby(table).transform("sum")
    weights = weights * (table.map(table.value_counts()) / FULL_TABLE_ROWS).clip(upper=1.0)
    base = rows.family.map(FAMILY_WEIGHTS).fillna(NETWORK_WEIGHT).where(~is_operator, OPERATOR_WEIGHT)
    return np.asarray(weights * base * rows.device.map(DEVICE_WEIGHTS).fillna(1.0), dtype=float)


@dataclasses.dataclass(frozen=True)
class Effects:
    """What has effects of its own, by name: the index of a name in the fitted arrays is its place + 1, 0 is none."""

    devices: tuple[str, ...]
    chips: tuple[str, ...]
    versions: tuple[str, ...]  # "runtime|version"
    launches: tuple[str, ...]  # "chip|runtime", "device|runtime" where effects of chips are folded into devices
    hosts: tuple[str, ...]  # "source|device|runtime|version"
    shared_versions: tuple[str, ...] = ()  # those that several chips ran: their effect is not a chip's

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Effects:
        """Everything that `rows` name."""
        return cls(
            tuple(sorted(set(rows.device))),
            tuple(sorted(set(rows.chip))),
            tuple(sorted(set(versions.of_rows(rows)[versions.is_said(rows)]))),
            tuple(sorted(set(_by_runtime(rows.chip, rows)[rows.runtime.isin(host_calls.PACED_BY_THE_HOST)]))),
            tuple(sorted(set(hosts(rows)))),
            versions.of_several(rows[versions.is_said(rows)], "chip"),
        )


def _by_runtime(names: pd.Series, rows: pd.DataFrame) -> pd.Series:
    return names + "|" + rows.runtime


def launches(effects: Effects, rows: pd.DataFrame) -> np.ndarray:
    """[N] the place of what each call's host takes for a launch: the board's where it has one, else the chip's."""
    of_device = index(effects.launches, _by_runtime(rows.device, rows))
    of_chip = index(effects.launches, _by_runtime(rows.chip, rows))
    return np.where(of_device > 0, of_device, of_chip)


def hosts(rows: pd.DataFrame) -> pd.Series:
    """[N] what was timed on one machine by one version, as far as its table tells."""
    return rows.source + "|" + rows.device + "|" + versions.of_rows(rows)


def index(names: Sequence[str], values: pd.Series) -> np.ndarray:
    """[N] the place of each value among `names` + 1, 0 of one that is not there."""
    place = {name: index + 1 for index, name in enumerate(names)}
    return np.asarray(values.map(place).fillna(0), dtype=np.int64)


def waits_for_host(table: KernelTable) -> np.ndarray:
    """[N] measured calls in which the device is idle for long, or launching may take most of the time."""
    is_short = (np.bincount(table.call(), table.roofline_s(), table.size) < IDLE_SHARE * table.latency_s) | (
        table.launches_s >= HOST_SHARE * table.latency_s
    )
    return np.asarray((table.floor_s == 0) & is_short)


def _host(table: KernelTable, floor: np.ndarray) -> dict[str, Any]:
    """What is known of the host: nothing of kinds and ages where a launch takes it the same, or where its time is
    measured (`floor` [N])."""
    is_paced = np.asarray(table.rows.runtime.isin(host_calls.PACED_BY_THE_HOST)) & (floor == 0)
    is_by_kind = is_paced & np.asarray(table.rows.runtime.isin(host_calls.BY_KIND))
    num_kernels = np.diff(table.first_kernel)
    kind = host_calls.places()[table.input_kind()][table.input]
    view = host_calls.kinds().index("view")
    return {
        "num_host_kinds": len(host_calls.kinds()),
        "host_kind": np.where(np.repeat(is_by_kind, num_kernels), 1 + kind, 0),
        "view_kind": 1 + view,
        "view_weight": np.where(is_by_kind, table.rows.views * host_calls.weights()[view], 0.0),
        "host_weight": np.where(np.repeat(is_by_kind, num_kernels), host_calls.weights()[kind], 1.0),
        "host_kind_sd": np.full(len(host_calls.kinds()), host_calls.KIND_SD),
        "num_host_columns": len(host_calls.COLUMN_SD),
        "host_columns": np.where(is_paced[:, None], host_calls.columns(table.rows), 0.0),
        "host_column_sd": np.array(host_calls.COLUMN_SD),
    }


def _inputs(table: KernelTable) -> np.ndarray:
    """[U, F] with columns that are ALIKE as one."""
    inputs = table.inputs.astype(float)
    for name, other in ALIKE.items():
        inputs[:, COLUMNS.index(other)] += inputs[:, COLUMNS.index(name)]
        inputs[:, COLUMNS.index(name)] = 0
    return inputs


def arrays(
    table: KernelTable,
    effects: Effects,
    version: pd.Series,
    host: np.ndarray,
    floor: np.ndarray,
) -> dict[str, Any]:
    """`table` as _predictors takes it."""
    rows = table.rows
    is_floor = floor > 0  # which is no factor of launches
    names = (
        "wave_factor", "activation_bytes", "weight_bytes", "bandwidth", "l2_bytes", "least_compute",
        "least_memory", "gap_scale", "cycles_per_byte",
    )  # fmt: skip
    return {
        "num_columns": len(COLUMNS),
        "num_kinds": len(KINDS),
        "num_devices": len(effects.devices),
        "num_chips": len(effects.chips),
        "num_versions": len(effects.versions),
        "version_sd": versions.kernel_sd(effects.versions),
        "version_gap_sd": versions.gap_sd(effects.versions),
        "num_launches": len(effects.launches),
        "num_hosts": len(effects.hosts),
        "inputs": _inputs(table),
        "input_kind": table.input_kind(),
        "first_kernel": table.first_kernel,
        "input": table.input,
        "count": table.count,
        "compute": table.term("compute") * table.term("feeding_factor"),
        **{name: table.term(name).astype(float) for name in names},
        **{name: table.term(name).astype(np.int64) for name in ("units", "library", "memory_kind")},
        **_host(table, floor),
        "host_s": np.where(is_floor, floor, table.launches_s),
        "copy_s": table.beside_s,
        "device": index(effects.devices, rows.device),
        "chip": index(effects.chips, rows.chip),
        "version": index(effects.versions, version),
        "launch": np.where(is_floor, 0, launches(effects, rows)),
        "host": np.where(is_floor, 0, host),
    }

"""The power of kernels in networks, fitted to joules of whole calls."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from latpred.fitting.energy import board_of

pytest.importorskip("scipy")
pytest.importorskip("pyarrow")

from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import network_energy
from latpred.fitting.network_energy import Group, Reading

if TYPE_CHECKING:
    from latpred.fitting.energy import Coefficients

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "cpp" / "src" / "energy"
BOARD = board_of("H200-SXM-141GB")


@pytest.fixture(scope="module")
def alone() -> Coefficients:
    return network_energy.coefficients_alone(HEADERS / "power_coefficients.h")


def test_coefficients_that_made_the_readings_are_found(alone: Coefficients) -> None:
    true = dataclasses.replace(alone, active=0.45, memory=0.5)
    random = np.random.default_rng(0)
    readings = []
    for place in range(12):
        groups = tuple(Group(float(t), 0.1, float(m)) for t, m in zip(random.random(3), random.random(3), strict=True))
        reading = Reading(f"network {place}", 1.0, 4.0, groups)
        readings.append(dataclasses.replace(reading, power_w=network_energy.power_w(reading, BOARD, true)))
    fitted = network_energy.fit(readings, BOARD, alone)
    assert (fitted.active, fitted.memory) == pytest.approx((0.45, 0.5), abs=1e-4)
    assert np.abs(network_energy.left_out(readings, BOARD, alone)).max() < 1e-3


def test_waiting_draws_little_and_no_kernel_more_than_the_limit(alone: Coefficients) -> None:
    waiting = Reading("waits", 1.0, 1.0, ())
    assert network_energy.power_w(waiting, BOARD, alone) < BOARD.idle_w + 0.1 * (BOARD.limit_w - BOARD.idle_w)
    busy = Reading("busy", 1.0, 1.0, (Group(1.0, 1.0, 1.0),))
    assert network_energy.power_w(busy, BOARD, alone) == BOARD.limit_w


def test_the_committed_header_is_what_the_committed_readings_give(alone: Coefficients) -> None:
    data = ROOT / "data" / "measurements"
    readings = network_energy.read(data, GraphCache(data / "graphs.xz"))
    assert len(readings) == 8
    assert network_energy.header(readings, BOARD, alone) == (HEADERS / "network_power.h").read_text()

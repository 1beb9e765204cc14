"""Networks that others made, through the whole line."""

from pathlib import Path

import latpred
import pytest

onnx = pytest.importorskip("onnx")

LIGHT = sorted((Path(onnx.__file__).parent / "backend" / "test" / "data" / "light").glob("*.onnx"))
BATCHES = (1, 8, 32)


def test_all_nine_networks_at_every_batch_in_one_call():
    assert len(LIGHT) == 9
    table = latpred.predict_many(LIGHT, batches=BATCHES, devices=["A100", "T4"])
    assert len(table) == 9 * 3 * 2
    for path in LIGHT:
        for device in ("A100-SXM4-40GB", "T4"):
            rows = [p for p in table if p.name == path.name and p.device == device]
            assert [p.batch for p in rows] == list(BATCHES)
            one, eight, many = rows
            assert eight.graph.macs == 8 * one.graph.macs
            assert many.graph.macs == 32 * one.graph.macs
            assert one.latency_ms <= 1.02 * eight.latency_ms <= 1.02**2 * many.latency_ms
            assert one.memory_mb <= eight.memory_mb <= many.memory_mb
            assert one.energy_j < eight.energy_j < many.energy_j
            assert all(not p.unknown_operators for p in rows)


def test_different_networks_get_different_answers():
    table = latpred.predict_many(LIGHT, batches=8)
    assert len({p.latency_ms for p in table}) == len({p.energy_j for p in table}) == 9

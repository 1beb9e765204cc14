"""The fit of the power model, on rows whose truth is known."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")

from latpred.fitting import energy  # noqa: E402

BOARD = energy.Board(idle_w=70, limit_w=700, flops_per_s=1e15, bytes_per_s=5e12, l2_bytes=6e7)
TRUTH = energy.Coefficients(active=0.3, compute_product=0.6, compute_attention=0.4, memory=0.5, gap=0.1)


def synthetic_rows(count: int = 400) -> pd.DataFrame:
    random = np.random.default_rng(5)
    latency_s = 10 ** random.uniform(-4, -2, count)
    rows = pd.DataFrame(
        {
            "kind": np.where(np.arange(count) % 2 == 0, "gemm", "context_attention"),
            "block": [f"block {index % 10}" for index in range(count)],
            "latency_s": latency_s,
            "flops": random.uniform(0, 0.5, count) * BOARD.flops_per_s * latency_s,
            "bytes": random.uniform(0.1, 0.5, count) * BOARD.bytes_per_s * latency_s,
            "samples": 10,
        }
    )
    rows["power_w"] = energy.predict(rows, BOARD, TRUTH)
    return rows


def test_fit_finds_the_coefficients_that_made_the_rows() -> None:
    fitted = energy.fit(synthetic_rows(), BOARD, TRUTH.gap)
    for name in ("active", "compute_product", "compute_attention", "memory"):
        assert getattr(fitted, name) == pytest.approx(getattr(TRUTH, name), abs=1e-3), name


def test_a_tenth_of_wild_readings_moves_the_fit_little() -> None:
    rows = synthetic_rows()
    rows.loc[rows.index % 10 == 0, "power_w"] = 140.0
    fitted = energy.fit(rows, BOARD, TRUTH.gap)
    assert fitted.active == pytest.approx(TRUTH.active, abs=0.1)
    assert fitted.compute_product == pytest.approx(TRUTH.compute_product, abs=0.15)


def test_held_out_blocks_are_predicted_better_than_by_constant_power() -> None:
    table = energy.held_out(synthetic_rows(), BOARD, TRUTH.gap)
    assert len(table) == 400
    model = (table.model / table.measured - 1).abs().mean()
    assert model < 1e-3 < (table["constant power"] / table.measured - 1).abs().mean()


def test_half_width_holds_eight_of_ten() -> None:
    errors = np.linspace(-0.5, 0.5, 101)
    table = pd.DataFrame({"model": np.exp(errors), "measured": 1.0})
    assert energy.log_half_width(table) == pytest.approx(0.4, abs=0.01)


def test_power_stays_between_idle_and_limit() -> None:
    rows = synthetic_rows()
    rows["flops"] *= 100
    power = energy.predict(rows, BOARD, TRUTH)
    assert power.max() == BOARD.limit_w
    assert power.min() >= BOARD.idle_w


@pytest.mark.parametrize(("power_w", "count"), [(474.399750, 4), (134.566, 1), (692.2902727272727, 11)])
def test_number_of_samples_is_read_off_the_mean(power_w: float, count: int) -> None:
    assert energy.num_samples(power_w) == count


def test_only_settled_readings_are_kept() -> None:
    rows = synthetic_rows(4)
    rows["samples"] = [1, 10, 10, 4]
    rows["latency_s"] = [1e-3, 1e-3, 1e-5, 1e-3]
    assert len(energy.steady(rows)) == 1


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def test_tables_are_read_into_work_and_traffic(tmp_path: Path) -> None:
    folder = tmp_path / energy.FOLDER
    write(
        folder / "gemm" / energy.VERSION / "gemm_perf.csv.gz",
        "gemm_dtype,m,n,k,latency,power,power_limit\nbfloat16,2,3,4,0.5,100.5,700\nfp8_block,2,3,4,0.5,100.5,700\n",
    )
    attention = (
        "batch_size,isl,num_heads,num_key_value_heads,head_dim,kv_cache_dtype,step,window_size,latency,power\n"
        "1,{isl},2,1,8,fp8,{step},0,0.5,200.25\n"
    )
    for name, isl, step in (("context", 4, 0), ("generation", 1, 9)):
        path = folder / "attention" / energy.VERSION / f"{name}_attention_perf.csv.gz"
        write(path, attention.format(isl=isl, step=step))
    rows = energy.read(tmp_path).set_index("kind")
    assert len(rows) == 3
    assert rows.flops["gemm"] == 2 * 2 * 3 * 4
    assert rows.bytes["gemm"] == 2 * (2 * 4 + 4 * 3 + 2 * 3)
    assert rows.flops["context_attention"] == 4 * 8 * 2 * (4 * 5 / 2)  # causal: 10 pairs
    assert rows.bytes["context_attention"] == 8 * 2 * (2 * 2 * 4 + 2 * 1 * 4)
    assert rows.flops["generation_attention"] == 4 * 8 * 2 * 10
    assert rows.bytes["generation_attention"] == 8 * 2 * (2 * 2 * 1 + 1 * 1 * 10)  # the cache is stored in 8 bits
    assert rows.latency_s["gemm"] == 0.5e-3


def test_header_holds_every_coefficient() -> None:
    text = energy.header(TRUTH, 12, 0.25, ["all (12), model: MAPE 1.0"])
    assert "kComputeAttentionShare = 0.4000;" in text
    assert "all (12), model: MAPE 1.0" in text
    assert "kPowerLogHalfWidth = 0.2500;" in text
    assert text.count("inline constexpr double") == 7

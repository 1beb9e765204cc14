"""The campaign for machines with a GPU: its lists, and every part on a processor with tiny nets."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmark_modules import BENCHMARKS, benchmark_module
from latpred import _core
from latpred.datasets import gpu_campaign

pytest.importorskip("torch")
pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def campaign() -> Any:
    """Its modules."""
    for module in ("journal", "settings"):
        benchmark_module(f"gpu_campaign.{module}")
    return benchmark_module("gpu_campaign")


def command(*arguments: str) -> str:
    answer = subprocess.run(
        [sys.executable, str(BENCHMARKS / "gpu_campaign"), *arguments],
        capture_output=True, text=True, check=False, env=os.environ,
    )  # fmt: skip
    assert answer.returncode == 0, answer.stderr[-3000:]
    return answer.stdout


def test_lists_are_fixed_distinct_and_begin_with_every_family(campaign: Any) -> None:
    for part in campaign.settings.PARTS:
        first = [setting.key for setting in itertools.islice(part.settings(), 300)]
        assert first == [setting.key for setting in itertools.islice(part.settings(), 300)], part.name
        assert len(set(first)) == len(first), part.name
    [plain] = [list(part.settings()) for part in campaign.settings.PARTS if part.name == "plain"]
    assert len(plain) >= 4 * 60
    families = {campaign.settings.network_of(setting.recipe).family for setting in plain}
    batches = len(campaign.settings.BATCHES)
    first_round = plain[: len(families) * batches]
    assert {campaign.settings.network_of(setting.recipe).family for setting in first_round} == families


def test_a_cut_off_line_is_measured_again_and_no_other(campaign: Any, tmp_path: Path) -> None:
    path = tmp_path / "part.jsonl"
    journal = campaign.journal.Journal(path)
    for key in ("first", "second"):
        journal.add(campaign.journal.Result(key, error="of the test"))
    path.write_text(path.read_text()[:-10])
    again = campaign.journal.Journal(path)
    assert again.keys == {"first"}
    again.add(campaign.journal.Result("second", error="of the test"))
    assert [result.key for result in again.results()] == ["first", "second"]


@pytest.mark.skipif(not _core.cuda_unavailable_reason(), reason="here is a GPU, which would be measured")
def test_without_a_gpu_it_says_so(tmp_path: Path) -> None:
    program = [sys.executable, str(BENCHMARKS / "gpu_campaign"), "fp32", "--out", str(tmp_path)]
    answer = subprocess.run(program, capture_output=True, text=True, check=False)
    assert answer.returncode == 1
    assert answer.stderr.startswith("gpu_campaign: NVIDIA's CUDA driver was not found")
    assert answer.stderr.count("\n") == 1


def test_every_part_runs_on_a_processor_and_goes_on(tmp_path: Path) -> None:
    parts = ("fp32", "amp", "tf32", "energy", "small", "slices", "together", "kernels")
    out = str(tmp_path)
    said = command(*parts, "--device", "cpu", "--smoke", "--out", out)
    assert all(f"{part}: 2 settings added" in said for part in parts)
    assert "fp32: 0 settings added" in command("fp32", "--device", "cpu", "--smoke", "--out", out)

    def lines(part: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (tmp_path / f"{part}.jsonl").read_text().splitlines()]

    for line in lines("fp32"):
        [row] = line["rows"]
        assert (row["quantity"], row["device"], row["runtime"], row["precision"]) == (
            "latency_s",
            "cpu",
            "eager",
            "fp32",
        )
        assert 0 < row["value"] < 1
    assert all(line["error"] == "LatpredError: only a GPU has parts" for line in lines("slices"))
    assert all(
        len(line["rows"]) >= 2 and "beside fnn:8-4-2 x1" in line["rows"][0]["quantity"] for line in lines("together")
    )
    assert all(line["kernels"] for line in lines("kernels"))
    pytest.importorskip("pyarrow")
    assert " rows in " in command("table", "--out", out)
    assert (tmp_path / "gpu_campaign.parquet").is_file()


def test_what_was_measured_is_read_as_rows_and_those_of_recipes_ship() -> None:
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    data = Path(__file__).resolve().parents[2] / "data" / "measurements"
    everything, found = list(gpu_campaign.read_all(data)), list(gpu_campaign.read(data))
    assert {row.quantity for row in everything} > {"latency_s", "device_latency_s", "memory_bytes", "energy_j"}
    assert any(row.recipe.startswith("plain:") for row in everything)
    assert all(row.quantity == "latency_s" and not row.recipe.startswith("plain:") for row in found)
    assert all(row.device_fingerprint.startswith("NVIDIA H200;") and row.value > 0 for row in everything)
    shipped = pd.read_parquet(data / "rows.parquet")
    assert set(shipped.id[shipped.source == "gpu_campaign"]) == {row.id for row in found}


def test_a_folder_without_a_campaign_has_no_rows(tmp_path: Path) -> None:
    assert list(gpu_campaign.read(tmp_path)) == []

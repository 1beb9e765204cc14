"""latpred train and latpred evaluate."""

import json

import latpred
import pytest
from latpred.cli import main
from latpred.datasets import measured_nets
from measured_nets_maker import by_law

pytest.importorskip("pyarrow")


def test_commands_train_and_evaluate(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    measured_nets.write(tmp_path / "nets.parquet", by_law(400))
    assert main(["train", "cache_roofline", "--dataset", "nets.parquet", "--out", "x.safetensors"]) == 0
    captured = capsys.readouterr()
    assert "cache_roofline: epoch 1 of 1, loss" in captured.err
    assert "the best by validation" in captured.err
    assert "MAE / mean" in captured.out
    assert "timed a second time" in captured.out
    assert main(["evaluate", "x.safetensors", "--dataset", "nets.parquet", "--json", "--part", "all"]) == 0
    found = json.loads(capsys.readouterr().out)
    file = measured_nets.read(tmp_path / "nets.parquet")
    assert found == latpred.evaluate(tmp_path / "x.safetensors", dataset=file, part="all").to_dict()
    assert found["errors"][0]["nets"] == 400
    assert main(["train", "cache", "--dataset", "nets.parquet", "--out", "y.safetensors"]) == 2

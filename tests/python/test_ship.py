"""The command that makes the checkpoint that ships: it goes on where it stopped, and its intervals are measured."""

import numpy as np
import pytest
from latpred import _core
from latpred.datasets.graph_cache import build_cache
from latpred.fitting import checkpoint, kernel_residual, kernel_terms, left_out, measurements, ship

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("rich")
pytest.importorskip("scipy")


@pytest.mark.torch
def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    rows = measurements.load()
    # More networks than operators, so that there is something to leave out.
    place = rows.groupby(["source", "device", "family"]).cumcount()
    rows = rows[place < np.where(rows.family == "anb", 50, 1)].reset_index(drop=True)
    graphs, work, out = tmp_path / "graphs.sqlite", tmp_path / "work", tmp_path / "fitted.safetensors"
    list(build_cache(graphs, []))
    rows.to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr(left_out, "CHIPS", ("GA100", "GA102"))
    arguments = ["--rows", tmp_path / "rows.parquet", "--graphs", graphs, "--work", work, "--out", out]
    arguments = [*map(str, arguments), "--seeds", "2", "--epochs", "2"]
    ship.main(arguments)
    assert "training rows" in capsys.readouterr().out
    first = out.read_bytes()
    kept = {path.name for path in work.glob("rows_*.parquet")}
    parts = ("family_anb", "known_known", "chip_GA100", "chip_GA102", "block_block")
    assert kept == {f"rows_{name}_0.parquet" for name in parts}

    manifest, arrays = checkpoint.read(out)
    terms = manifest["interval_terms"]
    for name in ("known_device", "unknown_device", "device_sd", "near_network", "new_network", "few_families"):
        assert terms[name]["source"].startswith("measured")
    assert "families left out" in terms["known_device"]["source"]
    assert manifest["evidence"]["families"] == {"A100-SXM4-40GB": {"eager": 1}, "RTX 3090": {"eager": 1}}
    assert arrays["alike_networks"].shape[1] > 0
    assert manifest["errors"]["chips left out"]["rows"] > 0
    _core.load_predictor("kernel_residual", str(out))

    (work / "member_1.npz").unlink()
    (work / "rows_chip_GA102_0.parquet").unlink()
    monkeypatch.setattr(kernel_terms, "_lower_shard", None)  # rows are not lowered again
    fitted = []
    fit_member = kernel_residual.fit_member
    monkeypatch.setattr(
        kernel_residual, "fit_member", lambda *given, **named: fitted.append(given[2]) or fit_member(*given, **named)
    )
    ship.main(arguments)
    assert fitted == [1]
    assert out.read_bytes() == first

    with pytest.raises(SystemExit, match="take a new folder"):
        ship.main([*arguments, "--epochs", "3"])

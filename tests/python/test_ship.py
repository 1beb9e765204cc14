"""The command that makes the checkpoint that ships: it goes on where it stopped, and its intervals are measured."""

import numpy as np
import pytest
from latpred import _core
from latpred.datasets.graph_cache import build_cache
from latpred.fitting import checkpoint, kernel_terms, left_out, measurements, ship

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("rich")
pytest.importorskip("scipy")


@pytest.mark.torch
def test_the_command_goes_on_where_it_stopped(tmp_path, monkeypatch, capsys):
    rows = measurements.load()
    # More networks than operators, so that there is something to leave out.
    place = rows.groupby(["source", "device", "family"]).cumcount()
    rows = rows[place < np.where(rows.family == "anb", 60, 1)].reset_index(drop=True)
    # Two search spaces: with one left out, the other shows the device.
    is_other = (rows.family == "anb") & (np.arange(len(rows)) % 2 == 0)
    rows["family"] = rows.family.where(~is_other, "nb201")
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
    parts = ("family_anb", "family_nb201", "known_known", "chip_GA100", "chip_GA102", "block_block")
    assert kept == {f"rows_{name}_0.parquet" for name in parts}

    manifest, arrays = checkpoint.read(out)
    terms = manifest["interval_terms"]
    for name in ("known_device", "unknown_device", "device_sd", "near_network", "new_network", "few_families"):
        assert terms[name]["source"].startswith("measured")
    assert "families left out" in terms["known_device"]["source"]
    assert manifest["evidence"]["families"] == {"A100-SXM4-40GB": {"eager": 2}, "RTX 3090": {"eager": 2}}
    assert arrays["alike_networks"].shape[1] > 0
    assert manifest["errors"]["chips left out"]["rows"] > 0
    _core.load_predictor("kernel_residual", str(out))

    made = [*work.glob("terms/*.npz"), *work.glob("member_*.npz"), *work.glob("rows_*.parquet")]
    assert len(made) == 1 + 2 + len(parts)
    written = {path.name: path.stat().st_mtime_ns for path in made}
    unkept = {"member_1.npz", "rows_chip_GA102_0.parquet"}
    for name in unkept:
        (work / name).unlink()
    monkeypatch.setattr(kernel_terms, "_lower_shard", None)  # rows are not lowered again
    ship.main(arguments)
    assert {path.name for path in made if path.stat().st_mtime_ns != written[path.name]} == unkept
    assert out.read_bytes() == first

    with pytest.raises(SystemExit, match="take a new folder"):
        ship.main([*arguments, "--epochs", "3"])

"""Columns of parts of devices, and latencies on them."""

import latpred
import numpy as np
import pytest
from example_networks import small_network, views
from latpred import _core, partial_devices
from latpred.cli import main
from latpred.errors import InvalidArgumentError

LILOU = len(partial_devices.LILOU_COLUMNS)


def test_a_share_of_a_gpu_changes_cores_and_multiprocessors_alone():
    whole = partial_devices.columns("A100")
    assert whole[:LILOU].tolist() == [80, 5120, pytest.approx(1.215), 6912, 108, pytest.approx(1.41)]
    assert whole[LILOU:].tolist() == [1555, 40]
    for share in partial_devices.MPS_SHARES:
        part = partial_devices.columns("A100", f"{share}%")
        same = [0, 1, 2, 5]
        assert part[same].tolist() == whole[same].tolist()
        assert part[3] / whole[3] == pytest.approx(part[4] / whole[4])
        assert part[4] == pytest.approx(1.08 * share, abs=1)


def test_every_mig_profile_has_its_own_columns():
    for device in ("A100", "A30", "H100"):
        rows = [
            partial_devices.columns(device, profile.name) for profile in _core.mig_profiles(_core.device(device).name)
        ]
        assert len({tuple(row) for row in rows}) == len(rows)
        assert np.isfinite(rows).all()
    slice_ = partial_devices.columns("A100", "1g.5gb")
    assert slice_[LILOU:].tolist() == [pytest.approx(1555 / 8), 5], "one of eight memory slices"


def test_what_is_not_known_is_no_number():
    assert np.isnan(partial_devices.columns("GH200-96GB")[-1])


def test_a_neighbour_takes_bandwidth_and_cache(known_host):
    if _core.host_facts().isa_level not in ("x86-64-v3", "x86-64-v4"):
        pytest.skip("lanes are those of AVX")
    alone, beside = partial_devices.columns("cpu"), partial_devices.columns("cpu", neighbour=100)
    assert alone[LILOU] == 40
    assert beside[LILOU] == 25, "half of what both cores draw at once"
    assert beside[LILOU + 1] == pytest.approx(alone[LILOU + 1] / 2)
    assert alone[1] * alone[2] / 8 == pytest.approx(alone[LILOU])
    lanes = alone[3]
    assert alone[5] * 4 * lanes == pytest.approx(256), "GFLOP/s of one core"
    assert (alone[[0, 2, 3, 4, 5]] == beside[[0, 2, 3, 4, 5]]).all()


def test_columns_refuse_what_has_none(known_host):
    with pytest.raises(InvalidArgumentError, match="no partitions"):
        partial_devices.columns("cpu", "50%")
    with pytest.raises(InvalidArgumentError, match="0 to 100"):
        partial_devices.columns("cpu", neighbour=101)
    with pytest.raises(InvalidArgumentError, match="has no neighbour"):
        partial_devices.columns("A100", neighbour=50)
    with pytest.raises(InvalidArgumentError, match="not this machine"):
        partial_devices.columns("Xeon Gold 6240")


def test_latency_falls_with_the_share():
    graph = small_network(batch=256, channels=256)
    rows = partial_devices.latency_on_parts(graph, "A100")
    shares = [row for row in rows if row.kind == "mps"]
    assert [row.name for row in shares] == [f"{share}%" for share in partial_devices.MPS_SHARES]
    latencies = [row.latency_ms for row in shares]
    assert latencies == sorted(latencies, reverse=True)
    assert latencies[0] > 2 * latencies[-1]
    assert latencies[-1] == pytest.approx(latpred.predict(graph=graph, device="A100").latency_ms)
    assert {row.name for row in rows if row.kind == "mig"} == {p.name for p in _core.mig_profiles("A100-SXM4-40GB")}
    assert all(row.latency_ms_low <= row.latency_ms <= row.latency_ms_high for row in rows)


def test_a_core_beside_neighbours_gets_slower_with_their_grade(monkeypatch):
    alone = latpred.predict(graph=small_network(batch=8), device="Xeon Gold 6240", runtime="openvino")
    rows = partial_devices._beside_neighbours(alone.graph, alone.latency_ms, alone.intervals["latency_ms"])
    factors = [row.slow_down for row in rows]
    assert factors[0] == 1
    assert factors == sorted(factors)
    assert factors[-1] < 1.2, "the measured range ends there"


@pytest.mark.parametrize("device", ["A100", "cpu"])
def test_views_take_no_time_on_any_part(device, known_host):
    rows = partial_devices.latency_on_parts(views(), device)
    assert len(rows) >= len(partial_devices.NEIGHBOUR_SHARES)
    assert {(row.latency_ms, row.slow_down) for row in rows} == {(0, 1)}


@pytest.mark.parametrize("device", ["A100", "cpu"])
def test_a_part_of_all_parts_is_refused(device, known_host):
    with pytest.raises(InvalidArgumentError, match=rf"partition='50%' cannot be said here: every part of '{device}'"):
        partial_devices.latency_on_parts(small_network(), device, partition="50%")
    assert partial_devices.latency_on_parts(small_network(), device, partition=None)


def test_parts_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    from latpred import plots

    figure = plots.partitions(small_network(batch=8), "A30")
    (axes,) = figure.axes
    assert len(axes.lines[0].get_xdata()) == len(partial_devices.MPS_SHARES)
    names = {text.get_text() for text in axes.texts}
    assert names == {profile.name for profile in _core.mig_profiles("A30")}
    path = tmp_path / "net.onnx"
    small_network().to_onnx(str(path))
    for what in ("partitions", "roofline", "batches"):
        assert main(["plot", what, str(path), "--out", str(tmp_path / f"{what}.png")]) == 0
        assert (tmp_path / f"{what}.png").stat().st_size > 5000
    assert main(["plot", "partitions", str(path), "--partition", "50%", "--out", str(tmp_path / "no.png")]) == 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("folder", "folder' has no ending that says the kind of picture: .png, .svg or .pdf"),
        ("net", "net' has no ending"),
        ("net.xyz", "Format 'xyz' is not supported"),
        ("nowhere/net.png", "cannot be written to '"),
        ("folder.png", "Is a directory; name a file"),
    ],
)
def test_a_picture_that_cannot_be_written_is_one_line(tmp_path, capsys, name, words):
    pytest.importorskip("matplotlib")
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder.png").mkdir()
    path = tmp_path / "net.onnx"
    small_network().to_onnx(str(path))
    before = sorted(tmp_path.rglob("*"))
    assert main(["plot", "roofline", str(path), "--out", str(tmp_path / name)]) == 2
    err = capsys.readouterr().err
    assert words in err
    assert err.count("\n") == 1
    assert sorted(tmp_path.rglob("*")) == before


def test_a_network_is_fused_on_the_command_line(tmp_path, capsys):
    path = tmp_path / "net.onnx"
    small_network().to_onnx(str(path))
    drawing = tmp_path / "net.svg"
    assert main(["fuse", str(path), "--runtime", "tensorrt", "--save", str(drawing), "--rows", "2"]) == 0
    assert "traffic saved" in capsys.readouterr().out
    assert drawing.read_text().startswith("<svg")
    assert main(["fuse", str(path), "--runtime", "eager", "--against-runtime", "tensorrt", "--json"]) == 0
    assert '"fused otherwise"' in capsys.readouterr().out
    assert main(["fuse", str(path), "--against", str(path), "--against-device", "T4"]) == 0
    assert "right: " in capsys.readouterr().out

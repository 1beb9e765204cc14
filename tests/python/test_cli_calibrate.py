import csv
import json

import latpred
import pytest
from example_networks import RESNET50
from latpred.calibration.probes import probe_graph


@pytest.fixture
def timings(tmp_path):
    (tmp_path / "resnet50.onnx").symlink_to(RESNET50)
    path = tmp_path / "timings.csv"
    networks = {"resnet50.onnx": RESNET50, "timm:vgg16@224": None, "timm:swin_tiny_patch4_window7_224@224": None}
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["path", "batch", "latency_ms"])
        for name, source in networks.items():
            graph = latpred.load(source, batch=64) if source else probe_graph(name, 64)
            writer.writerow([name, 64, 1.3 * latpred.predict(graph=graph, device="V100").latency_ms])
    return path


def test_a_file_of_timings_becomes_a_calibration(run, timings, tmp_path, monkeypatch):
    monkeypatch.setenv("LATPRED_CALIBRATIONS", str(tmp_path / "kept"))
    out = tmp_path / "v100.json"
    code, printed, err = run("calibrate", timings, "--device", "V100", "--out", out, "--save", "--name", "mine")
    assert (code, err) == (0, "")
    for words in ("kernels x 1.29", "error before", "error after", "timm:vgg16@224", "-23.1%", "x/1."):
        assert words in printed
    calibration = latpred.calibration.load_calibration(out)
    assert calibration == latpred.calibration.find("mine")
    assert calibration.records[0].network == "resnet50.onnx"

    for given in (out, "mine"):
        words = ["predict", RESNET50, "--batch", 8, "--device", "V100", "--calibration", given]
        _, printed, _ = run(*words)
        assert calibration.summary() in printed
        _, printed, _ = run(*words, "--json")
        assert json.loads(printed)["calibration"]["name"] == "mine"
    code, _, err = run("predict", RESNET50, "--device", "T4", "--calibration", out)
    assert code == 2
    assert "made for device 'V100-SXM2-16GB', asked is device 'T4'" in err


def test_json_is_the_file(run, timings, tmp_path):
    out = tmp_path / "v100.json"
    _, printed, _ = run("calibrate", timings, "--device", "V100", "--out", out, "--json")
    assert printed == out.read_text()


@pytest.mark.parametrize("name", ["a[/b].json", "c[red].json", f"{'long' * 45}.json"])
def test_written_files_are_told_as_they_are_named(run, timings, tmp_path, name):
    out = tmp_path / name
    out.parent.mkdir(exist_ok=True)
    code, printed, err = run("calibrate", timings, "--device", "V100", "--out", out)
    assert (code, err) == (0, "")
    assert printed.endswith(f"written: {out}\n")
    assert out.is_file()


def test_what_cannot_be_kept_is_shown_all_the_same(run, timings, tmp_path, monkeypatch):
    monkeypatch.setenv("LATPRED_CALIBRATIONS", str(tmp_path))
    assert run("calibrate", timings, "--device", "V100", "--save")[0] == 0
    code, printed, err = run("calibrate", timings, "--device", "V100", "--precision", "fp16", "--save")
    assert code == 2
    assert "error before" in printed
    assert "precision fp16" in err
    assert "(--name) for another name" in err


def test_probes_are_listed_with_a_file_to_fill_in(run, tmp_path):
    code, printed, _ = run("calibrate", "--probe", "4", "--device", "V100")
    assert code == 0
    listed = [line for line in printed.splitlines() if line.startswith("timm:")]
    assert len(listed) == 4
    assert "V100-SXM2-16GB" in printed
    head = next(line for line in printed.splitlines() if line.startswith("path,"))
    (tmp_path / "filled.csv").write_text("\n".join([head, *(f"{line}0.05" for line in listed)]))
    assert run("calibrate", tmp_path / "filled.csv", "--device", "V100")[0] == 0
    _, printed, _ = run("calibrate", "--probe", "--json")
    assert len(json.loads(printed)) == 5


def test_probes_for_this_machine(run, known_host):
    """It is no row of the table of devices."""
    code, printed, err = run("calibrate", "--probe", "3", "--device", "cpu")
    assert (code, err) == (0, "")
    assert "Networks whose timing tells most about cpu, one after another" in printed
    assert len([line for line in printed.splitlines() if line.startswith("timm:")]) == 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "needs a file of timings, or --probe"),
        (["x.csv"], "--device is missing"),
        (["x.csv", "--device", "A100"], "x.csv' cannot be read"),
        (["x.csv", "--device", "A100", "--run"], "add --probe"),
        (["--probe", "5", "x.csv"], "leave 'x.csv' out"),
        (["--probe", "--out", "x.json"], "--probe without --run makes none"),
        (["x.csv", "--device", "A100", "--out", "x"], "write it to 'x.json'"),
        (["--probe", "--run", "--device", "cpu"], "--run times calls on this machine's GPU, got --device cpu"),
    ],
)
def test_wrong_words_are_one_line(run, words, message):
    code, out, err = run("calibrate", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1

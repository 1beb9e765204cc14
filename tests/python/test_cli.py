import json
import subprocess
import sys

import latpred
import pytest
from example_networks import RESNET50
from latpred.cli import main
from latpred.cli_request import parse_input_words

FILE = str(RESNET50)


def test_predict_prints_what_the_api_answers(run):
    code, out, err = run("predict", FILE, "--device", "A100", "--batch", 32)
    prediction = latpred.predict(FILE, device="A100", batch=32)
    assert (code, err) == (0, "")
    assert prediction.headline() in out
    for fact in prediction.facts():
        for word in fact:
            assert word in out


def test_predict_json_is_to_dict(run):
    words = ["--batch", 4, "--partition", "2g.10gb", "--precision", "fp16", "--json"]
    code, out, _ = run("predict", FILE, *words)
    assert code == 0
    assert json.loads(out) == latpred.predict(FILE, batch=4, partition="2g.10gb", precision="fp16").to_dict()


def test_predict_tables(run):
    code, out, _ = run("predict", FILE, "--kernels", 3, "--partitions")
    assert code == 0
    longest = max(latpred.predict(FILE).kernels, key=lambda kernel: kernel.latency_ms)
    assert longest.name in out
    assert "3g.20gb" in out
    _, out, _ = run("predict", FILE, "--kernels", "--partitions", "--json")
    answer = json.loads(out)
    assert len(answer["kernels"]) == 10
    assert answer["kernels"][0]["name"] == longest.name
    assert {row["name"] for row in answer["partitions"]} >= {"1g.5gb", "7g.40gb"}
    _, out, _ = run("predict", FILE, "--device", "T4", "--partitions")
    assert "T4 has no MIG" in out


def test_inspect(run, tmp_path):
    code, out, _ = run("inspect", FILE, "--batch", 2, "--nodes", 5)
    assert code == 0
    assert "25.6 M" in out
    assert "image [2, 3, 224, 224] float32" in out
    assert "stem/pool" in out
    assert "stage4" not in out
    _, out, _ = run("inspect", FILE, "--json", "--nodes", 5)
    answer = json.loads(out)
    graph = latpred.load(FILE)
    assert (answer["macs"], answer["hash"], len(answer["nodes"])) == (graph.macs, graph.hash, 5)
    assert (answer["framework"], answer["unknown_operators"]) == ("onnx", {})
    pytest.importorskip("onnx")
    code, _, _ = run("inspect", FILE, "--batch", 2, "--onnx", tmp_path / "two.onnx")
    assert latpred.load(tmp_path / "two.onnx", batch=2).hash == graph.with_batch(2).hash


def test_devices(run):
    code, out, _ = run("devices")
    assert code == 0
    for device in latpred.devices():
        assert device.name in out
    code, out, _ = run("devices", "A100")
    assert "A100-SXM4-40GB" in out
    assert "(estimated)" in out
    assert "1g.5gb" in out


def test_explain(run):
    code, out, _ = run("explain", FILE, "--batch", 8)
    assert code == 0
    for heading in ("Time by kind of kernel", "kernels and waits", "Memory", "MIG profiles", "What would change"):
        assert heading in out
    assert "precision fp16" in out
    assert "batch 16" in out


def test_this_machine_whatever_its_processor_is_called(run, name_host):
    name_host("somebody's")
    code, out, err = run("explain", FILE, "--device", "cpu")
    assert (code, err) == (0, "")
    for words in ("on somebody's, batch 1", "Time by kind of kernel", "kernels and waits", "runtime onnxruntime"):
        assert words in out
    assert "MIG profiles" not in out
    code, out, _ = run("predict", FILE, "--device", "cpu", "--partitions")
    assert code == 0
    assert "somebody's has no MIG" in out
    code, out, err = run("predict", FILE, "--device", "cpu", "--partitions", "--json")
    assert (json.loads(out)["partitions"], err) == ([], "")


@pytest.mark.torch
@pytest.mark.parametrize(
    ("words", "kernels", "partitions"),
    [
        (["--predictor", "pmgns"], "answers for a whole call: it has no times of kernels", "no table of partitions"),
        (
            ["--device", "cpu", "--runtime", "openvino"],
            "learnt kernels of its own: latpred fuse (in Python .optimized) shows them with their times",
            "no MIG",
        ),
    ],
    ids=["pmgns", "lilou"],
)
def test_tables_that_a_whole_call_does_not_have_are_said_in_a_sentence(run, words, kernels, partitions):
    pytest.importorskip("torch")
    code, out, err = run("predict", FILE, *words, "--kernels", "--partitions")
    assert (code, err) == (0, "")
    assert f"{kernels}; --predictor kernel_residual has" in " ".join(out.split())
    assert partitions in out
    assert "MIG profiles" not in out
    code, out, err = run("explain", FILE, *words)
    assert (code, err) == (0, "")
    assert " ".join(out.split()).count(kernels) == 1
    assert "Time by kind" not in out
    assert "What would change" in out
    code, out, err = run("predict", FILE, *words, "--kernels", "--partitions", "--json")
    assert code == 0
    assert json.loads(out)["kernels"] is None
    assert json.loads(out)["partitions"] == (None if "pmgns" in words else [])
    assert "latpred: note: predictor" in err
    assert kernels in err
    assert ("no table of partitions" in err) == ("pmgns" in words)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["predict", "missing.onnx"], "missing.onnx"),
        (["predict", FILE, "--device", "A1000"], "did you mean 'A100'"),
        (["inspect", FILE, "--input", "3,224"], "image"),
        (["inspect", FILE, "--input", "a=3", "--input", "4"], "each needs its name"),
        (["devices", "A1000"], "did you mean 'A100'"),
    ],
)
def test_errors_are_one_line_and_exit_code_two(run, words, message):
    code, out, err = run(*words)
    assert (code, out) == (2, "")
    assert err.startswith("latpred: error: ")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("words", [["predict"], ["predict", FILE, "--batch", "0"], ["nothing"], []])
def test_wrong_words_show_the_usage(run, words, capsys):
    with pytest.raises(SystemExit) as caught:
        run(*words)
    assert caught.value.code == 2
    assert "usage: latpred" in capsys.readouterr().err


def test_version(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert caught.value.code == 0
    assert capsys.readouterr().out == f"latpred {latpred.__version__}\n"


def test_runs_as_a_module():
    done = subprocess.run(
        [sys.executable, "-m", "latpred", "predict", FILE], capture_output=True, text=True, check=True
    )
    assert "resnet50.onnx on A100-SXM4-40GB" in done.stdout


@pytest.mark.parametrize(
    ("words", "value"),
    [
        (None, None),
        (["3,224,224"], "3,224,224"),
        (["ids=128:int64"], {"ids": "128:int64"}),
        (["a=3", "b/c:0=4,5"], {"a": "3", "b/c:0": "4,5"}),
    ],
)
def test_input_words(words, value):
    assert parse_input_words(words) == value


def test_an_error_of_the_system_is_one_line(tmp_path):
    """A full disk behind the output, say."""
    words = [sys.executable, "-m", "latpred", "predict", FILE]
    with open("/dev/full", "w") as full:
        done = subprocess.run(words, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr == "latpred: error: [Errno 28] No space left on device\n"


def test_a_batch_is_refused_where_every_one_is_shown(run, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "x.png"
    code, _, err = run("plot", "batches", FILE, "--batch", 4, "--out", out)
    assert (code, err) == (2, "latpred: error: batch cannot be said here: every one is shown\n")
    assert run("plot", "roofline", FILE, "--batch", 4, "--out", out)[0] == 0
    assert run("plot", "batches", FILE, "--out", out)[0] == 0

"""latpred profile and latpred host."""

import json

import latpred
import pytest
from latpred import profiling_check


def test_check(run, monkeypatch):
    monkeypatch.setattr(profiling_check, "_SAMPLES", 5)
    code, printed, err = run("profile", "--check")
    assert (code, err) == (0, "")
    for words in ("sleep", "fma", "stream", "undisturbed", "largest difference"):
        assert words in printed
    _, printed, _ = run("profile", "--check", "--json")
    assert [row["name"] for row in json.loads(printed)] == ["sleep", "fma", "stream"]


def test_host(run):
    code, printed, err = run("host")
    assert (code, err) == (0, "")
    assert "fingerprint" in printed
    _, printed, _ = run("host", "--json")
    assert json.loads(printed)["fingerprint"] == latpred.host().fingerprint
    _, printed, _ = run("host", "--measure")
    assert "working set" in printed


@pytest.mark.torch
def test_a_network(run):
    words = ["profile", "fnn:16-128-1", "--runtime", "libtorch", "--samples", 7]
    code, printed, err = run(*words)
    assert (code, err) == (0, "")
    assert printed.startswith("fnn:16-128-1 on cpu, libtorch default, batch 1: ")
    assert "default, changed: 3 warm-up, 7 samples" in printed
    _, printed, _ = run(*words, "--protocol", "khan", "--json")
    answer = json.loads(printed)
    assert len(answer["samples"]) == 7
    assert answer["protocol"].startswith("khan, changed: ")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["profile"], "profile needs a file or a recipe of a network, or --check"),
        (["profile", "a.onnx", "--check"], "--check measures what is known: leave 'a.onnx' out, or --check"),
        (["profile", "a.onnx", "--device", "tpu"], "unknown device to measure on 'tpu'"),
        (["profile", "a.onnx", "--protocol", "quik"], "unknown protocol 'quik'"),
    ],
)
def test_refusals(run, words, message):
    code, _, err = run(*words)
    assert code == 2
    assert message in err

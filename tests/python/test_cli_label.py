"""latpred label: words that would do nothing are refused."""

import dataclasses

import pytest
from latpred.labels import LABELLERS

NET = "cnn:3-4-4?size=8"
HERE = ["--onnxruntime", NET]
SET = ["--onnxruntime", "--recipes", "nets.txt", "--out", "labels.parquet"]
ENGINE = ["--tensorrt", "layers.json"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--onnxruntime"], "say a network, or --recipes FILE"),
        ([*HERE, "--profile", "p.json"], "--profile is what trtexec wrote of an engine, not of onnxruntime"),
        ([*HERE, "--graphs", "a.xz"], "--graphs is about a data set: add --recipes FILE"),
        ([*HERE, "--batches", "1", "2"], "--batches is about a data set"),
        ([*HERE, "--out", "a.parquet"], "--out is about a data set"),
        ([*HERE, "--passes", "1"], "--passes is about a data set"),
        ([*HERE, "--minutes", "3"], "--minutes is about a data set"),
        ([*HERE, "--tu", "tu"], "--tu is about a data set"),
        ([*SET, NET], f"'{NET}' is about one network, --recipes about its list"),
        ([*SET, "--batch", "1"], "--batch is about one network, --recipes about its list at --batches"),
        ([*SET, "--input", "3,8,8"], "--input is about one network"),
        ([*SET, "--profile", "p.json"], "--profile is what trtexec wrote"),
        ([*SET, "--json"], "--json prints one network"),
        (SET[:3], "--recipes needs --out FILE.parquet"),
        ([*ENGINE, *SET[1:]], "--recipes needs --out FILE.parquet and a runtime that runs here"),
        ([*ENGINE, NET, "--precision", "fp32"], "--precision is about a runtime that runs here; --tensorrt reads"),
        ([*ENGINE, NET, "--runs", "3"], "--runs is about a runtime that runs here"),
        ([*ENGINE, "--neighbour", "50"], "--neighbour is about a runtime that runs here"),
        ([*ENGINE, "--batches", "2"], "--batches is about a data set"),
        ([*ENGINE, "--batch", "2"], "--batch is about the network of the engine: add its ONNX file"),
        ([*ENGINE, "--input", "3,8,8"], "--input is about the network of the engine"),
        ([*HERE, "--precision", "fp99"], "unknown precision for runtime 'onnxruntime' 'fp99'; valid: default, fp32"),
        ([*HERE, "--precision", "int8"], "unknown precision for runtime 'onnxruntime' 'int8'"),
        ([*SET, "--precision", "bf16"], "unknown precision for runtime 'onnxruntime' 'bf16'"),
        (["--openvino", NET, "--precision", "fp99"], "unknown precision for runtime 'openvino' 'fp99'; valid: "),
        (["--inductor", NET, "--precision", "fp16"], "unknown precision for runtime 'inductor' 'fp16'"),
        (["--inductor", NET, "--runs", "3"], "--runs is about times, and --inductor says only what is fused"),
        (["--inductor", NET, "--neighbour", "50"], "--neighbour is about times"),
        (["--inductor", *SET[1:], "--passes", "2"], "--passes is about times"),
        (["--inductor", *SET[1:], "--graphs", "a.xz"], "--inductor builds each from its recipe: leave it out"),
    ],
)
def test_words_that_would_do_nothing_are_refused(run, words, message):
    code, out, err = run("label", *words)
    assert (code, out) == (2, "")
    assert message in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("minutes", ["-1", "0", "nan", "inf", "soon"])
def test_minutes_are_above_zero(run, capsys, minutes):
    with pytest.raises(SystemExit):
        run("label", *SET, "--minutes", minutes)
    assert f"expected a number of minutes above 0, got '{minutes}'" in capsys.readouterr().err


def test_every_runtime_of_the_table_is_a_word(run, monkeypatch, capsys):
    row = dataclasses.replace(LABELLERS["onnxruntime"], description="Nobody's runtime, 100 % made up")
    monkeypatch.setitem(LABELLERS, "nobodys", row)
    with pytest.raises(SystemExit):
        run("label", "--help")
    shown = " ".join(capsys.readouterr().out.split())
    assert "--nobodys Nobody's runtime, 100 % made up" in shown
    assert all(f"--{name} {labeller.description}" in shown for name, labeller in LABELLERS.items())

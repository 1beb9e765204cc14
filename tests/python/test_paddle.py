"""Paddle programs: the fixtures of tools/fixtures/make_paddle.py, in PIR JSON and as .pdmodel."""

from pathlib import Path

import latpred
import pytest
from latpred.errors import ModelFileError

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "paddle"
ALL = sorted(path.name for path in FIXTURES.iterdir())
IN_BOTH = sorted(path.stem for path in FIXTURES.glob("*.pdmodel"))

# Convolutions, MACs, trained parameters, statistics; counted by an independent reader.
COUNTS = {
    "mobilenet_v2": (52, 300_774_272, 3_504_872, 34_112),
    "resnet50": (53, 4_089_184_256, 25_557_032, 53_120),
    "vgg16": (13, 15_470_264_320, 138_357_544, 0),
}


def load(name, **settings):
    return latpred.load(FIXTURES / name, **settings)


def kernels(graph):
    """What is computed, without names: operators and every shape."""
    return [
        (node.operator, [tuple(tensor.shape) for tensor in node.inputs if tensor is not None]) for node in graph.nodes
    ]


@pytest.mark.parametrize("ending", ["json", "pdmodel"])
@pytest.mark.parametrize("name", COUNTS)
def test_counts_are_exact(name, ending):
    graph = load(f"{name}.{ending}")
    found = graph.operators["conv"], graph.macs, graph.num_parameters, graph.num_statistics
    assert found == COUNTS[name]
    assert graph.warnings == []
    assert graph.source.framework == "paddle"


@pytest.mark.parametrize("name", IN_BOTH)
def test_both_formats_give_the_same_network(name):
    new, old = load(f"{name}.json"), load(f"{name}.pdmodel")
    assert (new.macs, new.num_parameters, new.num_statistics) == (old.macs, old.num_parameters, old.num_statistics)
    assert new.operators == old.operators


@pytest.mark.parametrize("name", ALL)
def test_macs_grow_with_the_batch(name):
    graph = load(name, batch=8)
    assert graph.macs == 8 * load(name).macs
    assert not [node.source_operator for node in graph.nodes if node.operator == "unknown"]


@pytest.mark.parametrize("name", ["lenet_batch{}.json", "lenet_batch{}.pdmodel", "transformer_batch{}.json"])
def test_another_batch_is_the_graph_of_a_file_saved_at_it(name):
    assert kernels(load(name.format(1), batch=8)) == kernels(load(name.format(8), batch=8))
    assert kernels(load(name.format(8), batch=1)) == kernels(load(name.format(1), batch=1))


# Per step input and state times four (LSTM) or three (GRU) gates, for each direction; then the head.
def test_recurrent_layers_count_every_gate():
    lstm = 2 * 10 * (32 + 48) * 4 * 48 + 2 * 10 * (96 + 48) * 4 * 48 + 10 * 96 * 5
    gru = 10 * (32 + 48) * 3 * 48 + 10 * (48 + 48) * 3 * 48 + 10 * 48 * 5
    assert load("lstm.json").macs == lstm
    assert load("gru.json").macs == gru


def test_channels_last_stays_channels_last():
    graph = load("channels_last.json")
    (conv,) = [node for node in graph.nodes if node.operator == "conv"]
    assert conv.outputs[0].shape == (1, 16, 16, 8)
    assert graph.macs == 16 * 16 * 8 * 3 * 9 + 8 * 5


def test_control_flow_says_what_was_taken():
    messages = load("branches.json").warnings
    assert any("costlier branch" in message for message in messages)
    assert any("predicted for one iteration" in message for message in messages)


@pytest.mark.parametrize("name", ["mobilenet_v2.json", "mobilenet_v2.pdmodel"])
def test_a_cut_file_is_refused(name, tmp_path):
    content = (FIXTURES / name).read_bytes()
    for size in range(64, len(content) - 100, len(content) // 23):
        path = tmp_path / name
        path.write_bytes(content[:size])
        with pytest.raises(ModelFileError, match=name):
            latpred.load(path)


def test_another_framework_is_refused():
    with pytest.raises(ModelFileError, match="Paddle program"):
        load("lenet.json", framework="onnx")

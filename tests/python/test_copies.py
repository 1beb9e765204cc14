"""What answers hold when they are copied, and when they are handed to another process."""

import copy
import pickle

import latpred
import pytest
from example_networks import small_network
from latpred import record
from latpred.datasets import measured_nets
from measured_nets_maker import by_law


@pytest.fixture(scope="module")
def graph():
    return small_network()


@pytest.fixture(scope="module")
def prediction(graph):
    return latpred.predict(graph=graph, device="A100")


def test_a_copy_of_what_never_changes_is_the_thing_itself(graph, prediction):
    device = latpred.devices()["A100"]
    for one in (graph, prediction, device, graph.nodes[0], latpred.host().facts):
        assert copy.copy(one) is one
        assert copy.deepcopy(one) is one
    table = copy.deepcopy(latpred.predict_many([graph]))
    assert table.to_dicts() == latpred.predict_many([graph]).to_dicts()
    assert copy.deepcopy(latpred.host()).fingerprint == latpred.host().fingerprint


def test_what_the_compiled_part_made_is_not_pickled_and_says_what_is(graph, prediction):
    for one, words in (
        (prediction, r"a Prediction cannot be pickled: .* hand on p\.to_dict\(\)"),
        (latpred.predict_many([graph]), "a Prediction cannot be pickled"),
        (graph, r"a Graph cannot be pickled: .* the name of its file, or its recipe, and load\(\) it there"),
        (latpred.devices()["A100"], r"a Device cannot be pickled: .* devices\(\)\[name\]"),
        (latpred.host(), r"a HostFacts cannot be pickled: .* plain values"),
    ):
        with pytest.raises(latpred.LatpredError, match=words):
            pickle.dumps(one)
    assert pickle.loads(pickle.dumps(prediction.to_dict())) == prediction.to_dict()


def tables(graph, prediction, folder, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(folder))
    monkeypatch.delenv(record.VARIABLE)
    record.add([record.Entry(record.MEASUREMENT, "net", 1, "cpu", "latency_s", 1e-3)])
    yield latpred.history()
    yield prediction.kernels
    yield prediction.partitions
    yield latpred.colocate([graph, graph])
    pytest.importorskip("pyarrow")
    measured_nets.write(folder / "nets.parquet", by_law(400))
    words = {"dataset": folder / "nets.parquet"}
    found = latpred.train("cache_roofline", out=folder / "x.safetensors", progress=False, **words)
    yield latpred.evaluate(found, **words)


def test_tables_of_plain_rows_come_back_as_they_were(graph, prediction, tmp_path, monkeypatch):
    for table in tables(graph, prediction, tmp_path, monkeypatch):
        back = pickle.loads(pickle.dumps(table))
        assert type(back) is type(table)
        assert repr(back) == repr(table)
        assert back.to_dicts() == table.to_dicts()

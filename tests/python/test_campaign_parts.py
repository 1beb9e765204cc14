"""What campaigns are made of, without processes: items in their order, the journal, the noise floor, the probes."""

import dataclasses
import itertools
import json
import math
import sqlite3

import pytest
from latpred import InvalidArgumentError, LatpredError, history
from latpred import record as local_record
from latpred.campaign import health, noise, spec
from latpred.campaign.health import Probe
from latpred.campaign.journal import KEY, Journal, Lock, Record, Result, is_running
from latpred.campaign.spec import Campaign, Item
from latpred.campaign.table import family_of
from latpred.campaign.to_record import add_to_record

LISTED = ("fnn:4-2", "fnn:8-2", "fnn:16-2")


def key(item):
    return (item.recipe, item.batch, item.input, item.runtime, item.precision, item.threads)


# What is measured.


def test_items_are_every_recipe_at_every_setting_once():
    campaign = Campaign(recipes=LISTED, batches=(1, 8), threads=(1, 2), runtimes=("eager", "openvino"))
    items = list(campaign.items())
    assert [item.position for item in items] == list(range(24)) == list(range(campaign.num_items))
    assert {key(item) for item in items} == {
        (recipe, batch, "", runtime, "fp32", threads)
        for recipe in LISTED
        for batch in (1, 8)
        for runtime in ("eager", "openvino")
        for threads in (1, 2)
    }


@pytest.mark.parametrize("name", list(spec.GENERATORS))
def test_a_shorter_campaign_is_the_beginning_of_a_longer_one(name):
    short, long = (Campaign(recipes=name, count=count, seed=7, batches=(1, 4)) for count in (30, 100))
    assert list(short.items()) == list(itertools.islice(long.items(), short.num_items))
    assert list(short.items()) != list(Campaign(recipes=name, count=30, seed=8, batches=(1, 4)).items())
    assert len({item.recipe for item in long.items()}) == 100


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"recipes": "fnm", "count": 3}, "unknown generator of recipes 'fnm'; did you mean 'fnn'"),
        ({"recipes": "fnn"}, "generator 'fnn' goes on without end: say count"),
        ({"recipes": LISTED, "count": 4}, "count is 4, and 3 recipes are listed"),
        ({"recipes": (*LISTED, "fnn:4-2")}, "recipe 4, 'fnn:4-2', is recipe 1 once more"),
        ({"recipes": ("fnn",)}, "'fnn' is no recipe"),
        ({"recipes": ()}, "at least one recipe"),
        ({"recipes": LISTED, "batches": (1, 1)}, "batches names something twice: 1, 1"),
        ({"recipes": LISTED, "batches": (0,)}, "batches must be at least 1, got 0"),
        ({"recipes": LISTED, "threads": ("2",)}, "threads must be int, got '2'"),
        ({"recipes": LISTED, "runtimes": ()}, "runtimes is empty"),
        ({"recipes": LISTED, "quantities": ("latency",)}, "unknown quantity 'latency'"),
        ({"recipes": LISTED, "item_timeout_s": -1.0}, "item_timeout_s must be at least 0, got -1.0"),
        ({"recipes": LISTED, "item_timeout_s": math.nan}, "item_timeout_s must be a finite number, got nan"),
        ({"recipes": LISTED, "item_timeout_s": math.inf}, "item_timeout_s must be a finite number, got inf"),
        ({"recipes": LISTED, "health_threshold": math.nan}, "health_threshold must be a finite number, got nan"),
    ],
)
def test_what_is_no_campaign_is_refused(fields, message):
    with pytest.raises(InvalidArgumentError) as caught:
        Campaign(**fields)
    assert message in str(caught.value)


def test_files_say_the_same_as_arguments(tmp_path):
    (tmp_path / "nets.txt").write_text("# two nets\nfnn:4-2\n\n  fnn:8-2\n")
    fields = {"recipes": "nets.txt", "batches": [1, 8], "runtimes": ["openvino"]}
    (tmp_path / "a.json").write_text(json.dumps(fields))
    expected = Campaign(recipes=("fnn:4-2", "fnn:8-2"), batches=(1, 8), runtimes=("openvino",))
    assert spec.from_dict(spec.read_campaign_fields(tmp_path / "a.json")) == expected
    pytest.importorskip("tomllib")
    (tmp_path / "a.toml").write_text('recipes = "nets.txt"\nbatches = [1, 8]\nruntimes = ["openvino"]\n')
    assert spec.from_dict(spec.read_campaign_fields(tmp_path / "a.toml")) == expected
    assert spec.from_dict(json.loads(json.dumps(expected.to_dict()))) == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("a.yaml", "", "a campaign is read from .json, .toml, got '.yaml'"),
        ("a.json", "{", "is no json file"),
        ("a.json", "[]", "expected an object, got list"),
        ("a.json", '{"recipes": "nets.txt"}', "and '"),
        ("a.json", '{"recipes": ["fnn:4-2"], "batch": 1}', "unknown field 'batch'; did you mean 'batches'"),
        ("a.json", '{"count": 3}', "recipes is missing"),
        ("a.json", '{"recipes": ["fnn:4-2"], "health_threshold": NaN}', "health_threshold must be a finite number"),
    ],
)
def test_what_no_file_of_a_campaign_says(tmp_path, name, text, message):
    (tmp_path / name).write_text(text)
    with pytest.raises(InvalidArgumentError) as caught:
        spec.from_dict(spec.read_campaign_fields(tmp_path / name))
    assert message in str(caught.value)


def test_more_networks_are_no_difference_and_other_ones_are():
    short = Campaign(recipes=LISTED[:2])
    assert short.differences(Campaign(recipes=LISTED)) == []
    assert Campaign(recipes="fnn", count=3).differences(Campaign(recipes="fnn", count=9)) == []
    assert short.differences(Campaign(recipes=LISTED[::-1], batches=(2,))) == [
        "recipes is fnn:4-2, fnn:8-2, was fnn:16-2, fnn:8-2", "batches is 1, was 2",
    ]  # fmt: skip
    assert short.differences(Campaign(recipes="fnn", count=2)) == ["recipes is fnn:4-2, fnn:8-2, was fnn"]


@pytest.mark.parametrize(
    ("recipe", "family"),
    [("fnn:16-2", "fnn"), ("op:gemm?m=8&n=16&k=32", "gemm"), ("timm:resnet50@224", "timm-resnet"), ("cnn:3-8", "cnn")],
)
def test_families(recipe, family):
    assert family_of(recipe) == family


# The journal.


@pytest.fixture
def journal(tmp_path):
    Journal.create(tmp_path / "a.journal", Campaign(recipes=LISTED))
    with Journal(tmp_path / "a.journal") as opened:
        yield opened


def item(position):
    return Item(position, f"fnn:{position}-1", 1, "", "eager", "fp32", 1)


def record(position, value=1.0, error=None):
    return Record(position, "a machine", 0.1, (Result("latency_s", "khan", value, error),))


def test_the_key_of_a_row_is_the_contract():
    assert KEY == (
        "recipe", "batch", "input", "device_fingerprint", "runtime", "precision", "threads", "quantity", "protocol",
    )  # fmt: skip


def test_a_row_is_there_once_whatever_is_tried(journal):
    journal.add(record(0), item(0))
    same_key = dataclasses.replace(item(0), position=1)
    with pytest.raises(sqlite3.IntegrityError):
        journal.add(record(1), same_key)
    assert journal.counts()["items"] == journal.counts()["rows"] == 1  # all of it was taken back


def test_a_second_measurement_replaces_the_first_and_is_counted(journal):
    journal.add(record(0, 1.0), item(0))
    journal.mark_unsteady([0], is_retimed=False)
    assert journal.attempts() == {0: (1, False)}
    journal.add(record(0, 2.0), item(0))
    assert journal.attempts() == {0: (2, True)}
    assert [row["value"] for row in journal.rows()] == [2.0]
    assert journal.counts()["dropped"] == 1


def test_an_answer_to_another_item_is_not_written(journal):
    with pytest.raises(LatpredError, match="item 1 was answered as item 0"):
        journal.add(record(0), item(1))


def test_a_journal_of_another_version_is_refused(tmp_path):
    path = tmp_path / "a.journal"
    Journal.create(path, Campaign(recipes=LISTED))
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 7")
    connection.close()
    with pytest.raises(InvalidArgumentError, match="is of version 7, this latpred reads 1"):
        Journal(path)
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(InvalidArgumentError, match="cannot be read: file is not a database"):
        Journal(path)


def test_one_process_writes(tmp_path):
    path = tmp_path / "a.journal"
    assert not is_running(path)
    lock = Lock(path)
    assert is_running(path)
    with pytest.raises(LatpredError, match="runs in another process now"):
        Lock(path)
    lock.release()
    assert not is_running(path)


# The user's own record.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv(local_record.VARIABLE, "measurements")
    return tmp_path / "latpred"


def test_first_runs_and_unsteady_items_stay_out_of_the_record(journal, folder):
    journal.add_machine("a machine", {"device": "cpu"})
    warm, first = Result("latency_s", "khan", 1.0), Result("latency_s", "khan, first run", 9.0)
    journal.add(Record(0, "a machine", 0.1, (warm, first)), item(0))
    journal.add(record(1, 5.0), item(1))
    journal.mark_unsteady([1], is_retimed=False)
    add_to_record(journal)
    assert [(entry.name, entry.value, entry.how) for entry in history()] == [("fnn:0-1", 1.0, "khan")]
    journal.add(record(1, 2.0), item(1))  # measured again, steady now
    add_to_record(journal)
    assert [entry.value for entry in history()] == [2.0, 1.0]


def test_what_could_not_be_recorded_is_recorded_the_next_time(journal, folder):
    journal.add_machine("a machine", {"device": "cpu"})
    journal.add(record(0), item(0))
    folder.write_text("a file where the folder should be")
    with pytest.warns(UserWarning, match="cannot be written"):
        add_to_record(journal)
    folder.unlink()
    for _ in range(2):
        add_to_record(journal)
        assert [entry.name for entry in history()] == ["fnn:0-1"]


# The noise floor.


def test_the_noise_floor_is_what_is_said():
    # Differences 0.1, 0.0 and 0.2 of first times 1, 2 and 4.
    found = noise.noise_floor([1.0, 2.0, 4.0], [1.1, 2.0, 3.8])
    assert found.pairs == 3
    assert found.mean_abs_difference_s == pytest.approx(0.1)
    assert found.mae_over_mean == pytest.approx(0.3 / 7)
    assert found.mape == pytest.approx((0.1 + 0 + 0.05) / 3)
    # Standard deviations 0.0707, 0 and 0.1414 over means 1.05, 2 and 3.9: 0.06734, 0, 0.03626.
    assert found.cov_p50 == pytest.approx(0.036262, rel=1e-4)
    assert found.cov_p90 == pytest.approx(0.036262 + 0.8 * (0.067344 - 0.036262), rel=1e-4)
    assert noise.noise_floor([], []) is None


def test_items_to_time_twice_are_chosen_by_chance_and_the_same_for_a_seed():
    chosen = noise.choose(range(1000), seed=1)
    assert len(set(chosen)) == len(chosen) == 20  # 2 %
    assert chosen == noise.choose(list(reversed(range(1000))), seed=1) != noise.choose(range(1000), seed=2)
    assert chosen != sorted(chosen)  # another order than the first time
    assert sorted(noise.choose(range(3), seed=1)) == [0, 1, 2]
    assert len(noise.choose(range(40), seed=1)) == noise.FEWEST


# The probes.


def test_a_window_is_steady_where_both_loads_take_their_usual_time():
    usual = [Probe(1.0, 10.0)] * 9
    for probe, expected in (
        (Probe(1.04, 10.4), True), (Probe(0.96, 9.6), True), (Probe(1.06, 10.0), False), (Probe(1.0, 9.4), False),
        (Probe(1.0, 30.0), False),
    ):  # fmt: skip
        assert health.is_steady([usual[0], probe], [*usual, probe]) is expected
        assert health.is_steady([probe, usual[0]], [*usual, probe]) is expected
    assert health.is_steady([Probe(1.06, 10.0)], usual, threshold=0.1)


def test_the_loads_take_about_as_long_as_they_should():
    """Orders of magnitude: 1 MiB hashed at 0.1 to 5 GB/s, 256 MiB read at 1 to 500 GB/s."""
    probe = health.Prober().probe()
    assert 2e-4 < probe.compute_s < 1e-2
    assert 5e-4 < probe.read_s < 0.3

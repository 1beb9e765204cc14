"""What campaigns are made of, without processes: items in their order, the journal, the noise floor, the probes."""

import dataclasses
import itertools
import json
import math
import resource
import sqlite3

import numpy as np
import pytest
from latpred import InvalidArgumentError, LatpredError, cli_campaign, history
from latpred import record as local_record
from latpred.campaign import health, noise, run, runnable, spec
from latpred.campaign.health import Probe
from latpred.campaign.journal import KEY, Journal, Record, Result, is_running, lock
from latpred.campaign.run import _finish as finish
from latpred.campaign.spec import Campaign, Item
from latpred.campaign.table import family_of
from latpred.campaign.to_record import add_to_record
from latpred.writing import writing_journal

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
        ({"recipes": ()}, "a list with at least one recipe, got ()"),
        ({"recipes": []}, "a list with at least one recipe, got []"),
        ({"recipes": (3,)}, "recipe 1 must be text, got 3"),
        ({"recipes": LISTED, "batches": (1, 1)}, "batches names something twice: 1, 1"),
        ({"recipes": LISTED, "batches": (0,)}, "batches must be an integer >= 1, got 0"),
        ({"recipes": LISTED, "threads": ("2",)}, "threads must be an integer >= 1, got '2'"),
        ({"recipes": LISTED, "threads": (True,)}, "threads must be an integer >= 1, got True"),
        ({"recipes": LISTED, "batches": 4}, "batches must be a list, got 4"),
        ({"recipes": LISTED, "name": 4}, "name must be text, got 4"),
        ({"recipes": LISTED, "runtimes": ()}, "runtimes is empty"),
        ({"recipes": LISTED, "quantities": ("latency",)}, "unknown quantity 'latency'"),
        ({"recipes": LISTED, "item_timeout_s": -1.0}, "item_timeout_s must be a finite number above 0, got -1.0"),
        ({"recipes": LISTED, "item_timeout_s": math.nan}, "item_timeout_s must be a finite number above 0, got nan"),
        ({"recipes": LISTED, "item_timeout_s": math.inf}, "item_timeout_s must be a finite number above 0, got inf"),
        ({"recipes": LISTED, "health_threshold": math.nan}, "health_threshold must be a finite number above 0"),
    ],
)
def test_what_is_no_campaign_is_refused(fields, message):
    with pytest.raises(InvalidArgumentError) as caught:
        Campaign(**fields)
    assert message in str(caught.value)


def test_lists_and_integers_of_numpy_are_kept_as_tuples_and_integers():
    expected = Campaign(recipes=LISTED, batches=(1, 8), seed=7, item_timeout_s=5.0)
    given = {"batches": [np.int64(1), np.int32(8)], "seed": np.int64(7), "item_timeout_s": np.float32(5)}
    found = Campaign(recipes=list(LISTED), **given)
    assert found == expected
    assert json.loads(json.dumps(found.to_dict())) == expected.to_dict() | {"recipes": list(LISTED), "batches": [1, 8]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"runtimes": ("onnxruntm",)}, "unknown runtime 'onnxruntm'; did you mean 'onnxruntime'"),
        ({"runtimes": ("eager", "openvino"), "precisions": ("amp",)}, "unknown precision for runtime 'openvino' 'amp'"),
        ({"precisions": ("fp23",)}, "unknown precision for runtime 'eager' 'fp23'; did you mean 'fp32'"),
        ({"runtimes": ("openvino",), "device": "cuda"}, "unknown device for runtime 'openvino' 'cuda'"),
        ({"recipes": ("fnn:4-2", "fnnn:4-2")}, "recipe 'fnnn:4-2': unknown kind 'fnnn'; did you mean 'fnn'"),
        ({"inputs": ("3,32,32", "3,256,256")}, "recipe 'fnn:4-2' says all sizes; leave inputs= out"),
        ({"inputs": ("", "64"), "imports": ("campaign_workloads",)}, "'fnn:4-2' says all sizes; leave inputs= out"),
        ({"recipes": "cnn", "count": 3, "inputs": ("3,32,32",)}, "says all sizes; leave inputs= out"),
    ],
)
def test_what_would_fail_with_every_item_is_refused_before_anything_is_made(tmp_path, changes, message):
    campaign = Campaign(**({"recipes": LISTED} | changes))
    with pytest.raises(InvalidArgumentError) as caught:
        run(campaign, tmp_path / "deeper" / "a.parquet")
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_imported_modules_may_add_kinds_runtimes_and_sizes():
    runnable.check(Campaign(recipes=("work:7",), runtimes=("tiny",), inputs=("3",), imports=("campaign_workloads",)))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"workers": 0}, "workers must be an integer >= 1, got 0"),
        ({"workers": -1}, "workers must be an integer >= 1, got -1"),
        ({"workers": 1.5}, "workers must be an integer >= 1, got 1.5"),
        ({"minutes": "5"}, "minutes must be a finite number above 0, got '5'"),
        ({"minutes": -1}, "minutes must be a finite number above 0, got -1"),
        ({"minutes": math.nan}, "minutes must be a finite number above 0, got nan"),
        ({"retry_failed": 1}, "retry_failed must be True or False, got 1"),
        ({"ray": True}, "ray must be the address of a cluster, got True"),
        ({"out": 5}, "out must be the name of a .parquet file, got 5"),
        ({"campaign": LISTED}, "campaign must be a Campaign, or None to go on, got tuple"),
    ],
)
def test_wrong_arguments_of_a_run_are_refused_at_once(tmp_path, arguments, message):
    with pytest.raises(InvalidArgumentError) as caught:
        run(**({"campaign": Campaign(recipes=LISTED), "out": str(tmp_path / "a.parquet")} | arguments))
    assert message in str(caught.value)
    assert not list(tmp_path.iterdir())


def test_a_recipe_file_may_begin_with_a_mark_of_its_encoding(tmp_path):
    (tmp_path / "nets.txt").write_text("fnn:4-2\nfnn:8-2\n", encoding="utf-8-sig")
    assert spec.read_recipes(str(tmp_path / "nets.txt")) == ["fnn:4-2", "fnn:8-2"]
    (tmp_path / "nets.txt").write_bytes(b"fnn:4-2 \xff\n")
    with pytest.raises(InvalidArgumentError, match="is no text in UTF-8"):
        spec.read_recipes(str(tmp_path / "nets.txt"))


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
    held = lock(path)
    assert is_running(path)
    with pytest.raises(LatpredError, match="runs in another process now"):
        lock(path)
    held.release()
    assert not is_running(path)
    assert not list(tmp_path.iterdir())


def test_a_place_that_takes_no_campaign_is_told_and_nothing_stays(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgumentError, match=r"the campaign cannot be written to '.*': .*name a file in"):
        run(Campaign(recipes=LISTED), tmp_path / "file" / "a.parquet")
    with pytest.raises(InvalidArgumentError, match="no campaign was started"):
        run(None, tmp_path / "nowhere" / "a.parquet")
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, hard))  # as a full disk
    try:
        with pytest.raises(InvalidArgumentError, match=r"journal '.*a\.journal' cannot be written: .*make room"):
            run(Campaign(recipes=LISTED), tmp_path / "a.parquet")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_disk_that_is_full_in_the_middle_is_what_is_told(journal):
    """SQLite has ended the transaction by then."""
    size = journal._connection.execute("PRAGMA page_count").fetchone()[0]
    journal._connection.execute(f"PRAGMA max_page_count = {size}")
    result = Result("latency_s", "khan", 1.0, details={"samples": [0] * 100_000})
    with pytest.raises(InvalidArgumentError, match="written: database or disk is full"), writing_journal(journal.path):
        journal.add(dataclasses.replace(record(0), results=(result,)), item(0))


# The user's own record.


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.setenv(local_record.VARIABLE, "measurements")
    return tmp_path / "latpred"


def test_a_row_at_another_size_is_no_latency_of_the_recipes_network(journal, folder):
    journal.add_machine("a machine", {"device": "cpu"})
    journal.add(record(7), item(7))
    journal.add(record(8), dataclasses.replace(item(7), position=8, input="64"))
    add_to_record(journal)
    assert sorted(bool(entry.graph_hash) for entry in history()) == [False, True]


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


def test_a_noise_floor_of_disturbed_second_times_is_told_as_such(journal, tmp_path):
    pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    journal.add_machine("a machine", {"device": "cpu"})
    for position in range(3):
        journal.add(record(position, 2.0), item(position))
        journal.add_retimed(position, 1.5, None)
    steady = finish(journal, journal.campaign(), tmp_path / "a.parquet", [])
    assert steady.notes == ()
    assert "of steady rows" not in dict(cli_campaign._facts(steady))
    journal.mark_unsteady(range(3), is_retimed=True)
    disturbed = finish(journal, journal.campaign(), tmp_path / "a.parquet", [])
    assert (disturbed.unsteady, disturbed.noise, disturbed.steady_noise) == (0, steady.noise, None)
    assert "3 of 3 second times were taken while the machine was not steady" in disturbed.notes[0]
    assert dict(cli_campaign._facts(disturbed))["of steady rows"] == "unknown: none was steady both times"


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

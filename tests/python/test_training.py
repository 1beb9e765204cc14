"""Training and evaluation as a product, on nets whose latency is a known law."""

import dataclasses
from itertools import islice

import latpred
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latpred import checkpoint_file
from latpred.datasets import cnn, fnn
from latpred.errors import CheckpointError, InvalidArgumentError, LatpredError
from latpred.lock import Lock
from latpred.training import net_errors, trainable, trained
from latpred.training.loop import UNFINISHED, interval_widths
from measured_nets_maker import CONDITIONS, by_law, law_s

pytest.importorskip("pyarrow")

COUNT = 400
CLOSED_FORMS = ["cache_roofline", "linear_weights", "linear_widths"]


@pytest.fixture(scope="module")
def measured():
    return by_law(COUNT)


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_training_is_deterministic_and_answers_as_its_checkpoint(name, measured, tmp_path):
    one = latpred.train(name, dataset=measured, out=tmp_path / "one.safetensors", progress=False)
    latpred.train(name, dataset=measured, out=tmp_path / "two.safetensors", progress=False)
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "two.safetensors").read_bytes()
    np.testing.assert_array_equal(
        one.predict_nets(measured.nets), trained.load(tmp_path / "two.safetensors").predict_nets(measured.nets)
    )
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one.safetensors", "two.safetensors"]


def test_the_roofline_finds_the_law(measured, tmp_path):
    found = latpred.train("cache_roofline", dataset=measured, out=tmp_path / "r.safetensors", progress=False)
    exact = law_s(measured.nets)
    assert np.median(np.abs(found.predict_nets(measured.nets) / exact - 1)) < 0.01
    # It goes on as the law does for nets that are deeper than any it has seen.
    deeper = fnn.encode([(2**10,) * 16])
    assert found.predict_nets(deeper)[0] == pytest.approx(law_s(deeper)[0], rel=0.05)
    rows = latpred.evaluate(found, dataset=measured)
    assert rows[0].band == "all"
    assert rows[0].median_percent < 4
    assert 0.6 < rows.share_inside <= 1


def test_a_line_in_the_weights_finds_the_law_of_large_nets_alone(measured, tmp_path):
    weights, widths = (
        latpred.evaluate(
            latpred.train(name, dataset=measured, out=tmp_path / f"{name}.safetensors", progress=False),
            dataset=measured,
        )[0]
        for name in ("linear_weights", "linear_widths")
    )
    assert weights.mae_percent_of_mean < 15 < widths.mae_percent_of_mean


@pytest.mark.parametrize("name", CLOSED_FORMS)
def test_answers_are_positive(name, measured, tmp_path):
    found = latpred.train(name, dataset=measured, out=tmp_path / "x.safetensors", progress=False)
    assert (found.predict_nets(fnn.encode([(1, 1, 1), (1, 16384, 1)])) > 0).all()


def test_trees_are_those_of_scikit_learn(measured, tmp_path, monkeypatch):
    ensemble = pytest.importorskip("sklearn.ensemble")
    threadpoolctl = pytest.importorskip("threadpoolctl")
    from latpred.training import trees

    monkeypatch.setitem(trees.PARAMETERS, "max_iter", 20)

    one = latpred.train("trees", dataset=measured, out=tmp_path / "one.safetensors", progress=False)
    latpred.train("trees", dataset=measured, out=tmp_path / "two.safetensors", progress=False)
    assert (tmp_path / "one.safetensors").read_bytes() == (tmp_path / "two.safetensors").read_bytes()
    training = measured.part("train")
    own = ensemble.HistGradientBoostingRegressor(random_state=0, early_stopping=False, **trees.PARAMETERS)
    with threadpoolctl.threadpool_limits(1):
        own.fit(trees._inputs(training.nets), np.log(training.latency_s))
    expected = np.exp(own.predict(trees._inputs(measured.nets)))
    np.testing.assert_allclose(one.predict_nets(measured.nets), expected, rtol=1e-5)


# Going on, and refusing to.


class Counter:
    """A learner that counts its epochs and is best in the third."""

    def __init__(self):
        self.done = 0
        self.fail_in = None

    def fit_epoch(self, nets, latency_s):
        if self.done + 1 == self.fail_in:
            raise KeyboardInterrupt
        self.done += 1
        return 1.0 / self.done

    def predict(self, nets):
        return law_s(nets) * (1 + abs(self.done - 3))

    def arrays(self):
        return {"done": np.array([self.done])}

    def load_arrays(self, arrays):
        self.done = int(arrays["done"][0])

    state = arrays
    load_state = load_arrays


@pytest.fixture
def counter(monkeypatch):
    """The row of a Counter; `made` holds the learners in order."""
    made = []

    def make(seed, parameters):
        made.append(Counter())
        made[-1].fail_in = made_to_fail.pop() if made_to_fail else None
        return made[-1]

    made_to_fail: list[int] = []
    row = trainable.TrainableRow("counter", "counts", make, 6, lambda epochs: {"epochs": epochs}, None)
    monkeypatch.setattr(trainable, "TRAINABLE", (row,))
    return made, made_to_fail


def test_the_best_epoch_is_kept(counter, measured, tmp_path):
    found = latpred.train("counter", dataset=measured, out=tmp_path / "x.safetensors", progress=False)
    assert (found.manifest["epochs_done"], found.manifest["best_epoch"]) == (6, 3)
    # None is below the fastest net of the training.
    expected = np.maximum(law_s(measured.nets), measured.part("train").latency_s.min())
    np.testing.assert_array_equal(found.predict_nets(measured.nets), expected)
    assert [line["loss"] for line in found.history] == [1 / epoch for epoch in range(1, 7)]


def test_an_interrupted_training_goes_on_and_ends_as_one_that_was_not(counter, measured, tmp_path):
    made, made_to_fail = counter
    out = tmp_path / "x.safetensors"
    made_to_fail.append(5)
    with pytest.raises(KeyboardInterrupt):
        latpred.train("counter", dataset=measured, out=out, progress=False)
    assert not out.exists()
    assert (tmp_path / f"x.safetensors{UNFINISHED}").exists()
    latpred.train("counter", dataset=measured, out=out, progress=False)
    assert made[1].done == 3  # the best; it was loaded at the fourth
    assert list(tmp_path.iterdir()) == [out]
    latpred.train("counter", dataset=measured, out=tmp_path / "y.safetensors", progress=False)
    assert out.read_bytes() == (tmp_path / "y.safetensors").read_bytes()
    # A finished one is taken as it is.
    count = len(made)
    latpred.train("counter", dataset=measured, out=out, progress=False)
    assert len(made) == count + 1
    assert made[-1].done == 3


def test_another_process_that_trains_to_the_same_file_is_told(counter, measured, tmp_path):
    made, _ = counter
    out = tmp_path / "x.safetensors"
    held = Lock(out, "")
    with pytest.raises(LatpredError, match=r"x\.safetensors' is being trained by another process now; .*another out="):
        latpred.train("counter", dataset=measured, out=out, progress=False)
    held.release()
    assert made[-1].done == 0
    latpred.train("counter", dataset=measured, out=out, progress=False)
    assert list(tmp_path.iterdir()) == [out]


def test_what_cannot_be_written_is_told_before_the_first_epoch(counter, measured, tmp_path):
    made, _ = counter
    with pytest.raises(InvalidArgumentError, match=r"out is a folder, .*; name a file in it"):
        latpred.train("counter", dataset=measured, out=tmp_path, progress=False)
    (tmp_path / "file").touch()
    with pytest.raises(InvalidArgumentError, match="the checkpoint cannot be written to"):
        latpred.train("counter", dataset=measured, out=tmp_path / "file" / "x.safetensors", progress=False)
    assert made[-1].done == 0


def test_training_stops_early_where_the_row_says_so(counter, monkeypatch, measured, tmp_path):
    row = dataclasses.replace(trainable.TRAINABLE[0], patience=2)
    monkeypatch.setattr(trainable, "TRAINABLE", (row,))
    found = latpred.train("counter", dataset=measured, out=tmp_path / "x.safetensors", progress=False)
    assert (found.manifest["epochs_done"], found.manifest["best_epoch"]) == (5, 3)


def test_a_training_of_other_settings_is_not_gone_on_with(counter, measured, tmp_path):
    _, made_to_fail = counter
    out = tmp_path / "x.safetensors"
    made_to_fail.append(2)
    with pytest.raises(KeyboardInterrupt):
        latpred.train("counter", dataset=measured, out=out, progress=False)
    with pytest.raises(CheckpointError, match="seed is 0 there and 1 asked for; give another out="):
        latpred.train("counter", dataset=measured, out=out, seed=1, progress=False)
    with pytest.raises(CheckpointError, match="epochs is 6 there and 7 asked for"):
        latpred.train("counter", dataset=measured, out=out, epochs=7, progress=False)
    with pytest.raises(CheckpointError, match=r"data is '.*' there and '.*' asked for"):
        latpred.train("counter", dataset=by_law(COUNT, seed=1), out=out, progress=False)
    latpred.train("counter", dataset=measured, out=out, seed=1, resume=False, progress=False)
    with pytest.raises(CheckpointError, match="seed is 1 there and 0 asked for"):
        latpred.train("counter", dataset=measured, out=out, progress=False)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"format_version": 99}, "format_version is 99, this build reads 1"),
        ({"kind": "other"}, "kind is 'other'"),
        ({"schema": {"version": 2}}, r"schema is \{'version': 2\}"),
        ({"predictor": "rooflin"}, "unknown trainable predictor 'rooflin'"),
        ({"hyper_parameters": {"epochs": 1, "rate": 2}}, r"other hyper-parameters \(rate\)"),
    ],
)
def test_a_checkpoint_that_does_not_fit_is_refused_with_the_difference(change, words, measured, tmp_path):
    path = tmp_path / "x.safetensors"
    latpred.train("cache_roofline", dataset=measured, out=path, progress=False)
    manifest, arrays = checkpoint_file.read(path)
    checkpoint_file.write(path, manifest | change, arrays)
    with pytest.raises((CheckpointError, InvalidArgumentError), match=words):
        trained.load(path)


def test_a_checkpoint_without_its_numbers_is_refused(measured, tmp_path):
    path = tmp_path / "x.safetensors"
    latpred.train("cache_roofline", dataset=measured, out=path, progress=False)
    manifest, _ = checkpoint_file.read(path)
    checkpoint_file.write(path, manifest, {})
    with pytest.raises(CheckpointError, match="is damaged: 'terms'"):
        trained.load(path)


def test_arguments_are_checked(measured, tmp_path):
    out = tmp_path / "x.safetensors"
    with pytest.raises(InvalidArgumentError, match="did you mean 'transformer'"):
        latpred.train("transformr", dataset=measured, out=out)
    with pytest.raises(InvalidArgumentError, match="predictor must be text, got None"):
        latpred.train(None, dataset=measured, out=out)
    for words, match in (
        ({"epochs": 0}, "epochs must be"),
        ({"seed": -1}, "seed must be"),
        ({"run_on": "cuda"}, "training runs on cpu"),
    ):
        with pytest.raises(InvalidArgumentError, match=match):
            latpred.train("cache_roofline", dataset=measured, out=out, **words)
    with pytest.raises(InvalidArgumentError, match=r"dataset must be a Parquet file of measured nets .*, got 3"):
        latpred.train("cache_roofline", dataset=3, out=out)
    with pytest.raises(InvalidArgumentError, match="out must be the name of a checkpoint, got None"):
        latpred.train("cache_roofline", dataset=measured, out=None)
    with pytest.raises(InvalidArgumentError, match=r"predictor must be .* what train\(\) returned, got 3"):
        latpred.evaluate(3, dataset=measured)
    with pytest.raises(InvalidArgumentError, match="in its part 'train', at least 30"):
        latpred.train("cache_roofline", dataset=by_law(20), out=out)
    found = latpred.train("cache_roofline", dataset=measured, out=out, progress=False)
    with pytest.raises(InvalidArgumentError, match="no nets in its part"):
        latpred.evaluate(found, dataset=by_law(1))


def test_evaluation_says_that_nets_were_measured_elsewhere(measured, tmp_path):
    found = latpred.train("cache_roofline", dataset=measured, out=tmp_path / "x.safetensors", progress=False)
    elsewhere = by_law(COUNT, conditions=dataclasses.replace(CONDITIONS, device_fingerprint="Other CPU"))
    notes = latpred.evaluate(found, dataset=elsewhere).notes
    assert notes == ["measured otherwise: device_fingerprint is 'Other CPU' and was 'Some CPU, 2 cores'"]
    assert latpred.evaluate(found, dataset=measured).notes == []


def test_a_test_part_holds_no_net_of_the_training_whatever_the_data_set_holds(tmp_path):
    """Shares hang on the kinds of the whole set: of feed-forward nets alone other nets test than beside CNNs."""
    dense = by_law(COUNT)
    both = by_law(COUNT + 200, recipes=(*dense.recipes, *islice(cnn.generate(0), 200)))
    found = latpred.train("cache_roofline", dataset=both, out=tmp_path / "x.safetensors", progress=False)
    trained_on = set(both.part("train").recipes)
    assert trained_on & set(dense.part("test").recipes)
    kept = dense.part("test", found.kinds)
    assert not trained_on & set(kept.recipes)
    answer = latpred.evaluate(found, dataset=dense)
    assert answer[0].nets == len(kept) > 0
    (note,) = answer.notes
    assert note.startswith("part 'test' is that of a set of feed-forward nets and plain CNNs, which the predictor was")
    assert latpred.evaluate(found, dataset=both).notes == latpred.evaluate(found, dataset=dense, part="all").notes == []
    alone = latpred.train("cache_roofline", dataset=dense, out=tmp_path / "y.safetensors", progress=False)
    with pytest.raises(InvalidArgumentError, match="was trained on feed-forward nets, plain CNNs are asked for"):
        latpred.evaluate(alone, dataset=both)


# Errors and intervals.


def test_errors_by_hand():
    found = net_errors.errors_of(np.array([1.0, 3.0]), np.array([2.0, 2.0]))
    assert (found.mae_s, found.mae_percent_of_mean, found.mape_percent, found.std_s) == (1.0, 50, 50, 0)


def test_bands_add_up_and_the_floor_is_the_second_timing(measured):
    rows = net_errors.by_band(measured.latency_s, measured.latency_s, measured.nets.weight_bytes())
    assert rows[0].nets == sum(row.nets for row in rows[1:]) == COUNT
    assert all(row.mape_percent == 0 for row in rows)
    floor = net_errors.noise_floor(measured)
    assert floor[0].nets == np.isfinite(measured.again_s).sum()
    assert 0.5 < floor[0].mape_percent < 6
    assert net_errors.noise_floor(measured.select(np.isnan(measured.again_s))) == []


@settings(max_examples=30, deadline=None)
@given(count=st.integers(5, 400), sd=st.floats(0.01, 1))
def test_intervals_hold_what_they_were_made_of(count, sd):
    random = np.random.default_rng(count)
    predicted = np.exp(random.normal(size=count) * 3)
    measured = predicted * np.exp(sd * random.normal(size=count))
    edges, widths = interval_widths(predicted, measured)
    width = np.array(widths)[np.searchsorted(edges, predicted, side="right")]
    share = np.mean(np.abs(np.log(measured / predicted)) <= width * (1 + 1e-12))
    assert 0.8 <= share <= 0.8 + 2 * len(widths) / count + 0.2 * (count < 10)

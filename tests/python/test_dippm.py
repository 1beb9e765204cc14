"""DIPPM's benchmark: its page, its journals, its MIG table."""

from __future__ import annotations

import importlib
import json

import latpred
import numpy as np
import pytest
from benchmark_modules import BENCHMARKS, benchmark_module
from example_networks import REPOSITORY

pytest.importorskip("pyarrow")

docs_table = benchmark_module("accuracy.docs_table")


@pytest.fixture(scope="module")
def dippm():
    pytest.importorskip("scipy")
    return benchmark_module("accuracy.dippm")


@pytest.fixture(scope="module")
def fits(dippm):
    return importlib.import_module("dippm_fits")  # as the benchmark imports it


@pytest.fixture(scope="module")
def kept(dippm):
    return importlib.import_module("dippm_data")


@pytest.fixture(scope="module")
def data(kept):
    return kept.Data()


def test_the_rows_are_one_call_of_each_network(kept, data):
    calls = data.of(kept.ALL)
    assert len(calls) == 1593
    assert calls.rows.recipe.is_unique
    measured_here = data.of(kept.HERE).rows
    assert not measured_here.duplicated(["recipe", "batch"]).any()
    assert (measured_here[[kept.LATENCY, kept.MEMORY]] > 0).all(axis=None)


def test_the_page_shows_what_the_committed_files_say(dippm, data):
    page = (REPOSITORY / "docs" / "dippm.md").read_text(encoding="utf-8")
    assert docs_table.shown(page, dippm.MARK) == dippm.markdown(data, seeds=3) + dippm.dippm_mig.markdown()


@pytest.mark.torch
def test_the_page_shows_what_the_students_checkpoint_says(dippm):
    pytest.importorskip("torch")
    student = benchmark_module("accuracy.dippm_student")
    page = (REPOSITORY / "docs" / "dippm.md").read_text(encoding="utf-8")
    assert docs_table.shown(page, student.MARK) == student.markdown()


def test_every_journal_is_of_these_rows(fits, kept, data):
    names = {fit.name for fit in fits.plan(seeds=9)}
    for path in sorted((BENCHMARKS / "accuracy" / "dippm").glob("*.json")):
        found = {rows: told for rows in kept.ROWS if (told := kept.read(path.stem, data.of(rows).rows)) is not None}
        assert found, f"{path.name}: of other rows"
        rows, told = next(iter(found.items()))
        for target in kept.ROWS[rows].source.targets:
            assert path.stem == fits.RATES or len(told[target]) == len(data.of(rows))
        assert path.stem in names or "fit" not in told
        if "fit" in told:
            assert fits.Fit(**told["fit"]).name == path.stem


def test_fits_have_names_of_their_own(fits):
    names = [fit.name for fit in fits.plan(seeds=3)]
    assert len(names) == len(set(names))
    assert len(fits.plan(seeds=1)) < len(fits.plan(seeds=2))


def test_as_published_a_graph_is_a_chain_of_what_has_weights(kept):
    net = latpred.GraphBuilder()
    x = net.input("x", (4, 8, 8))
    first = net.apply("conv", [x, net.parameter((6, 4, 3, 1))], kernel_shape=[3, 1])
    pooled = net.apply("max_pool", first, kernel_shape=[2, 2], strides=[2, 2])
    net.output(net.apply("linear", [net.apply("flatten", pooled), net.parameter((10, 72))]))
    graph = net.build(2)
    found = kept.published(graph)
    assert found["nodes"][:, -4:].tolist() == [[6, 4, 3, 1], [10, 72, 0, 0]]
    assert found["edges"].T.tolist() == [[0, 1]]
    one_hot = latpred.features(graph, set="dippm").nodes[[0, -1], :16]
    assert (found["nodes"][:, :16].argmax(axis=1) - one_hot.argmax(axis=1)).tolist() == [1, 1]


def test_baselines_learn_a_law(fits):
    rng = np.random.default_rng(0)
    columns = rng.uniform(1, 100, (200, 8))
    seconds = 1e-3 * columns[:, 0] + 2e-4 * columns[:, 1] * columns[:, 2]
    arrays = {"columns": columns, "targets": seconds[:, None], "bases": columns[:, :1]}
    assert fits.linear(arrays, arrays) == pytest.approx(seconds, rel=1e-3)


def test_a_journal_of_other_rows_is_not_read(dippm, kept, data, tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "JOURNALS", tmp_path)
    rows = data.of(kept.ALL).rows
    kept.write("one", rows, {"latency_s": rows.latency_s.to_numpy()})
    assert kept.read("one", rows)["latency_s"] == pytest.approx(rows.latency_s.to_numpy(), rel=1e-3)
    assert kept.read("one", rows.iloc[1:]) is None
    assert kept.read("two", rows) is None
    errors = dippm.errors_percent(json.loads((tmp_path / "one.json").read_text())["latency_s"], rows)
    assert errors.max() < 0.1


@pytest.mark.torch
@pytest.mark.parametrize("rows", ["measured here", "ten families"])
def test_a_training_that_is_stopped_goes_on(fits, kept, data, rows, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(kept, "JOURNALS", tmp_path / "journals")
    monkeypatch.setitem(fits.SETTINGS, "small", fits.TUNED | {"width": 8, "layers": 1, "dense_width": 8, "epochs": 2})
    calls = data.of(rows)
    parts, is_in = calls.parts("random"), data.is_in(rows)
    places = [np.flatnonzero(is_in & (parts == part))[:4] for part in ("train", "validation", "test")]
    few = kept.Data(tmp_path)
    few._chosen[id(kept.ROWS[rows].source)] = calls.select(np.concatenate(places))
    fit = fits.Fit("pmgns", "small", rows, "random")
    with pytest.raises(fits.Spent):
        fits.train(fit, few, tmp_path, lambda: True)
    assert (tmp_path / f"{fit.name}.training").is_file()
    assert kept.read(fit.name, few.of(rows).rows) is None
    fits.train(fit, few, tmp_path, lambda: True)
    found = kept.read(fit.name, few.of(rows).rows)
    assert found["epochs"] == 2
    for target in kept.ROWS[rows].source.targets:
        assert (np.array(found[target]) > 0).all()


@pytest.fixture(scope="module")
def cases(dippm):
    return dippm.dippm_mig.answers()


def test_table_5_has_the_right_profile_in_six_of_six(cases):
    assert [row["theirs_profile"] for row in cases] == [row["case"].profile for row in cases]


def test_the_constant_is_one(dippm, cases):
    """Five cases agree within 5 %: what differs from measured is no error of the slope."""
    besides = [row["besides_mib"] for place, row in enumerate(cases) if place != dippm.dippm_mig.MISPRINTED]
    assert max(besides) / min(besides) < 1.05


def test_inference_needs_less(cases):
    assert all(row["inference_mib"] < 0.7 * row["autograd_mib"] for row in cases)
    assert {row["inference_profile"] for row in cases} == {"1g.5gb"}


@pytest.mark.parametrize(
    ("memory", "profile"), [(4999, "1g.5gb"), (5000, "2g.10gb"), (39999, "7g.40gb"), (40000, None)]
)
def test_its_rule(dippm, memory, profile):
    assert dippm.dippm_mig.profile_of(memory) == profile

"""DIPPM's benchmark: its page, its journals, its MIG table."""

from __future__ import annotations

import json

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
def data(dippm):
    return dippm.chosen()


def test_the_rows_are_one_call_of_each_network(data):
    assert len(data) == 1593
    assert data.rows.recipe.is_unique


def test_the_page_shows_what_the_committed_files_say(dippm, data):
    page = (REPOSITORY / "docs" / "dippm.md").read_text(encoding="utf-8")
    assert docs_table.shown(page, dippm.MARK) == dippm.markdown(data, seeds=3) + dippm.dippm_mig.markdown()


@pytest.mark.torch
def test_the_page_shows_what_the_students_checkpoint_says(dippm):
    pytest.importorskip("torch")
    student = benchmark_module("accuracy.dippm_student")
    page = (REPOSITORY / "docs" / "dippm.md").read_text(encoding="utf-8")
    assert docs_table.shown(page, student.MARK) == student.markdown()


def test_every_journal_is_of_these_rows(dippm, data):
    names = {fit.name for fit in dippm.plan(seeds=9)}
    for path in sorted((BENCHMARKS / "accuracy" / "dippm").glob("*.json")):
        found = dippm.read(path.stem, data.rows)
        assert found is not None, f"{path.name}: of other rows"
        assert len(found["latency_s"]) == len(data)
        assert path.stem in names or "fit" not in found
        if "fit" in found:
            assert dippm.Fit(**found["fit"]).name == path.stem


def test_fits_have_names_of_their_own(dippm):
    names = [fit.name for fit in dippm.plan(seeds=3)]
    assert len(names) == len(set(names))
    assert len(dippm.plan(seeds=1)) < len(dippm.plan(seeds=2))


def test_baselines_learn_a_law(dippm):
    rng = np.random.default_rng(0)
    columns = rng.uniform(1, 100, (200, 8))
    seconds = 1e-3 * columns[:, 0] + 2e-4 * columns[:, 1] * columns[:, 2]
    arrays = {"columns": columns, "targets": seconds[:, None], "bases": columns[:, :1]}
    assert dippm.linear(arrays, arrays) == pytest.approx(seconds, rel=1e-3)


def test_a_journal_of_other_rows_is_not_read(dippm, data, tmp_path, monkeypatch):
    monkeypatch.setattr(dippm, "JOURNALS", tmp_path)
    dippm.write("one", data.rows, data.rows.latency_s.to_numpy())
    assert dippm.read("one", data.rows)["latency_s"] == pytest.approx(data.rows.latency_s.to_numpy(), rel=1e-3)
    assert dippm.read("one", data.rows.iloc[1:]) is None
    assert dippm.read("two", data.rows) is None
    errors = dippm.errors_percent(json.loads((tmp_path / "one.json").read_text())["latency_s"], data.rows)
    assert errors.max() < 0.1


@pytest.mark.torch
def test_a_training_that_is_stopped_goes_on(dippm, data, tmp_path, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setattr(dippm, "JOURNALS", tmp_path / "journals")
    monkeypatch.setitem(dippm.SETTINGS, "small", dippm.TUNED | {"width": 8, "layers": 1, "dense_width": 8, "epochs": 2})
    parts = data.parts("random")
    few = data.select(np.concatenate([np.flatnonzero(parts == part)[:4] for part in ("train", "validation", "test")]))
    arrays = dippm.graphs_of(few, tmp_path)
    fit = dippm.Fit("pmgns", "small", dippm.ALL, "random")
    with pytest.raises(dippm.Spent):
        dippm.train(fit, few, arrays, tmp_path, lambda: True)
    assert (tmp_path / f"{fit.name}.training").is_file()
    assert dippm.read(fit.name, few.rows) is None
    dippm.train(fit, few, arrays, tmp_path, lambda: True)
    found = dippm.read(fit.name, few.rows)
    assert found["epochs"] == 2
    assert (np.array(found["latency_s"]) > 0).all()


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

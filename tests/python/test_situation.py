"""Widths by situation: the law finds what made residuals, and C++ answers with the widths that it was fitted for."""

import dataclasses
import math

import numpy as np
import pytest
from latpred import _core
from latpred.fitting import alike_networks, checkpoint, conformal, kernel_terms, measurements, ship, situation
from latpred.fitting.evaluate import Term
from latpred.fitting.evidence import Evidence
from latpred.fitting.kernel_terms import KINDS
from latpred.fitting.measurements import ARITHMETICS
from latpred.fitting.situation import FLAT, Law
from recipe_graphs import built

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")

LAW = Law(near=0.1, new=3.0, small=2.0, few=2.5, other_version=0.2, runtimes={"compiled": 0.15}, tables={})
DEVICES = ("RTX 3090", "RTX 4090", "T4")


def asked(count=4000, seed=0):
    random = np.random.default_rng(seed)
    device = random.choice(DEVICES, size=count)
    return pd.DataFrame(
        {
            "device": device,
            "runtime": random.choice(["eager", "compiled"], size=count),
            "family": random.choice([f"timm-{index}" for index in range(80)], size=count),
            "batch": random.choice([1, 4, 64], size=count),
            "distance": random.uniform(0, 0.5, size=count),
            "families": np.where(device == "T4", 4, 80),
            "is_other_version": False,
            "situation": "fold",
        }
    ).assign(distance_there=lambda rows: rows.distance)


def residuals(rows, law, seed=1):
    """80 % of their magnitudes are below the law's width."""
    normal = np.abs(np.random.default_rng(seed).standard_normal(len(rows)))
    return law.relative(rows, is_known=True) * normal / 1.2816


def test_the_law_that_made_the_residuals_is_found():
    rows = asked()
    found = situation.fit_law(rows, residuals(rows, LAW))
    assert found.near == pytest.approx(LAW.near, rel=0.15)
    assert found.new == pytest.approx(LAW.new, rel=0.15)
    assert found.small == pytest.approx(LAW.small, rel=0.15)
    assert found.few == pytest.approx(LAW.few, rel=0.15)
    assert found.runtimes["compiled"] == pytest.approx(LAW.runtimes["compiled"], rel=0.15)
    assert len(found.tables) == len(found.new_tables) == 6  # of each device by each runtime
    assert all(factor == pytest.approx(1.0, abs=0.12) for factor in found.tables.values())
    assert all(factor == pytest.approx(1.0, abs=0.2) for factor in found.new_tables.values())


def test_every_situation_is_covered_as_asked_and_no_factor_narrows():
    rows = asked()
    law = Law(0.1, 3.0, 2.0, 2.5, 0.0, {"compiled": 0.15}, {("RTX 4090", "eager"): 1.4})
    found = situation.fit_law(rows, residuals(rows, law))
    assert found.tables["RTX 4090", "eager"] > 1.1
    fresh = asked(seed=2)
    inside = residuals(fresh, law, seed=3) <= found.relative(fresh, is_known=True)
    assert inside.mean() == pytest.approx(0.8, abs=0.02)
    for column in ("device", "runtime", "batch"):
        for name, of_name in pd.Series(inside).groupby(fresh[column]):
            assert of_name.mean() == pytest.approx(0.8, abs=0.06), name
    # Residuals that shrink where they should grow: the law stays flat there.
    opposite = residuals(rows, Law(0.3, 0.3, 0.5, 0.5, 0.0, {}, {}))
    held = situation.fit_law(rows, opposite)
    assert min(held.new, held.small, held.few) >= 1.0


def test_a_table_differs_for_known_and_for_new_networks():
    key = ("RTX 3090", "eager")
    rows, law = asked(), dataclasses.replace(LAW, tables={key: 1.4}, new_tables={key: 0.5})
    found = situation.fit_law(rows, residuals(rows, law))
    assert found.tables[key] > 1.15
    assert found.new_tables[key] < 0.7
    fresh = asked(seed=2)
    inside = pd.Series(residuals(fresh, law, seed=3) <= found.relative(fresh, is_known=True))
    is_new = situation.novelty(fresh, is_known=True) >= situation.NEW
    for name, of_name in inside.groupby([(fresh.device == key[0]) & (fresh.runtime == key[1]), is_new]):
        assert of_name.mean() == pytest.approx(0.8, abs=0.07), name


def test_a_table_with_new_networks_alone_has_their_factor_for_all():
    key = ("RTX 3090", "eager")
    rows = asked()
    rows["distance"] = rows["distance_there"] = np.where(
        (rows.device == key[0]) & (rows.runtime == key[1]), 0.3, rows.distance
    )
    law = dataclasses.replace(LAW, tables={key: 0.5})
    found = situation.fit_law(rows, residuals(rows, law))
    assert found.tables[key] < 0.8
    assert key not in found.new_tables


def test_what_another_version_adds_is_found():
    rows = asked().assign(is_other_version=True, what="torch 1.13")
    law = dataclasses.replace(LAW, tables={("RTX 4090", "eager"): 1.4})
    silent = dataclasses.replace(law, other_version=0.0)
    added = situation.of_versions(rows, residuals(rows, law), silent)
    assert added == pytest.approx(law.other_version, rel=0.15)
    fresh = asked(seed=2).assign(is_other_version=np.arange(4000) % 3 == 0)
    found = dataclasses.replace(silent, other_version=added)
    inside = residuals(fresh, law, seed=3) <= found.relative(fresh, is_known=True)
    for name, of_name in pd.Series(inside).groupby(fresh.is_other_version):
        assert of_name.mean() == pytest.approx(0.8, abs=0.06), name


def test_every_version_counts_alike():
    many, few = asked(1000).assign(what="torch 1.13"), asked(100).assign(what="torch 2.4")
    rows = pd.concat([many, few], ignore_index=True).assign(device="T4", runtime="eager", batch=64)
    rows = rows.assign(family=[f"timm-{index}" for index in rows.index])
    # Versions add 0 to 1 to the many rows and nothing to the few: of both alike 80 % are 60 % of the many.
    adds = np.concatenate([np.linspace(0, 1, 1000), np.zeros(100)])
    assert situation.of_versions(rows, np.hypot(1.0, adds), FLAT) == pytest.approx(0.6, abs=0.01)


def test_what_untried_families_lack_is_found_by_how_new_they_are():
    rows, law = asked(), dataclasses.replace(LAW, untried=1.6)
    found = situation.of_untried(rows, residuals(rows, law), LAW)
    assert found == pytest.approx(law.untried, rel=0.05)
    # Where they were nearer than those before, nothing becomes narrower.
    assert situation.of_untried(rows, residuals(rows, LAW) / 2, LAW) == 1
    # A family of many rows speaks for itself alone.
    large = rows.assign(family=np.where(np.arange(len(rows)) < 3900, "timm-0", rows.family))
    off = np.where(large.family == "timm-0", 9.0, 0.5) * LAW.relative(large, is_known=True)
    assert situation.of_untried(large, off, LAW) == 1


def test_what_is_new_to_a_device_of_few_families_is_new():
    rows = asked(3).assign(distance=0.0, distance_there=situation.FAR_NETWORK, families=[1, 8, 64])
    np.testing.assert_allclose(situation.novelty(rows, is_known=True), [1, 0.5, 0])
    np.testing.assert_allclose(situation.novelty(rows, is_known=False), 0)
    np.testing.assert_allclose(situation.novelty(rows.assign(distance_there=0.0), is_known=True), 0)
    np.testing.assert_allclose(situation.novelty(rows.assign(distance=situation.FAR_NETWORK), is_known=True), 1)


def test_tables_of_few_families_have_no_factor_of_their_own():
    rows = asked().assign(family=lambda rows: np.where(rows.device == "T4", "timm-1", rows.family))
    found = situation.fit_law(rows, residuals(rows, LAW))
    assert {device for device, _ in found.tables} == {"RTX 3090", "RTX 4090"}


def test_a_family_counts_once_in_a_table_and_band_for_each_situation():
    rows = asked(4).assign(device="T4", runtime="eager", family=["a", "a", "b", "b"], batch=[2, 31, 64, 64])
    np.testing.assert_allclose(situation.units(rows), [0.5, 0.5, 0.5, 0.5])
    rows = rows.assign(situation=["fold", "fold", "version", "known"])
    np.testing.assert_allclose(situation.units(rows), [0.5, 0.5, 1, 1])
    # A search space with two tables counts as one with one.
    spaces = rows.assign(situation=situation.SPACE, device=["T4", "V100", "T4", "T4"], batch=64)
    np.testing.assert_allclose(situation.units(spaces), [0.75, 0.75, 0.75, 0.75])


def test_unknown_devices_have_no_scarcity_and_no_table():
    rows = asked(3).assign(
        device="T4", runtime="eager", batch=64, distance=0.0, distance_there=0.0, families=1, is_other_version=False
    )
    law = Law(0.5, 3.0, 2.0, 4.0, 1.2, {}, {("T4", "eager"): 1.5})
    np.testing.assert_allclose(law.relative(rows, is_known=True), 3.0)
    np.testing.assert_allclose(law.relative(rows, is_known=False), 0.5)
    np.testing.assert_allclose(FLAT.relative(rows, is_known=True), 1.0)
    np.testing.assert_allclose(law.relative(rows.assign(is_other_version=True), is_known=False), 1.3)


@pytest.mark.parametrize("by_analogy", [False, True])
def test_cpp_answers_with_the_width_of_the_law(tmp_path, by_analogy):
    rows = measurements.load().groupby(["device", "family"]).head(2)
    networks = rows[rows.family == "anb"]
    rows = pd.concat([rows[rows.runtime == "eager"].iloc[::7], networks]).drop_duplicates("id", ignore_index=True)
    table = kernel_terms.lower(rows, built)
    manifest, arrays = checkpoint.read(ship.checkpoint_path("analytic"))
    known, unknown = sorted(set(rows.device))[::2], sorted(set(rows.device))[1::2]
    part = table.select(np.arange(table.size) % 3 == 0)
    known_networks = alike_networks.fit(part, part.latency_s)
    law = Law(0.6, 3.0, 2.0, 2.5, 0.4, {"eager": 0.3}, {(known[0], "eager"): 1.4}, untried=1.3)
    terms = {name: Term(0.0, "none") for name in manifest["interval_terms"]}
    terms |= {"known_device": Term(0.2, "a"), "unknown_device": Term(0.4, "b"), "device_sd": Term(0.1, "c")}
    terms |= {"host_sd": Term(0.3, "d")}
    terms |= {"kind_sd": Term(0.45, "h"), "runtime_sd": Term(0.35, "i")}
    operators = {"matmul": Term(0.5, "e"), "binary": Term(0.15, "f"), "conv": Term(0.7, "g")}
    intervals = conformal.Intervals(terms, law, "made", operators)
    version = np.where(
        np.arange(table.size) % 2 == 0, "torch 2.9.1", np.where(table.rows.device == known[0], "", "torch 2.4.0")
    )
    evidence = dataclasses.replace(
        Evidence.of(dataclasses.replace(table, rows=table.rows.assign(runtime_version=version, partition=""))),
        devices=tuple(known),
        rows_by_kind=np.where(
            by_analogy & (np.arange(len(KINDS))[:, None] == KINDS.index("softmax")), 0, np.ones((1, len(ARITHMETICS)))
        ),
        device_arithmetics={name: ["int8"] for name in known} if by_analogy else {},
        operator_arithmetics={unknown[0]: ["fp32"]},
        families={known[0]: {"eager": 3}, known[1]: {"eager": 100}},
    )
    manifest |= intervals.manifest()
    manifest["evidence"] = evidence.manifest() | {"smallest_batch": 1, "largest_batch": 10**9}
    (tmp_path / "predictors").mkdir()
    path = tmp_path / "predictors" / "analytic.safetensors"
    checkpoint.write(path, manifest | known_networks.manifest(), arrays | known_networks.arrays())
    session = _core.Session(str(tmp_path))

    found, latency_s = [], []
    is_unsaid = np.arange(table.size) % 2 == 0
    for row, unsaid in zip(table.rows.itertuples(), is_unsaid, strict=True):
        request = _core.PredictRequest(
            device=row.device,
            runtime=row.runtime,
            runtime_version="" if unsaid else "torch 2.4",
            precision=row.precision,
            predictor="analytic",
        )
        answer = session.predict(built(row.recipe, int(row.batch)), request)
        found.append(math.log(answer.latency_interval_s[1] / answer.latency_s))
        latency_s.append(answer.latency_s)
    asked = dataclasses.replace(
        table, rows=table.rows.assign(runtime_version=np.where(is_unsaid, "", "torch 2.4.0"), partition="")
    )
    rows = asked.rows.assign(pred=latency_s, host_s=table.launches_s, **evidence.described(asked, known_networks))
    assert set(operators) < set(rows.lone_kind[rows.recipe.str.startswith("op:")])
    assert set(rows.lone_kind[rows.family == "anb"]) == {""}
    is_known = rows.device.isin(known)
    assert rows.is_device_measured[is_known].all()
    assert set(rows.device[rows.is_device_measured & ~is_known]) == {unknown[0]}
    assert set(rows.is_other_version) == {True, False}
    expected = intervals.half_width(rows.assign(waiting=conformal.waiting(rows)))
    share = rows.analogy_share + rows.elsewhere_share
    assert ("softmax" in set(rows.lone_kind[rows.analogy_share > 0])) == by_analogy
    assert rows.elsewhere_share.any() == by_analogy
    np.testing.assert_allclose(np.array(found)[share == 0], expected[share == 0], rtol=2e-3)
    # C++ has shares of the predicted time.
    np.testing.assert_allclose(np.array(found)[share > 0], expected[share > 0], rtol=0.2)
    assert np.ptp(expected) > 0.1

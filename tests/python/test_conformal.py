"""Interval terms from residuals: numbers made by hand, and files of answers read back."""

import numpy as np
import pytest
from latpred.fitting import conformal, situation
from latpred.fitting.evaluate import Term

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("scipy")

NO_HOST_S = 1e-12
KEPT = {name: Term(9.0, "before") for name in ("log_bias", "known_device", "unknown_device", "device_sd")}
KEPT |= {name: Term(0.0, "before") for name in ("runtime_sd", "kind_sd", "host_sd")}


def rows_of(families, ratio, what="0", situation="fold", seed_factor=1.0):
    """Answers of one situation: networks of `families`, measured `ratio` times what was predicted."""
    seconds = np.linspace(0.001, 0.1, len(families))
    return pd.DataFrame(
        {
            "id": [f"{situation} {what} {index}" for index in range(len(families))],
            "recipe": [f"timm:{name}@224" for name in families],
            "family": families,
            "device": "RTX 3090",
            "runtime": "eager",
            "batch": 64,
            "host_s": NO_HOST_S,
            "value": seconds * ratio,
            "pred": seconds * seed_factor,
            "host_floor_s": 0.0,
            "distance": 0.0,
            "distance_there": 0.0,
            "families": 80,
            "is_device_measured": situation != "chip",
            "is_runtime_measured": True,
            "is_other_version": False,
            "analogy_share": 0.0,
            "elsewhere_share": 0.0,
            "lone_kind": "",
            "situation": situation,
            "what": what,
        }
    )


# Student's t over the normal law where each leaves a tenth above: of a spread that two, or three, sources show.
OF_TWO, OF_THREE = 1.885618 / 1.2816, 1.637744 / 1.2816


def intervals_of(rows, of_sources=()):
    return conformal.intervals_of(conformal.residuals(rows), of_sources, KEPT)


def test_families_weigh_the_same():
    # A hundred rows of one family at +-0.1, one row in each of nine others at +-0.3.
    ratio = np.concatenate([np.tile([0.1, -0.1], 50), [0.3, -0.3, 0.3, -0.3, 0.3, -0.3, 0.3, -0.3, 0.0]])
    family = np.array(["large"] * 100 + [f"small {index}" for index in range(9)])
    terms = intervals_of(rows_of(family, np.exp(ratio))).terms
    assert abs(terms["log_bias"].value) <= 0.1 + 1e-9
    off = np.abs(ratio - terms["log_bias"].value)
    weights = np.where(family == "large", 0.01, 1.0)
    width = terms["known_device"].value + 1e-9
    assert weights[off <= width].sum() / weights.sum() >= 0.8
    assert weights[off < width - 2e-9].sum() / weights.sum() < 0.8


def chips(*parts):
    return pd.concat([rows_of(["f"] * len(ratio), np.exp(ratio), name, "chip") for name, ratio in parts])


def test_what_a_chip_has_in_common_is_no_part_of_its_width():
    offsets = np.linspace(-0.1, 0.1, 41)
    families = rows_of([f"{index}" for index in range(41)], np.exp(offsets / 4))
    left_out = chips(("A", offsets + 0.3), ("B", offsets - 0.3), ("of few rows", np.full(3, 5.0)))
    found = intervals_of(pd.concat([families, left_out], ignore_index=True))
    assert found.terms["device_sd"].value == pytest.approx(0.3, abs=1e-6)
    asked = conformal.residuals(left_out)
    width = found.half_width(asked)
    np.testing.assert_allclose(width, np.hypot(0.08, 1.2816 * 0.3), atol=0.006)
    assert "A 1.35" in found.terms["device_sd"].source
    assert "few" not in found.terms["device_sd"].source
    assert found.terms["unknown_device"].value >= found.terms["known_device"].value


def test_a_chip_left_out_is_never_narrower_than_a_measured_device():
    offsets = np.linspace(-0.1, 0.1, 41)
    families = rows_of([f"{index}" for index in range(41)], np.exp(4 * offsets))
    found = intervals_of(pd.concat([families, chips(("A", offsets), ("B", offsets))], ignore_index=True))
    assert found.terms["unknown_device"].value == found.terms["known_device"].value


def test_versions_left_out_widen_what_is_asked_of_another_version():
    names = [f"{index}" for index in range(41)]
    offsets = np.linspace(-0.1, 0.1, 41)
    families = rows_of(names, np.exp(4 * offsets)).assign(distance=situation.FAR_NETWORK)
    known = rows_of(names, np.exp(offsets), "known", "known")
    versions = rows_of(names, np.exp(3 * offsets), "torch 1.13", "version").assign(is_other_version=True)
    asked = conformal.residuals(known)

    def half_width(*tables, is_other):
        found = intervals_of(pd.concat([families, known, *tables], ignore_index=True))
        return found.half_width(asked.assign(is_other_version=is_other))

    without = half_width(is_other=False)
    np.testing.assert_allclose(half_width(versions, is_other=False), without, rtol=0.1)
    assert (half_width(versions, is_other=True) > 1.5 * without).all()
    # The only version that was measured on a device says what an unknown device takes.
    np.testing.assert_array_equal(half_width(versions.assign(is_device_measured=False), is_other=True), without)


def test_families_that_no_choice_looked_at_widen_what_is_new_and_nothing_else():
    names = [f"{index}" for index in range(41)]
    offsets = np.linspace(-0.1, 0.1, 41)
    is_new = {"distance": situation.FAR_NETWORK}
    families = rows_of(names, np.exp(offsets)).assign(**is_new)
    untried = rows_of([f"untried {name}" for name in names], np.exp(2 * offsets), "test", "test").assign(**is_new)
    without, found = intervals_of(families), intervals_of(pd.concat([families, untried], ignore_index=True))
    assert found.terms == without.terms
    assert found.law.untried == pytest.approx(2, abs=0.15)
    asked = conformal.residuals(untried)
    width = found.half_width(asked)
    inside = np.abs(asked.log_ratio - found.terms["log_bias"].value) <= width
    assert inside.mean() == pytest.approx(0.8, abs=0.03)
    known = asked.assign(distance=0.0)
    np.testing.assert_array_equal(found.half_width(known), without.half_width(known))
    assert "41 families that no choice looked at" in found.manifest()["interval_terms"]["untried_network"]["source"]


def test_what_a_fit_knows_by_analogy_has_terms_of_its_own_and_tells_nothing_of_the_rest():
    names = [f"{index}" for index in range(41)]
    offsets = np.linspace(-0.1, 0.1, 41)
    families = rows_of(names, np.exp(offsets))
    unseen = {"analogy_share": {"analogy_share": 0.5}, "elsewhere_share": {"elsewhere_share": 0.5}}
    unseen["runtime_sd"] = {"is_runtime_measured": False}
    terms = {"kind_sd": Term(0.4, "a"), "device_sd": Term(0.2, "b"), "runtime_sd": Term(0.3, "c")}
    without = conformal.intervals_of(conformal.residuals(families), [], KEPT | terms)
    for column, added in zip(unseen, (0.2, 0.1, 0.3), strict=True):
        far_off = rows_of(names, np.exp(9 * offsets), "1").assign(**unseen[column])
        rows = conformal.residuals(pd.concat([families, far_off], ignore_index=True))
        found = conformal.intervals_of(rows, [], KEPT | terms)
        assert found.terms == without.terms
        inside, outside = np.split(found.half_width(rows), 2)
        np.testing.assert_allclose(outside, np.hypot(inside, 1.2816 * added), rtol=1e-4)


def test_terms_without_residuals_stay_as_they_were():
    families = rows_of(["a", "b", "c"], np.exp([0.1, 0.2, 0.3]))
    terms = intervals_of(families).terms
    assert set(terms) == set(KEPT)
    assert terms["log_bias"].value == pytest.approx(0.2)
    assert terms["known_device"].value == pytest.approx(0.1)
    assert all(terms[name] == KEPT[name] for name in set(KEPT) - {"log_bias", "known_device"})
    assert intervals_of(families, [0.2, 0.2]).terms["host_sd"].value == pytest.approx(0.2 * OF_TWO, rel=1e-4)


def test_few_sources_tell_the_spread_of_hosts_roughly():
    random = np.random.default_rng(0)
    drawn = 0.3 * random.standard_normal((2000, 5))
    asked = 0.3 * random.standard_normal(2000)
    width = [1.2816 * conformal.host_terms(of_sources)["host_sd"].value for of_sources in drawn]
    assert np.mean(np.abs(asked) <= width) == pytest.approx(0.8, abs=0.02)
    assert "5 sources" in conformal.host_terms(drawn[0])["host_sd"].source


def test_what_the_host_explains_is_no_part_of_the_width():
    ratio = np.exp(np.append(np.tile([0.3, -0.3], 50), 0.0))
    rows = rows_of([f"{index}" for index in range(101)], ratio)
    rows["host_s"] = rows.pred  # all of the predicted time waits for the host
    alone = intervals_of(rows.assign(host_s=NO_HOST_S))
    with_host = intervals_of(rows, [0.2 / OF_TWO, 0.2 / OF_TWO])
    assert alone.terms["known_device"].value == pytest.approx(0.3, abs=1e-6)
    assert with_host.terms["known_device"].value == pytest.approx(np.sqrt(0.3**2 - (1.2816 * 0.2) ** 2), abs=1e-6)
    np.testing.assert_allclose(with_host.half_width(conformal.residuals(rows)), 0.3, atol=0.01)


def test_coverage_of_families_left_out_is_what_was_asked():
    random = np.random.default_rng(0)
    family = np.repeat(np.arange(200), 10)
    ratio = 0.1 * random.standard_normal(200)[family] + 0.05 * random.standard_normal(2000) + 0.02
    rows = rows_of(family.astype(str), np.exp(ratio))
    inside = []
    for fold in range(5):
        found = intervals_of(rows[family % 5 != fold])
        asked = conformal.residuals(rows[family % 5 == fold])
        off = np.abs(asked.log_ratio - found.terms["log_bias"].value)
        inside.append(np.mean(off <= found.half_width(asked)))
    assert np.mean(inside) == pytest.approx(0.8, abs=0.05)


def test_the_manifest_names_a_source_for_every_number():
    rows = rows_of([f"{index}" for index in range(40)], np.exp(np.linspace(-0.1, 0.1, 40)))
    entries = intervals_of(rows).manifest()
    of_situation = ("near_network", "new_network", "untried_network", "small_batch", "few_families", "other_version")
    for name in (*of_situation, *KEPT):
        assert np.isfinite(entries["interval_terms"][name]["value"])
        assert entries["interval_terms"][name]["source"]
    factor = entries["interval_tables"]["RTX 3090"]["eager"]
    assert factor["value"] == pytest.approx(1.0, abs=0.05)
    assert f"n / (n + {situation.SHRINKING_FAMILIES})" in factor["source"]


def test_files_are_read_as_an_ensemble(tmp_path):
    families, ratio = [f"timm-{index}" for index in range(40)], np.exp(np.linspace(-0.1, 0.1, 40))
    for seed, factor in ((0, 1.25), (1, 0.8)):  # their geometric mean is 1
        rows_of(families, ratio, seed_factor=factor).to_parquet(tmp_path / f"rows_fold_0_{seed}.parquet")
    rows_of(families, 2 * ratio).to_parquet(tmp_path / "rows_chip_GA102_0.parquet")
    pd.DataFrame(
        {"host": [f"{name}|eager" for name in ("lab|V100", "lab|T4", "b|T4", "c|T4", "d|T4", "e|T4")],
         "runtime": [*["eager"] * 5, "tensorrt"], "host_rows": [50, 50, 50, 50, 1, 50],
         "log_factor": [0.7, -0.1, 0.5, -0.5, 9.0, 9.0]}
    ).to_parquet(tmp_path / "hosts_fold_0_0.parquet")  # fmt: skip
    rows = conformal.ensemble(conformal.read_rows(tmp_path))
    terms = intervals_of(rows, conformal.read_hosts(tmp_path)).terms
    assert terms["known_device"].value == pytest.approx(0.08, abs=0.01)
    assert terms["device_sd"].value == pytest.approx(np.log(2), abs=0.01)
    assert terms["host_sd"].value == pytest.approx(0.5 * OF_THREE, rel=1e-4)  # the lab's two count as one
    errors = conformal.errors_by_situation(rows)
    assert list(errors) == ["families left out", "chips left out"]
    assert errors["families left out"]["rows"] == 40
    assert errors["chips left out"]["bias"] == pytest.approx(0.5, abs=0.01)


def test_judged_are_networks_off_the_floor_and_operators_of_blocks():
    rows = rows_of(["a", "b", "c"], [1.0, 1.0, 1.0]).assign(
        recipe=["op:gemm?m=1", "timm:a@224", "timm:b@224"], value=1.0, host_floor_s=[0.0, 0.9, 0.1]
    )
    assert list(conformal.is_judged(rows)) == [False, False, True]
    assert list(conformal.is_judged(rows.assign(situation="block"))) == [True, False, False]


def operators(family, kind, off):
    recipes = [f"op:{family}?size={index}" for index in range(len(off))]
    return rows_of([family] * len(off), np.exp(off), family, "block").assign(recipe=recipes, lone_kind=kind)


def test_a_kernel_that_stands_alone_has_the_width_of_its_kind_and_every_operator_of_it_weighs_the_same():
    networks = rows_of([f"f{index % 20}" for index in range(40)], np.exp(np.tile([0.1, -0.1], 20)))
    # A thousand additions off by 0.5, a hundred divisions by 0.02: half of the weight each.
    rows = pd.concat(
        [
            networks,
            operators("add", "binary", np.tile([0.5, -0.5], 500)),
            operators("div", "binary", np.linspace(-0.02, 0.02, 100)),
            operators("conv", "conv", np.linspace(-1, 1, 101)),
            operators("pool", "pool", [0.7] * 5),
        ],
        ignore_index=True,
    )
    found = intervals_of(rows)
    bias = found.terms["log_bias"].value
    assert sorted(found.operators) == ["binary", "conv"]  # five poolings show nothing
    assert found.operators["binary"].value == pytest.approx(0.5, abs=0.11)
    assert found.operators["conv"].value == pytest.approx(0.8, abs=0.11)
    assert found.terms["known_device"].value == pytest.approx(0.1, abs=0.11)
    asked = conformal.residuals(rows)
    width = found.half_width(asked)
    np.testing.assert_allclose(width[asked.lone_kind == "conv"], found.operators["conv"].value)
    of_network = found.half_width(asked.assign(lone_kind=""))
    np.testing.assert_allclose(width[asked.lone_kind == "pool"], of_network[asked.lone_kind == "pool"])
    stored = found.manifest()["interval_operators"]["conv"]
    assert stored == vars(found.operators["conv"])
    assert "101 timings" in stored["source"]
    assert abs(bias) <= 0.1 + 1e-9


def test_a_folder_without_rows_or_with_old_ones_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"networks\.py"):
        conformal.read_rows(tmp_path)
    rows_of(["a"], [1.0]).drop(columns=["distance"]).to_parquet(tmp_path / "rows_fold_0_0.parquet")
    with pytest.raises(ValueError, match=r"rows without distance.*take a new folder"):
        conformal.read_rows(tmp_path)

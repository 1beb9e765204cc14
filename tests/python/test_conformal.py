"""Interval terms from residuals: numbers made by hand, and the command that writes them into a checkpoint."""

import numpy as np
import pytest
from latpred.fitting import checkpoint, conformal
from latpred.fitting.conformal import Residuals
from latpred.fitting.evaluate import Term

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("scipy")

KEPT = {
    name: Term(9.0, "before")
    for name in ("log_bias", "known_device", "unknown_device", "device_sd", "runtime_sd", "kind_sd", "host_sd")
}


def test_families_weigh_the_same():
    # A hundred rows of one family at +-0.1, one row in each of nine others at +-0.3.
    ratio = np.concatenate([np.tile([0.1, -0.1], 50), [0.3, -0.3, 0.3, -0.3, 0.3, -0.3, 0.3, -0.3, 0.0]])
    family = np.array(["large"] * 100 + [f"small {index}" for index in range(9)])
    terms = conformal.known_device_terms(Residuals(ratio, family, np.zeros(109)))
    assert abs(terms["log_bias"].value) <= 0.1
    off = np.abs(ratio - terms["log_bias"].value)
    weights = np.where(family == "large", 0.01, 1.0)
    width = terms["known_device"].value
    assert weights[off <= width].sum() / weights.sum() >= 0.8
    assert weights[off < width].sum() / weights.sum() < 0.8


def test_what_a_chip_has_in_common_is_no_part_of_its_width():
    offsets = np.linspace(-0.1, 0.1, 41)
    ratio = np.concatenate([offsets + 0.3, offsets - 0.3, [5.0] * 3])
    chips = np.array(["A"] * 41 + ["B"] * 41 + ["of few rows"] * 3)
    terms = conformal.unknown_device_terms(Residuals(ratio, np.array(["f"] * 85), chips), log_bias=0.0)
    assert terms["device_sd"].value == pytest.approx(0.3)
    assert terms["unknown_device"].value == pytest.approx(0.08, abs=0.006)
    assert "A 1.35" in terms["device_sd"].source
    assert "few" not in terms["device_sd"].source
    assert conformal.half_width(terms, is_known=False) == pytest.approx(
        np.hypot(terms["unknown_device"].value, 1.2816 * 0.3)
    )


def test_terms_without_residuals_stay_as_they_were():
    families = Residuals(np.array([0.1, 0.2, 0.3]), np.array(["a", "b", "c"]), np.array(["0", "0", "1"]))
    terms = conformal.interval_terms_of(families, None, np.empty(0), KEPT)
    assert set(terms) == set(KEPT)
    assert terms["log_bias"].value == pytest.approx(0.2)
    assert terms["known_device"].value == pytest.approx(0.1)
    assert all(terms[name] == KEPT[name] for name in set(KEPT) - {"log_bias", "known_device"})
    hosts = conformal.interval_terms_of(families, None, np.array([0.2, -0.2]), KEPT)
    assert hosts["host_sd"].value == pytest.approx(0.2)


def test_coverage_of_families_left_out_is_what_was_asked():
    random = np.random.default_rng(0)
    family = np.repeat(np.arange(200), 10)
    ratio = 0.1 * random.standard_normal(200)[family] + 0.05 * random.standard_normal(2000) + 0.02
    residuals = Residuals(ratio, family, family % 5)
    inside = []
    for fold in range(5):
        terms = conformal.known_device_terms(residuals.select(residuals.left_out != fold))
        off = ratio[family % 5 == fold] - terms["log_bias"].value
        inside.append(np.mean(np.abs(off) <= terms["known_device"].value))
    assert np.mean(inside) == pytest.approx(0.8, abs=0.05)


def rows_of(families, ratio, chip="GA102", seed_factor=1.0):
    seconds = np.linspace(0.001, 0.1, len(families))
    return pd.DataFrame(
        {
            "id": [f"{chip} {index}" for index in range(len(families))],
            "recipe": [f"timm:{name}@224" for name in families],
            "family": families,
            "value": seconds * ratio,
            "pred": seconds * seed_factor,
            "host_floor_s": 0.0,
        }
    )


def test_the_command_writes_terms_and_errors_and_nothing_else(tmp_path):
    manifest = {"predictor": "kernel_residual", "interval_terms": {n: vars(t) for n, t in KEPT.items()}}
    path = tmp_path / "predictor.safetensors"
    checkpoint.write(path, manifest, {"weights": np.arange(3.0)})
    families, ratio = [f"timm-{index}" for index in range(40)], np.exp(np.linspace(-0.1, 0.1, 40))
    for seed, factor in ((0, 1.25), (1, 0.8)):  # their geometric mean is 1
        rows_of(families, ratio, seed_factor=factor).to_parquet(tmp_path / f"rows_fold_0_{seed}.parquet")
    rows_of(families, 2 * ratio).to_parquet(tmp_path / "rows_chip_GA102_0.parquet")
    pd.DataFrame(
        {"host": ["a", "b", "c", "d"], "runtime": ["eager", "eager", "eager", "tensorrt"], "host_rows": [50, 50, 1, 50],
         "log_factor": [0.5, -0.5, 9.0, 9.0]}
    ).to_parquet(tmp_path / "hosts_fold_0_0.parquet")  # fmt: skip
    conformal.main(["--work", str(tmp_path), "--checkpoint", str(path)])
    written, arrays = checkpoint.read(path)
    terms = {name: term["value"] for name, term in written["interval_terms"].items()}
    assert terms["known_device"] == pytest.approx(0.08, abs=0.01)
    assert terms["unknown_device"] == pytest.approx(0.08, abs=0.01)
    assert terms["device_sd"] == pytest.approx(np.log(2), abs=0.01)
    assert terms["host_sd"] == pytest.approx(0.5)
    assert (terms["runtime_sd"], terms["kind_sd"]) == (9.0, 9.0)
    assert list(written["errors"]) == ["families left out", "chips left out"]
    assert written["errors"]["families left out"]["rows"] == 40
    assert written["errors"]["chips left out"]["bias"] == pytest.approx(0.5, abs=0.01)
    np.testing.assert_array_equal(arrays["weights"], np.arange(3.0))


def test_rows_on_the_floor_and_operators_are_not_judged():
    rows = rows_of(["a", "b", "c"], [1.0, 1.0, 1.0]).assign(
        recipe=["op:gemm?m=1", "timm:a@224", "timm:b@224"], value=1.0, host_floor_s=[0.0, 0.9, 0.1]
    )
    assert list(conformal.is_judged(rows)) == [False, False, True]


def test_a_folder_without_rows_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"networks\.py"):
        conformal.read_rows(tmp_path)

"""The scoreboard of networks: its rules by hand; the shipped checkpoint is as good as the committed figures."""

import importlib.util
import json
import sys

import numpy as np
import pytest
from example_networks import MEASUREMENTS, REPOSITORY
from latpred.fitting import left_out, ship, thinning
from latpred.fitting.kernel_terms import COLUMNS, KINDS, TERMS, KernelTable
from latpred.fitting.split import FOLDS, TEST

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("scipy")

FOLDER = REPOSITORY / "benchmarks" / "accuracy"
sys.path.append(str(FOLDER))  # its modules import one another

import baselines  # noqa: E402
import docs_table  # noqa: E402
import quick  # noqa: E402
import scores  # noqa: E402


def scoreboard():
    spec = importlib.util.spec_from_file_location("accuracy_networks", FOLDER / "networks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def committed():
    return json.loads((FOLDER / "networks.json").read_text(encoding="utf-8"))


def test_shipped_checkpoint_is_as_good_as_committed(committed):
    found = quick.quick_errors(MEASUREMENTS / "rows.parquet", MEASUREMENTS / "graphs.xz", MEASUREMENTS / "quick.json")
    assert len(found) >= 8
    assert quick.compared(found, committed["quick"]) == []


def test_quick_fails_by_more_than_the_spread():
    line = {"rows": 10, "mape_percent": 8.0, "median_percent": 5.0, "spread_percent": 1.0}
    assert quick.compared({"T4, eager": line | {"mape_percent": 8.9}}, {"T4, eager": line}) == []
    (text,) = quick.compared({"T4, eager": line | {"mape_percent": 9.1}}, {"T4, eager": line})
    assert "9.1 %" in text
    assert len(quick.compared({}, {"T4, eager": line})) == 1
    assert len(quick.compared({"T4, eager": line}, {})) == 1


def test_page_shows_the_committed_figures(committed):
    page = (REPOSITORY / "docs" / "accuracy.md").read_text(encoding="utf-8")
    module = scoreboard()
    assert docs_table.shown(page, module.MARK) == module.markdown(committed)


def measured(count=400):
    random = np.random.default_rng(0)
    part = random.choice([str(fold) for fold in range(FOLDS)] + [TEST], size=count)
    return pd.DataFrame(
        {
            "id": [f"{index:016x}" for index in range(count)],
            "recipe": [f"timm:net{index}@224" for index in range(count)],
            "family": [f"timm-{name}" for name in part],
            "part": part,
            "is_left_out": random.random(count) < 0.1,
            "chip": random.choice(["GA102", "AD102"], size=count),
            "device": "RTX 3090",
            "runtime": "eager",
            "runtime_version": random.choice(["torch 2.1.0", "torch 2.4.0"], size=count),
            "precision": "amp",
            "partition": "",
            "layout": "nchw",
            "source": "pytorch-image-models aa4b5850",
            "batch": random.choice([1, 8, 64], size=count),
            "host_s": 1e-6,
            "value": np.exp(random.normal(-4, 1, count)),
            "host_floor_s": 0.0,
            "beside_s": 0.0,
            "distance": 0.1,
            "distance_there": 0.1,
            "families": 80,
            "is_device_measured": True,
            "is_runtime_measured": True,
            "is_other_version": False,
            "analogy_share": 0.0,
            "elsewhere_share": 0.0,
            "lone_kind": "",
        }
    )


@pytest.mark.parametrize("situation", list(left_out.LEFT_OUT))
def test_no_fit_sees_what_it_is_asked_or_the_test_part(situation):
    rows = measured()
    cells = left_out.plan(rows, [situation])
    assert cells or situation == "family"
    for cell in cells:
        seen, asked = left_out.masks(rows, *cell)
        assert not (seen & asked).any()
        assert not (rows.part[seen] == TEST).any()
        assert not rows.is_left_out[seen].any()
        assert set(rows.part[asked]) == {TEST} if situation == "test" else TEST not in set(rows.part[asked])


def test_thinning_keeps_the_same_rows_in_any_order():
    rows = measured(600).assign(family="nb201", layout="nchw", batch=64)
    rows = pd.concat([rows, measured(50).assign(id=[f"{index + 600:016x}" for index in range(50)])])
    kept = thinning.thin(rows)
    assert (kept.family == "nb201").sum() == thinning.CAPS["nb201"].rows
    assert (kept.family != "nb201").sum() == 50
    assert list(kept.id) == list(thinning.thin(rows.sample(frac=1.0, random_state=1)).id)
    channels_last = thinning.thin(measured(600).assign(layout="nhwc"))
    assert len(channels_last) == 600 // thinning.ONE_IN


def answers(situation, what, factor, count=60, seed=0):
    rows = measured(count)
    spread = np.exp(np.linspace(-0.1, 0.1, count))
    return rows.assign(
        situation=situation,
        what=what,
        seed=seed,
        pred=rows.value * spread / factor,
        roofline=rows.value / 2,
        is_device_measured=situation not in ("chip", "network"),
    )


def with_intervals(rows):
    return scores.with_intervals(rows, [], ship.kept_terms())


def test_a_chip_is_judged_by_the_others():
    rows = pd.concat([answers("fold", str(fold), 1.0) for fold in range(2)], ignore_index=True)
    chips = [answers("chip", chip, factor) for chip, factor in (("GA102", 1.2), ("AD102", 1 / 1.2), ("GB202", 3.0))]
    found = with_intervals(pd.concat([rows, *chips], ignore_index=True))
    inside = found[found.situation == "chip"].groupby("what").is_inside.mean()
    assert inside["GA102"] == 1.0  # the others are further off than this one
    assert inside["GB202"] == 0.0  # had its own factor counted, it would lie inside


def test_five_timings_take_off_what_a_chip_is_off_in_common():
    rows = pd.concat([answers("fold", str(fold), 1.0) for fold in range(2)], ignore_index=True)
    chips = [answers("chip", chip, factor) for chip, factor in (("GA102", 1.5), ("AD102", 1 / 1.2), ("GB202", 1.0))]
    found = with_intervals(pd.concat([rows, *chips], ignore_index=True))
    lines = scores.lines_of(found[found.situation == "chip"], "chip", [scores.OURS, "roofline"])
    mape = {(line["group"], line["predictor"]): line["mape_percent"] for line in lines}
    assert mape["GA102", scores.OURS] == pytest.approx(100 / 3, rel=0.1)
    assert mape["GA102, after 5 rows", scores.OURS] < 8  # they scatter by 10 %
    assert mape["GA102, after 10 rows", scores.OURS] < 7
    assert mape["GA102, after 5 rows", "roofline"] == pytest.approx(0, abs=1e-6)


def test_timings_of_one_machine_calibrate_no_other():
    rows = pd.concat([answers("fold", str(fold), 1.0) for fold in range(2)], ignore_index=True)
    one = answers("chip", "GA102", 1.5).assign(runtime_version="torch 2.4.0")
    ids = [f"{index + 900:016x}" for index in range(60)]
    other = answers("chip", "GA102", 1 / 1.5).assign(runtime_version="torch 2.1.0", id=ids)
    chips = pd.concat([one, other, *(answers("chip", chip, 1.0) for chip in ("AD102", "GB202"))], ignore_index=True)
    found = with_intervals(pd.concat([rows, chips], ignore_index=True))
    lines = scores.lines_of(found[found.situation == "chip"], "chip", [scores.OURS])
    assert {line["group"]: line["mape_percent"] for line in lines}["GA102, after 5 rows"] < 8


def test_networks_of_a_chip_are_judged_by_other_chips_too():
    rows = pd.concat([answers("fold", str(fold), 1.0) for fold in range(2)], ignore_index=True)
    chips = [answers("chip", chip, factor) for chip, factor in (("GA102", 1.2), ("AD102", 1 / 1.2), ("GB202", 3.0))]
    found = with_intervals(pd.concat([rows, *chips, answers("network", "GB202", 3.0)], ignore_index=True))
    assert not found[found.situation == "network"].is_inside.any()
    of_whole = found[(found.situation == "chip") & (found.what == "GB202")].half_width
    of_networks = found[found.situation == "network"].half_width
    assert of_networks.to_numpy() == pytest.approx(of_whole.to_numpy())


def test_families_that_no_choice_looked_at_are_judged_by_each_other_and_judge_none_besides():
    folds = [answers("fold", str(fold), 1.0) for fold in range(2)]
    untried = answers("test", "test", 1.0, count=240).assign(family=[f"timm-{index % 4}" for index in range(240)])
    untried["pred"] = untried.value * np.where(untried.family == "timm-0", 3.0, 1.3)
    found = with_intervals(pd.concat([*folds, untried], ignore_index=True).assign(distance=0.2))
    inside = found[found.situation == "test"].groupby("family").is_inside.mean()
    assert list(inside) == [0, 1, 1, 1]  # had its own factor counted, the first would lie inside
    alone = with_intervals(pd.concat(folds, ignore_index=True).assign(distance=0.2))
    np.testing.assert_array_equal(found[found.situation == "fold"].half_width, alone.half_width)


def test_an_operator_is_judged_by_those_of_other_devices():
    rows = [answers("fold", str(fold), 1.0) for fold in range(2)]
    for device, factor in (("T4", 1.2), ("A100", 3.0)):
        block = answers("block", "block", factor).assign(
            recipe=[f"op:gemm?m={index}" for index in range(60)], family="gemm", device=device, lone_kind="matmul"
        )
        rows.append(block.assign(id=device + block.id))
    found = with_intervals(pd.concat(rows, ignore_index=True))
    found = found[found.situation == "block"]
    inside = found.groupby("device").is_inside.mean()
    assert inside["T4"] == 1.0  # the others are further off than it is
    assert inside["A100"] == 0.0  # had its own errors counted, it would lie inside
    assert scores.lines_of(found, "block", ["pred"])[0]["rows"] == 120


def test_devices_that_a_fit_did_not_see_have_a_line_of_their_own():
    unseen = {"is_device_measured": False}
    rows = [answers("version", "torch 2.4.0", 1.0), answers("version", "torch 2.9.1", 2.0).assign(**unseen)]
    folds = [answers("fold", str(fold), 1.0) for fold in range(2)]
    found = with_intervals(pd.concat([*rows, *folds], ignore_index=True))
    lines = scores.lines_of(found[found.situation == "version"], "version", ["pred"])
    by_group = {line["group"]: line["rows"] for line in lines}
    assert by_group == dict.fromkeys(["torch 2.4.0", scores.ALL, f"torch 2.9.1, {scores.NOT_MEASURED}"], 60)
    covers = {line["group"]: line.get("covers") for line in lines}
    assert covers[f"torch 2.9.1, {scores.NOT_MEASURED}"] is None  # no two chips say how wide it is
    fold = with_intervals(pd.concat([folds[0], folds[1].assign(**unseen)], ignore_index=True))
    by_group = {line["group"]: line["rows"] for line in scores.lines_of(fold, "fold", ["pred"])}
    assert (by_group["all of timm's families"], by_group[scores.NOT_MEASURED]) == (60, 60)
    parts = with_intervals(pd.concat([folds[0], folds[1].assign(**unseen, partition="16sm")], ignore_index=True))
    by_group = {line["group"]: line["rows"] for line in scores.lines_of(parts, "fold", ["pred"])}
    assert by_group["RTX 3090, eager, parts of it"] == 60
    assert scores.NOT_MEASURED not in by_group


def test_seeds_are_averaged_and_their_spread_is_shown():
    rows = pd.concat(
        [answers("fold", "0", factor, count=200, seed=seed) for seed, factor in enumerate((1.0, 1.5))],
        ignore_index=True,
    )
    lines = scores.lines_of(with_intervals(rows), "fold", ["pred"])
    pooled = next(line for line in lines if line["group"].startswith("all of timm"))
    assert (pooled["rows"], pooled["seeds"]) == (200, 2)
    assert pooled["spread_percent"] > 5
    bands = {line["group"]: line["rows"] for line in lines if line["group"].startswith("all, ")}
    assert list(bands) == [f"all, {name}" for name in scores.BANDS]
    assert sum(bands.values()) == 200


def kernels(rows, seconds):
    """One kernel of `seconds` [N] for each row, bound by its arithmetic."""
    terms = np.zeros((len(rows), len(TERMS)))
    terms[:, TERMS.index("compute")] = seconds
    terms[:, TERMS.index("bandwidth")] = 1e12
    inputs = np.zeros((1, len(COLUMNS)))
    inputs[0, COLUMNS.index(f"kind_{KINDS[1]}")] = 1
    count = len(rows)
    return KernelTable(rows, np.arange(count + 1), np.zeros(count, dtype=np.int64), np.ones(count), terms, inputs)


@pytest.mark.parametrize(
    "name", [name for name in baselines.BASELINES if name not in ("roofline", "gradient-boosted trees")]
)
def test_baselines_find_a_law_of_their_own_form(name):
    rows = measured(200)
    table = kernels(rows, rows.value.to_numpy() / 3)
    half = np.arange(200) % 2 == 0
    test = table.select(~half)
    np.testing.assert_allclose(baselines.BASELINES[name](table.select(half), test), test.latency_s, rtol=1e-6)
    np.testing.assert_allclose(baselines.roofline(table, test), test.latency_s / 3)


def test_a_folder_keeps_the_fits_of_one_table(tmp_path):
    rows = measured(20)
    left_out.keep_apart(tmp_path, kernels(rows, np.ones(20)))
    left_out.keep_apart(tmp_path, kernels(rows, np.ones(20)))
    with pytest.raises(SystemExit, match="take a new folder"):
        left_out.keep_apart(tmp_path, kernels(rows, np.full(20, 2.0)))


def test_baselines_have_factors_for_tables_never_seen():
    rows = measured(100)
    table = kernels(rows, rows.value.to_numpy() / 3)
    test = kernels(rows.assign(device="T4", runtime="compiled"), rows.value.to_numpy() / 3)
    np.testing.assert_allclose(baselines.roofline_x_constant(table, test), test.latency_s)

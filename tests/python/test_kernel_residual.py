"""The fit of the default predictor: rows to kernels, kernels to numbers, numbers to a checkpoint that answers alike."""

import numpy as np
import pytest
from example_networks import MEASUREMENTS
from latpred import _core
from latpred.datasets import accel_nasbench
from latpred.datasets.graph_cache import GraphCache, graph_of
from latpred.datasets.recipe import parse
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.fitting import (
    checkpoint,
    conformal,
    kernel_residual,
    kernel_terms,
    measurements,
    ship,
    versions,
)
from recipe_graphs import built

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def rows():
    """A few rows of each table."""
    table = measurements.load()
    return table.groupby(["source", "device", "family"]).head(4).reset_index(drop=True)


@pytest.fixture(scope="module")
def table(rows):
    return kernel_terms.lower(rows, built)


def quick_fit(table, seeds=(0,)):
    return kernel_residual.fit(table, seeds, epochs=15, batch_rows=32, hidden=[8])


def test_lowering_counts_every_kernel_of_a_call(table):
    assert table.first_kernel[-1] == len(table.input) == len(table.count) == len(table.terms)
    assert len(table.inputs) < len(table.input)
    for index in np.random.default_rng(0).choice(table.size, 20, replace=False):
        row = table.rows.iloc[index]
        graph = kernel_terms.laid_out(built(row.recipe, int(row.batch)), row.layout)
        kernels = _core.fuse(graph, row.runtime, row.precision)
        inside = slice(*table.first_kernel[index : index + 2])
        assert table.count[inside].sum() == sum(kernel.repeat for kernel in kernels.rows)
        assert row.launches == kernels.num_launches
        flops_s = _core.featurize(kernels, row.device, row.partition).compute_s
        # Norms are bound by their bytes, or keep the SMs busy in their own way.
        norms = ("softmax", "layer_norm", "group_norm", "batch_norm")
        repeats = [0 if kernel.kind in norms else kernel.repeat for kernel in kernels.rows]
        is_counted = ~np.isin(np.array(kernel_terms.KINDS)[table.input_kind()[table.input[inside]]], norms)
        np.testing.assert_allclose(
            (table.term("compute")[inside] * table.count[inside])[is_counted].sum(), flops_s @ repeats, rtol=1e-6
        )


def test_shards_are_kept_and_used_again(rows, table, tmp_path):
    def never(text, batch):
        raise AssertionError(f"{text} was built again")

    steps = []
    first = kernel_terms.lower(rows, built, tmp_path, lambda done, of: steps.append((done, of)))
    again = kernel_terms.lower(rows, never, tmp_path)
    assert steps[-1] == (len(rows), len(rows))
    for other in (first, again):
        np.testing.assert_array_equal(other.terms, table.terms)
        np.testing.assert_array_equal(other.inputs[other.input], table.inputs[table.input])


def test_several_shards_are_made_side_by_side(rows, table, tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_terms, "SHARD_ROWS", 1 + len(rows) // 3)
    steps = []
    shared = kernel_terms.lower(rows, graph_of, tmp_path, lambda done, of: steps.append((done, of)))
    assert len(list(tmp_path.glob("terms-*.npz"))) == len(steps) == 3
    assert steps == sorted(steps)
    assert steps[-1] == (len(rows), len(rows))
    pd.testing.assert_frame_equal(shared.rows, table.rows)
    np.testing.assert_array_equal(shared.first_kernel, table.first_kernel)
    np.testing.assert_array_equal(shared.terms, table.terms)
    np.testing.assert_array_equal(shared.inputs[shared.input], table.inputs[table.input])


def test_a_network_that_cannot_be_lowered_is_told(rows, table):
    bad = rows.recipe.iloc[0]

    def some(text, batch):
        if text == bad:
            raise InvalidArgumentError("no such network")
        return built(text, batch)

    with pytest.raises(LatpredError, match="no such network"):
        kernel_terms.lower(rows, some)
    told = []
    kept = kernel_terms.lower(rows, some, failed=told.append)
    assert all(bad in text and "no such network" in text for text in told)
    assert told
    assert kept.size == table.size - (rows.recipe == bad).sum()
    np.testing.assert_array_equal(kept.terms, table.select(table.rows.recipe != bad).terms)


def test_the_newest_version_is_by_number_not_by_letter():
    names = (
        "eager|torch 2.10.0", "eager|torch 2.9.1", "kernel|vllm 0.9", "tensorrt|tensorrt 10.8.0",
        "tensorrt|tensorrt 22.06",
        "tensorrt|paddle inference", "tensorrt|paddle inference, tensorrt 8.0.3.4",
    )  # fmt: skip
    of_paddle = "tensorrt|paddle inference, tensorrt 8.0.3.4"
    assert versions.newest(names) == {
        "eager": "eager|torch 2.10.0",
        "eager|torch": "eager|torch 2.10.0",
        "kernel": "kernel|vllm 0.9",
        "kernel|vllm": "kernel|vllm 0.9",
        "tensorrt": "tensorrt|tensorrt 10.8.0",
        "tensorrt|tensorrt": "tensorrt|tensorrt 10.8.0",
        "tensorrt|paddle inference": of_paddle,
    }


def test_an_unmeasured_version_is_answered_by_the_newest_before_it_of_its_stack():
    measured = (
        "tensorrt|tensorrt 10.8.0", "eager|torch 2.4.0", "tensorrt|tensorrt 8.6.1", "eager|torch 1.13",
        "tensorrt|paddle inference, tensorrt 8.0.3.4",
    )  # fmt: skip
    answers = {
        "eager|torch 1.13": "eager|torch 1.13",
        "eager|torch 2.6.0": "eager|torch 2.4.0",
        "eager|torch 2.1.0": "eager|torch 2.4.0",  # the first of its kind
        "eager|torch 1.12.0": "eager|torch 1.13",
        "eager|torch 0.4": "eager|torch 2.4.0",
        "eager|": "eager|torch 2.4.0",
        "tensorrt|tensorrt 10.9": "tensorrt|tensorrt 10.8.0",
        "tensorrt|tensorrt 9.1": "tensorrt|tensorrt 10.8.0",
        "tensorrt|tensorrt 22.06": "tensorrt|tensorrt 10.8.0",  # a container: no measured one is named like it
        "tensorrt|paddle inference": measured[4],
        "tensorrt|other 1": "tensorrt|tensorrt 10.8.0",
        "compiled|": "",
    }
    assert list(versions.answered_by(pd.Series(answers.keys()), measured)) == list(answers.values())


def test_a_version_of_one_chip_answers_about_that_chip_alone():
    rows = pd.DataFrame(
        {
            "runtime": "eager",
            "runtime_version": ["torch 2.4.0", "torch 2.4.0 cuda 12.4", "torch 2.11.0 cuda 13.0", ""],
            "chip": ["AD102", "GA102", "GH100", "GV100"],
        }
    )
    said = rows[versions.is_said(rows)]
    assert versions.of_several(said, "chip") == ("eager|torch 2.4.0",)
    usual = {"eager": "eager|torch 2.4.0"}
    assert versions.newer_on_chips(rows, usual) == {"GH100": {"eager": "torch 2.11.0"}}
    effects = kernel_residual.Effects(
        (), ("AD102", "GH100"), tuple(versions.of_rows(said).unique()), (), (), versions.of_several(said, "chip")
    )
    fitted = kernel_residual.KernelResidual((), effects)
    assert fitted.usual_versions()["eager"] == "eager|torch 2.4.0"
    assert fitted.default_versions(rows)["H100-PCIe-80GB"] == {"eager": "torch 2.11.0"}
    assert "RTX 4090" not in fitted.default_versions(rows)


def test_another_stack_than_the_runtimes_own_may_differ_far():
    own = ("eager|torch 2.4.0", "tensorrt|tensorrt 10.0.1", "kernel|vllm 0.14.0")
    others = ("eager|torchscript", "tensorrt|paddle inference, tensorrt 8.0.3.4", "tensorrt|tensorrt-llm")
    assert set(versions.kernel_sd(own)) == {versions.VERSION_SD}
    assert set(versions.kernel_sd(others)) == {versions.STACK_SD}
    assert list(versions.gap_sd(own)) == [versions.GAP_SD, versions.OWN_GAP_SD["tensorrt"], versions.GAP_SD]
    assert set(versions.gap_sd(others)) == {versions.STACK_GAP_SD}


def test_arithmetics_of_products_are_told_by_device():
    manifest, _ = checkpoint.read(ship.checkpoint_path("kernel_residual"))
    found = manifest["evidence"]["device_arithmetics"]
    assert set(found["H200-SXM-141GB"]) == {"fp32", "tf32", "fp16", "bf16"}
    assert found["RTX 3090"] == ["fp32", "fp16"]  # float32: the products of linear attention that autocast is kept off
    assert "H100-SXM5-80GB" not in manifest["evidence"]["devices"]


@pytest.mark.torch
def test_a_fit_learns_and_is_deterministic(table):
    losses = []
    fitted = kernel_residual.fit(
        table, (3,), lambda seed, epoch, loss: losses.append((seed, epoch, loss)), epochs=15, batch_rows=32, hidden=[8]
    )
    again = kernel_residual.fit(table, (3,), epochs=15, batch_rows=32, hidden=[8])
    assert [entry[:2] for entry in losses] == [(3, epoch) for epoch in range(1, 16)]
    assert losses[-1][2] < losses[0][2] / 2
    for name, values in fitted.arrays().items():
        np.testing.assert_array_equal(values, again.arrays()[name])
    mask = np.arange(table.size) % 3 == 0
    np.testing.assert_allclose(fitted.predict(table.select(mask)), fitted.predict(table)[mask], rtol=1e-9)


@pytest.mark.torch
def test_the_checkpoint_answers_as_the_fit(table, tmp_path):
    fitted = quick_fit(table, (0, 1))
    path = tmp_path / "kernel_residual.safetensors"
    intervals = conformal.Intervals(ship.kept_terms()).manifest()
    manifest = kernel_residual.make_manifest(fitted, table, intervals)
    evidence = manifest["evidence"]
    # Accel-NASBench's networks ran at 512, single operators at up to millions of rows.
    assert table.rows.batch.max() > 10_000
    assert (evidence["smallest_batch"], evidence["largest_batch"]) == (512, 512)
    checkpoint.write(path, manifest, fitted.arrays())
    answers = fitted.predict(table, with_floors=False)
    np.testing.assert_allclose(kernel_residual.load(path).predict(table, with_floors=False), answers, rtol=1e-9)
    expected = fitted.predict(table.of_operators(), with_floors=False)
    loaded = _core.load_predictor("kernel_residual", str(path))
    assert versions.told_apart(table.rows)["eager"] == ["torch 1.12.0", "torch 2.1.0"]
    for row, seconds in zip(table.rows.itertuples(), expected, strict=True):
        graph = kernel_terms.laid_out(built(row.recipe, int(row.batch)), row.layout)
        kernels = _core.fuse(graph, row.runtime, row.precision)
        found = loaded.latency(graph, kernels, row.device, row.partition, versions.named(row.runtime_version))
        assert found.latency_s == pytest.approx(seconds, rel=1e-5), row.recipe


@pytest.mark.torch
def test_what_ships_answers_as_its_fit_under_each_runtime():
    measured = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    on_gpu = measurements.is_latency(measured, on_gpu=True) & (measured.partition == "") & (measured.layout != "nhwc")
    networks = measured[on_gpu & measured.recipe.str.startswith("timm:")]
    first = networks.groupby(["runtime", "device"]).head(1).reset_index(drop=True)
    assert set(first.runtime) >= {"eager", "compiled", "tensorrt"}
    cache = GraphCache(MEASUREMENTS / "graphs.xz")
    table = kernel_terms.lower(first, cache.graph)
    path = ship.checkpoint_path("kernel_residual")
    expected, _ = kernel_residual.load(path).answer(table.of_operators(), with_floors=False)
    loaded = _core.load_predictor("kernel_residual", str(path))
    for row, seconds in zip(table.rows.itertuples(), expected, strict=True):
        graph = cache.graph(row.executed, int(row.batch))
        kernels = _core.fuse(graph, row.runtime, row.precision)
        found = loaded.latency(graph, kernels, row.device, row.partition, versions.named(row.runtime_version))
        assert found.latency_s == pytest.approx(seconds, rel=1e-5), f"{row.recipe}, {row.runtime} on {row.device}"


@pytest.mark.torch
def test_bf16_and_int8_count_as_fp16(table):
    assert table.inputs[:, kernel_terms.COLUMNS.index("arithmetic_bf16")].any()
    weights = quick_fit(table).arrays()["weight_0"]
    of_fp16 = weights[:, :, kernel_terms.COLUMNS.index("arithmetic_fp16")]
    assert of_fp16.any()
    for name in ("bf16", "int8"):
        np.testing.assert_array_equal(weights[:, :, kernel_terms.COLUMNS.index(f"arithmetic_{name}")], of_fp16)


@pytest.mark.torch
def test_what_travels_to_the_device_is_added_to_the_call(rows):
    networks = rows[rows.recipe.str.startswith("anb:")].assign(input_on="pageable")
    copied = kernel_terms.lower(networks, built)
    sizes = [
        4 * int(row.batch) * np.prod([int(size) for size in row.input.split(",")]) for row in copied.rows.itertuples()
    ]
    of_buffers_s = np.array([accel_nasbench.beside_operators_s(parse(recipe)) for recipe in copied.rows.recipe])
    np.testing.assert_allclose(copied.beside_s, 10e-6 + np.array(sizes) / 8e9 + of_buffers_s, rtol=1e-6)
    on_device = copied.of_operators()
    np.testing.assert_allclose(copied.latency_s - on_device.latency_s, copied.beside_s)
    fitted = quick_fit(copied)
    np.testing.assert_allclose(fitted.predict(copied) - fitted.predict(on_device), copied.beside_s, rtol=1e-6)


@pytest.mark.torch
def test_boards_of_a_measured_chip_have_its_effect(table):
    fitted = quick_fit(table)
    assert "H100-PCIe-80GB" in fitted.devices
    assert "B200-SXM-180GB" not in fitted.devices
    effects = dict(zip(fitted.devices, fitted.arrays()["device_effects"][0], strict=True))
    chip = fitted.members[0]["chip_effects"][fitted.effects.chips.index("GH100")]
    np.testing.assert_array_equal(effects["H100-NVL-94GB"], chip)
    assert not np.array_equal(effects["H100-SXM5-80GB"], chip)


@pytest.mark.torch
def test_hosts_of_cards_that_nobody_measured_follow_their_age(table):
    fitted = quick_fit(table)
    slope = fitted.members[0]["host_column_effects"][0]
    assert slope != 0
    effects = dict(zip(fitted.manifest()["launch_effects"], fitted.arrays()["launch_effects"][0], strict=True))
    assert effects["B200-SXM-180GB|eager"] == pytest.approx(2 * slope)
    of_chip = fitted.members[0]["launch_effects"][fitted.effects.launches.index("GV100|eager")]
    assert effects["V100-PCIe-16GB|eager"] == pytest.approx(-5 * slope + of_chip)

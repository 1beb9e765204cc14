"""What is known of the host before any table is looked at, and which calls of the tables show it."""

import numpy as np
import pytest
from benchmark_modules import benchmark_module
from example_networks import MEASUREMENTS
from latpred import _core
from latpred.datasets import accel_nasbench, fbnet
from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import host_calls, kernel_terms
from latpred.fitting.kernel_terms import KINDS
from recipe_graphs import built

pd = pytest.importorskip("pandas")


def test_every_kind_has_a_time_and_convolutions_have_one():
    assert set(host_calls.CALL_S) <= set(host_calls.kinds())
    weights = dict(zip(KINDS, host_calls.weights()[host_calls.places()], strict=True))
    assert weights["conv_depthwise"] == weights["conv_1x1"] == weights["conv"] > weights["binary"] > 0
    assert weights["other"] == weights["binary"]
    assert 0 < weights["view"] < weights["binary"] / 2  # it launches nothing


def test_ages_are_those_of_architectures():
    assert host_calls.age("V100-SXM2-16GB") == -5
    assert host_calls.age("H100-SXM5-80GB") == 0
    assert host_calls.age("RTX PRO 6000 Max-Q") == 2
    of_gpus = {device.architecture for device in _core.devices() if device.is_gpu}
    assert of_gpus == set(host_calls.YEARS)


def test_what_is_known_of_a_host_is_its_age_and_the_runtime():
    rows = pd.DataFrame({"device": ["V100-SXM2-16GB", "RTX 4090", "T4"], "runtime": ["eager", "compiled", "tensorrt"]})
    np.testing.assert_array_equal(host_calls.columns(rows), [[-5, 1, 0], [0, 0, 1], [-4, 0, 0]])
    assert len(host_calls.COLUMN_SD) == 3
    assert host_calls.of_runtime(np.array([1, 2, 3]), "compiled") == 3


def test_a_table_counts_the_views_of_its_networks():
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    shuffled = rows[(rows.family == "fbnet") & (rows.batch == 1)].head(1).reset_index(drop=True)
    table = kernel_terms.lower(shuffled, built)
    row = table.rows.iloc[0]
    kernels = _core.fuse(built(row.recipe, 1), row.runtime, row.precision)
    assert table.rows.views.tolist() == [kernels.num_views]
    assert kernels.num_views > 0


def test_calls_of_fbnet_took_as_much_beside_their_operators_on_every_card():
    pytest.importorskip("torch")
    pytest.importorskip("scipy")
    benchmark = benchmark_module("host_calls")
    rows = benchmark.fbnet_on_gpus()
    found = benchmark.beside_operators(rows)
    assert len(found) == 5
    assert (found.error_percent < 2).all()
    assert found.beside_s.between(0.8e-3, 1.0e-3).all()
    assert found.beside_s.mean() == pytest.approx(fbnet.BESIDE_OPERATORS_S, rel=0.02)


def test_what_calls_took_beside_their_operators_is_known_of_each_call_of_a_table():
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    rows = rows[rows.family.isin(["anb", "fbnet", "nb201"])].groupby("family").head(1)
    table = kernel_terms.lower(rows, built)
    num_norms = sum(node.operator == "batch_norm" for node in built(table.rows.recipe[0], 1).nodes)
    of_buffers_s = num_norms * accel_nasbench.BUFFERS_OF_NORM * accel_nasbench.BUFFER_S
    assert list(table.rows.family) == ["anb", "fbnet", "nb201"]
    np.testing.assert_allclose(table.beside_s, [of_buffers_s, fbnet.BESIDE_OPERATORS_S, 0], rtol=1e-12)
    np.testing.assert_allclose(table.of_operators().latency_s, table.latency_s - table.beside_s)


def test_a_buffer_is_handed_round_by_two_views_and_a_copy_on_the_hosts_of_its_cards():
    of_2022_s = 2 * host_calls.CALL_S["view"] + host_calls.CALL_S["copy"] + host_calls.LAUNCH_S
    ages = {host_calls.age(device) for device in accel_nasbench.DEVICES.values()}
    assert ages == {-2}
    _, _, by_year = benchmark_module("host_calls").fitted()
    assert of_2022_s * (1 + by_year) ** -2 == pytest.approx(accel_nasbench.BUFFER_S, rel=0.11)


def test_a_kernel_of_compiled_code_takes_the_host_as_long_whatever_its_size():
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    is_small = rows.recipe.str.fullmatch(r"timm:efficientvit_m[0-5]@224") & (rows.batch == 256)
    networks = rows[is_small & (rows.runtime == "compiled")].reset_index(drop=True)
    table = kernel_terms.lower(networks, GraphCache(MEASUREMENTS / "graphs.xz").graph)
    assert set(zip(table.rows.device, table.rows.runtime_version, strict=True)) == {
        ("RTX 4090", "torch 2.4.0 cuda 12.4")
    }
    of_roofline_s = np.bincount(table.call(), table.roofline_s(), table.size)
    assert table.size == 6
    assert of_roofline_s.max() > 2 * of_roofline_s.min()
    of_kernel_s = table.latency_s / table.rows.launches
    assert of_kernel_s.between(16.5e-6, 18.5e-6).all()
    assert _core.runtime("compiled").host_s_per_launch < of_kernel_s.min()  # which waits for the device a little too

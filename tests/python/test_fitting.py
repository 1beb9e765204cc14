"""The fits: slopes, recovery of known numbers, determinism, and the files that they write."""

import dataclasses
import json
import struct

import numpy as np
import pytest
from latpred.fitting import analytic, checkpoint, errors, evaluate, linear, measurements, roofline

pytest.importorskip("pandas")
pytest.importorskip("scipy")


@pytest.fixture(scope="module")
def table():
    """A tenth of the shipped one."""
    return measurements.load().iloc[::10].reset_index(drop=True)


@pytest.fixture(scope="module")
def samples(table):
    return measurements.lower(table)


def test_selecting_keeps_kernels_with_their_samples(samples):
    mask = samples.family == "anb"
    networks = samples.select(mask)
    bound = roofline.Roofline().predict(samples)
    assert networks.size == mask.sum()
    np.testing.assert_allclose(roofline.Roofline().predict(networks), bound[mask])


def test_slopes_are_those_of_the_times(samples):
    design = analytic._Design(samples.select(np.arange(samples.size) % 10 == 0))
    random = np.random.default_rng(0)
    logs = design.means + random.normal(0, 0.1, len(design.means))
    _, slopes = design.times_and_slopes(logs)
    for place in random.choice(len(logs), 25, replace=False):
        step = np.zeros(len(logs))
        step[place] = 1e-6
        numeric = (np.log(design.times(logs + step)) - np.log(design.times(logs - step))) / 2e-6
        np.testing.assert_allclose(slopes[:, place], numeric, atol=1e-6)


def test_analytic_fit_recovers_what_made_the_times(samples):
    truth = analytic.fit(samples)
    made = dataclasses.replace(samples, latency_s=truth.predict(samples))
    again = analytic.fit(made)
    ratio = again.predict(made) / made.latency_s
    # The priors pull a little; without a fit the median is off by 20 % and more.
    assert np.median(np.abs(ratio - 1)) < 0.01
    assert np.median(np.abs(roofline.fit(made).predict(made) / made.latency_s - 1)) > 0.2


def test_the_same_samples_give_the_same_numbers(samples):
    part = samples.select(np.arange(samples.size) % 4 == 0)
    first, second = analytic.fit(part).arrays(), analytic.fit(part).arrays()
    for name, values in first.items():
        np.testing.assert_array_equal(values, second[name])


def test_linear_fit_recovers_its_coefficients(samples):
    truth = linear.Linear(np.array([1.3, 1.1, 1.6, 4e-6]))
    silent = dataclasses.replace(samples, host_s=np.zeros(samples.size), is_clear=np.ones(samples.size, dtype=bool))
    made = dataclasses.replace(silent, latency_s=truth.predict(silent))
    np.testing.assert_allclose(linear.fit(made).coefficients, truth.coefficients, rtol=1e-4)


def test_linear_coefficients_keep_the_bound(samples):
    quick = dataclasses.replace(samples, latency_s=samples.latency_s / 100)
    assert (linear.fit(quick).coefficients >= np.array(linear.LOWER) - 1e-12).all()


def test_one_constant_is_the_median_ratio(samples):
    clear = samples.select(samples.is_clear)
    factor = roofline.fit_scaled(samples).factor
    assert factor == pytest.approx(np.median(clear.latency_s / roofline.Roofline().predict(clear)))
    assert 1.1 < factor < 2


def test_error_summary_by_hand():
    found = errors.summarise(np.array([1.1, 2.0, 2.0]), np.array([1.0, 2.0, 4.0]))
    assert found.mape_percent == pytest.approx(20)
    assert found.median_percent == pytest.approx(10)
    assert found.bias == pytest.approx(1.0)


def test_weighted_quantile_gives_groups_the_same_say():
    groups = np.array(["a"] * 98 + ["b"] * 2)
    values = np.where(groups == "a", 0.0, 1.0)
    weights = evaluate.equal_weights(groups)
    assert evaluate.weighted_quantile(values, weights, 0.4) == 0.0
    assert evaluate.weighted_quantile(values, weights, 0.6) == 1.0


def test_batches_are_those_of_whole_networks(table, samples):
    manifest = checkpoint.make_manifest("roofline", roofline.Roofline(), table, samples, {}, [], is_fitted=False)
    # Accel-NASBench's networks ran at 512, single operators at up to millions of rows.
    assert samples.batch.max() > 10_000
    assert (manifest["evidence"]["smallest_batch"], manifest["evidence"]["largest_batch"]) == (512, 512)


def test_checkpoint_layout_is_safetensors(tmp_path):
    path = tmp_path / "a.safetensors"
    checkpoint.write(path, {"x": 1}, {"b": np.arange(6.0).reshape(2, 3), "a": np.array([7.0])})
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header = json.loads(content[8 : 8 + size])
    assert size % 8 == 0
    assert json.loads(header["__metadata__"]["manifest"]) == {"x": 1}
    first, last = header["b"]["data_offsets"]
    np.testing.assert_array_equal(np.frombuffer(content[8 + size + first : 8 + size + last]), np.arange(6.0))
    assert header["b"]["shape"] == [2, 3]

"""The predictors that ship: C++ and the fit agree, and answers make sense."""

import dataclasses
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latpred import _core
from latpred.errors import CheckpointError
from latpred.fitting import analytic, kernel_residual, kernel_terms, linear, measurements, roofline, versions
from recipe_graphs import built

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")

NAMES = [row.name for row in _core.predictors()]
FITS = {"analytic": analytic.fit, "linear": linear.fit, "roofline": roofline.fit}


def shipped(name):
    return str(resources.files("latpred").joinpath("data", "predictors", f"{name}.safetensors"))


LOADED = {name: _core.load_predictor(name, shipped(name)) for name in NAMES}


def prepare(text, batch, runtime="eager", precision="default"):
    graph = built(text, batch)
    return graph, _core.fuse(graph, runtime, precision)


def latency_s(name, text, batch, device="A100", partition="", precision="fp32"):
    graph, kernels = prepare(text, batch, precision=precision)
    return LOADED[name].latency(graph, kernels, device, partition).latency_s


@pytest.mark.parametrize("name", FITS)
def test_shipped_numbers_are_what_the_committed_command_fits(name):
    """C++ with the shipped checkpoint answers as the fit's own form does when fitted again here."""
    table = measurements.load()
    samples = measurements.lower(table)
    fitted = FITS[name](samples.select(~samples.is_left_out))
    expected = fitted.predict(dataclasses.replace(samples, host_s=samples.launches_s))
    for index in np.random.default_rng(0).choice(len(table), 200, replace=False):
        row = table.iloc[index]
        graph, kernels = prepare(row.recipe, int(row.batch), row.runtime, row.precision)
        found = LOADED[name].latency(graph, kernels, row.device)
        assert found.latency_s == pytest.approx(expected[index], rel=1e-6), row.recipe
        assert sum(found.kernel_s) + found.host_wait_s == pytest.approx(found.latency_s, rel=1e-9)


@pytest.mark.torch
def test_kernel_residual_answers_as_the_module_that_was_fitted():
    """C++ without torch and LibTorch evaluate one form: on the shipped numbers they agree."""
    table = measurements.load().sample(300, random_state=0)
    slices = table[table.device == "A100-SXM4-40GB"].assign(partition="2g.10gb", layout="nchw")
    lowered = kernel_terms.lower(pd.concat([table.assign(layout="nchw"), slices]), built)
    expected = kernel_residual.load(Path(shipped("kernel_residual"))).predict(lowered.of_operators(), with_floors=False)
    for row, seconds in zip(lowered.rows.itertuples(), expected, strict=True):
        graph, kernels = prepare(row.recipe, int(row.batch), row.runtime, row.precision)
        version = versions.named(row.runtime_version)
        found = LOADED["kernel_residual"].latency(graph, kernels, row.device, row.partition, version)
        assert found.latency_s == pytest.approx(seconds, rel=1e-5), row.recipe
        assert sum(found.kernel_s) + found.host_wait_s == pytest.approx(found.latency_s, rel=1e-9)


sizes = st.integers(1, 3000)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None)
@given(n=sizes, k=sizes, batch=st.integers(1, 5000), more=st.integers(1, 500))
def test_a_larger_batch_is_hardly_quicker(name, n, k, batch, more):
    text = f"op:gemm?n={n}&k={k}"
    assert latency_s(name, text, batch + more) >= 0.98 * latency_s(name, text, batch)


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=100, deadline=None)
@given(n=sizes, k=sizes, batch=st.integers(1, 5000), profile=st.integers(0, 4))
def test_a_larger_slice_is_never_slower(name, n, k, batch, profile):
    profiles = ["1g.5gb", "2g.10gb", "3g.20gb", "4g.20gb", "7g.40gb", ""]
    text = f"op:gemm?n={n}&k={k}"
    small, large = (latency_s(name, text, batch, partition=part) for part in profiles[profile : profile + 2])
    assert large <= small * (1 + 1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_a_checkpoint_of_another_predictor_is_refused(name):
    other = NAMES[(NAMES.index(name) + 1) % len(NAMES)]
    with pytest.raises(CheckpointError, match=f"holds predictor '{other}', expected '{name}'"):
        _core.load_predictor(name, shipped(other))


def test_analytic_beats_the_baselines_on_what_was_left_out():
    samples = measurements.lower(measurements.load().iloc[::5].reset_index(drop=True))
    training = samples.select(~samples.is_left_out)
    test = samples.select(samples.is_left_out & samples.is_clear)
    error = {
        name: np.median(np.abs(fit(training).predict(test) / test.latency_s - 1))
        for name, fit in [*FITS.items(), ("scaled", roofline.fit_scaled)]
    }
    assert error["analytic"] < 0.14
    assert error["analytic"] < 0.8 * min(error["linear"], error["roofline"], error["scaled"])

"""The LibTorch part from Python: loaded when needed, trained on NumPy arrays, refused in one sentence."""

import importlib.metadata
import sys
import threading

import numpy as np
import pytest
from latpred import LatpredError, MissingDependencyError, _core, _torch
from latpred.errors import InvalidArgumentError

pytestmark = pytest.mark.torch


@pytest.fixture
def fresh_loader():
    _torch.predictors_module.cache_clear()
    yield
    _torch.predictors_module.cache_clear()


@pytest.fixture
def rows():
    """The larger of two linear functions."""
    random = np.random.default_rng(0)
    features = random.uniform(0, 1, (256, 2)) * [1e12, 1e9]
    return features, np.maximum(features[:, 0] / 1e13, features[:, 1] / 1e10)


def regressor(hidden):
    return _torch.predictors_module().MlpRegressor(hidden=hidden)


def test_learns_and_is_deterministic(rows):
    features, targets = rows
    first, second = regressor([32]), regressor([32])
    losses = first.fit(features, targets, epochs=60, batch_rows=32, learning_rate=1e-2, seed=3)
    second.fit(features, targets, epochs=60, batch_rows=32, learning_rate=1e-2, seed=3)
    assert losses.shape == (60,)
    assert losses[-1] < losses[0] / 20
    predicted = first.predict(features)
    assert predicted.dtype == np.float64
    assert predicted.shape == (256,)
    np.testing.assert_array_equal(predicted, second.predict(features))
    assert first.num_parameters == 2 * 32 + 32 + 32 + 1


def test_takes_any_layout_and_number_type(rows):
    features, targets = rows
    net = regressor([8])
    net.fit(np.asfortranarray(features), targets.astype(np.float32), epochs=2)
    whole = net.predict(features)
    np.testing.assert_array_equal(net.predict(np.repeat(features, 2, axis=0)[::2]), whole)


def test_training_lets_other_threads_run(rows):
    features, targets = rows
    net = regressor([64])
    done = threading.Event()

    def train():
        net.fit(features, targets, epochs=100, batch_rows=16)
        done.set()

    thread = threading.Thread(target=train)
    thread.start()
    turns = 0
    while not done.wait(0.001):
        turns += 1
    thread.join()
    assert turns > 5


@pytest.mark.parametrize(
    ("features", "targets", "message"),
    [
        (np.zeros(3), np.zeros(3), "features must be an array"),
        (np.zeros((3, 2)), np.zeros((3, 1)), "targets must be an array"),
        (np.zeros((3, 2)), np.zeros(4), "targets must hold 3 numbers, got 4"),
        (np.zeros((3, 0)), np.zeros(3), "at least one row and one column"),
        (np.full((3, 2), np.inf), np.zeros(3), "got inf in row 0, column 0"),
    ],
)
def test_refuses_wrong_arrays(features, targets, message):
    with pytest.raises(InvalidArgumentError, match=message):
        regressor([4]).fit(features, targets)


def test_libtorchs_errors_are_one_line(rows):
    with pytest.raises(LatpredError, match="LibTorch: ") as caught:
        regressor([2**58]).fit(*rows)
    assert "\n" not in str(caught.value)


def test_loads_without_importing_torch():
    """Another process: this one may have imported torch for another test."""
    import subprocess

    code = "import sys, latpred._torch as part; part.predictors_module(); sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_other_torch_is_refused_with_both_versions(monkeypatch, fresh_loader):
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "2.99.1+cu130")
    with pytest.raises(MissingDependencyError, match=rf"built with torch {_core.TORCH_VERSION}.*torch 2\.99\.1"):
        _torch.predictors_module()


def test_absent_torch_names_the_extra(monkeypatch, fresh_loader):
    def absent(name):
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.setattr(importlib.metadata, "version", absent)
    with pytest.raises(MissingDependencyError, match=r'pip install "latpred\[torch\]"'):
        _torch.predictors_module()


def test_build_without_the_part_says_so(monkeypatch, fresh_loader):
    monkeypatch.setattr(_core, "TORCH_VERSION", None)
    with pytest.raises(MissingDependencyError, match="built without its LibTorch part"):
        _torch.predictors_module()

"""What is known of the host before any table is looked at, and which calls of the tables show it."""

import numpy as np
import pytest
from latpred import _core
from latpred.fitting import host_calls, kernel_residual, kernel_terms, measurements
from latpred.fitting.kernel_terms import KINDS
from recipe_graphs import built

pytest.importorskip("pandas")


def test_every_kind_has_a_time_and_convolutions_have_one():
    assert set(host_calls.CALL_S) <= set(host_calls.kinds())
    weights = dict(zip(KINDS, host_calls.weights()[host_calls.places()], strict=True))
    assert weights["conv_depthwise"] == weights["conv_1x1"] == weights["conv"] > weights["binary"] > 0
    assert weights["other"] == weights["binary"]


def test_ages_are_those_of_architectures():
    assert host_calls.age("V100-SXM2-16GB") == -5
    assert host_calls.age("H100-SXM5-80GB") == 0
    assert host_calls.age("RTX PRO 6000 Max-Q") == 2
    of_gpus = {device.architecture for device in _core.devices() if device.is_gpu}
    assert of_gpus == set(host_calls.YEARS)


def test_calls_that_leave_the_device_idle_show_their_host():
    rows = measurements.load()
    busy = rows[rows.recipe.str.startswith("anb:")].head(3).reset_index(drop=True)  # of 512 images
    of_one_image = busy.assign(batch=1, value=0.01)
    for some, shows in ((busy, False), (of_one_image, True)):
        table = kernel_terms.lower(some, built)
        np.testing.assert_array_equal(kernel_residual.waits_for_host(table), shows)

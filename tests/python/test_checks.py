"""Arguments checked in one place, in the same words everywhere."""

from pathlib import Path

import numpy as np
import pytest
from latpred import checks
from latpred.errors import InvalidArgumentError
from latpred.workloads.workload import Setting


@pytest.mark.parametrize("value", [1, np.int64(7), np.uint8(1), 2**63 - 1])
def test_a_count_is_any_integer_from_one_on(value):
    count = checks.check_count("batch", value)
    assert count == value
    assert type(count) is int


@pytest.mark.parametrize("value", [0, -1, 2**63, True, 1.0, np.float64(2), np.array([1, 2]), np.array(1.5), "3", None])
def test_other_counts_are_refused_with_what_was_given(value):
    with pytest.raises(InvalidArgumentError) as caught:
        checks.check_count("batch", value)
    assert str(caught.value) == f"batch must be an integer >= 1, got {value!r}"


@pytest.mark.parametrize("value", ["m.parquet", Path("m.parquet")])
def test_a_path_is_text_or_a_path(value):
    assert checks.check_path("out", value, "the name of a file") == Path("m.parquet")


@pytest.mark.parametrize("value", [3, None, b"m", [Path("m")]])
def test_other_paths_are_refused_with_what_was_given(value):
    with pytest.raises(InvalidArgumentError) as caught:
        checks.check_path("out", value, "the name of a file")
    assert str(caught.value) == f"out must be the name of a file, got {value!r}"


def test_a_seed_starts_at_zero():
    assert checks.check_count("seed", 0, least=0) == 0
    with pytest.raises(InvalidArgumentError, match="seed must be an integer >= 0, got -1"):
        checks.check_count("seed", -1, least=0)


def test_a_setting_holds_integers_of_python():
    setting = Setting("op:relu", batch=np.int64(4))
    assert type(setting.batch) is int


def test_one_value_is_a_list_of_one_and_none_is_refused():
    assert checks.as_list("devices", "A100", str) == ["A100"]
    assert checks.as_list("devices", ("A100", "T4"), str) == ["A100", "T4"]
    with pytest.raises(InvalidArgumentError, match="devices is empty; give at least one"):
        checks.as_list("devices", [], str)


def test_a_large_value_is_told_by_its_type():
    for value in (list(range(1000)), np.zeros((20, 20))):
        with pytest.raises(
            InvalidArgumentError, match=f"name of a file, got an object of type {type(value).__name__}$"
        ):
            checks.check_path("out", value, "the name of a file")

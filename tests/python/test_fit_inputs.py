"""What a fit is given: how much each measured call counts, and which of them show their host."""

import numpy as np
import pytest
from latpred.fitting import fit_inputs, kernel_terms, measurements
from recipe_graphs import built

pytest.importorskip("pandas")


def test_full_tables_weigh_the_same_and_small_ones_less(monkeypatch):
    rows = measurements.load()
    few = rows.groupby(["source", "device", "family"]).head(4).reset_index(drop=True)
    table = kernel_terms.lower(few, built)
    monkeypatch.setattr(fit_inputs, "FULL_TABLE_ROWS", 3)  # each has four
    rows = table.rows.assign(weight=fit_inputs.row_weights(table.rows))
    operators = rows[rows.recipe.str.startswith("op:") & ~rows.device.isin(fit_inputs.DEVICE_WEIGHTS)]
    tables = operators.groupby(["source", "runtime_version", "runtime", "device", "layout", "family"]).weight
    expected = fit_inputs.OPERATOR_WEIGHT * np.minimum(tables.size() / 3, 1)
    np.testing.assert_allclose(tables.sum(), expected)
    assert set(np.round(expected / fit_inputs.OPERATOR_WEIGHT, 2)) >= {1.0}
    assert expected.min() < expected.max()


def test_calls_that_leave_the_device_idle_show_their_host():
    rows = measurements.load()
    busy = rows[rows.recipe.str.startswith("anb:")].head(3).reset_index(drop=True)  # of 512 images
    of_one_image = busy.assign(batch=1, value=0.01)
    for some, shows in ((busy, False), (of_one_image, True)):
        table = kernel_terms.lower(some, built)
        np.testing.assert_array_equal(fit_inputs.waits_for_host(table), shows)

"""What a fit's table shows, and how rows left out of it stand to that: counted by hand."""

import dataclasses

import numpy as np
import pytest
from latpred.fitting import alike_networks, evidence, kernel_terms, measurements
from latpred.fitting.evidence import NETWORKS_THAT_MEASURE, ROWS_THAT_TEACH, Evidence
from latpred.fitting.kernel_terms import KINDS
from latpred.fitting.measurements import ARITHMETICS
from recipe_graphs import built

pd = pytest.importorskip("pandas")
pytest.importorskip("scipy")


def repeated(table, count, **columns):
    """`count` calls of each of `table`, with other `columns`."""
    places = np.repeat(np.arange(table.size), count)
    rows = table.rows.iloc[places].reset_index(drop=True)
    counts = np.diff(table.first_kernel)
    kernels = np.concatenate([np.arange(*table.first_kernel[place : place + 2]) for place in places])
    return dataclasses.replace(
        table,
        rows=rows.assign(**columns),
        first_kernel=np.concatenate([[0], np.cumsum(counts[places])]),
        input=table.input[kernels],
        count=table.count[kernels],
        terms=table.terms[kernels],
    )


def first(recipe):
    """The first measured call of a recipe that begins so, as if a T4 had run it in eager PyTorch 2.4."""
    rows = measurements.load()
    rows = rows[rows.recipe.str.startswith(recipe)].head(1)
    return kernel_terms.lower(
        rows.assign(runtime="eager", runtime_version="torch 2.4.0", precision="fp32", device="T4", partition=""), built
    )


def described(shown, asked):
    kinds = len(KINDS)
    return shown.described(asked, alike_networks.AlikeNetworks({}, np.eye(kinds), *np.zeros((3, kinds))))


def test_a_kind_counts_as_measured_by_enough_rows():
    gemm = first("op:gemm")
    counts = Evidence.of(repeated(gemm, ROWS_THAT_TEACH)).rows_by_kind
    assert counts[KINDS.index("matmul"), ARITHMETICS.index("fp32")] == ROWS_THAT_TEACH == counts.sum()
    few = Evidence.of(repeated(gemm, ROWS_THAT_TEACH - 1))
    assert not few.rows_by_kind.any()
    assert described(few, gemm)["analogy_share"][0] == pytest.approx(1, abs=1e-6)
    assert few.operator_arithmetics == {}


def test_operators_measure_a_device_for_what_stands_alone():
    gemm, network = first("op:gemm"), first("anb:")
    of_operators = Evidence.of(repeated(gemm, 100))
    assert of_operators.operator_arithmetics == {"T4": ["fp32"]}
    assert of_operators.devices == ()
    assert described(of_operators, gemm)["is_device_measured"].all()
    elsewhere = dataclasses.replace(gemm, rows=gemm.rows.assign(device="V100-SXM2-16GB"))
    assert not described(of_operators, elsewhere)["is_device_measured"].any()
    found = described(of_operators, network)
    assert found["lone_kind"][0] == ""
    assert not found["is_device_measured"].any()
    assert 0 < found["analogy_share"][0] <= 1  # its convolutions


def test_networks_measure_whole_devices():
    network = first("anb:")
    shown = Evidence.of(repeated(network, NETWORKS_THAT_MEASURE))
    assert shown.devices == ("T4",)
    assert Evidence.of(repeated(network, NETWORKS_THAT_MEASURE - 1)).devices == ()
    assert shown.families == {"T4": {"eager": 1}}
    found = described(shown, network)
    assert found["is_device_measured"].all()
    assert list(found["families"]) == [1]
    assert found["is_runtime_measured"].all()
    assert found["analogy_share"][0] < 0.05  # kinds that take too little of it to teach
    assert found["elsewhere_share"][0] == 0
    part = dataclasses.replace(network, rows=network.rows.assign(partition="1g.5gb"))
    assert not described(shown, part)["is_device_measured"].any()
    assert shown.manifest()["part_rows"] == 0
    on_parts = Evidence.of(repeated(network, NETWORKS_THAT_MEASURE, partition="1g.5gb"))
    assert on_parts.manifest()["part_rows"] == NETWORKS_THAT_MEASURE
    compiled = dataclasses.replace(network, rows=network.rows.assign(runtime="compiled"))
    assert not described(shown, compiled)["is_runtime_measured"].any()


def test_an_arithmetic_of_other_devices_is_known_by_analogy():
    network = first("anb:")
    shown = Evidence.of(repeated(network, NETWORKS_THAT_MEASURE))
    assert shown.device_arithmetics == {"T4": ["fp32"]}
    others = dataclasses.replace(shown, device_arithmetics={"T4": ["fp16"], "V100-SXM2-16GB": ["fp32"]})
    share = described(others, network)["elsewhere_share"][0]
    products_s = network.roofline_s()[network.term("units") != evidence.GENERAL_UNITS].sum()
    assert share == pytest.approx(products_s / network.roofline_s().sum(), abs=0.05)
    assert share > 0.1
    unnamed = dataclasses.replace(network, rows=network.rows.assign(device="A30"))
    assert described(others, unnamed)["elsewhere_share"][0] == 0  # nothing of the device was measured: its own terms


def test_a_version_is_another_one_where_versions_were_told_apart():
    rows = measurements.load()
    rows = rows[rows.recipe.str.startswith("op:add") & rows.runtime.eq("eager")].head(6)
    table = kernel_terms.lower(rows.assign(runtime_version="", device="T4", host_floor_s=0.0), built)
    training = table.rows.assign(runtime_version=["torch 2.4.0 cuda 12.4"] * 3 + ["torchscript"] * 3)
    of_asked = ["torch 2.4.0", "torch 2.9.1", "", "torchscript", "torch 2.4.0 cuda 11", ""]
    asked = table.rows.assign(runtime_version=of_asked)

    def are_others(seen):
        shown = Evidence.of(dataclasses.replace(table, rows=seen))
        return described(shown, dataclasses.replace(table, rows=asked))["is_other_version"]

    assert list(are_others(training)) == [False, True, True, False, False, True]
    assert not are_others(training.assign(runtime_version="")).any()

    # What another card ran by it says nothing of this one, if this one ran another.
    elsewhere = training.assign(device="V100")
    assert list(are_others(elsewhere)) == [False, True, True, False, False, True]
    both = training.assign(device=["V100"] * 3 + ["T4"] * 3, runtime_version=["torch 2.4.0"] * 3 + ["torch 2.9.1"] * 3)
    assert list(are_others(both)) == [True, False, True, True, True, True]

"""Rows of campaigns as a part of the set "families"."""

import numpy as np
import pytest
from latpred import datasets
from latpred.datasets import families, families_measured, family_networks, timm
from latpred.datasets.rows import Row, to_table
from latpred.errors import InvalidArgumentError
from latpred.fitting.split import part_of_family

pandas = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

RESNET = "family:resnet?block=basic&depth=1,1,1,1&width=32&kernel=3&size=128"


def row(quantity, value, **changes):
    fields = {
        "recipe": RESNET, "family": "family-resnet", "batch": 2, "input": "", "device": "cpu", "runtime": "openvino",
        "runtime_version": "openvino 1", "precision": "fp32", "value": value, "source": "measured here",
        "licence": "Apache-2.0", "protocol": "how", "quantity": quantity, "device_fingerprint": "a processor",
    }  # fmt: skip
    return Row(**(fields | changes))


def table_of(*rows):
    return to_table(rows, is_unique=False).assign(error="")


def test_quantities_of_a_call_are_one_row():
    first_run = row("latency_s", 0.5, protocol="how, first run")
    timed, sized = row("latency_s", 0.25, noise=0.01), row("memory_bytes", 4096.0)
    found = families_measured.merged([table_of(timed, first_run), table_of(sized)])
    assert list(found.columns) == families.COLUMNS
    (only,) = found.itertuples()
    assert (only.latency_s, only.memory_bytes, only.noise) == (0.25, 4096.0, 0.01)
    assert np.isnan(only.energy_j)
    assert only.protocol == "latency_s: how; memory_bytes: how"
    assert (only.device, only.family, only.module, only.label) == ("a processor", "ResNet", "timm-resnet", "measured")
    assert "size" not in only.network


def test_what_failed_is_no_row_and_what_stands_twice_is_refused():
    timed = row("latency_s", 0.25)
    failed = table_of(row("latency_s", 0.5, batch=4)).assign(error="no memory")
    assert families_measured.merged([table_of(timed), failed]).batch.tolist() == [2]
    with pytest.raises(InvalidArgumentError, match="twice"):
        families_measured.merged([table_of(timed), table_of(timed)])
    with pytest.raises(InvalidArgumentError, match="kernels_s"):
        families_measured.merged([table_of(row("kernels_s", 1.0))])


def test_rows_with_and_without_autograd_stay_apart():
    rows = [row("memory_bytes", size, autograd=keeps, runtime="eager") for size, keeps in ((10.0, False), (30.0, True))]
    found = families_measured.merged([table_of(*rows)])
    assert found.sort_values("memory_bytes").autograd.tolist() == [False, True]
    assert found.id.is_unique


def test_every_family_is_left_out_with_its_module():
    assert set(families_measured.MODULES) == set(family_networks.FAMILIES)
    assert set(families_measured.MODULES.values()) <= set(part_of_family())
    for name in families_measured.MODULES:
        title, module = families_measured.family_and_module(f"family:{name}?size=128")
        assert title.lower() == name
        timm_names = [network for network in timm.families() if families.family_of(network, module) == title]
        assert any(f"timm-{timm.families()[network]}" == module for network in timm_names)
    assert families_measured.family_and_module("timm:regnety_002@224") == ("timm-regnet", "timm-regnet")


def test_the_shipped_rows_are_measured_on_one_processor_and_by_the_allocator():
    whole = datasets.load("families")
    ours = whole.rows[whole.rows.source == "measured here"]
    assert set(ours.runtime) == {"openvino", "eager"}
    assert set(ours.family) >= set(families.FAMILIES)
    timed, held = ours[ours.latency_s.notna()], ours[ours.device == "allocator"]
    assert timed.device.nunique() == 1
    assert (ours.memory_bytes > 0).sum() + ours.memory_bytes.isna().sum() == len(ours)
    pairs = held.pivot_table(index=["recipe", "batch"], columns="autograd", values="memory_bytes")
    assert (pairs[True] > pairs[False]).all(), "autograd keeps what inference frees"

"""What networks much like the asked one were off (fitting/alike_networks.py)."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pandas as pd
import pytest
from latpred.fitting import alike_networks
from latpred.fitting.kernel_terms import COLUMNS, KINDS, TERMS, KernelTable

HERE, ELSEWHERE = "A100-SXM4-40GB|eager", "RTX 3090|eager"
CONV, RELU = KINDS.index("conv"), KINDS.index("unary")


def table_of(shares: list[float], *, place: str = HERE, recipe: str = "timm:x", latency_s: float = 1e-2) -> KernelTable:
    """Calls of one convolution and one ReLU, of which the first has `shares` of the roofline."""
    device, _, runtime = place.partition("|")
    rows = pd.DataFrame(
        {
            "recipe": recipe,
            "device": device,
            "runtime": runtime,
            "value": latency_s,
            "host_floor_s": 0.0,
            "beside_s": 0.0,
        },
        index=range(len(shares)),
    )
    terms = np.zeros((2 * len(shares), len(TERMS)))
    terms[0::2, TERMS.index("nominal")] = shares
    terms[1::2, TERMS.index("nominal")] = 1 - np.asarray(shares)
    inputs = np.zeros((2, len(COLUMNS)))
    inputs[0, COLUMNS.index("kind_conv")] = inputs[1, COLUMNS.index("kind_unary")] = 1
    return KernelTable(
        rows,
        2 * np.arange(len(shares) + 1),
        np.tile([0, 1], len(shares)),
        np.ones(2 * len(shares)),
        terms,
        inputs,
    )


def fitted(off: float = 0.2, calls: int = 20, place: str = HERE) -> alike_networks.AlikeNetworks:
    """Of calls that took exp(off) times what was predicted."""
    table = table_of([0.5] * calls, place=place)
    return alike_networks.fit(table, table.latency_s / np.exp(off))


def factor(known: alike_networks.AlikeNetworks, share: float, place: str) -> float:
    asked = alike_networks.signatures(table_of([share]))
    return float(known.log_factor(asked, np.array([place]))[0])


def test_signatures_are_roots_of_shares_of_time():
    found = alike_networks.signatures(table_of([0.25]))[0]
    assert found[CONV] == pytest.approx(0.5)
    assert found[RELU] == pytest.approx(np.sqrt(0.75))


def test_alike_networks_are_corrected_by_what_was_left_over():
    known = fitted(off=0.2, calls=20)
    shared = 0.2 * 20 / (20 + alike_networks.SHRINKAGE)
    there = (0.2 - shared) * 20 / (20 + alike_networks.SHRINKAGE_THERE)
    assert factor(known, 0.5, HERE) == pytest.approx(shared + there, abs=2e-3)
    assert factor(known, 0.5, ELSEWHERE) == pytest.approx(shared, abs=2e-3)


def test_unlike_networks_are_not():
    assert factor(fitted(), 0.99, HERE) == pytest.approx(0, abs=1e-3)


def test_one_call_says_little_and_no_more_than_a_bound():
    assert factor(fitted(off=3.0, calls=1), 0.5, ELSEWHERE) <= alike_networks.LARGEST_OFF / 6 + 1e-3


def test_operators_and_calls_on_the_floor_of_the_host_say_nothing():
    for table in (table_of([0.5] * 9, recipe="op:conv?n=1"), table_of([0.5] * 9)):
        on_floor = table.rows.assign(host_floor_s=table.latency_s if table.rows.recipe[0] == "timm:x" else 0.0)
        known = alike_networks.fit(dataclasses.replace(table, rows=on_floor), table.latency_s / 2)
        assert known.points.shape == (0, len(KINDS))
        assert factor(known, 0.5, HERE) == 0


def test_what_is_no_operators_is_left_out():
    table = table_of([0.5] * 20)
    beside = dataclasses.replace(table, rows=table.rows.assign(value=3e-2, beside_s=2e-2))
    known = alike_networks.fit(beside, np.full(20, 1e-2 / np.exp(0.2) + 2e-2))
    assert factor(known, 0.5, HERE) == pytest.approx(factor(fitted(), 0.5, HERE), abs=1e-6)


def test_the_nearest_there_may_be_further_than_the_nearest():
    here, elsewhere = table_of([0.5] * 3), table_of([0.9] * 3, place=ELSEWHERE)
    both = dataclasses.replace(
        here,
        rows=pd.concat([here.rows, elsewhere.rows], ignore_index=True),
        first_kernel=2 * np.arange(7),
        input=np.tile(here.input, 2),
        count=np.tile(here.count, 2),
        terms=np.concatenate([here.terms, elsewhere.terms]),
    )
    known = alike_networks.fit(both, both.latency_s)
    asked = alike_networks.signatures(table_of([0.5, 0.5, 0.5]))
    where = np.array([HERE, ELSEWHERE, "T4|eager"])
    found = known.distance_there(asked, where)
    assert found[0] == pytest.approx(0, abs=0.01)
    of_nine = alike_networks.signatures(table_of([0.9]))[0]
    assert found[1] == pytest.approx(np.linalg.norm(asked[0] - of_nine), abs=0.01)
    assert found[2] == alike_networks.LARGEST_DISTANCE
    np.testing.assert_allclose(known.distance(asked), 0, atol=0.01)


def test_reads_what_it_wrote():
    table = table_of([0.1, 0.5, 0.9] * 5)
    known = alike_networks.fit(table, table.latency_s / 1.1)
    read = alike_networks.read(json.loads(json.dumps(known.manifest())), known.arrays()[alike_networks.ARRAY])
    for share in (0.1, 0.4, 0.9):
        assert factor(read, share, HERE) == factor(known, share, HERE) != 0

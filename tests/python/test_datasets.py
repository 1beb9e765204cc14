"""Rows, recipes and the networks that they rebuild."""

import dataclasses

import numpy as np
import pytest
from latpred import GraphBuilder
from latpred.datasets import accel_nasbench, recipe, rows
from latpred.errors import InvalidArgumentError
from latpred.fitting import measurements, split

pytest.importorskip("pandas")

ROW = rows.Row(
    recipe="op:gemm?n=8&k=4",
    family="gemm",
    batch=2,
    input="",
    device="A100-SXM4-40GB",
    runtime="eager",
    runtime_version="1",
    precision="fp32",
    value=1e-3,
    source="here",
    licence="none",
    protocol="stopwatch",
)


def graph_of(text, batch=1):
    net = GraphBuilder()
    recipe.build(net, recipe.parse(text))
    return net.build(batch)


def test_recipe_text_round_trip():
    text = "anb:mbconv?e=6,1&size=256"
    assert str(recipe.parse(text)) == text
    assert recipe.parse("op:relu").parameters == {}


@pytest.mark.parametrize("text", ["relu", "op:", "nothing"])
def test_what_is_no_recipe_is_refused(text):
    with pytest.raises(InvalidArgumentError, match="is no recipe"):
        recipe.parse(text)


def test_unknown_names_in_recipes_are_refused():
    with pytest.raises(InvalidArgumentError, match="unknown operator; valid: gemm, bmm"):
        graph_of("op:gemn?n=8&k=4")
    with pytest.raises(InvalidArgumentError, match="unknown kind 'timm'; valid: op, anb"):
        graph_of("timm:resnet50")
    with pytest.raises(InvalidArgumentError, match="lacks 'k'; it has n"):
        graph_of("op:gemm?n=8")


@pytest.mark.parametrize(
    ("text", "batch", "macs"),
    [
        ("op:gemm?n=16&k=32&bias=1", 8, 8 * 16 * 32),
        ("op:bmm?m=3&n=5&k=7", 4, 4 * 3 * 5 * 7),
        ("op:conv?cin=6&cout=8&kernel=3&size=10&stride=1&pad=1", 2, 2 * 8 * 10 * 10 * 6 * 9),
        ("op:conv?cin=6&cout=6&kernel=3&size=10&stride=2&pad=1&groups=6", 2, 2 * 6 * 5 * 5 * 9),
        ("op:relu?h=100", 3, 0),
        ("op:add?h=100&scalar=1", 3, 0),
        ("op:layer_norm?h=100", 3, 0),
        ("op:softmax?h=100", 3, 0),
    ],
)
def test_operators_have_the_macs_that_their_sizes_say(text, batch, macs):
    assert graph_of(text, batch).macs == macs


def test_a_scalar_operand_is_not_read_as_a_tensor():
    two = graph_of("op:add?h=4096", 64).nodes[0]
    one = graph_of("op:add?h=4096&scalar=1", 64).nodes[0]
    assert two.bytes_in == 2 * one.bytes_in


# The first network of the table, and the millions of parameters that it states.
FIRST = "anb:mbconv?e=6,4,6,6,6,1,1&k=3,5,3,5,5,3,3&l=1,2,3,3,2,2,2&se=0,0,0,0,0,0,0&size=256"
FIRST_MILLIONS = 2.50116


def test_networks_have_the_parameters_that_the_table_states():
    assert graph_of(FIRST).num_parameters == round(FIRST_MILLIONS * 1e6)


def test_squeeze_and_excitation_adds_its_two_convolutions():
    without = graph_of(FIRST.replace("l=1,2,3,3,2,2,2", "l=1,2,3,3,2,2,1"))
    with_one = graph_of(
        FIRST.replace("l=1,2,3,3,2,2,2", "l=1,2,3,3,2,2,1").replace("se=0,0,0,0,0,0,0", "se=0,0,0,0,0,0,1")
    )
    width, squeezed = 192, 192 // accel_nasbench.SQUEEZE  # the last block: expansion 1, one layer
    assert with_one.num_parameters - without.num_parameters == 2 * width * squeezed + width + squeezed


def test_the_id_is_of_the_measurement_not_of_its_value():
    assert dataclasses.replace(ROW, value=2.0).id == ROW.id
    assert dataclasses.replace(ROW, batch=3).id != ROW.id
    assert dataclasses.replace(ROW, runtime_version="2").id != ROW.id


def test_a_table_has_each_id_once():
    table = rows.to_table([ROW, dataclasses.replace(ROW, value=2.0), dataclasses.replace(ROW, batch=3)])
    assert sorted(table.batch) == [2, 3]
    assert list(table.columns) == list(rows.COLUMNS)


def test_shipped_table_has_sources_licences_and_plausible_times():
    table = measurements.load()
    assert len(table) > 10_000
    assert table.id.is_unique
    assert set(table.licence) == {"MIT", "Apache-2.0"}
    assert table.value.between(1e-6, 100).all()
    assert np.mean(table.block.isin(split.left_out_blocks())) == pytest.approx(0.25, abs=0.02)


def test_blocks_keep_near_twins_together():
    assert split.block_of("op:gemm?n=64&k=64", 64) == split.block_of("op:gemm?n=65&k=64", 64)
    assert split.block_of("op:gemm?n=64&k=64", 64) != split.block_of("op:gemm?n=640&k=64", 64)
    assert split.block_of(FIRST, 512) == "anb:layers=15"


def test_chosen_blocks_follow_the_rule():
    blocks = [f"add:work={band}" for band in range(10)] + ["mul:work=3"]
    assert split.choose(blocks) == ["add:work=2", "add:work=7"]

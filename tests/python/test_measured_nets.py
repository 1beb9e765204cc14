"""The small file of measured nets, and rows made into one."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from latpred.campaign.spec import FIRST_RUN
from latpred.datasets import fnn, measured_nets
from latpred.datasets.rows import Row, to_table
from latpred.errors import InvalidArgumentError
from measured_nets_maker import CONDITIONS, by_law

pd = pytest.importorskip("pandas")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def rows_of(measured):
    """As a campaign writes them."""
    fields = dataclasses.asdict(measured.conditions)
    threads = fields.pop("threads")
    rows = []
    for place, recipe in enumerate(measured.recipes):
        row = Row(
            recipe=recipe,
            family="fnn",
            device="cpu",
            input="",
            value=measured.latency_s[place],
            noise=measured.noise[place],
            **fields,
        )
        protocol = row.protocol
        rows.append(row)
        first = dataclasses.replace(row, protocol=protocol + FIRST_RUN)
        rows.append(dataclasses.replace(first, value=measured.first_run_s[place], noise=None))
    again = dict(zip(measured.recipes, measured.again_s, strict=True))
    table = to_table(rows, is_unique=False)
    return table.assign(
        threads=threads,
        is_steady=True,
        retimed_value=table.recipe.map(again).where(~table.protocol.str.endswith(FIRST_RUN)),
    )


def assert_equal(found, expected, relative):
    order = {recipe: place for place, recipe in enumerate(found.recipes)}
    places = np.array([order[recipe] for recipe in expected.recipes])
    found = found.select(places)
    assert found.recipes == expected.recipes
    assert found.conditions == expected.conditions
    for name in ("latency_s", "first_run_s", "noise", "again_s"):
        np.testing.assert_allclose(getattr(found, name), getattr(expected, name), rtol=relative)


def test_a_file_keeps_what_was_measured_and_is_small(tmp_path):
    measured = by_law(5000)
    path = tmp_path / "nets.parquet"
    measured_nets.write(path, measured)
    assert path.stat().st_size < 18 * len(measured)
    found = measured_nets.read(path)
    assert found.recipes == measured.recipes  # in their order: a shorter campaign is a prefix
    assert_equal(found, measured, 2.0**-12)
    assert found.digest == measured_nets.read(path).digest != measured.digest


def test_rows_of_a_campaign_are_the_same_nets(tmp_path):
    measured = by_law(200)
    assert_equal(measured_nets.from_rows(rows_of(measured)), measured, 1e-12)
    rows_of(measured).to_parquet(tmp_path / "rows.parquet")
    words = ["-m", "latpred.datasets.measured_nets", str(tmp_path / "rows.parquet"), str(tmp_path / "nets.parquet")]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=True)
    assert "200 nets" in done.stdout
    assert_equal(measured_nets.read(tmp_path / "nets.parquet"), measured, 2.0**-12)


def test_rows_of_two_machines_are_refused():
    one = rows_of(by_law(20))
    other = one.assign(device_fingerprint="Other CPU, 8 cores")
    with pytest.raises(
        InvalidArgumentError, match=r"several machines or protocols.*'Some CPU, 2 cores', 'Other CPU, 8 cores'"
    ):
        measured_nets.from_rows(pd.concat([one, other]))
    with pytest.raises(InvalidArgumentError, match="no latency_s of a recipe fnn:"):
        measured_nets.from_rows(one.assign(quantity="memory_bytes"))
    with pytest.raises(InvalidArgumentError, match="it lacks id, recipe"):
        measured_nets.from_rows(pd.DataFrame({"x": [1]}))


def test_failed_rows_are_left_out_and_unsteady_ones_where_asked():
    table = rows_of(by_law(20))
    recipes = sorted(set(table.recipe))
    table.loc[table.recipe == recipes[0], "value"] = np.nan
    table.loc[table.recipe == recipes[1], "is_steady"] = False
    assert sorted(measured_nets.from_rows(table).recipes) == recipes[1:]
    assert sorted(measured_nets.from_rows(table, only_steady=True).recipes) == recipes[2:]


def test_other_files_are_refused(tmp_path):
    with pytest.raises(InvalidArgumentError, match="no such file"):
        measured_nets.read(tmp_path / "none.parquet")
    (tmp_path / "text.parquet").write_text("text")
    with pytest.raises(InvalidArgumentError, match="is no Parquet file"):
        measured_nets.read(tmp_path / "text.parquet")


def test_columns_are_checked():
    with pytest.raises(InvalidArgumentError, match="stands twice"):
        measured_nets.make(["fnn:1-1", "fnn:1-1"], [1.0, 1.0], CONDITIONS)
    with pytest.raises(InvalidArgumentError, match="must be positive and finite"):
        measured_nets.make(["fnn:1-1", "fnn:1-2"], [1.0, np.nan], CONDITIONS)
    with pytest.raises(InvalidArgumentError, match="noise has"):
        measured_nets.make(["fnn:1-1"], [1.0], CONDITIONS, noise=[0.1, 0.1])


def test_parts_divide_the_nets():
    measured = by_law(300)
    parts = [measured.part(name) for name in fnn.PARTS]
    assert sorted(sum((part.recipes for part in parts), ())) == sorted(measured.recipes)
    assert measured.part("all") is measured
    assert all(fnn.part_of(recipe) == "test" for recipe in measured.part("test").recipes)
    with pytest.raises(InvalidArgumentError, match="unknown part 'dev'"):
        measured.part("dev")


def test_conditions_tell_their_differences():
    other = dataclasses.replace(CONDITIONS, protocol="other", batch=2)
    assert CONDITIONS.differences(other) == [
        f"protocol is 'other' and was '{CONDITIONS.protocol}'",
        "batch is '2' and was '1'",
    ]


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda table: table.drop_columns(["latency_s"]), "is damaged: it lacks latency_s; make it again"),
        (
            lambda table: table.set_column(0, "recipe", pyarrow.array([None] * len(table), pyarrow.string())),
            "is damaged: 30 of its 30 nets have no recipe",
        ),
    ],
)
def test_a_damaged_file_is_told(tmp_path, spoil, words):
    path = tmp_path / "nets.parquet"
    measured_nets.write(path, by_law(30))
    parquet.write_table(spoil(parquet.read_table(path)), path)
    with pytest.raises(InvalidArgumentError, match=words) as caught:
        measured_nets.read(path)
    assert caught.value.path == str(path)

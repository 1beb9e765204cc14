"""The measurements that ship: whole, rebuilt from what lies beside them, and small enough."""

import json

import latpred
import pytest
from example_networks import MEASUREMENTS, REPOSITORY
from latpred.datasets import assemble, recipe, shipped
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.rows import COLUMNS, Row
from latpred.fitting.split import TEST, part_of_family

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

MAX_BYTES = 15_000_000
SAMPLED = 5  # networks of each kind of recipe


@pytest.fixture(scope="module")
def table():
    return pd.read_parquet(MEASUREMENTS / shipped.ROWS_FILE)


@pytest.fixture(scope="module")
def cache():
    return GraphCache(MEASUREMENTS / shipped.ARCHIVE_FILE)


def test_they_stay_small():
    assert sum(path.stat().st_size for path in MEASUREMENTS.iterdir()) < MAX_BYTES


def test_rows_are_whole(table):
    assert list(table.columns) == [*COLUMNS, "host_floor_s", "block"]
    optional = {"noise", "samples"}
    assert not table.drop(columns=list(optional)).isna().any().any()
    assert table.id.is_unique
    assert (table.value > 0).all()
    assert (table.batch > 0).all()
    assert (table.host_floor_s >= 0).all()
    for column in ("recipe", "family", "source", "licence", "protocol"):
        assert (table[column] != "").all()


def test_checks_are_no_rows_of_the_table(table):
    checks = pd.read_parquet(MEASUREMENTS / shipped.CHECKS_FILE)
    assert len(checks) > 0
    assert list(checks.columns) == list(COLUMNS)
    assert not set(checks.id) & set(table.id)


def test_what_was_dropped_has_its_reason(table):
    dropped = pd.read_csv(MEASUREMENTS / shipped.DROPPED_FILE)
    assert set(dropped.reason) == {assemble.CANNOT_BE_REBUILT, assemble.NOT_AS_STATED, assemble.EXECUTED_OTHERWISE}
    assert (dropped.detail != "").all()
    assert not set(dropped.id) & set(table.id)


def test_ids_are_those_of_the_rows(table):
    fields = [name for name in COLUMNS if name != "id"]
    for record in table.sample(2000, random_state=0).to_dict("records"):
        assert Row(**{name: record[name] for name in fields}).id == record["id"]


def test_every_name_is_in_the_tables(table):
    assert set(table.device) <= {row.name for row in latpred.devices()}
    assert set(table.runtime) <= {row.name for row in latpred.runtimes()}
    assert set(table.precision) <= {row.name for row in latpred.precisions()}


def test_sources_and_licences_are_in_the_readme(table):
    lines = (MEASUREMENTS / "README.md").read_text().splitlines()
    both = pd.concat([table, pd.read_parquet(MEASUREMENTS / shipped.CHECKS_FILE)])
    for sources, licence in set(zip(both.source, both.licence, strict=True)):
        for source in sources.split(", "):
            name, _, commit = source.partition(" ")  # of our own there is none
            assert any(f"/{name}]" in line and commit in line and licence in line for line in lines), source


def test_the_archive_holds_what_the_rows_need(table, cache):
    assert set(cache.recipes()) == set(shipped.archived(table))
    assert len({text.partition("@")[0] for text in cache.recipes()}) >= 1000


def test_networks_are_rebuilt_at_their_batches(table, cache):
    kinds = table.assign(kind=[recipe.parse(text).kind for text in table.recipe])
    chosen = kinds.drop_duplicates("recipe").groupby("kind").sample(SAMPLED, replace=True, random_state=0)
    for row in chosen.itertuples():
        graphs = [cache.graph(row.recipe, count * row.batch) for count in (1, 2, 3)]
        macs = [graph.macs for graph in graphs]
        assert macs[0] > 0 or row.kind == "op"
        # Affine, not proportional: tables of positions are computed once for all items.
        assert macs[2] - macs[1] == pytest.approx(macs[1] - macs[0]), row.recipe
        assert len({graph.num_parameters for graph in graphs}) == 1


def test_every_kind_of_recipe_is_on_the_page(table):
    page = (REPOSITORY / "docs" / "datasets.md").read_text()
    assert [kind for kind in {recipe.parse(text).kind for text in table.recipe} if f"`{kind}`" not in page] == []


def test_quick_networks_are_many_families_and_none_of_the_test_part(table):
    quick = json.loads((MEASUREMENTS / shipped.QUICK_FILE).read_text())
    assert quick == shipped.quick(table)
    families = set(table[table.recipe.isin(quick)].family)
    assert len(quick) == shipped.QUICK_NETWORKS
    assert len(families) >= shipped.QUICK_NETWORKS / 2
    assert TEST not in {part_of_family().get(family) for family in families}


def test_a_sample_of_the_sample_is_itself(table):
    again = shipped.sample(table[list(COLUMNS)])
    assert list(again.id) == list(table.id)
    assert list(again.block) == list(table.block)

"""The table that ships with the sources: a sample of all rows, small enough to keep, with the networks that it needs.

python -m latpred.datasets.shipped --from DIR --out data/measurements

DIR is what `latpred dataset build` wrote. The same rows come out whatever else DIR holds: a network is chosen by its
recipe alone, an operator's row by a shuffle of its own table.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from latpred.datasets import assemble, rows
from latpred.datasets.assemble import CHECKS_FILE, DROPPED_FILE, ROWS_FILE
from latpred.datasets.graph_cache import GraphCache, write_archive
from latpred.datasets.recipe import parse
from latpred.datasets.recorded import is_recorded
from latpred.fitting import measurements
from latpred.fitting.split import TEST, block_of, left_out_blocks, part_of_family

if TYPE_CHECKING:
    import pandas as pd

ARCHIVE_FILE = "graphs.xz"
QUICK_FILE = "quick.json"

OPERATORS_OF_EACH_TABLE = 600  # rows of a source and version, device and operator
NETWORKS_OF_EACH_FAMILY = 400  # of a source; only spaces of generated networks have more
LEFT_OUT_SHARE = 4  # one of so many networks is from the blocks that no fit sees
QUICK_NETWORKS = 60

ZSTD_LEVEL = 19


def _draw(text: str) -> str:
    """A number by which to choose: spread evenly, and the same wherever and whenever it is drawn."""
    return hashlib.sha256(f"{measurements.SEED}|{text}".encode()).hexdigest()


def _block(recipe: str, batch: int) -> str:
    """What a row is left out with besides its family: shapes of operators and depths in Accel-NASBench have blocks."""
    return block_of(recipe, batch) if parse(recipe).kind in ("op", "anb") else ""


def _chosen(recipes: Iterable[str]) -> list[str]:
    """At most NETWORKS_OF_EACH_FAMILY of a family's recipes, of them one in LEFT_OUT_SHARE from the blocks left out."""
    ordered = sorted(recipes, key=_draw)
    if len(ordered) <= NETWORKS_OF_EACH_FAMILY:
        return ordered
    blocks = left_out_blocks()
    left_out = [recipe for recipe in ordered if _block(recipe, 1) in blocks]
    taken = left_out[: NETWORKS_OF_EACH_FAMILY // LEFT_OUT_SHARE]
    others = [recipe for recipe in ordered if _block(recipe, 1) not in blocks]
    return taken + others[: NETWORKS_OF_EACH_FAMILY - len(taken)]


def sample(table: pd.DataFrame) -> pd.DataFrame:
    """The rows that ship: of operators OPERATORS_OF_EACH_TABLE of each table, of networks all or enough. Adds the
    columns "block" (what is left out together) and "host_floor_s" (see fitting.measurements)."""
    import pandas as pd

    is_operator = table.recipe.str.startswith("op:")
    operators = measurements.sample(table[is_operator], OPERATORS_OF_EACH_TABLE)
    networks = table[~is_operator]
    parts = [
        part[part.recipe.isin(_chosen(part.recipe.unique()))] for _, part in networks.groupby(["source", "family"])
    ]
    chosen = pd.concat(parts)
    blocks = [_block(recipe, batch) for recipe, batch in zip(chosen.recipe, chosen.batch, strict=True)]
    # Rows of one network together: the graph of each is built once, and the columns compress.
    order = ["recipe", "device", "runtime", "runtime_version", "precision", "batch", "id"]
    both = pd.concat([operators, chosen.assign(block=blocks, host_floor_s=0.0)])
    return both.sort_values(order, ignore_index=True)


def quick(table: pd.DataFrame) -> list[str]:
    """A few networks of many families, for a check in minutes; none of the part that no choice looks at."""
    part_of = part_of_family()
    is_network = ~table.recipe.str.startswith("op:")
    networks = table[is_network & (table.family.map(part_of) != TEST)]
    first_of = {family: sorted(part.recipe.unique(), key=_draw) for family, part in networks.groupby("family")}
    ranked = [
        (rank, _draw(family), recipe) for family, recipes in first_of.items() for rank, recipe in enumerate(recipes)
    ]
    return sorted(recipe for _, _, recipe in sorted(ranked)[:QUICK_NETWORKS])


def archived(table: pd.DataFrame) -> list[str]:
    """The recipes of `table` that a framework builds, like ones together."""
    import pandas as pd

    variants = table.assign(recipe=rows.executed(table))
    networks = pd.concat([table, variants])[["family", "recipe"]].drop_duplicates()
    recorded = [is_recorded(parse(recipe)) for recipe in networks.recipe]
    return list(networks[recorded].sort_values(["family", "recipe"]).recipe)


def write(source: Path, out: Path) -> Iterator[str]:
    """Writes the files into `out` from what assemble wrote into `source`; yields each network packed."""
    import pandas as pd

    table = sample(pd.read_parquet(source / ROWS_FILE))
    checks = pd.read_parquet(source / CHECKS_FILE)
    dropped = pd.read_csv(source / DROPPED_FILE, keep_default_na=False)
    out.mkdir(parents=True, exist_ok=True)
    for name, part in ((ROWS_FILE, table), (CHECKS_FILE, checks)):
        part.to_parquet(out / name, compression="zstd", compression_level=ZSTD_LEVEL, index=False)
    # What stands twice in a source is no loss, and long.
    dropped[dropped.reason != assemble.REPEATED].to_csv(out / DROPPED_FILE, index=False)
    (out / QUICK_FILE).write_text(json.dumps(quick(table), indent=0) + "\n", encoding="utf-8")
    yield from write_archive(out / ARCHIVE_FILE, GraphCache(source / assemble.GRAPHS_FILE), archived(table))


def main() -> None:
    """Writes the table that ships, the networks that it needs, and the few that CI looks at."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--from", type=Path, required=True, dest="source", help="folder of latpred dataset build")
    parser.add_argument("--out", type=Path, required=True, help="folder to write to")
    arguments = parser.parse_args()
    count = sum(1 for _ in write(arguments.source, arguments.out))
    for name in (ROWS_FILE, CHECKS_FILE, DROPPED_FILE, ARCHIVE_FILE, QUICK_FILE):
        print(f"{arguments.out / name}: {(arguments.out / name).stat().st_size} bytes")
    print(f"{count} networks packed")


if __name__ == "__main__":
    main()

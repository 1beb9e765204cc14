"""The set "families": networks as graphs, with how long each took where, for predictors of whole graphs.

Rows are what data/measurements says of networks of timm, Accel-NASBench, NAS-Bench-201, FBNet and Once-for-all, and
what this project measured itself; their graphs are rebuilt from recipes. Nothing is downloaded. Beside them stands what
the default predictor says of timm's networks on an A100, to teach small networks what it knows
(families_modelled.py).
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.datasets import timm_networks
from latpred.datasets.assemble import ROWS_FILE
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.recipe import parse
from latpred.datasets.recorded import REPARAM
from latpred.errors import InvalidArgumentError, MissingDependencyError
from latpred.fitting.split import FOLDS, TEST, part_of_family
from latpred.fusion.graph_arrays import Arrays
from latpred.fusion.whole_graph import FEATURE_SET, TARGETS, joined, of_graph
from latpred.optional import need

if TYPE_CHECKING:
    import pandas as pd

    from latpred._core import Graph

GRAPHS_FILE = "graphs.xz"
MODELLED_FILE = "families_modelled.parquet"
MEASURED_FILE = "families_measured.parquet"  # by this project: families_measured.py

KINDS = ("timm", "anb", "nb201", "fbnet", "ofa")  # of recipes that are whole image networks
MEASURED, MODELLED = "measured", "modelled"
LABELS = (MEASURED, MODELLED)

# The families of DIPPM's Table 2 and the one that it never saw, by how timm's names begin. Its MobileNets are those of
# all versions; "tf_", "se" and the like are variants of one family.
FAMILIES: Mapping[str, tuple[str, ...]] = {
    "EfficientNet": ("efficientnet", "tf_efficientnet", "gc_efficientnet", "eca_efficientnet", "test_efficientnet"),
    "MNASNet": ("mnasnet", "semnasnet", "mobilenet_edgetpu_x"),
    "MobileNet": ("mobilenet", "tf_mobilenet"),
    "ResNet": ("resnet", "wide_resnet", "resnext", "seresnet", "seresnext", "ecaresnet", "ecaresnext", "legacy_seres"),
    "VGG": ("vgg",),
    "Swin": ("swin",),
    "ViT": ("vit_tiny", "vit_small", "vit_base", "vit_large", "vit_huge", "vit_giant", "vit_gigantic", "deit"),
    "DenseNet": ("densenet",),
    "Visformer": ("visformer",),
    "PoolFormer": ("poolformer",),
    "ConvNeXt": ("convnext",),
}
UNSEEN = "ConvNeXt"

PARTS = ("train", "validation", "test")
SPLITS = {
    "random": "each row by a hash of its id, as DIPPM splits: sizes and batches of one network on both sides",
    "architecture": "all rows of a network together, at whatever size, batch and device",
    "family": "whole families, related ones together: those that latpred's own fits leave out",
}
_TEST_PERCENT, _VALIDATION_PERCENT = 15, 15
# The fold that ConvNeXt is in, and the part that no choice looks at; the next fold validates.
_TEST_FOLDS = (part_of_family()["timm-convnext"], TEST)
_VALIDATION_FOLD = str((int(_TEST_FOLDS[0]) + 1) % FOLDS)


COLUMNS = [
    "id", "family", "network", "recipe", "batch", "input", *TARGETS, "label", "device", "runtime", "runtime_version",
    "precision", "layout", "autograd", "noise", "module", "protocol", "source", "licence",
]  # fmt: skip


@dataclass(frozen=True)
class Families:
    """Rows, and the graphs that they are about; a graph is built when it is asked for."""

    rows: pd.DataFrame
    cache: GraphCache

    def __len__(self) -> int:
        return len(self.rows)

    def graph(self, place: int) -> Graph:
        """The network of a row, at its batch."""
        row = self.rows.iloc[place]
        return self.cache.graph(row.recipe, int(row.batch))

    def __getitem__(self, place: int) -> Arrays:
        """nodes [N, 32], edges [2, E], graph [5], targets [3]: the labels in the order of TARGETS, NaN: unknown."""
        if not -len(self) <= place < len(self):
            raise IndexError(f"row {place} of {len(self)}")
        found = _core.node_features(self.graph(place), FEATURE_SET)
        targets = self.rows[list(TARGETS)].to_numpy(dtype=float)[place]
        return {"nodes": found.nodes, "edges": found.edges, "graph": found.graph, "targets": targets}

    def __iter__(self) -> Iterator[Arrays]:
        return (self[place] for place in range(len(self)))

    def select(self, chosen: Any) -> Families:
        """Those rows: a mask, or places."""
        return Families(self.rows[chosen] if _is_mask(chosen) else self.rows.iloc[chosen], self.cache)

    def part(self, split: str, part: str) -> Families:
        """One part ("train", "validation", "test") of a split: a row of SPLITS."""
        return self.select(self.parts(split) == part)

    def parts(self, split: str) -> np.ndarray:
        """[rows] the part of each."""
        if split not in SPLITS:
            raise InvalidArgumentError(_core.unknown_name_message("split", split, list(SPLITS)), valid=tuple(SPLITS))
        return np.asarray(parts_of(self.rows, split))

    def arrays(self) -> Arrays:
        """All graphs as GraphTrainer takes them: of_graph() of each, static features, targets."""
        graphs = [of_graph(self.graph(place)) for place in range(len(self))]
        return joined(graphs) | {"targets": self.rows[list(TARGETS)].to_numpy(dtype=float)}

    def to_pyg(self) -> list[Any]:
        """One torch_geometric.data.Data for each row: x, edge_index, static [1, 5], y [1, 3]."""
        torch = need("torch", "torch", "a Data of PyTorch Geometric")
        try:
            data = importlib.import_module("torch_geometric").data
        except ImportError as error:
            raise MissingDependencyError(
                "a Data of PyTorch Geometric needs the package torch_geometric: pip install torch_geometric"
            ) from error
        made = []
        for row in self:
            floats = {name: torch.from_numpy(row[name]).float() for name in ("nodes", "graph", "targets")}
            made.append(
                data.Data(
                    x=floats["nodes"],
                    edge_index=torch.from_numpy(row["edges"]),
                    static=floats["graph"][None],
                    y=floats["targets"][None],
                )
            )
        return made


def load(folder: Path | None = None, labels: str = MEASURED) -> Families:
    """The whole set; folder: data/measurements of latpred's sources, None: where they are expected. labels: "measured",
    or "modelled", which no claim about accuracy may rest on."""
    if labels not in LABELS:
        raise InvalidArgumentError(_core.unknown_name_message("labels", labels, list(LABELS)), valid=LABELS)
    pandas = need("pandas", "data", "the set 'families'")
    need("pyarrow", "data", "the set 'families'")
    where = folder or shipped_folder()
    if labels == MODELLED:
        if not (where / MODELLED_FILE).is_file():
            raise InvalidArgumentError(
                f"'{where}' has no {MODELLED_FILE}; make it by: python -m latpred.datasets.families_modelled --out "
                f"{where / MODELLED_FILE}"
            )
        return Families(pandas.read_parquet(where / MODELLED_FILE), GraphCache(where / GRAPHS_FILE))
    table = pandas.read_parquet(where / ROWS_FILE)
    cache = GraphCache(where / GRAPHS_FILE)
    kinds = table.recipe.str.partition(":")[0]
    variants = table[["recipe", "executed"]][table.executed != ""].drop_duplicates()
    others = {executed for recipe, executed in variants.itertuples(index=False) if _differ(cache, recipe, executed)}
    is_of_set = kinds.isin(KINDS) & (table.quantity == TARGETS[0]) & ~table.autograd & ~table.executed.isin(others)
    table = table[is_of_set].copy()
    table = table.rename(columns={"value": TARGETS[0], "family": "module"})
    table[list(TARGETS[1:])] = np.nan
    table["label"] = MEASURED
    table["network"] = [network_of(recipe) for recipe in table.recipe]
    table["family"] = [family_of(name, module) for name, module in zip(table.network, table.module, strict=True)]
    table = pandas.concat([table[COLUMNS], pandas.read_parquet(where / MEASURED_FILE)[COLUMNS]])
    return Families(table.sort_values("id", ignore_index=True), cache)


def _differ(cache: GraphCache, recipe: str, executed: str) -> bool:
    """Whether the variant that was timed is another network than its recipe: its branches were merged."""
    if REPARAM not in parse(executed).parameters:
        return False
    timed = cache.graph(executed, 1)
    return not timm_networks.is_as_stated(cache.graph(recipe, 1), timed.num_parameters / 1e6, timed.macs / 1e9)


def shipped_folder() -> Path:
    """data/measurements beside these sources, or under the working directory."""
    places = [Path(__file__).resolve().parents[3] / "data" / "measurements", Path("data") / "measurements"]
    for place in places:
        if (place / ROWS_FILE).is_file():
            return place
    raise InvalidArgumentError(
        "the set 'families' is in data/measurements of latpred's sources, which no wheel carries: clone the "
        "repository and give folder='.../data/measurements'"
    )


def network_of(recipe: str) -> str:
    """What stays on one side of a split: the recipe without the size of its images."""
    kind, _, rest = recipe.partition(":")
    if kind == "timm":
        return rest.partition("@")[0]
    name, _, query = rest.partition("?")
    kept = [word for word in query.split("&") if not word.startswith("size=")]
    return f"{kind}:{name}?{'&'.join(kept)}"


def family_of(network: str, module: str) -> str:
    """The row of FAMILIES, or what defines the network: "timm-regnet", "anb"."""
    found = [name for name, heads in FAMILIES.items() if network.startswith(heads)]
    return found[0] if found and module.startswith("timm-") else module


def parts_of(rows: pd.DataFrame, split: str) -> list[str]:
    """The part of each row; by the row alone, so that other rows move none."""
    if split == "family":
        folds = part_of_family()
        return [_part_of_fold(folds.get(module)) for module in rows.module]
    return [_part_of_text(text) for text in (rows.id if split == "random" else rows.network)]


def _part_of_fold(fold: str | None) -> str:
    if fold in _TEST_FOLDS:
        return "test"
    return "validation" if fold == _VALIDATION_FOLD else "train"


def _part_of_text(text: str) -> str:
    place = hash_of(f"families|{text}") % 100
    if place < _TEST_PERCENT:
        return "test"
    return "validation" if place < _TEST_PERCENT + _VALIDATION_PERCENT else "train"


def hash_of(text: str) -> int:
    """64 bits, the same everywhere."""
    return int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")


def _is_mask(chosen: Any) -> bool:
    return np.asarray(chosen).dtype == bool

"""Plain nets as predictors of whole nets see them: chains of dense layers ("fnn:") or of convolutions ("cnn:")."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable, Sequence

import numpy as np

from latpred.datasets import cnn
from latpred.errors import InvalidArgumentError

# The operation of a node; as cpp/src/batch/net_rows.h.
INPUT, DENSE, CONVOLUTION = 0.0, 1.0, 2.0
NODE_ATTRIBUTES = ("operation", "weights", "units")  # weights: the bias among them; units of a convolution: channels

# What a recipe of a plain net begins with, and how messages call such nets.
KINDS = {"fnn": "feed-forward nets", "cnn": "plain CNNs"}
_OPERATIONS = {DENSE: "fnn", CONVOLUTION: "cnn"}

PARTS = ("train", "validation", "test")

# For sets of these kinds of nets, how many in ten thousand of each kind validate, and as many test; the rest is trained
# on. Mendoza and Wang's 80-10-10, 70-15-15 and 85-7.5-7.5: the mixed set has 3.2 feed-forward nets for a CNN, and both
# kinds have equal numbers in what validates and in what tests.
TEN_THOUSAND = 10_000
SHARES: dict[frozenset[str], dict[str, int]] = {
    frozenset({"fnn"}): {"fnn": 1000},
    frozenset({"cnn"}): {"cnn": 1500},
    frozenset({"fnn", "cnn"}): {"fnn": 492, "cnn": 1575},
}
NETS_FOR_A_CNN = 3.2  # in the mixed set


@dataclasses.dataclass(frozen=True)
class Nets:
    """Plain nets as arrays: G nets of at most N nodes."""

    attributes: np.ndarray  # [G, N, 3] float64: operation, weights, units of each node; zero behind the last
    lengths: np.ndarray  # [G] int64 nodes used
    positions: np.ndarray  # [G] int64 how often a call uses each weight: 1, of convolutions the pixels of an image

    def __len__(self) -> int:
        return len(self.lengths)

    def select(self, chosen: np.ndarray) -> Nets:
        """Those nets, by index or by truth."""
        return Nets(self.attributes[chosen], self.lengths[chosen], self.positions[chosen])

    @property
    def weights(self) -> np.ndarray:
        """[G, N] of each node."""
        return np.asarray(self.attributes[:, :, NODE_ATTRIBUTES.index("weights")])

    @property
    def units(self) -> np.ndarray:
        """[G, N] of each node."""
        return np.asarray(self.attributes[:, :, NODE_ATTRIBUTES.index("units")])

    @property
    def is_layer(self) -> np.ndarray:
        """[G, N] neither an input nor behind the last node."""
        place = np.arange(self.attributes.shape[1])
        return np.asarray((place > 0) & (place < self.lengths[:, None]))

    @property
    def macs(self) -> np.ndarray:
        """[G, N] multiply-accumulates of each node."""
        return np.asarray(np.where(self.is_layer, self.weights - self.units, 0) * self.positions[:, None])

    @property
    def kinds(self) -> np.ndarray:
        """[G] of KINDS, by the operation of the first layer."""
        return np.array([_OPERATIONS[operation] for operation in self.attributes[:, 1, 0]])

    def weight_bytes(self) -> np.ndarray:
        """[G] of the whole net, float32."""
        return np.asarray(4 * np.where(self.is_layer, self.weights, 0).sum(axis=1))


def kind_of(recipe: str) -> str:
    """The row of KINDS that a recipe is of; an error for another one."""
    kind = recipe.partition(":")[0]
    if kind not in KINDS:
        known = ", ".join(f"{kind}: ({text})" for kind, text in KINDS.items())
        raise InvalidArgumentError(f"recipe '{recipe}' is no plain net; expected one of {known}", valid=tuple(KINDS))
    return kind


def words_of(kinds: Iterable[str]) -> str:
    """ "feed-forward nets and plain CNNs" """
    return " and ".join(text for kind, text in KINDS.items() if kind in set(kinds))


def encode(nets: Sequence[tuple[Sequence[int], int]], max_nodes: int | None = None) -> Nets:
    """The arrays of nets of these units and image sizes, 0: dense layers; room for `max_nodes` nodes, None: as many as
    the largest has."""
    lengths = np.array([len(units) for units, _ in nets], dtype=np.int64)
    most = int(lengths.max(initial=0))
    if max_nodes is not None and most > max_nodes:
        raise InvalidArgumentError(f"a net has {most} nodes, at most {max_nodes} are taken")
    attributes = np.zeros((len(nets), most if max_nodes is None else max_nodes, len(NODE_ATTRIBUTES)))
    positions = np.ones(len(nets), dtype=np.int64)
    for net, (units, size) in enumerate(nets):
        wide = np.array(units, dtype=float)
        attributes[net, 0] = (INPUT, 0, wide[0])
        attributes[net, 1 : len(wide), 0] = CONVOLUTION if size else DENSE
        attributes[net, 1 : len(wide), 1] = (wide[:-1] * (cnn.WINDOW**2 if size else 1) + 1) * wide[1:]
        attributes[net, 1 : len(wide), 2] = wide[1:]
        positions[net] = size**2 if size else 1
    return Nets(attributes, lengths, positions)


def part_of(recipe: str, kinds: frozenset[str]) -> str:
    """ "train", "validation" or "test" in a set of these kinds: by the recipe alone, so that no data set of the same
    kinds moves a net. CNNs that differ in the size of their images only are in the same part."""
    share = SHARES[kinds][kind_of(recipe)]
    place = _place(recipe.partition("?")[0])
    return PARTS[1 + place // share] if place < 2 * share else PARTS[0]


def _place(text: str) -> int:
    """A number below TEN_THOUSAND."""
    number = int.from_bytes(hashlib.sha256(text.encode()).digest()[:8], "big")
    return number % 10 * 1000 + number // 10 % 1000

"""What each part measures, and in which order: lists that a seed fixes, of which any prefix is useful."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from latpred.datasets import cnn, fnn
from networks import NETWORKS, RECURRENT, Network

BATCHES = (1, 8, 32, 128)
_SEED = 0

# Work of several kinds for parts that cannot take every network: convolutions large and small, tokens, text.
_CHOSEN = (
    "resnet50", "vit_base_16", "mobilenet_v2", "bert_base", "vgg16", "convnext_tiny", "efficientnet_b0", "swin_tiny",
    "densenet121", "gpt2", "shufflenet_v2_x1_0", "regnet_y_1_6gf",
)  # fmt: skip
# Shares of a GPU's multiprocessors; the sizes that it can be split into are taken nearest to them.
SHARES = (1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8)


@dataclasses.dataclass(frozen=True)
class Setting:
    """One thing to measure: a network in a situation."""

    recipe: str
    batch: int
    precision: str = "fp32"
    runtime: str = "eager"
    share: float | None = None  # of the multiprocessors; None: all, in the ordinary way
    beside: tuple[tuple[str, int], ...] = ()  # recipe and batch of what runs at the same time, in processes of its own

    @property
    def key(self) -> str:
        """The same for the same setting: what a part has done is told by it."""
        share = "" if self.share is None else f" share {self.share:g}"
        others = "".join(f" beside {recipe} x{batch}" for recipe, batch in self.beside)
        return f"{self.recipe} x{self.batch} {self.precision} {self.runtime}{share}{others}"


@dataclasses.dataclass(frozen=True)
class Part:
    """One run of some minutes."""

    name: str
    description: str
    settings: Callable[[], Iterable[Setting]]
    has_energy: bool = False
    has_kernels: bool = False


def network_of(recipe: str) -> Network | None:
    """The row of the committed list; None: a recipe that latpred builds itself."""
    return _BY_RECIPE.get(recipe)


_BY_RECIPE = {network.recipe: network for network in (*NETWORKS, *RECURRENT)}


def _by_family() -> list[Network]:
    """One network of each family, then the second of each: any prefix has all kinds of work."""
    families: dict[str, list[Network]] = {}
    for network in (*NETWORKS, *RECURRENT):
        families.setdefault(network.family, []).append(network)
    rounds = itertools.zip_longest(*families.values())
    return [network for row in rounds for network in row if network is not None]


def _networks(precision: str, batches: Sequence[int] = BATCHES, runtime: str = "eager") -> Iterator[Setting]:
    for network in _by_family():
        for batch in batches:
            yield Setting(network.recipe, batch, precision, runtime)


def _chosen(batches: Sequence[int]) -> list[tuple[str, int]]:
    return [(f"plain:{name}", batch) for name in _CHOSEN for batch in batches]


def _energy() -> Iterator[Setting]:
    for precision in ("fp32", "amp"):
        yield from _networks(precision, (32,))


def _small() -> Iterator[Setting]:
    """Random feed-forward nets and plain CNNs in turn, without end."""
    precisions = itertools.cycle(("fp32", "fp32", "tf32", "amp"))
    for pair in zip(fnn.generate(_SEED), cnn.generate(_SEED), strict=False):
        for recipe, batch in itertools.product(pair, (1, 32)):
            yield Setting(recipe, batch, next(precisions))


def _slices() -> Iterator[Setting]:
    for recipe, batch in _chosen((32,)):
        for share in SHARES:
            yield Setting(recipe, batch, "fp32", share=share)


def _together() -> Iterator[Setting]:
    """Pairs and, after every second one, trios; each member is measured."""
    generator = random.Random(_SEED)
    choices = _chosen((1, 8, 32))
    seen: set[frozenset[tuple[str, int]]] = set()
    for size in itertools.cycle((2, 2, 3)):
        members = generator.sample(choices, size)
        if frozenset(members) not in seen:
            seen.add(frozenset(members))
            yield Setting(*members[0], beside=tuple(members[1:]))


def _compiled() -> Iterator[Setting]:
    for recipe, batch in _chosen((1, 32)):
        for precision in ("fp32", "amp"):
            yield Setting(recipe, batch, precision, "compiled")


# In the order of their use when time is short.
PARTS: tuple[Part, ...] = (
    Part("fp32", "every network at batch 1, 8, 32, 128", lambda: _networks("fp32")),
    Part("amp", "the same under autocast", lambda: _networks("amp")),
    Part("tf32", "the same with TF32", lambda: _networks("tf32")),
    Part("energy", "every network at batch 32: joules of windows of 2 s", _energy, has_energy=True),
    Part("small", "random feed-forward nets and plain CNNs", _small),
    Part("slices", "twelve networks on parts of the multiprocessors", _slices),
    Part("together", "pairs and trios of processes", _together),
    Part("kernels", "kernels of every network at batch 8", lambda: _networks("fp32", (8,)), has_kernels=True),
    Part("compiled", "twelve networks through torch.compile", _compiled),
)

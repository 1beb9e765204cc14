"""What Lilou's predictors are trained and tested on: labelled networks, parted by model or by family."""

from __future__ import annotations

import dataclasses
import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
from latpred.datasets import fusion, kernels
from latpred.datasets.kernels import KernelRows
from latpred.datasets.label_table import NetworkLabels
from latpred.fusion.learning import timed_groups

FOLDS = 5
SCHEMES = ("model", "family")  # what is never on both sides
VALIDATED = 8  # the paper parts what is not tested 70 : 10
_SIZE = re.compile(r"@\d+|(?<=[?&])(size|seq)=\d+&?")


def model_of(network: NetworkLabels) -> str:
    """Its architecture: the recipe without the size of the image or the length of the text."""
    return _SIZE.sub("", network.recipe).rstrip("?&")


def _place(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@dataclasses.dataclass(frozen=True)
class Part:
    """Which labelled and which timed networks a fit learns from, chooses by, and is tested on: places."""

    training: tuple[list[int], list[int]]  # of the labelled ones, of the timed ones
    validation: tuple[list[int], list[int]]
    test: tuple[list[int], list[int]]


@dataclasses.dataclass(frozen=True)
class TimedGroup:
    """Some nodes that a runtime computed together; NaN: without a kernel."""

    members: np.ndarray
    latency_s: float
    type: str


@dataclasses.dataclass(frozen=True)
class Data:
    """Labels of fusion, and timed networks."""

    labelled: list[NetworkLabels]
    rows: KernelRows

    @classmethod
    def load(cls, folder: Path) -> Data:
        """From data/labels, or a folder with files of such names."""
        return cls(fusion.load(folder / "fusion.parquet"), kernels.load(*kernels.tables_of(folder)))

    @cached_property
    def fingerprint(self) -> str:
        """Another one where any label is."""
        found = hashlib.sha256()
        for network in (*self.labelled, *self.rows.networks):
            for values in (network.operator_ids, network.features, network.edges, network.group, network.kernel_s):
                found.update(np.ascontiguousarray(values).tobytes())
            found.update(f"{network.recipe}|{network.family}|{network.batch}|{network.device}".encode())
        return found.hexdigest()[:16]

    @cached_property
    def timed(self) -> list[int]:
        """Places of the networks whose kernels were timed."""
        return np.unique(self.rows.network).tolist()

    @cached_property
    def devices(self) -> list[str]:
        """Those that networks were timed on."""
        return sorted({network.device for network in self.rows.networks})

    @cached_property
    def groups(self) -> dict[int, list[TimedGroup]]:
        """Of each timed network."""
        return {place: [TimedGroup(*group) for group in timed_groups(self.rows, place)] for place in self.timed}

    @cached_property
    def total_s(self) -> dict[int, float]:
        """Of each timed network the sum over its kernels, copies included."""
        sums = np.bincount(self.rows.network, self.rows.latency_s, len(self.rows.networks))
        return {place: float(sums[place]) for place in self.timed}

    def part(self, scheme: str, fold: int) -> Part:
        """A fifth of the models, or of the families, is tested; an eighth of the others validates."""

        def key(network: NetworkLabels) -> str:
            return network.family if scheme == "family" else model_of(network)

        timed = [self.rows.networks[place] for place in self.timed]
        is_timed = {key(network) for network in timed}
        # Timed ones first, so that each fold has its share of both kinds.
        keys = sorted({key(n) for n in (*self.labelled, *timed)}, key=lambda name: (name not in is_timed, _place(name)))
        fold_of = {name: place % FOLDS for place, name in enumerate(keys)}
        others = sorted(
            (name for name in keys if fold_of[name] != fold),
            key=lambda name: (name not in is_timed, _place(f"inner {name}")),
        )
        validates = set(others[::VALIDATED])

        def chosen(takes: set[str]) -> tuple[list[int], list[int]]:
            of_labelled = [place for place, network in enumerate(self.labelled) if key(network) in takes]
            return of_labelled, [place for place in self.timed if key(self.rows.networks[place]) in takes]

        return Part(
            chosen(set(others) - validates), chosen(validates), chosen({name for name in keys if fold_of[name] == fold})
        )

    def labelled_at(self, places: Sequence[int]) -> list[NetworkLabels]:
        """These of the labelled networks."""
        return [self.labelled[place] for place in places]

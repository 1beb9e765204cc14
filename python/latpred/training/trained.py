"""A trained predictor: its checkpoint, what it answers, and how far that can be trusted."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import checkpoint_file
from latpred.datasets.measured_nets import Conditions
from latpred.datasets.nets import NODE_ATTRIBUTES, Nets, encode, words_of
from latpred.datasets.plain_graph import PlainGraph, from_graph
from latpred.errors import CheckpointError, InvalidArgumentError
from latpred.host_device import OTHER_DEVICE_HALF_WIDTH
from latpred.training.learner import Learner
from latpred.training.trainable import trainable_row

if TYPE_CHECKING:
    from latpred._core import Graph

FORMAT_VERSION = 1
KIND = "net predictor"  # what tells these files from those of predictors over kernels
SCHEMA: dict[str, Any] = {"version": 1, "node": list(NODE_ATTRIBUTES)}

# The half-width of an 80 % interval on the logarithmic scale beyond the sizes that were trained on, by rule.
OUT_OF_RANGE_HALF_WIDTH = math.log(2.0)


@dataclass(frozen=True)
class NetAnswer:
    """Seconds of one call, 80 % interval, and how it stands to what was measured."""

    latency_s: float
    interval_s: tuple[float, float]
    provenance: str
    coverage: list[str]


class Trained:
    """A predictor that train() made, ready to answer; see also predict(predictor=PATH)."""

    def __init__(self, manifest: dict[str, Any], learner: Learner, path: Path | None = None) -> None:
        self.manifest = manifest
        self.path = path
        self._learner = learner

    @property
    def name(self) -> str:
        """Of the row that trained it: "transformer"."""
        return str(self.manifest["predictor"])

    @property
    def conditions(self) -> Conditions:
        """Where and how the nets that it was trained on were measured."""
        return Conditions(**self.manifest["trained_on"]["conditions"])

    @property
    def history(self) -> list[dict[str, float]]:
        """Of each epoch: training loss and validation error."""
        return list(self.manifest["history"])

    @property
    def search(self) -> dict[str, Any]:
        """Of a predictor whose depth was searched for: the one chosen, and the validation error of each."""
        if "searched" not in self.manifest:
            raise InvalidArgumentError(f"predictor '{self.name}' was trained without a search")
        return dict(self.manifest["searched"])

    @property
    def kinds(self) -> frozenset[str]:
        """Of the nets that it was trained on: nets.KINDS. Checkpoints that do not say it are of feed-forward nets."""
        return frozenset(self.manifest["trained_on"].get("kinds", ["fnn"]))

    def check_kinds(self, kinds: Iterable[str]) -> None:
        """Refuses nets of a kind that it was not trained on."""
        if other := set(kinds) - self.kinds:
            raise InvalidArgumentError(
                f"predictor '{self.name}' was trained on {words_of(self.kinds)}, {words_of(other)} are asked for: "
                "another predictor answers for them (leave predictor= out)"
            )

    def predict_nets(self, nets: Nets) -> np.ndarray:
        """[G] seconds; none below the fastest net of the training, where a straight line would go below zero."""
        self.check_kinds(nets.kinds)
        most = self.manifest["max_nodes"]
        if most is not None and nets.lengths.max(initial=0) > most:
            raise InvalidArgumentError(
                f"a net has {int(nets.lengths.max())} nodes, predictor '{self.name}' takes at most {most}"
            )
        return np.asarray(np.maximum(self._learner.predict(nets), self.manifest["trained_on"]["least_s"]))

    def attention(self, nets: Nets) -> np.ndarray:
        """[G, blocks, heads, N, N]: how much each node (row) attends to each other; transformers have it."""
        if not hasattr(self._learner, "attention"):
            raise InvalidArgumentError(f"predictor '{self.name}' is no transformer: it attends to nothing")
        return np.asarray(self._learner.attention(nets))

    def interval_factors(self, latency_s: np.ndarray) -> np.ndarray:
        """[G] what an 80 % interval of a predicted latency reaches from, by division, and to, by multiplication."""
        term = self.manifest["interval"]
        place = np.searchsorted(np.array(term["edges_s"]), latency_s, side="right")
        return np.asarray(np.exp(np.array(term["log_half_width"])[place]))

    def answer(self, graphs: Sequence[Graph], device_fingerprint: str | None, device: str) -> list[NetAnswer]:
        """For each graph in scope; an error that names the operator for another one. `device_fingerprint`: of this
        machine, None: `device` is another one."""
        read = [from_graph(graph) for graph in graphs]
        for graph in graphs:
            if graph.batch != self.conditions.batch:
                raise InvalidArgumentError(
                    f"predictor '{self.name}' was trained at batch {self.conditions.batch}, the graph has batch "
                    f"{graph.batch}: another predictor answers for it (leave predictor= out)"
                )
        nets = encode([(net.units, net.size) for net in read])
        seconds = self.predict_nets(nets)
        factors = self.interval_factors(seconds)
        return [
            self._answer(net, float(latency_s), math.log(factor), device_fingerprint, device)
            for net, latency_s, factor in zip(read, seconds, factors, strict=True)
        ]

    def _answer(
        self, net: PlainGraph, latency_s: float, half_width: float, fingerprint: str | None, device: str
    ) -> NetAnswer:
        measured = self.conditions
        outside = []
        if fingerprint != measured.device_fingerprint:
            outside.append(
                f"processor {device} was not measured: the predictor was trained on {measured.device_fingerprint}"
            )
            half_width = math.hypot(half_width, OTHER_DEVICE_HALF_WIDTH)
        if beyond := self._beyond(net):
            half_width = math.hypot(half_width, OUT_OF_RANGE_HALF_WIDTH)
        factor = math.exp(half_width)
        provenance = "extrapolated" if outside or beyond else "interpolated" if net.notes else "fitted"
        return NetAnswer(
            latency_s, (latency_s / factor, latency_s * factor), provenance, [*outside, *beyond, *net.notes]
        )

    def _beyond(self, net: PlainGraph) -> list[str]:
        """Where the net is larger than those that were measured."""
        scope = self.manifest["trained_on"]
        beyond = []
        if not scope["least_nodes"] <= len(net.units) <= scope["most_nodes"]:
            beyond.append(f"{len(net.units)} nodes: {scope['least_nodes']} to {scope['most_nodes']} were measured")
        most = scope.get("most_units_of", {}).get("cnn" if net.size else "fnn", scope["most_units"])
        if max(net.units) > most:
            beyond.append(f"a layer of {max(net.units)} units: up to {most} were measured")
        if net.size and net.size**2 not in scope["image_positions"]:
            sizes = ", ".join(f"{math.isqrt(count)} x {math.isqrt(count)}" for count in scope["image_positions"])
            beyond.append(f"images of {net.size} x {net.size}: {sizes} were measured")
        return beyond


def load(path: Path) -> Trained:
    """Reads a checkpoint; refuses one that does not fit this build, with the difference."""
    manifest, arrays = checkpoint_file.read(path)
    where = f"checkpoint '{path}'"
    expected = {"kind": KIND, "format_version": FORMAT_VERSION, "schema": SCHEMA}
    for name, value in expected.items():
        if manifest.get(name) != value:
            raise CheckpointError(
                f"{where}: {name} is {manifest.get(name)!r}, this build reads {value!r}; train the predictor again "
                "with this version",
                path=str(path),
            )
    if manifest.get("epochs_done") is None:
        raise CheckpointError(f"{where} has no epoch behind it; train the predictor", path=str(path))
    row = trainable_row(str(manifest["predictor"]))
    parameters = dict(manifest["hyper_parameters"])
    known = set(row.hyper_parameters(1))
    if set(parameters) != known:
        odd = ", ".join(sorted(set(parameters) ^ known))
        raise CheckpointError(
            f"{where} does not fit predictor '{row.name}' of this build, which has other hyper-parameters ({odd}); "
            "train it again with this version",
            path=str(path),
        )
    learner = row.make(int(manifest["seed"]), parameters)
    try:
        learner.load_arrays(arrays)
    except (KeyError, ValueError) as error:  # a missing array, or one of another shape
        raise CheckpointError(f"{where} is damaged: {error}", path=str(path)) from error
    return Trained(manifest, learner, path)

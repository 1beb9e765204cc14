"""From labelled networks to a trained pair: what classifies edges and what predicts kernels."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from latpred._core import unknown_name_message
from latpred.datasets.kernels import KernelRows
from latpred.datasets.label_table import NetworkLabels
from latpred.errors import InvalidArgumentError
from latpred.fusion import graph_arrays
from latpred.fusion.graph_arrays import Arrays
from latpred.fusion.inputs import AS_THEY_ARE, IN_A_NETWORK, derive, device_columns, num_operators
from latpred.fusion.network import NO_KERNEL, GraphNetwork, recipe, sizes_of, train

if TYPE_CHECKING:
    from latpred._predictors import GraphConfig

EpochDone = Callable[[int, float, float], None]
Group = tuple[NetworkLabels, np.ndarray]  # a network and some of its nodes


@dataclasses.dataclass(frozen=True)
class PairRecipe:
    """How both networks are made. Epochs are fewer where they would take more batches than `most_steps`."""

    name: str
    edges: str
    edge_inputs: str
    kernels: str
    kernel_inputs: str
    most_steps: tuple[int, int]
    validates_kernels: bool  # or learns kernels from all networks, and keeps the last weights

    @property
    def in_network(self) -> bool:
        """Whether kernels are told apart by the networks that they stand in."""
        return self.kernel_inputs == IN_A_NETWORK

    def config(self, name: str, graphs: int, epochs: int | None) -> GraphConfig:
        """For so many graphs; `epochs`: where somebody knows better."""
        config = recipe(name)
        most = self.most_steps[0] if config.task == "edges" else self.most_steps[1]
        steps = -(-graphs // config.batch_graphs)
        config.epochs = min(config.epochs, max(most // steps, 1)) if epochs is None else epochs
        return config


PAIRS = (
    PairRecipe("paper", "fusion_edges", AS_THEY_ARE, "fused_kernels", AS_THEY_ARE, (800, 1000), True),
    PairRecipe("ours", "fusion_edges_ours", "in context", "fused_kernels_ours", IN_A_NETWORK, (800, 3000), False),
)


def pair_recipe(name: str) -> PairRecipe:
    """The row of that name."""
    for row in PAIRS:
        if row.name == name:
            return row
    names = [row.name for row in PAIRS]
    raise InvalidArgumentError(unknown_name_message("pair of networks", name, names), valid=tuple(names))


@dataclasses.dataclass(frozen=True)
class Calls:
    """What all groups of a timed network took together. R calls, whose groups stand together."""

    first_group: np.ndarray  # [R + 1]: groups first_group[r] to [r + 1]
    counts: np.ndarray  # [G]: how often a kernel was executed for such a group
    total_s: np.ndarray  # [R]


@dataclasses.dataclass(frozen=True)
class Groups:
    """Groups of nodes of timed networks, equal ones once. G groups."""

    members: list[Group]
    latency_s: np.ndarray  # [G]: median of equal ones, copies that are charged to them included; NaN: no kernel
    type: list[str]  # the most frequent; NO_KERNEL
    count: np.ndarray  # [G]: equal ones
    calls: Calls | None = None  # where equal groups of different calls stay apart

    @property
    def devices(self) -> list[str]:
        """Those that the networks ran on."""
        return sorted({network.device for network, _ in self.members})

    def arrays(self, types: Sequence[str], devices: Sequence[str]) -> Arrays:
        """As a network of these devices learns from them; of groups without a kernel the type alone, and a type that is
        not among `types` has no label."""
        places = {name: place for place, name in enumerate(types)}
        arrays = arrays_of(self.members, devices) | {
            "targets": self.latency_s[:, None],
            "types": np.array([places.get(name, graph_arrays.NO_LABEL) for name in self.type], np.int64),
        }
        if self.calls is None:
            return arrays
        return arrays | {
            "first_term": self.calls.first_group,
            "counts": self.calls.counts,
            "sums": self.calls.total_s[:, None],
        }


def arrays_of(groups: Sequence[Group], devices: Sequence[str]) -> Arrays:
    """Groups as a network reads them that learnt on `devices`."""
    return graph_arrays.of_groups(groups, device_columns([network.device for network, _ in groups], devices))


def group_key(network: NetworkLabels, members: np.ndarray, in_network: bool = False) -> str:
    """The same for groups of a device whose nodes have the same operators, numbers and edges; in_network: and whose
    networks have the same numbers."""
    operators, features, edges = graph_arrays.subgraph(network, members)
    parts: tuple[np.ndarray, ...] = (operators, features, edges)
    if in_network:
        parts += (graph_arrays.network_numbers(network.features),)
    key = [np.ascontiguousarray(part).tobytes() for part in parts]
    return hashlib.sha256(b"|".join([network.device.encode(), *key])).hexdigest()


def timed_groups(rows: KernelRows, network: int) -> list[tuple[np.ndarray, float, str]]:
    """Of each group of a timed network its nodes, seconds with the copies that are charged to it (NaN: nothing was
    executed for it), and type."""
    found: dict[int, tuple[float, str]] = {}
    copies: defaultdict[int, float] = defaultdict(float)
    for row in np.flatnonzero(rows.network == network):
        if rows.group[row] < 0:
            copies[int(rows.charged_to[row])] += float(rows.latency_s[row])
        else:
            found[int(rows.group[row])] = (float(rows.latency_s[row]), rows.types[rows.type_id[row]])
    group = rows.networks[network].group
    order = np.argsort(group, kind="stable")
    numbers, begins = np.unique(group[order], return_index=True)
    result = []
    for number, members in zip(numbers.tolist(), np.split(order, begins[1:]), strict=True):
        seconds, kind = found.get(number, (np.nan, NO_KERNEL))
        result.append((members, seconds + copies[number], kind))
    return result


def groups_of(rows: KernelRows, networks: Sequence[int], in_network: bool = False) -> Groups:
    """The groups of these networks of the rows; in_network: equal ones of different calls stay apart, beside what each
    call took."""
    first: dict[tuple[int, str], Group] = {}
    seconds: dict[tuple[int, str], list[float]] = {}
    kinds: dict[tuple[int, str], Counter[str]] = {}
    ends = [0]
    for call, place in enumerate(networks):
        network = rows.networks[place]
        for members, latency_s, kind in timed_groups(rows, place):
            key = (call if in_network else 0, group_key(network, members))
            first.setdefault(key, (network, members))
            seconds.setdefault(key, []).append(latency_s)
            kinds.setdefault(key, Counter())[kind] += 1
        ends.append(len(first))
    known = [[s for s in some if s == s] for some in seconds.values()]
    return Groups(
        list(first.values()),
        np.array([np.median(some) if some else np.nan for some in known], np.float64),
        [counts.most_common(1)[0][0] for counts in kinds.values()],
        np.array([len(some) for some in seconds.values()], np.int64),
        _calls(known, ends) if in_network else None,
    )


def _calls(known: Sequence[Sequence[float]], ends: Sequence[int]) -> Calls:
    """known: the times of each group; ends: of each call's groups, 0 before the first."""
    summed = np.array([sum(some) for some in known])
    return Calls(
        np.array(ends, np.int64),
        np.array([len(some) for some in known], np.float64),
        np.array([summed[begin:end].sum() for begin, end in itertools.pairwise(ends)]),
    )


def fit_edges(
    pair: PairRecipe,
    training: Sequence[NetworkLabels],
    validation: Sequence[NetworkLabels],
    *,
    seed: int = 0,
    epochs: int | None = None,
    epoch_done: EpochDone | None = None,
) -> GraphNetwork:
    """What says which edges are fusible."""
    config = pair.config(pair.edges, len(training), epochs)
    graphs, held_out = graph_arrays.of_networks(training), graph_arrays.of_networks(validation)
    sizes = sizes_of(derive(pair.edge_inputs, graphs), num_operators(pair.edge_inputs))
    return train(config, sizes, graphs, held_out, seed=seed, inputs=pair.edge_inputs, epoch_done=epoch_done)


def fit_kernels(
    pair: PairRecipe,
    training: Groups,
    validation: Groups | None,
    *,
    seed: int = 0,
    epochs: int | None = None,
    epoch_done: EpochDone | None = None,
) -> GraphNetwork:
    """What says how long a group takes, and what kernel it becomes. Without a validation the last weights stay."""
    config = pair.config(pair.kernels, len(training.members), epochs)
    types = tuple(sorted(set(training.type)))
    devices = training.devices
    graphs = training.arrays(types, devices)
    held_out = None if validation is None else validation.arrays(types, devices)
    sizes = sizes_of(derive(pair.kernel_inputs, graphs), num_operators(pair.kernel_inputs), len(types))
    trained = train(
        config, sizes, graphs, held_out, seed=seed, classes=types, inputs=pair.kernel_inputs, epoch_done=epoch_done
    )
    trained.trained_on["devices"] = devices
    if pair.in_network:
        trained.trained_on["network_range"] = [
            graphs["networks"].min(axis=0).tolist(),
            graphs["networks"].max(axis=0).tolist(),
        ]
    return trained


def predict_kernels(kernels: GraphNetwork, groups: Sequence[Group]) -> Arrays:
    """What fit_kernels' network says of groups: 'targets' [G, 1] seconds, 'types' [G, K]."""
    return kernels.predict(arrays_of(groups, kernels.trained_on["devices"]))

"""One fit of one contestant, and what it scores on the networks that it never saw: plain values for a journal."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from latpred import _core
from latpred.datasets.label_table import NetworkLabels
from latpred.fusion import GraphNetwork, graph_arrays
from latpred.fusion.graph_arrays import Arrays
from latpred.fusion.learning import (
    Group,
    fit_edges,
    fit_kernels,
    group_key,
    groups_of,
    pair_recipe,
    predict_kernels,
)
from latpred.fusion.network import NO_KERNEL
from latpred.fusion.optimized import FUSIBLE
from lilou_baselines import KernelRegressors, Line, UsualType, fit_gcn, predict_gcn, rule_edges
from lilou_data import Data, Part

TOPS = (1, 2, 5)
ERROR_STEP = 0.005  # of the histogram that medians of kernels come from
MOST_STEPS = 400

Times = Callable[[Sequence[Group]], np.ndarray]
Types = Callable[[Sequence[Group]], list[list[str]]]


@dataclasses.dataclass(frozen=True)
class Job:
    """What is fitted."""

    contestant: str
    scheme: str
    fold: int
    seed: int

    @property
    def name(self) -> str:
        """Of its file."""
        return f"{self.contestant}-{self.scheme}-{self.fold}-{self.seed}"


class OncePerGroup:
    """Asks about equal groups once."""

    def __init__(self, keys: dict[tuple[int, bytes, bool], str]) -> None:
        self._keys = keys  # kept from fit to fit: hashing is slow

    def distinct(self, groups: Sequence[Group], in_network: bool = False) -> tuple[list[Group], np.ndarray]:
        """Groups that differ, and the place of each of `groups` among them. in_network: also by their networks."""
        place_of: dict[str, int] = {}
        kept: list[Group] = []
        places = []
        for network, members in groups:
            cached = (id(network), members.tobytes(), in_network)
            if cached not in self._keys:
                self._keys[cached] = group_key(network, members, in_network)
            key = self._keys[cached]
            if key not in place_of:
                place_of[key] = len(kept)
                kept.append((network, members))
            places.append(place_of[key])
        return kept, np.array(places, np.int64)


def edge_scores(networks: Sequence[NetworkLabels], fused: np.ndarray) -> dict[str, Any]:
    """Of each network: right and wrong edges; of each pair of operators that is ever fused: edges and right ones."""
    names = {row.id: row.name for row in _core.operators()}
    pairs: Counter[str] = Counter()
    right: Counter[str] = Counter()
    rows = []
    begin = 0
    for network in networks:
        said, true = fused[begin : begin + network.edges.shape[1]], network.edge_label == 1
        begin += network.edges.shape[1]
        counts = [int((said & true).sum()), int((said & ~true).sum()), int((~said & true).sum())]
        rows.append([network.recipe, network.family, *counts, int((~said & ~true).sum())])
        for edge in np.flatnonzero(true):
            pair = "-".join(names[int(network.operator_ids[end])] for end in network.edges[:, edge])
            pairs[pair] += 1
            right[pair] += bool(said[edge])
    return {"networks": rows, "pairs": {pair: [count, right[pair]] for pair, count in pairs.most_common()}}


def groups_from(network: NetworkLabels, fused: np.ndarray) -> list[Group]:
    """The groups that fused edges of a network make."""
    group = _core.extract_subgraphs(len(network.operator_ids), network.edges, fused)
    order = np.argsort(group, kind="stable")
    begins = np.unique(group[order], return_index=True)[1]
    return [(network, members) for members in np.split(order, begins[1:])]


def latency_scores(data: Data, places: Sequence[int], columns: dict[str, np.ndarray]) -> list[list[Any]]:
    """Of each timed network: recipe, family, size, batch, device, seconds, then what was predicted, by `columns`."""
    rows = []
    size_of = dict(zip(data.rows.network.tolist(), data.rows.size.tolist(), strict=True))
    for number, place in enumerate(places):
        network = data.rows.networks[place]
        told = [float(f"{values[number]:.5g}") for values in columns.values()]
        about = [network.recipe, network.family, size_of[place], network.batch, network.device]
        rows.append([*about, data.total_s[place], *told])
    return rows


def kernel_scores(
    data: Data, places: Sequence[int], seconds: np.ndarray, ranked: Sequence[list[str]]
) -> dict[str, Any]:
    """Of the true groups of timed networks, in order: errors of those that were executed, ranks of their types."""
    truth = [group for place in places for group in data.groups[place]]
    errors = defaultdict(list)
    families = [data.rows.networks[place].family for place in places for _ in data.groups[place]]
    tops: dict[str, list[int]] = {}
    for group, told, types, family in zip(truth, seconds.tolist(), ranked, families, strict=True):
        if group.type != NO_KERNEL:
            errors[family].append(abs(told / group.latency_s - 1))
        row = tops.setdefault(group.type, [0] * (1 + len(TOPS)))
        row[0] += 1
        for place, most in enumerate(TOPS):
            row[1 + place] += group.type in types[:most]
    every = np.concatenate([np.array(some) for some in errors.values()] or [np.empty(0)])
    steps = np.bincount(np.minimum(every / ERROR_STEP, MOST_STEPS).astype(int), minlength=1)
    return {
        "families": {
            family: [len(some), float(np.sum(some)), float(np.square(some).sum())] for family, some in errors.items()
        },
        "steps": steps.tolist(),
        "types": tops if any(ranked) else {},
    }


def score_groups(
    data: Data,
    part: Part,
    once: OncePerGroup,
    fused: np.ndarray | None,
    times: Times,
    types: Types | None,
    in_network: bool = False,
) -> dict[str, Any]:
    """Latencies with true groups and with those that `fused` edges make, and kernels."""
    places = part.test[1]
    networks = [data.rows.networks[place] for place in places]
    true_groups = [(network, group.members) for place, network in zip(places, networks, strict=True)
                   for group in data.groups[place]]  # fmt: skip
    counts = [len(data.groups[place]) for place in places]
    distinct, index = once.distinct(true_groups, in_network)
    seconds = times(distinct)[index]
    ranked = types(distinct) if types is not None else [[] for _ in distinct]

    def sums(values: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
        return np.array([part.sum() for part in np.split(values, np.cumsum(sizes)[:-1])])

    columns = {"true groups": sums(seconds, counts)}
    if fused is not None:
        begins = np.cumsum([0, *(network.edges.shape[1] for network in networks)])
        told = [groups_from(network, fused[begin:end])
                for network, begin, end in zip(networks, begins[:-1], begins[1:], strict=True)]  # fmt: skip
        distinct_told, places_told = once.distinct([group for groups in told for group in groups], in_network)
        columns["predicted groups"] = sums(times(distinct_told)[places_told], [len(groups) for groups in told])
    return {
        "columns": list(columns),
        "latency": latency_scores(data, places, columns),
        "kernels": kernel_scores(data, places, seconds, [ranked[place] for place in index]),
    }


def fusible(network: GraphNetwork, graphs: Arrays) -> np.ndarray:
    """[E] whether it says so."""
    return np.asarray(network.predict(graphs)["fusible"] > FUSIBLE)


def pair_job(
    job: Job, data: Data, part: Part, once: OncePerGroup, epochs: int | None, kept: list[Any]
) -> dict[str, Any]:
    """Edge classifier and kernel predictor, by the paper's recipe or by ours."""
    pair = pair_recipe(job.contestant)
    begin = time.process_time()
    edges = fit_edges(
        pair, data.labelled_at(part.training[0]), data.labelled_at(part.validation[0]), seed=job.seed, epochs=epochs
    )
    edges_done = time.process_time()
    networks = part.training[1] if pair.validates_kernels else part.training[1] + part.validation[1]
    validation = groups_of(data.rows, part.validation[1], pair.in_network) if pair.validates_kernels else None
    training = groups_of(data.rows, networks, pair.in_network)
    kernels = fit_kernels(pair, training, validation, seed=job.seed, epochs=epochs)
    kernels_done = time.process_time()
    kept += [edges, kernels]

    def times(groups: Sequence[Group]) -> np.ndarray:
        return predict_kernels(kernels, groups)["targets"][:, 0]

    def types(groups: Sequence[Group]) -> list[list[str]]:
        likeliest = np.argsort(-predict_kernels(kernels, groups)["types"], axis=1)[:, : max(TOPS)]
        return [[kernels.classes[place] for place in row] for row in likeliest]

    test = data.labelled_at(part.test[0])
    timed = [data.rows.networks[place] for place in part.test[1]]
    result = {
        "cpu_s": {"edges": edges_done - begin, "kernels": kernels_done - edges_done},
        "epochs": {"edges": edges.config.epochs, "kernels": kernels.config.epochs},
        "edges": edge_scores(test, fusible(edges, graph_arrays.of_networks(test))),
    }
    return result | score_groups(
        data, part, once, fusible(edges, graph_arrays.of_networks(timed)), times, types, pair.in_network
    )


def rules_job(
    job: Job, data: Data, part: Part, once: OncePerGroup, epochs: int | None, kept: list[Any]
) -> dict[str, Any]:
    """nn-Meter's way."""
    begin = time.process_time()
    regressors = KernelRegressors(groups_of(data.rows, part.training[1]), job.seed)
    done = time.process_time()
    test = data.labelled_at(part.test[0])
    timed = [data.rows.networks[place] for place in part.test[1]]
    result = {
        "cpu_s": {"kernels": done - begin},
        "edges": edge_scores(test, rule_edges(graph_arrays.of_networks(test))),
    }
    fused = rule_edges(graph_arrays.of_networks(timed))
    return result | score_groups(data, part, once, fused, regressors.predict, None)


def usual_job(
    job: Job, data: Data, part: Part, once: OncePerGroup, epochs: int | None, kept: list[Any]
) -> dict[str, Any]:
    """Types alone; how many of the tested kernels stand in the training as they are."""
    training = groups_of(data.rows, part.training[1])
    usual = UsualType(training)
    known = {group_key(*group) for group in training.members}
    true_groups = [(data.rows.networks[place], group.members) for place in part.test[1] for group in data.groups[place]]
    runs = np.array([group.type != NO_KERNEL for place in part.test[1] for group in data.groups[place]])
    distinct, index = once.distinct(true_groups)
    ranked = [usual.likeliest(group) for group in distinct]
    same = np.array([group_key(*group) in known for group in distinct])[index]
    scores = kernel_scores(data, part.test[1], np.ones(len(true_groups)), [ranked[place] for place in index])
    return {"identical": [int((same & runs).sum()), int(runs.sum())], "kernels": {"types": scores["types"]}}


def line_job(
    job: Job, data: Data, part: Part, once: OncePerGroup, epochs: int | None, kept: list[Any]
) -> dict[str, Any]:
    """FLOPs and parameters."""
    line = Line(data, part.training[1])
    told = line.predict(data, part.test[1])
    return {"columns": ["whole"], "latency": latency_scores(data, part.test[1], {"whole": told})}


def gcn_job(
    job: Job, data: Data, part: Part, once: OncePerGroup, epochs: int | None, kept: list[Any]
) -> dict[str, Any]:
    """BRP-NAS's way."""
    begin = time.process_time()
    network = fit_gcn(data, part.training[1], part.validation[1], job.seed, epochs)
    done = time.process_time()
    told = predict_gcn(network, data, part.test[1])
    return {
        "cpu_s": {"whole": done - begin},
        "epochs": {"whole": network.config.epochs},
        "columns": ["whole"],
        "latency": latency_scores(data, part.test[1], {"whole": told}),
    }


@dataclasses.dataclass(frozen=True)
class Contestant:
    """Who is compared; the cheap ones first: a budget of time is spent in this order."""

    name: str
    title: str
    run: Callable[[Job, Data, Part, OncePerGroup, int | None, list[Any]], dict[str, Any]]
    has_seeds: bool = True


CONTESTANTS = (
    Contestant("linear", "linear: FLOPs, parameters", line_job, has_seeds=False),
    Contestant("usual", "usual type of the operators", usual_job, has_seeds=False),
    Contestant("rules", "rules by hand + forests (nn-Meter)", rules_job),
    Contestant("ours", "ours", pair_job),
    Contestant("gcn", "graph network of the whole (BRP-NAS)", gcn_job),
    Contestant("paper", "the paper's recipe", pair_job),
)

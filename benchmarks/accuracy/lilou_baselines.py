"""What Lilou's predictors are held against: rules written by hand with a regressor for each kind of kernel (nn-Meter),
a graph network over the whole (BRP-NAS), a line in FLOPs and parameters, and the usual type of a set of operators."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from latpred import _core
from latpred.fusion import graph_arrays, recipe, sizes_of
from latpred.fusion.graph_arrays import Arrays
from latpred.fusion.inputs import device_columns, largest_of, sums_of
from latpred.fusion.learning import Group, Groups, arrays_of
from latpred.fusion.network import GraphNetwork, train
from lilou_data import Data

# nn-Meter (Zhang et al. 2021, section 4) finds by probes, for each pair of operators of a backend, whether the second
# joins the first, and writes the pairs down as rules; a producer with several consumers is not fused, and of several
# producers only one is. The pairs that OpenVINO's documentation of its CPU plugin names:
_PRODUCTS = ("conv", "conv_transpose", "gemm", "matmul", "linear")
_ACTIVATIONS = (
    "relu", "leaky_relu", "prelu", "clip", "elu", "gelu", "sigmoid", "silu", "hard_sigmoid", "hard_swish", "mish",
    "tanh", "softplus", "quick_gelu",
)  # fmt: skip
_POINTWISE = (*_ACTIVATIONS, "add", "sub", "mul", "div", "sqrt", "pow", "exp", "abs")
_PAIRS = (
    (_PRODUCTS, ("batch_norm", "bias_add", *_ACTIVATIONS, "add", "mul")),
    (("batch_norm",), (*_ACTIVATIONS, "add", "mul")),  # what follows a folded norm follows its convolution
    (_POINTWISE, _POINTWISE),
)

MIN_ROWS = 20  # for a regressor of its own
TREES = 30
GCN_WIDTH, GCN_LAYERS = 128, 4  # BRP-NAS has 600 and 4
GCN_EPOCHS, GCN_MOST_NODES = 60, 1_500_000  # nodes read in a training


def _ids(names: Sequence[str]) -> set[int]:
    of_name = {row.name: row.id for row in _core.operators()}
    return {of_name[name] for name in names}


def rule_edges(graphs: Arrays) -> np.ndarray:
    """[E] whether the rules fuse an edge."""
    producers, consumers = graphs["edges"]
    operators = graphs["operators"]
    num_consumers = np.bincount(producers, minlength=len(operators))
    last = np.full(len(operators), -1)
    np.maximum.at(last, consumers, producers)
    allowed = np.zeros(len(producers), bool)
    for first, second in _PAIRS:
        allowed |= np.isin(operators[producers], list(_ids(first))) & np.isin(operators[consumers], list(_ids(second)))
    return allowed & (num_consumers[producers] == 1) & (last[consumers] == producers)


def kind_of(group: Group) -> tuple[int, ...]:
    """The operators of a group, each once."""
    network, members = group
    return tuple(sorted(set(network.operator_ids[members].tolist())))


def _numbers(groups: Sequence[Group], devices: Sequence[str]) -> np.ndarray:
    """[G, columns] of each group: its sums, the numbers of the node with most FLOPs, and its device."""
    arrays = arrays_of(groups, devices)
    of_device = [arrays["columns"]] if "columns" in arrays else []
    return np.log1p(np.concatenate([sums_of(arrays), largest_of(arrays), *of_device], axis=1))


class KernelRegressors:
    """A random forest for each kind of kernel, as nn-Meter has; one over all for kinds that are too rare."""

    def __init__(self, training: Groups, seed: int) -> None:
        from sklearn.ensemble import RandomForestRegressor

        kinds = [kind_of(group) for group in training.members]
        runs = ~np.isnan(training.latency_s)
        self._devices = training.devices
        numbers = _numbers(training.members, self._devices)
        seconds = np.log(np.where(runs, training.latency_s, 1.0))
        places: dict[tuple[int, ...], list[int]] = defaultdict(list)
        executed: Counter[tuple[int, ...]] = Counter()
        for place, kind in enumerate(kinds):
            executed[kind] += int(training.count[place]) * (1 if runs[place] else -1)
            if runs[place]:
                places[kind].append(place)

        def fit(which: Sequence[int]) -> RandomForestRegressor:
            forest = RandomForestRegressor(TREES, min_samples_leaf=2, random_state=seed)
            return forest.fit(numbers[which], seconds[which])

        self._in_place = {kind for kind, votes in executed.items() if votes < 0}
        self._any = fit(np.flatnonzero(runs))
        self._of_kind = {kind: fit(which) for kind, which in places.items() if len(which) >= MIN_ROWS}

    def predict(self, groups: Sequence[Group]) -> np.ndarray:
        """[G] seconds."""
        kinds = [kind_of(group) for group in groups]
        numbers = _numbers(groups, self._devices)
        places: dict[tuple[int, ...] | None, list[int]] = defaultdict(list)
        for place, kind in enumerate(kinds):
            places[kind if kind in self._of_kind else None].append(place)
        result = np.empty(len(groups))
        for key, which in places.items():
            result[which] = np.exp((self._any if key is None else self._of_kind[key]).predict(numbers[which]))
        return np.where([kind in self._in_place for kind in kinds], 0.0, result)


class UsualType:
    """The most frequent types of the groups with the same operators on a device; of the same main operator, of all."""

    def __init__(self, training: Groups) -> None:
        counts: dict[object, Counter[str]] = defaultdict(Counter)
        for group, kind, count in zip(training.members, training.type, training.count.tolist(), strict=True):
            for key in self._keys(group):
                counts[key][kind] += count
        self._likeliest = {key: [name for name, _ in some.most_common()] for key, some in counts.items()}

    @staticmethod
    def _keys(group: Group) -> tuple[object, ...]:
        network, members = group
        main = int(network.operator_ids[members[network.features[members, 3].argmax()]])
        return ((network.device, *sorted(network.operator_ids[members].tolist())), main, None)

    def likeliest(self, group: Group) -> list[str]:
        """Types, the likeliest first."""
        found: list[str] = []
        for key in self._keys(group):
            found += [name for name in self._likeliest.get(key, ()) if name not in found]
        return found


class Line:
    """Seconds as FLOPs, parameters and a constant of each device, none of them negative: least squares of the relative
    error."""

    def __init__(self, data: Data, training: Sequence[int]) -> None:
        from scipy.optimize import nnls

        seconds = np.array([data.total_s[place] for place in training])
        self._slopes = nnls(self._design(data, training) / seconds[:, None], np.ones(len(seconds)))[0]

    @staticmethod
    def _design(data: Data, places: Sequence[int]) -> np.ndarray:
        networks = [data.rows.networks[place] for place in places]
        sums = np.array([network.features[:, [3, 2]].sum(axis=0) for network in networks])
        own = np.concatenate([sums * 1e-9, np.ones((len(sums), 1))], axis=1)
        runs_on = np.array([[network.device == device for device in data.devices] for network in networks])
        return (runs_on[:, :, None] * own[:, None, :]).reshape(len(own), -1)

    def predict(self, data: Data, places: Sequence[int]) -> np.ndarray:
        """[networks] seconds."""
        return self._design(data, places) @ self._slopes


def _whole(data: Data, places: Sequence[int]) -> Arrays:
    networks = [data.rows.networks[place] for place in places]
    arrays = graph_arrays.of_networks(networks, device_columns([network.device for network in networks], data.devices))
    del arrays["fusible"]
    return arrays


def fit_gcn(
    data: Data, training: Sequence[int], validation: Sequence[int], seed: int, epochs: int | None
) -> GraphNetwork:
    """BRP-NAS: four graph convolutions over the whole network, a number of all nodes, a regressor."""
    graphs, held_out = (
        _whole(data, places) | {"targets": np.array([[data.total_s[place]] for place in places])}
        for places in (training, validation)
    )
    bounded = max(GCN_MOST_NODES // len(graphs["nodes"]), 1)
    config = recipe(
        "pmgns_gcn", layers=GCN_LAYERS, width=GCN_WIDTH, l2_norm=False, readout="mean", dense_layers=1,
        dense_width=GCN_WIDTH, dropout=0.0, input_scale="log", scale="log", schedule="one_cycle", learning_rate=1e-3,
        batch_graphs=16, epochs=min(GCN_EPOCHS, bounded) if epochs is None else epochs,
    )  # fmt: skip
    return train(config, sizes_of(graphs, graph_arrays.num_operators()), graphs, held_out, seed=seed)


def predict_gcn(network: GraphNetwork, data: Data, places: Sequence[int]) -> np.ndarray:
    """[networks] seconds."""
    return network.predict(_whole(data, places))["targets"][:, 0]

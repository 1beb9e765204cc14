"""Mendoza and Wang's form of co-location: flattened graphs in slots, a straight line and a dense network.

The target comes first, its neighbours sorted after it, an empty slot is zero. A flattened graph is an operation and a
weight count for each node and the adjacency matrix: hundreds of thousands of columns for a network of hundreds of
nodes. Only inner products of such rows enter a straight line of least norm and the first layer of a network, so that
each of the few distinct graphs is written by as many coordinates as there are graphs, with the same inner products.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from latpred._core import Graph
from latpred.colocation.combination import Member, network_of
from latpred.colocation.rows import LabelledMember

SLOTS = 3
HIDDEN = 100
DEPTHS = range(1, 21)
EPOCHS = 100
SEED = 0


def inner_product(a: Graph, b: Graph, most_weight_bytes: float) -> float:
    """Of two flattened graphs: operations as one-hot columns, weights as shares of the largest, adjacency."""
    pairs = list(zip(a.nodes, b.nodes, strict=False))
    operations = sum(x.operator == y.operator for x, y in pairs)
    weights = sum(x.weight_bytes * y.weight_bytes for x, y in pairs) / most_weight_bytes**2
    edges = {tuple(edge) for edge in a.adjacency().tolist()} & {tuple(edge) for edge in b.adjacency().tolist()}
    return operations + weights + len(edges)


def coordinates(graphs: dict[str, Graph]) -> dict[str, np.ndarray]:
    """For each network [G] numbers whose inner products are those of the flattened graphs."""
    names = sorted(graphs)
    most = max(node.weight_bytes for graph in graphs.values() for node in graph.nodes)
    gram = np.array([[inner_product(graphs[a], graphs[b], most) for b in names] for a in names])
    values, vectors = np.linalg.eigh(gram)
    points = vectors * np.sqrt(np.maximum(values, 0))
    points /= np.sqrt(np.mean(np.sum(points**2, axis=1)))  # lengths near 1
    return dict(zip(names, points, strict=True))


def _slot(member: Member | None, points: dict[str, np.ndarray]) -> np.ndarray:
    """With batch and size, which the paper's networks do not vary."""
    if member is None:
        return np.zeros(len(points) + 2)
    size = float(member.recipe.rpartition("@")[2])
    return np.concatenate([points[network_of(member.recipe)], [np.log(member.batch), np.log(size / 224)]])


def features(rows: Sequence[LabelledMember], points: dict[str, np.ndarray]) -> np.ndarray:
    """[N, F]"""
    found = []
    for row in rows:
        slots: list[Member | None] = [row.target, *sorted(row.neighbours)]
        slots += [None] * (SLOTS - len(slots))
        found.append(np.concatenate([_slot(member, points) for member in slots]))
    return np.array(found)


def straight_line(train: np.ndarray, targets: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Least squares of least norm."""
    center, mean = train.mean(0), targets.mean()
    weights = np.linalg.lstsq(train - center, targets - mean, rcond=1e-6)[0]
    return (test - center) @ weights + mean


def dense_network(
    train: np.ndarray, targets: np.ndarray, test: np.ndarray, depth: int, epochs: int = EPOCHS
) -> np.ndarray:
    """That many hidden layers of HIDDEN; latpred's own trainer, on standardised columns."""
    from latpred._torch import predictors_module

    regressor = predictors_module().MlpRegressor(hidden=[HIDDEN] * depth)
    # Residuals stay below a thousand deviations: squared errors, as in the paper.
    regressor.fit(train, targets, epochs=epochs, batch_rows=32, learning_rate=1e-3, huber_delta=1e3, seed=SEED)
    return np.asarray(regressor.predict(test))


def search_depth(
    train: np.ndarray, targets: np.ndarray, dev: np.ndarray, dev_targets: np.ndarray
) -> tuple[int, list[float]]:
    """The depth with the smallest mean absolute error on rows that are not trained on, and the whole curve."""
    curve = [float(np.abs(dense_network(train, targets, dev, depth) - dev_targets).mean()) for depth in DEPTHS]
    return DEPTHS[int(np.argmin(curve))], curve

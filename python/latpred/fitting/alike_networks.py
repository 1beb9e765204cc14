"""Measured networks much like the asked one, and what they were off.

The learnt efficiencies are of single kernels; networks of one family are off together by what no kernel shows.

    log factor = sum K off / (sum K + 5) of all measured networks
               + sum K rest / (sum K + 1/2) of those on the device by the runtime, rest: what the first leaves

with K = exp(-distance^2 / (2 width^2)) between two networks, as the square roots of the shares that kinds of kernels
have of their time. It is that of FLOPs or activations, without weights, at the rates of one device (`nominal`): so the
factor is the same at every batch and on every part, and no device is slower for a higher peak. Far from all measured
networks the factor is one, and the distance to the nearest says how wide an interval must be (situation.py).
predict/alike_networks.cpp answers with both.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.fitting.checkpoint import OPERATOR_RECIPES
from latpred.fitting.kernel_terms import KINDS, KernelTable
from latpred.fitting.measurements import is_clear_of_floor

if TYPE_CHECKING:
    import pandas as pd

ARRAY = "alike_networks"  # [kinds + 3, P]: a signature, how many calls are near it, the sums of what they were off

WIDTH = 0.06  # chosen, with the next three, on recipes of known families and families left out
SHRINKAGE = 5.0  # calls that were off by nothing, beside those of all devices
SHRINKAGE_THERE = 0.5  # beside those on the device by the runtime
LARGEST_DISTANCE = np.sqrt(2)  # between two signatures
LARGEST_OFF = 0.5  # one call says no more, on the log scale
RADIUS = 0.05  # calls nearer than this to another on the same device are one point
DIGITS = 2  # of a stored signature
OFF_DIGITS = 3  # of a stored sum


def signatures(table: KernelTable) -> np.ndarray:
    """[N, kinds] of each call."""
    seconds = table.term("nominal") * table.count
    cell = table.call() * len(KINDS) + table.input_kind()[table.input]
    shares = np.bincount(cell, seconds, table.size * len(KINDS)).reshape(-1, len(KINDS))
    return np.asarray(np.sqrt(shares / np.maximum(shares.sum(axis=1, keepdims=True), np.finfo(float).tiny)))


def places(rows: pd.DataFrame) -> np.ndarray:
    """[N] "device|runtime"."""
    return np.asarray(rows.device + "|" + rows.runtime)


@dataclasses.dataclass(frozen=True)
class AlikeNetworks:
    """P points, those of each place together."""

    points_of: dict[str, int]  # how many points each place has, in their order
    points: np.ndarray  # [P, kinds]
    count: np.ndarray  # [P] calls
    off: np.ndarray  # [P] sums of log(measured / predicted)
    rest: np.ndarray  # [P] of what all devices together leave of it

    def log_factor(self, asked: np.ndarray, where: np.ndarray) -> np.ndarray:
        """[N] of signatures `asked` [N, kinds] on the devices and runtimes `where` [N]."""
        found, points_there = np.zeros(len(asked)), self._points_there()
        for place in np.unique(where):
            rows = np.flatnonzero(where == place)
            networks, which = np.unique(asked[rows], axis=0, return_inverse=True)  # most were timed at several batches
            near = _nearness(networks, self.points)
            factor = _drawn(near, self.off, self.count, SHRINKAGE)
            if place in points_there:
                there = points_there[place]
                factor += _drawn(near[:, there], self.rest[there], self.count[there], SHRINKAGE_THERE)
            found[rows] = factor[which.ravel()]
        return found

    def distance(self, asked: np.ndarray) -> np.ndarray:
        """[N] of signatures `asked` [N, kinds] to the nearest measured one."""
        return _distance(asked, self.points)

    def distance_there(self, asked: np.ndarray, where: np.ndarray) -> np.ndarray:
        """[N] of signatures `asked` [N, kinds] to the nearest one on the devices and runtimes `where` [N]."""
        found, points_there = np.full(len(asked), LARGEST_DISTANCE), self._points_there()
        for place in set(where) & set(points_there):
            rows = where == place
            found[rows] = _distance(asked[rows], self.points[points_there[place]])
        return found

    def _points_there(self) -> dict[str, slice]:
        ends = np.cumsum(list(self.points_of.values()))
        return {
            place: slice(int(end - count), int(end))
            for (place, count), end in zip(self.points_of.items(), ends, strict=True)
        }

    def arrays(self) -> dict[str, np.ndarray]:
        """What the checkpoint stores."""
        return {ARRAY: np.vstack([self.points.T, self.count, self.off, self.rest])}

    def manifest(self) -> dict[str, Any]:
        """What the array's parts mean."""
        return {
            ARRAY: {
                "places": [{"place": place, "points": points} for place, points in self.points_of.items()],
                "width": WIDTH,
                "shrinkage": SHRINKAGE,
                "shrinkage_there": SHRINKAGE_THERE,
            }
        }


def read(manifest: dict[str, Any], array: np.ndarray) -> AlikeNetworks:
    """What a checkpoint holds."""
    points, (count, off, rest) = array[: len(KINDS)].T, array[len(KINDS) :]
    places_of = {entry["place"]: entry["points"] for entry in manifest[ARRAY]["places"]}
    return AlikeNetworks(places_of, points, count, off, rest)


def _distance(asked: np.ndarray, points: np.ndarray) -> np.ndarray:
    """[n] to the nearest of `points` [P, kinds]."""
    from scipy.spatial import cKDTree

    found, _ = cKDTree(points).query(asked)
    return np.asarray(np.minimum(found, LARGEST_DISTANCE))


def _nearness(asked: np.ndarray, points: np.ndarray) -> np.ndarray:
    """[n, P]."""
    squares = (asked**2).sum(axis=1)[:, None] + (points**2).sum(axis=1) - 2 * asked @ points.T
    return np.asarray(np.exp(-np.maximum(squares, 0) / (2 * WIDTH**2)))


def _drawn(near: np.ndarray, off: np.ndarray, count: np.ndarray, shrinkage: float) -> np.ndarray:
    return np.asarray((near @ off) / (near @ count + shrinkage))


def _clusters(points: np.ndarray) -> np.ndarray:
    """[N] the place of each of `points` [N, kinds] among clusters of RADIUS."""
    unique, place = np.unique(points.round(DIGITS), axis=0, return_inverse=True)
    cluster = np.full(len(unique), -1)
    squares = (unique**2).sum(axis=1)
    number = 0
    for index in range(len(unique)):
        if cluster[index] >= 0:
            continue
        near = squares + squares[index] - 2 * unique @ unique[index] <= RADIUS**2
        cluster[near & (cluster < 0)] = number
        number += 1
    return np.asarray(cluster[place.ravel()])


def fit(table: KernelTable, predicted_s: np.ndarray) -> AlikeNetworks:
    """Of the whole networks in `table` whose latency says something about the device; `predicted_s` [N]."""
    is_told = ~table.rows.recipe.str.startswith(OPERATOR_RECIPES).to_numpy() & np.asarray(is_clear_of_floor(table.rows))
    asked = signatures(table)[is_told]
    of_operators_s = table.latency_s - table.beside_s
    with np.errstate(invalid="ignore"):  # a copy that took longer than the call says nothing
        log_ratio = np.nan_to_num(np.log(of_operators_s / (predicted_s - table.beside_s)))[is_told]
    log_ratio = log_ratio.clip(-LARGEST_OFF, LARGEST_OFF)
    where = places(table.rows)[is_told]
    points_of: dict[str, int] = {}
    points, count, off, cluster = [], [], [], np.zeros(len(asked), dtype=np.int64)
    for place in np.unique(where):
        rows = np.flatnonzero(where == place)
        own = _clusters(asked[rows])
        cluster[rows] = own + sum(points_of.values())
        of_cluster = np.bincount(own).astype(float)
        means = [np.bincount(own, column) / of_cluster for column in asked[rows].T]
        points_of[str(place)] = len(of_cluster)
        points.append(np.column_stack(means).round(DIGITS))
        count.append(of_cluster)
        off.append(np.bincount(own, log_ratio[rows]))
    made = AlikeNetworks(
        points_of,
        np.concatenate(points) if points else np.empty((0, len(KINDS))),
        np.concatenate(count) if count else np.empty(0),
        np.concatenate(off).round(OFF_DIGITS) if off else np.empty(0),
        np.zeros(sum(points_of.values())),
    )
    rest = np.bincount(cluster, log_ratio - made.log_factor(asked, np.full(len(asked), "")), len(made.rest))
    return dataclasses.replace(made, rest=rest.round(OFF_DIGITS))

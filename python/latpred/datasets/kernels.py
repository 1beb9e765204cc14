"""Times and kinds of the kernels that groups of nodes became, for learning: a row for each group that was executed."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from latpred.datasets import label_table
from latpred.datasets.label_table import Floats, Ints, NetworkLabels

_SIZE = re.compile(r"(?:@|[?&]size=)(\d+)")


@dataclasses.dataclass(frozen=True)
class KernelRows:
    """K rows. A group that became several kernels is one row: times summed, the type of the longest. What copies
    to other layouts (no group asks for them) is a row without nodes."""

    networks: tuple[NetworkLabels, ...]  # each with its batch: the graphs of the rows
    network: Ints  # [K]: place in `networks`
    group: Ints  # [K]: in that network; -1: a copy
    charged_to: Ints  # [K]: the group whose time a copy counts for; a group's own number
    node_offsets: Ints  # [K + 1]: the nodes of row i are nodes[node_offsets[i]:node_offsets[i + 1]]
    nodes: Ints  # in that network
    latency_s: Floats  # [K]: median of the runs
    noise: Floats  # [K]: robust standard deviation of the runs over latency_s, of the longest kernel
    type_id: Ints  # [K]: place in `types`
    types: tuple[str, ...]  # sorted
    size: Ints  # [K]: edge of the image; 0: no image
    batch: Ints  # [K]
    device: Ints  # [K]: place in `devices`
    devices: tuple[tuple[str, str], ...]  # fingerprint and state

    def __len__(self) -> int:
        return len(self.group)

    def members(self, row: int) -> Ints:
        """Nodes of a row."""
        return self.nodes[self.node_offsets[row] : self.node_offsets[row + 1]]


def tables_of(folder: Path) -> list[Path]:
    """The tables of timed kernels in a folder of labels, one for each processor."""
    return sorted(folder.glob("kernels*.parquet")) or [folder / "kernels.parquet"]  # none: whoever reads it says so


def load(*paths: str | Path) -> KernelRows:
    """The timed kernels of tables of labels, as of several processors."""
    return rows_of([network for path in paths for network in label_table.read(Path(path))])


def size_of(recipe: str) -> int:
    """The edge of the image that a recipe names; 0: it names none."""
    found = _SIZE.search(recipe)
    return int(found[1]) if found else 0


class _Row(NamedTuple):  # hundreds of thousands: a frozen dataclass takes three times as long
    network: int
    group: int
    charged_to: int
    nodes: list[int]
    latency_s: float
    noise: float
    type: str


def _rows_of_network(place: int, network: NetworkLabels) -> Iterator[_Row]:
    kernels_of: dict[int, list[int]] = {}
    groups = network.kernel_group.tolist()
    times, noise = network.kernel_s.tolist(), network.kernel_noise.tolist()
    for kernel, (group, time_s) in enumerate(zip(groups, times, strict=True)):
        if not math.isnan(time_s):
            # Each copy is a row of its own.
            kernels_of.setdefault(group if group >= 0 else -1 - kernel, []).append(kernel)
    nodes_of: dict[int, list[int]] = {}
    for node, group in enumerate(network.group.tolist()):
        nodes_of.setdefault(group, []).append(node)
    for key in sorted(kernels_of, key=lambda key: (key < 0, abs(key))):
        kernels = kernels_of[key]
        longest = max(kernels, key=times.__getitem__)
        group = key if key >= 0 else -1
        yield _Row(
            place,
            group,
            int(network.kernel_charged_to[longest]) if group < 0 else group,
            nodes_of.get(group, []),
            sum(times[kernel] for kernel in kernels),
            noise[longest],
            network.kernel_type[longest],
        )


def rows_of(networks: Sequence[NetworkLabels]) -> KernelRows:
    """A row for each group that became timed kernels, and for each timed copy."""
    rows = [row for place, network in enumerate(networks) for row in _rows_of_network(place, network)]
    types = tuple(sorted({row.type for row in rows}))
    type_of = {name: index for index, name in enumerate(types)}
    devices = tuple(sorted({(network.device_fingerprint, network.state) for network in networks}))
    counts = [len(row.nodes) for row in rows]

    def ints(values: Iterable[int]) -> Ints:
        return np.fromiter(values, np.int64)

    of_row = ints(row.network for row in rows)
    return KernelRows(
        networks=tuple(networks),
        network=of_row,
        group=ints(row.group for row in rows),
        charged_to=ints(row.charged_to for row in rows),
        node_offsets=np.concatenate([[0], np.cumsum(ints(counts))]).astype(np.int64),
        nodes=ints(node for row in rows for node in row.nodes),
        latency_s=np.array([row.latency_s for row in rows], np.float64),
        noise=np.array([row.noise for row in rows], np.float64),
        type_id=ints(type_of[row.type] for row in rows),
        types=types,
        size=ints(size_of(network.recipe) for network in networks)[of_row],
        batch=ints(network.batch for network in networks)[of_row],
        device=ints(devices.index((network.device_fingerprint, network.state)) for network in networks)[of_row],
        devices=devices,
    )

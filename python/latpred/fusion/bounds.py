"""What a kernel must move and compute, and how long the rates of a device allow that to take at best."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from latpred import _core

if TYPE_CHECKING:
    from latpred._core import Graph


class Bounds:
    """Of any group of nodes of a graph. Without a device: the traffic alone."""

    def __init__(
        self, graph: Graph, device: str | None = None, *, partition: str = "", runtime: str = "eager",
        precision: str = "default",
    ) -> None:  # fmt: skip
        self._graph = graph
        self._nodes = graph.nodes
        self._flops = np.array([node.flops * node.repeat for node in self._nodes], np.float64)
        self._peak = np.full(len(self._nodes), np.nan)  # of the arithmetic that the runtime computes each node in
        self._bandwidth = np.nan
        if device is not None:
            made = _core.fuse(graph, runtime, precision)
            features = _core.featurize(made, device, partition)
            if made.rows:
                self._bandwidth = float(features.bandwidth_bytes_per_s.max())
                self._peak[:] = float(features.peak_flops_per_s.max())
            for kernel, peak in zip(made.rows, features.peak_flops_per_s, strict=True):
                self._peak[kernel.members] = peak

    @cached_property
    def _consumers(self) -> dict[int, list[int]]:
        """Tensor -> nodes that read it; -1 stands for the network's caller."""
        found: dict[int, list[int]] = {}
        for place, node in enumerate(self._nodes):
            for tensor_id in {tensor.id for tensor in node.inputs if tensor is not None}:
                found.setdefault(tensor_id, []).append(place)
        for tensor in self._graph.outputs:
            found.setdefault(tensor.id, []).append(-1)
        return found

    def saved_bytes(self, members: Sequence[int]) -> float:
        """Of tensors that are made and read inside: the reads, and the write where nobody else reads it."""
        inside, saved = set(members), 0.0
        if len(inside) < 2:
            return saved
        for place in members:
            node = self._nodes[place]
            for tensor in node.outputs:
                readers = self._consumers.get(tensor.id, []) if tensor is not None else []
                kept = sum(reader in inside for reader in readers)
                if tensor is not None and kept:
                    saved += tensor.size_bytes * (kept + (kept == len(readers))) * node.repeat
        return saved

    def traffic_bytes(self, members: Sequence[int]) -> float:
        """Every tensor from outside once, weights among them, and every one that is read outside."""
        inside, made, read = set(members), {}, {}
        for place in members:
            node = self._nodes[place]
            made.update({t.id: t.size_bytes * node.repeat for t in node.outputs if t is not None})
            read.update({t.id: t.size_bytes * node.repeat for t in node.inputs if t is not None})
        taken = sum(size for tensor_id, size in read.items() if tensor_id not in made)
        given = sum(
            size
            for tensor_id, size in made.items()
            if any(reader not in inside for reader in self._consumers.get(tensor_id, [-1]))
        )
        return float(taken + given)

    def of(self, members: Sequence[int]) -> tuple[str, float | None]:
        """ "compute" or "memory", and the longer of both times; nothing where the rates are not known."""
        some = list(members)
        if not some or np.isnan(self._bandwidth):
            return "", None
        compute_s = float((self._flops[some] / self._peak[some]).sum())
        memory_s = self.traffic_bytes(some) / self._bandwidth
        return ("compute" if compute_s > memory_s else "memory"), max(compute_s, memory_s)

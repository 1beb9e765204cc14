"""gavel's training jobs as members: all that is known of them are the times of an iteration alone, on three GPUs.

An iteration is its host's part, which no GPU shortens, and its GPU's part, which goes with the memory's bandwidth. The
times on two GPUs tell them apart, so that no time beside another job is needed to say how busy a job keeps its GPU.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from latpred import _core

if TYPE_CHECKING:
    import pandas as pd

_SLOW, _FAST = "K80", "P100-PCIe-16GB"
# One of the two processors of a K80: 480 GB/s for both (NVIDIA Tesla K80 board specification).
_K80_BYTES_PER_S = 240e9
_LEAST_BUSY = 0.05
_BUSY = _core.ResourceProfile(latency_s=1.0, busy_share=1.0, sm_share=1.0, memory_share=0.0)


def _bytes_per_s(device: str) -> float:
    return _K80_BYTES_PER_S if device == _SLOW else _core.device(device).bandwidth_bytes_per_s


class Jobs:
    """Of all pairs of jobs in a table."""

    def __init__(self, pairs: pd.DataFrame) -> None:
        keys = zip(pairs.device, pairs.network, pairs.batch, strict=True)
        self._alone_s: dict[tuple[str, str, int], float] = dict(zip(keys, pairs.alone_s, strict=True))

    def busy_share(self, device: str, network: str, batch: int) -> float:
        """Of its time alone in which a job keeps its GPU busy; 1 where it ran on one GPU only."""
        slow_s, fast_s = (self._alone_s.get((name, network, batch)) for name in (_SLOW, _FAST))
        if slow_s is None or fast_s is None:
            return 1.0
        fast_gpu_s = (slow_s - fast_s) / (_bytes_per_s(_FAST) / _bytes_per_s(_SLOW) - 1)
        gpu_s = fast_gpu_s * _bytes_per_s(_FAST) / _bytes_per_s(device)
        return min(1.0, max(_LEAST_BUSY, gpu_s / self._alone_s[device, network, batch]))

    def profile(self, device: str, network: str, batch: int) -> _core.ResourceProfile:
        share = self.busy_share(device, network, batch)
        latency_s = self._alone_s[device, network, batch]
        return _core.ResourceProfile(latency_s=latency_s, busy_share=share, sm_share=share, memory_share=0.0)

    def terms(self, pairs: pd.DataFrame, sharing: str) -> list[list[float]]:
        """Of each row's job beside its neighbour."""
        return [
            _core.interference(
                sharing,
                [
                    self.profile(row.device, row.network, row.batch),
                    self.profile(row.device, row.neighbour, row.neighbour_batch),
                ],
                0,
            )
            for row in pairs.itertuples(index=False)
        ]


def slice_terms(rows: pd.DataFrame) -> list[list[float]]:
    """Of a MIG slice beside others, of which nothing is known but that they are busy."""
    return [_core.interference("mig", [_BUSY, _BUSY], 0) for _ in range(len(rows))]

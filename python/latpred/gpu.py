"""NVIDIA GPUs as measuring instruments: clocks on streams, graphs, parts of the multiprocessors, energy, memory."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from latpred._core import (
    CudaClock,
    CudaGraph,
    EnergyWindow,
    Gpu,
    GpuFacts,
    GpuMemory,
    GpuState,
    SmPartition,
    cuda_unavailable_reason,
    gpu_facts,
    measure,
)
from latpred.protocol import make_protocol

if TYPE_CHECKING:
    from latpred._core import Measurement, Protocol


def measure_on_gpu(
    run_once: Callable[[], Any],
    gpu: Gpu,
    *,
    stream: int | None = None,
    protocol: str | Protocol = "default",
    flush_l2: bool = False,
    block_stream: bool = True,
) -> Measurement:
    """The GPU's time for what run_once() queues, without the host's.

    stream: its handle (torch.cuda.Stream.cuda_stream, SmPartition.stream); None: PyTorch's current one, or the default.
    flush_l2: overwrite the L2 cache before each sample.
    block_stream: hold the stream back until all is queued, so that launches cost nothing; given up, and said in the
        measurement's clock, where run_once waits for the GPU itself.
    """
    handle = current_stream(gpu.facts.index) if stream is None else stream
    clock = CudaClock(gpu, handle, flush_l2=flush_l2, block_stream=block_stream)
    return measure(run_once, make_protocol(protocol), clock)


def current_stream(index: int = 0) -> int:
    """The stream that PyTorch queues on, where this process has it and its CUDA; else the default one."""
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available():
        return 0
    return int(torch.cuda.current_stream(index).cuda_stream)


__all__ = [
    "CudaClock",
    "CudaGraph",
    "EnergyWindow",
    "Gpu",
    "GpuFacts",
    "GpuMemory",
    "GpuState",
    "SmPartition",
    "cuda_unavailable_reason",
    "current_stream",
    "gpu_facts",
    "measure_on_gpu",
]

"""What a torch module allocates: the CPU profiler's allocation events, each with the operator around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile

# Allocations that are gone when their operator returns and that another device, or another build of the CPU libraries,
# does not make. Each with the operator that returns, a second one that must be around it ("": none), and why.
SCRATCH = (
    ("aten::conv1d", "", "oneDNN's blocked copies of input, weight and output"),
    ("aten::conv2d", "", "oneDNN's blocked copies of input, weight and output"),
    ("aten::conv_transpose2d", "", "oneDNN's blocked copies of input, weight and output"),
    ("aten::upsample_nearest2d", "", "the CPU kernel works on channels-last copies"),
    ("aten::upsample_bilinear2d", "", "the CPU kernel works on channels-last copies"),
    ("aten::_scaled_dot_product_flash_attention_for_cpu", "", "tiles of the CPU kernel, one set for each thread"),
    ("aten::mean", "aten::div_", "the number of elements, wrapped as a tensor"),
)
# A copy that makes a strided input contiguous happens on every device: no scratch.
CONTIGUOUS = "aten::contiguous"
WRAPPED_NUMBER_BYTES = 8  # a Python number as a tensor: in the host's memory on every device


@dataclass
class Allocation:
    size_bytes: int
    operators: tuple[tuple[str, int], ...]  # around it, outermost first: name and number of the call
    freed_in: tuple[tuple[str, int], ...] | None = None
    start: int = 0  # position in the sequence of events
    end: int | None = None

    @property
    def scratch_of(self) -> str | None:
        names = [name for name, _ in self.operators]
        if self.size_bytes <= WRAPPED_NUMBER_BYTES and (not names or "aten::_to_copy" in names):
            return "wrapped number"
        if self.freed_in is None or (CONTIGUOUS in names and "upsample" not in names[0]):
            return None
        for operator, inner, _ in SCRATCH:
            calls = {call for name, call in self.operators if name == operator}
            if (not inner or inner in names) and any(call in calls for _, call in self.freed_in):
                return operator
        return None


@dataclass
class AllocatorTruth:
    """Peaks in bytes: of everything, without scratch, and of the scratch of each operator on its own."""

    total_peak: int = 0
    activation_peak: int = 0
    live_at_end: int = 0
    scratch_peaks: Counter[str] = field(default_factory=Counter)
    allocations: list[Allocation] = field(default_factory=list)


def record(module: nn.Module, inputs: Sequence[Tensor], *, gradients: bool) -> AllocatorTruth:
    with torch.set_grad_enabled(gradients):
        module(*inputs)  # what the first call alone allocates (library caches) is not activations
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as run:
            outputs = module(*inputs)
    events: list[tuple[int, int, int, tuple[tuple[str, int], ...]]] = []
    calls = 0

    def walk(event, around: tuple[tuple[str, int], ...]) -> None:
        nonlocal calls
        if event.tag.name == "Allocation":
            events.append((event.start_time_ns, event.extra_fields.alloc_size, event.extra_fields.ptr, around))
        calls += 1
        inside = (*around, (event.name, calls))
        for child in event.children:
            walk(child, inside)

    for root in run.profiler.kineto_results.experimental_event_tree():
        walk(root, ())
    del outputs  # alive until here: what backward and the caller need is in the profile
    return _follow(sorted(events, key=lambda event: event[0]))


def _follow(events: list[tuple[int, int, int, tuple[tuple[str, int], ...]]]) -> AllocatorTruth:
    truth = AllocatorTruth()
    open_at: dict[int, Allocation] = {}
    order: list[tuple[Allocation, bool]] = []
    for position, (_, size, pointer, around) in enumerate(events):
        if size > 0:
            made = Allocation(size, around, start=position)
            open_at[pointer] = made
            truth.allocations.append(made)
            order.append((made, True))
        elif pointer in open_at:  # else it was made before the profile began
            freed = open_at.pop(pointer)
            freed.freed_in, freed.end = around, position
            order.append((freed, False))
    total = activations = 0
    scratch: Counter[str] = Counter()
    for allocation, is_made in order:
        change = allocation.size_bytes if is_made else -allocation.size_bytes
        total += change
        truth.total_peak = max(truth.total_peak, total)
        kind = allocation.scratch_of
        if kind is None:
            activations += change
            truth.activation_peak = max(truth.activation_peak, activations)
        else:
            scratch[kind] += change
            truth.scratch_peaks[kind] = max(truth.scratch_peaks[kind], scratch[kind])
    truth.live_at_end = total
    return truth

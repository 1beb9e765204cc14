"""Timing of one call, as predictions mean it: on its batch, warmed up, from the call to its result on the device."""

from __future__ import annotations

import dataclasses
import statistics
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from latpred.errors import InvalidArgumentError, ProfilerError
from latpred.optional import need

if TYPE_CHECKING:
    import torch

_WARM_SECONDS = 1.0  # clocks rise, algorithms are chosen
_WARM_CALLS = 10
_TIMED_SECONDS = 1.0
_FEWEST_CALLS = 10
_MAX_CALLS = 2000


@dataclasses.dataclass(frozen=True)
class Measured:
    """The median of some calls."""

    seconds: float
    spread: float  # relative standard deviation, from the quartiles: one interrupted call does not count
    calls: int


@dataclasses.dataclass(frozen=True)
class Clock:
    """Where calls are timed."""

    device: str  # torch's name
    synchronize: Callable[[], None]  # returns when the device has nothing left to do
    now: Callable[[], float] = time.perf_counter


def measure(call: Callable[[], Any], clock: Clock) -> Measured:
    """Times `call` until a second is full, after a second of warming up."""

    def timed() -> float:
        clock.synchronize()
        start = clock.now()
        call()
        clock.synchronize()
        return clock.now() - start

    def until(seconds: float, fewest: int) -> list[float]:
        times: list[float] = []
        while (sum(times) < seconds or len(times) < fewest) and len(times) < _MAX_CALLS:
            times.append(timed())
        return times

    until(_WARM_SECONDS, _WARM_CALLS)
    times = until(_TIMED_SECONDS, _FEWEST_CALLS)
    median = statistics.median(times)
    if not median > 0:
        raise ProfilerError(f"the clock of '{clock.device}' does not advance: {len(times)} calls took {sum(times)} s")
    low, _, high = statistics.quantiles(times, n=4)
    return Measured(median, (high - low) / 1.349 / median, len(times))  # 1.349 deviations of the normal distribution


def cuda_clock() -> Clock:
    """This machine's GPU."""
    torch = need("torch", "torch", "timing networks")
    if not torch.cuda.is_available():
        raise ProfilerError("timing needs a GPU that torch can use here, and torch finds none; list the networks "
                            "without --run and time them where the GPU is")  # fmt: skip
    return Clock("cuda", torch.cuda.synchronize)


def cuda_device_name() -> str:
    """The vendor's name of the GPU."""
    return str(need("torch", "torch", "timing networks").cuda.get_device_name())


def cuda_fingerprint() -> str:
    """What the GPU and its software say of themselves."""
    torch = need("torch", "torch", "timing networks")
    return f"{cuda_device_name()}, torch {torch.__version__}, CUDA {torch.version.cuda}"


# How a module is run at each precision that is timed here.
_PRECISIONS: tuple[str, ...] = ("default", "amp")


def check_precision(precision: str) -> None:
    if precision not in _PRECISIONS:
        raise InvalidArgumentError(
            f"--run times precision {' or '.join(_PRECISIONS)}, got '{precision}'; time the others yourself",
            valid=list(_PRECISIONS),
        )


def measure_module(
    module: torch.nn.Module, sizes: Iterable[int], batch: int, clock: Clock, precision: str = "default"
) -> Measured:
    """A module of one image input, its input on the device already."""
    check_precision(precision)
    torch = need("torch", "torch", "timing networks")
    module = module.to(clock.device).eval()
    image = torch.zeros((batch, *sizes), device=clock.device)
    with torch.inference_mode(), torch.autocast(clock.device, dtype=torch.float16, enabled=precision == "amp"):
        return measure(lambda: module(image), clock)

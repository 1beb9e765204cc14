"""Work side by side, in processes of one thread each."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from typing import TypeVar

WORKERS = 2

Made = TypeVar("Made")


def side_by_side(calls: Sequence[Callable[[], Made]], lone_here: bool = False) -> Iterator[Made]:
    """What each of `calls`, which can be pickled, returns, as they end. `lone_here`: a lone one needs no process of its
    own, whatever number of threads this one has."""
    if not calls:
        return
    if lone_here and len(calls) == 1:
        yield calls[0]()
        return
    os.environ["OMP_NUM_THREADS"] = "1"
    with ProcessPoolExecutor(WORKERS, mp_context=multiprocessing.get_context("spawn")) as pool:
        for made in as_completed([pool.submit(call) for call in calls]):
            yield made.result()

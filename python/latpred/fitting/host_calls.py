"""What is known beforehand of the host's time: for each kind of operator of eager PyTorch, and by the age of a card.
Of compiled code, that a kernel takes as long whatever its kind.

Tables of the last years hardly show it: they were timed at batches that fill the device. What the operators of today's
PyTorch take beside one another was measured without a GPU (``python benchmarks/host_calls.py``): one call on tensors so
small that nothing is computed, to which one launch by the driver is added. How long a machine takes for all of them is
fitted, and by how much a year changes it.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from latpred import _core
from latpred.fitting.kernel_terms import KINDS

# Seconds of one call, PyTorch 2.13 on one core of a Xeon with AMX: `python benchmarks/host_calls.py`. Only their ratios
# count: how long a machine takes for all is fitted.
CALL_S = {
    "conv": 10.3e-6, "matmul": 6.4e-6, "batch_matmul": 2.2e-6, "attention": 7.1e-6, "batch_norm": 11.1e-6,
    "layer_norm": 6.6e-6, "group_norm": 8.2e-6, "softmax": 2.0e-6, "unary": 2.2e-6, "binary": 1.4e-6, "pool": 4.2e-6,
    "reduce": 5.3e-6, "copy": 2.5e-6, "cast": 1.8e-6, "concat": 1.5e-6, "index": 4.2e-6, "resize": 6.7e-6,
    "view": 1.4e-6,
}  # fmt: skip
# Views were measured later, on an EPYC where the others take 0.6 of these: 0.6 us a permutation.
NOT_LAUNCHED = ("view",)
LAUNCH_S = 4.25e-6  # the middle of 2.5 to 6 us for one launch by the CUDA driver (kernels/runtime.cpp)

# One call of the same library whatever the window and the groups.
SAME_CALL = {"conv_1x1": "conv", "conv_grouped": "conv", "conv_depthwise": "conv"}

KIND_SD = 0.3  # of the ratio of two kinds of one machine and PyTorch beside that of another, on the log scale
# Runtimes whose launches take what the host's processor makes of them, which is slower where old cards stand: eager
# tables of Pascal to Volta show 1.4 to 2.5 times what those of newer chips do.
PACED_BY_THE_HOST = ("eager", "compiled")
# Of these, those that call an operator for each launch: with one time for all kinds FBNet, left out, came out at half.
BY_KIND = ("eager",)
# Of what a year changes, and of the time for a runtime's launches: what compiled code takes was read off its calls.
COLUMN_SD = (0.1, 1.0, 0.3)

# When NVIDIA introduced them (its white papers): machines are bought with their cards.
YEARS = {
    "Pascal": 2016, "Volta": 2017, "Turing": 2018, "Ampere": 2020, "Ada": 2022, "Hopper": 2022, "Blackwell": 2024,
}  # fmt: skip
REFERENCE_YEAR = 2022


def age(device: str) -> float:
    """Years by which GPUs of its architecture are newer than those of REFERENCE_YEAR."""
    return float(YEARS[_core.device(device).architecture] - REFERENCE_YEAR)


def kinds() -> list[str]:
    """Those that take their own time, once for all of one call."""
    return [kind for kind in KINDS if kind not in SAME_CALL]


def places() -> np.ndarray:
    """[kinds of kernels] the place in kinds()."""
    found = {kind: place for place, kind in enumerate(kinds())}
    return np.array([found[SAME_CALL.get(kind, kind)] for kind in KINDS])


def columns(rows: pd.DataFrame) -> np.ndarray:
    """[N, 1 + runtimes] what is known of the host of each call: the age of its card, and which runtime launches."""
    ages = {device: age(device) for device in rows.device.unique()}
    return np.column_stack([rows.device.map(ages), *(rows.runtime == name for name in PACED_BY_THE_HOST)])


def of_runtime(column_effects: np.ndarray, runtime: str) -> float:
    """What the fitted effects of columns() say of all launches by `runtime`, on the log scale."""
    return float(column_effects[1 + PACED_BY_THE_HOST.index(runtime)])


def weights() -> np.ndarray:
    """[kinds] what a launch takes over the runtime's own time for one; a kind not measured counts as binary."""
    of_launch_s = _core.runtime("eager").host_s_per_launch
    call_s = np.array([CALL_S.get(kind, CALL_S["binary"]) for kind in kinds()])
    launch_s = np.where(np.isin(kinds(), NOT_LAUNCHED), 0.0, LAUNCH_S)
    return np.asarray((call_s + launch_s) / of_launch_s)

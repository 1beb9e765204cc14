"""Prints what eager PyTorch itself takes for each kind of operator on this processor, before the driver launches it
(fitting/host_calls.py holds the figures of one machine).

python benchmarks/host_calls.py [--rounds 25]

Tensors of a few numbers, so that next to nothing is computed; modules where networks have modules; one thread. A kind
whose CPU kernel computes for long even then (GELU, depth-wise convolutions) is shown by another of its kind. All kinds
run in turn, so that a busy machine takes longer for all of them alike: read their ratios. Beside them stands what the
shipped predictor has made of such a start; and what calls of FBNet's networks take that no operator explains.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from latpred import _core
from latpred.datasets import fbnet
from latpred.datasets.mobile_blocks import numbers
from latpred.datasets.recipe import parse
from latpred.fitting import checkpoint, host_calls, ship
from latpred.fitting.kernel_terms import KINDS
from latpred.fitting.measurements import is_latency
from scipy.optimize import least_squares
from speed.common import paired
from torch import nn
from torch.nn import functional

MEASUREMENTS = Path(__file__).resolve().parents[1] / "data" / "measurements"
NOISE = 0.01  # of a call's latency
CHANNELS = 8
CALLS = 300  # timed together
UNMEASURED = "B200-SXM-180GB"


def calls() -> dict[str, Callable[[], torch.Tensor]]:
    """By kind of kernel."""
    image = torch.randn(1, CHANNELS, 2, 2)
    tokens = torch.randn(1, 4, CHANNELS)
    heads = torch.randn(1, 2, 4, CHANNELS)
    pairs = torch.randn(2, 4, CHANNELS)
    conv = nn.Conv2d(CHANNELS, CHANNELS, 3, padding=1, bias=False).eval()
    batch_norm, group_norm = nn.BatchNorm2d(CHANNELS).eval(), nn.GroupNorm(2, CHANNELS)
    linear, layer_norm, relu = nn.Linear(CHANNELS, CHANNELS), nn.LayerNorm(CHANNELS), nn.ReLU(inplace=True)
    pool, index = nn.MaxPool2d(2), torch.zeros(1, 4, dtype=torch.long)
    return {
        "conv": lambda: conv(image),
        "matmul": lambda: linear(tokens),
        "batch_matmul": lambda: torch.bmm(pairs, pairs.transpose(1, 2)),
        "attention": lambda: functional.scaled_dot_product_attention(heads, heads, heads),
        "batch_norm": lambda: batch_norm(image),
        "layer_norm": lambda: layer_norm(tokens),
        "group_norm": lambda: group_norm(image),
        "softmax": lambda: tokens.softmax(-1),
        "unary": lambda: relu(image),
        "binary": lambda: image + image,
        "pool": lambda: pool(image),
        "reduce": lambda: image.mean((2, 3)),
        "copy": lambda: tokens.transpose(1, 2).contiguous(),
        "cast": lambda: image.to(torch.float16),
        "concat": lambda: torch.cat([image, image], 1),
        "index": lambda: functional.embedding(index, linear.weight),
        "resize": lambda: functional.interpolate(image, scale_factor=2.0, mode="nearest"),
        "view": lambda: heads.permute(0, 2, 1, 3),
    }


def together(call: Callable[[], object]) -> Callable[[], None]:
    def run() -> None:
        for _ in range(CALLS):
            call()

    return run


def _blocks(recipe: str) -> np.ndarray:
    """[5] of a network of FBNet's space: blocks where a skip leaves nothing, without groups and with, the same where it
    leaves a convolution, its norm and an activation, and 1."""
    counts = np.zeros(5)
    counts[4] = 1
    first_layers = np.cumsum(fbnet.LAYERS)[:-1]  # of stages that change the width: all but the first
    for layer, choice in enumerate(numbers(parse(recipe).parameters["ops"])):
        block = fbnet.BLOCKS[choice]
        if block is not None:
            counts[2 * (layer in first_layers) + (block.groups > 1)] += 1
    return counts


def beside_operators(rows: pd.DataFrame) -> pd.DataFrame:
    """By card, of calls of FBNet's networks at batch 1: the seconds that no operator explains, and how far off counts
    of blocks are, in per cent."""
    of_kind = {kind: call_s + host_calls.LAUNCH_S for kind, call_s in host_calls.CALL_S.items()}
    with_norm, activation = of_kind["conv"] + of_kind["batch_norm"], of_kind["unary"]
    # All blocks skipped leave the stem, the head, six skips that change the width, and the classifier; a block where
    # that is so takes two more convolutions and an activation than its skip.
    left = 8 * (with_norm + activation) + of_kind["pool"] + host_calls.CALL_S["view"] + of_kind["matmul"]
    of_block = 2 * with_norm + activation
    found = {}
    for device, of_device in rows.groupby("device"):
        shares = np.stack([_blocks(recipe) for recipe in of_device.recipe]) / of_device.value.to_numpy()[:, None]
        start, *_ = np.linalg.lstsq(shares, np.ones(len(shares)), rcond=None)

        def off(seconds: np.ndarray, shares: np.ndarray = shares) -> np.ndarray:
            return shares @ seconds - 1

        # Some calls took several times as long as their like.
        seconds = least_squares(off, start, loss="soft_l1", f_scale=NOISE).x
        beside_s = seconds[4] - seconds[2] * left / of_block
        found[device] = {"beside_s": beside_s, "error_percent": 100 * np.abs(off(seconds)).mean()}
    return pd.DataFrame.from_dict(found, orient="index")


def fbnet_on_gpus() -> pd.DataFrame:
    """Its rows at batch 1."""
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    return rows[(rows.family == "fbnet") & (rows.batch == 1) & is_latency(rows, on_gpu=True)]


def fitted() -> tuple[dict[str, float], float, float]:
    """Seconds of a call by kind that the shipped predictor takes in machines with cards of REFERENCE_YEAR, of a launch
    by compiled code, and the share by which a year changes them, shown by a card that nobody measured."""
    manifest, arrays = checkpoint.read(ship.checkpoint_path("kernel_residual"))
    of_launch_s = {runtime.name: runtime.host_s_per_launch for runtime in _core.runtimes()}
    effects = dict(zip(manifest["launch_effects"], arrays["launch_effects"].mean(0), strict=True))
    of_age = effects[f"{UNMEASURED}|eager"]
    seconds = of_launch_s["eager"] * np.exp(arrays["host_kind_effects"].mean(0))
    compiled_s = of_launch_s["compiled"] * np.exp(effects[f"{UNMEASURED}|compiled"] - of_age)
    by_year = np.expm1(of_age / host_calls.age(UNMEASURED))
    return dict(zip(KINDS, seconds, strict=True)), float(compiled_s), float(by_year)


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25, metavar="N")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    seconds = paired({kind: together(call) for kind, call in calls().items()}, arguments.rounds)
    of_kind, compiled_s, by_year = fitted()
    print(f"torch {torch.__version__} on {_core.host_facts().model_name}, microseconds")
    print(f"{'kind':14} {'here':>6} {'fit starts at':>14} {'with a launch':>14} {'fitted':>7}")
    for kind, values in seconds.items():
        here, known = statistics.median(values) / CALLS, host_calls.CALL_S[kind]
        with_launch = known + (0 if kind in host_calls.NOT_LAUNCHED else host_calls.LAUNCH_S)
        row = [1e6 * value for value in (here, known, with_launch, of_kind[kind])]
        print("{:14} {:6.1f} {:14.1f} {:14.1f} {:7.1f}".format(kind, *row))
    print(f"a kernel of compiled code: fitted {1e6 * compiled_s:.1f}")
    for device, line in beside_operators(fbnet_on_gpus()).iterrows():
        text = f"{1e6 * line.beside_s:.0f} beside its operators (counts of blocks are {line.error_percent:.1f} % off)"
        print(f"a call of FBNet's networks on a {device}: {text}")
    print(f"fitted for hosts of cards of {host_calls.REFERENCE_YEAR}; a year changes that by {by_year:+.0%}")


if __name__ == "__main__":
    main()

"""Prints what eager PyTorch itself takes for each kind of operator on this processor, before the driver launches it
(fitting/host_calls.py holds the figures of one machine).

python benchmarks/host_calls.py [--rounds 25]

Tensors of a few numbers, so that next to nothing is computed; modules where networks have modules; one thread. A kind
whose CPU kernel computes for long even then (GELU, depth-wise convolutions) is shown by another of its kind. On a busy
machine all kinds take longer alike: read their ratios.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import torch
from latpred import _core
from latpred.fitting import host_calls
from torch import nn
from torch.nn import functional

CHANNELS = 8
CALLS = 300  # timed together


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
    }


def median_s(call: Callable[[], object], rounds: int) -> tuple[float, float]:
    """Median seconds of one call and the spread of the middle half of the rounds over it."""
    for _ in range(CALLS):
        call()
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(CALLS):
            call()
        seconds.append((time.perf_counter() - start) / CALLS)
    low, middle, high = statistics.quantiles(seconds, n=4)
    return middle, (high - low) / middle


@torch.inference_mode()
def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=25, metavar="N")
    arguments = parser.parse_args()
    torch.set_num_threads(1)

    measured = {kind: median_s(call, arguments.rounds) for kind, call in calls().items()}
    print(f"torch {torch.__version__} on {_core.host_facts().model_name}")
    print(f"{'kind':14} {'us':>6} {'spread':>7} {'fit takes':>10}")
    for kind, (seconds, spread) in measured.items():
        print(f"{kind:14} {seconds * 1e6:6.1f} {spread:6.0%} {host_calls.CALL_S[kind] * 1e6:10.1f}")


if __name__ == "__main__":
    main()

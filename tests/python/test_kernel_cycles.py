"""Cycles of PyTorch's own kernels: the committed traces show what the default predictor starts from."""

from __future__ import annotations

import statistics
from typing import Any

import pytest
from benchmark_modules import benchmark_module


@pytest.fixture(scope="module")
def found() -> dict[tuple[str, float], list[float]]:
    module: Any = benchmark_module("kernel_cycles")
    result: dict[tuple[str, float], list[float]] = {}
    for name, by_size in module.measured().items():
        for (size, _precision), counts in by_size.items():
            result.setdefault((name, size), []).extend(counts)
    return result


@pytest.mark.parametrize(
    ("name", "size", "cycles", "kernels"),
    [
        ("bn_fw", 7 * 7, 170, 60),
        ("bn_fw", 14 * 14, 170, 90),
        ("layer_norm", 96, 350 + 0.55 * 96, 10),
        ("layer_norm", 768, 350 + 0.55 * 768, 100),
        ("conv_depthwise2d", 9, 1.6 + 0.11 * 9, 25),
        ("conv_depthwise2d", 25, 1.6 + 0.11 * 25, 9),
        ("max_pool_forward_nchw", 9, 2.4 + 0.21 * 9, 3),
        ("max_pool_forward_nchw", 4, 2.4 + 0.21 * 4, 4),
        ("avg_pool2d", 4, 2.4 + 0.21 * 4, 2),
    ],
)
def test_are_those_of_the_traces(
    found: dict[tuple[str, float], list[float]], name: str, size: float, cycles: float, kernels: int
) -> None:
    counts = found[name, size]
    assert len(counts) >= kernels
    assert statistics.median(counts) == pytest.approx(cycles, rel=0.12)


def test_a_batch_norm_of_large_images_is_bound_by_its_bytes_at_float32(
    found: dict[tuple[str, float], list[float]],
) -> None:
    counts = found["bn_fw", 112 * 112]
    assert min(counts) == pytest.approx(0.57 * 112 * 112, rel=0.12)  # in half precision
    assert max(counts) > 0.6 * 112 * 112


def test_average_pools_take_older_cards_as_many_cycles() -> None:
    module: Any = benchmark_module("kernel_cycles")
    counts = module.of_networks()
    assert sorted(counts) == ["GTX 1080 Ti", "RTX 2080 Ti", "TITAN X (Pascal)", "TITAN Xp"]
    assert list(counts.values()) == pytest.approx([2.4 + 0.21 * 9] * 4, rel=0.2)

"""Multiply-accumulates of whole networks against numbers that independent readers agree on."""

from __future__ import annotations

from pathlib import Path

import pytest
from latpred import _core

onnx = pytest.importorskip("onnx")

# Convolutions and fully connected layers at batch 1; equal for every framework that a network was read from.
MACS = {
    "bvlc_alexnet": 654_560_384,
    "densenet121": 2_834_161_664,
    "inception_v1": 1_431_556_352,
    "resnet50": 4_089_184_256,
    "shufflenet": 124_664_528,
    "squeezenet": 349_151_936,
    "vgg19": 19_632_062_464,
}


def light_network(name: str) -> _core.Program:
    folder = Path(onnx.__file__).parent / "backend" / "test" / "data" / "light"
    return _core.read_program(str(folder / f"light_{name}.onnx"))


@pytest.mark.parametrize(("name", "macs"), MACS.items())
def test_macs(name: str, macs: int) -> None:
    graph = _core.resolve(light_network(name), batch=1)
    assert graph.macs == macs
    assert graph.flops > 2 * macs  # element-wise operations come on top


def test_macs_grow_with_the_batch() -> None:
    graph = _core.resolve(light_network("resnet50"), batch=8)
    assert graph.macs == 8 * MACS["resnet50"]


def test_parameters_and_statistics() -> None:
    graph = _core.resolve(light_network("resnet50"), batch=1)
    assert (graph.num_parameters, graph.num_statistics) == (25_557_032, 53_120)
    assert graph.weight_bytes == 4 * (25_557_032 + 53_120)

"""The networks that GPUs are measured on are the published ones: their numbers of parameters are."""

from __future__ import annotations

from typing import Any

import pytest
from benchmark_modules import benchmark_module

torch = pytest.importorskip("torch")

# Of torchvision's models, and of the Transformers library's for the last rows.
PARAMETERS = {
    "alexnet": 61_100_840,
    "vgg11": 132_863_336,
    "vgg16": 138_357_544,
    "vgg16_bn": 138_365_992,
    "vgg19": 143_667_240,
    "resnet18": 11_689_512,
    "resnet34": 21_797_672,
    "resnet50": 25_557_032,
    "resnet101": 44_549_160,
    "resnet152": 60_192_808,
    "wide_resnet50_2": 68_883_240,
    "resnext50_32x4d": 25_028_904,
    "resnext101_32x8d": 88_791_336,
    "densenet121": 7_978_856,
    "densenet161": 28_681_000,
    "densenet169": 14_149_480,
    "densenet201": 20_013_928,
    "squeezenet1_0": 1_248_424,
    "squeezenet1_1": 1_235_496,
    "googlenet": 6_624_904,
    "mobilenet_v2": 3_504_872,
    "mobilenet_v3_large": 5_483_032,
    "mobilenet_v3_small": 2_542_856,
    "mnasnet1_0": 4_383_312,
    "mnasnet0_5": 2_218_512,
    "efficientnet_b0": 5_288_548,
    "efficientnet_b1": 7_794_184,
    "efficientnet_b2": 9_109_994,
    "efficientnet_b3": 12_233_232,
    "efficientnet_b4": 19_341_616,
    "shufflenet_v2_x0_5": 1_366_792,
    "shufflenet_v2_x1_0": 2_278_604,
    "shufflenet_v2_x2_0": 7_393_996,
    "regnet_x_400mf": 5_495_976,
    "regnet_x_1_6gf": 9_190_136,
    "regnet_x_3_2gf": 15_296_552,
    "regnet_y_400mf": 4_344_144,
    "regnet_y_1_6gf": 11_202_430,
    "regnet_y_3_2gf": 19_436_338,
    "convnext_tiny": 28_589_128,
    "convnext_small": 50_223_688,
    "convnext_base": 88_591_464,
    "vit_base_16": 86_567_656,
    "vit_base_32": 88_224_232,
    "vit_large_16": 304_326_632,
    "swin_tiny": 28_288_354,
    "swin_small": 49_606_258,
    "swin_base": 87_768_224,
    "bert_base": 109_482_240,
    "bert_large": 335_141_888,
    "distilbert": 66_362_880,
    "gpt2": 124_439_808,
    "t5_small_encoder": 35_330_816,
}


@pytest.fixture(scope="module")
def networks() -> Any:
    return benchmark_module("networks")


def test_list_is_long_and_names_are_distinct(networks: Any) -> None:
    names = [network.name for network in networks.NETWORKS]
    assert len(names) >= 60
    assert len(set(names)) == len(names)
    assert len({network.family for network in networks.NETWORKS}) >= 15


def test_parameters_are_the_published_ones(networks: Any) -> None:
    found = {}
    for network in networks.NETWORKS:
        if network.name in PARAMETERS:
            with torch.device("meta"):
                found[network.name] = sum(weights.numel() for weights in network.build().parameters())
    assert found == PARAMETERS


def test_every_network_runs(networks: Any) -> None:
    """Shapes only: on the meta device nothing is computed. All but recurrent cells, which have no meta kernels."""
    for network in networks.NETWORKS:
        with torch.device("meta"), torch.inference_mode():
            module = network.build().eval()
            assert module(network.make_input(2, "meta")).shape[0] == 2, network.name


def test_small_networks_compute(networks: Any) -> None:
    small = {"squeezenet1_1", "shufflenet_v2_x0_5", "bert_mini"}
    chosen = [row for row in networks.NETWORKS if row.name in small] + list(networks.RECURRENT[:1])
    for network in chosen:
        with torch.inference_mode():
            answer = network.build().eval()(network.make_input(1, "cpu"))
        assert torch.isfinite(answer).all(), network.name

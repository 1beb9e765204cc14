"""The committed list of networks that GPUs are measured on: names, builders, inputs. Nothing is downloaded."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from plain_networks import attention, convolutional, mobile

if TYPE_CHECKING:
    import latpred
    import torch

IMAGE = (3, 224, 224)
_WORDS = 1000  # below every vocabulary


@dataclasses.dataclass(frozen=True)
class Network:
    """A row of the list; sizes are of one item."""

    name: str
    family: str  # what is left out together
    build: Callable[[], torch.nn.Module]
    sizes: tuple[int, ...] = IMAGE
    is_text: bool = False  # ids of words instead of numbers

    @property
    def recipe(self) -> str:
        """How rows of measurements name it."""
        return f"plain:{self.name}"

    @property
    def input_text(self) -> str:
        """Sizes as rows of measurements have them."""
        return ",".join(str(size) for size in self.sizes)

    def make_input(self, batch: int, device: str) -> torch.Tensor:
        """Random, never zeros: those run faster on some GPUs."""
        import torch

        if self.is_text:
            return torch.randint(0, _WORDS, (batch, *self.sizes), device=device)
        return torch.randn(batch, *self.sizes, device=device)

    def graph(self, batch: int = 1) -> latpred.Graph:
        """What latpred reads of it."""
        import latpred

        sizes = f"{self.input_text}:int64" if self.is_text else self.input_text
        return latpred.load(model=self.build().eval(), input=sizes, batch=batch)


def _rows(family: str, builders: dict[str, Callable[[], torch.nn.Module]], **settings: object) -> list[Network]:
    return [Network(name, family, build, **settings) for name, build in builders.items()]  # type: ignore[arg-type]


_VGG = {"11": (1, 1, 2, 2, 2), "13": (2, 2, 2, 2, 2), "16": (2, 2, 3, 3, 3), "19": (2, 2, 4, 4, 4)}
_RESNET = {"18": (2, 2, 2, 2), "34": (3, 4, 6, 3), "50": (3, 4, 6, 3), "101": (3, 4, 23, 3), "152": (3, 8, 36, 3)}
_DENSENET = {"121": (6, 12, 24, 16), "169": (6, 12, 32, 32), "201": (6, 12, 48, 32)}
_EFFICIENTNET = {"b0": (1.0, 1.0), "b1": (1.0, 1.1), "b2": (1.1, 1.2), "b3": (1.2, 1.4), "b4": (1.4, 1.8)}
_REGNET = {
    "x_400mf": ((1, 2, 7, 12), (32, 64, 160, 400), 16, False),
    "x_1_6gf": ((2, 4, 10, 2), (72, 168, 408, 912), 24, False),
    "x_3_2gf": ((2, 6, 15, 2), (96, 192, 432, 1008), 48, False),
    "y_400mf": ((1, 3, 6, 6), (48, 104, 208, 440), 8, True),
    "y_1_6gf": ((2, 6, 17, 2), (48, 120, 336, 888), 24, True),
    "y_3_2gf": ((2, 5, 13, 1), (72, 216, 576, 1512), 24, True),
}
_SHUFFLENET = {"x0_5": (48, 96, 192, 1024), "x1_0": (116, 232, 464, 1024), "x2_0": (244, 488, 976, 2048)}
_CONVNEXT = {"tiny": ((3, 3, 9, 3), 96), "small": ((3, 3, 27, 3), 96), "base": ((3, 3, 27, 3), 128)}
_VIT = {
    "tiny_16": (192, 12, 3, 16), "small_16": (384, 12, 6, 16), "base_16": (768, 12, 12, 16),
    "base_32": (768, 12, 12, 32), "large_16": (1024, 24, 16, 16),
}  # fmt: skip
_SWIN = {
    "tiny": (96, (2, 2, 6, 2), (3, 6, 12, 24)),
    "small": (96, (2, 2, 18, 2), (3, 6, 12, 24)),
    "base": (128, (2, 2, 18, 2), (4, 8, 16, 32)),
}


def _resnets() -> dict[str, Callable[[], torch.nn.Module]]:
    build = convolutional.resnet
    rows: dict[str, Callable[[], torch.nn.Module]] = {
        f"resnet{name}": partial(build, blocks, int(name) >= 50) for name, blocks in _RESNET.items()
    }
    for name in ("50", "101"):
        rows[f"wide_resnet{name}_2"] = partial(build, _RESNET[name], True, 1, 128)
    rows["resnext50_32x4d"] = partial(build, _RESNET["50"], True, 32, 4)
    rows["resnext101_32x8d"] = partial(build, _RESNET["101"], True, 32, 8)
    return rows


def _convnext(name: str) -> torch.nn.Module:
    depths, width = _CONVNEXT[name]
    return mobile.convnext(depths, [width * 2**stage for stage in range(4)])


NETWORKS: tuple[Network, ...] = (
    *_rows("alexnet", {"alexnet": convolutional.alexnet}),
    *_rows("vgg", {f"vgg{name}": partial(convolutional.vgg, count) for name, count in _VGG.items()}),
    *_rows("vgg", {f"vgg{name}_bn": partial(convolutional.vgg, _VGG[name], True) for name in ("11", "16", "19")}),
    *_rows("resnet", _resnets()),
    *_rows("densenet", {f"densenet{name}": partial(convolutional.densenet, n) for name, n in _DENSENET.items()}),
    *_rows("densenet", {"densenet161": partial(convolutional.densenet, (6, 12, 36, 24), 48, 96)}),
    *_rows("squeezenet", {"squeezenet1_0": partial(convolutional.squeezenet, True)}),
    *_rows("squeezenet", {"squeezenet1_1": partial(convolutional.squeezenet, False)}),
    *_rows("googlenet", {"googlenet": convolutional.googlenet}),
    *_rows("mobilenet", {"mobilenet_v1": mobile.mobilenet_v1, "mobilenet_v2": mobile.mobilenet_v2}),
    *_rows("mobilenet", {"mobilenet_v2_x0_5": partial(mobile.mobilenet_v2, 0.5)}),
    *_rows("mobilenet", {f"mobilenet_v3_{n}": partial(mobile.mobilenet_v3, n == "large") for n in ("large", "small")}),
    *_rows("mnasnet", {"mnasnet1_0": mobile.mnasnet, "mnasnet0_5": partial(mobile.mnasnet, 0.5)}),
    *_rows("efficientnet", {f"efficientnet_{n}": partial(mobile.efficientnet, *s) for n, s in _EFFICIENTNET.items()}),
    *_rows("shufflenet", {f"shufflenet_v2_{n}": partial(mobile.shufflenet_v2, s) for n, s in _SHUFFLENET.items()}),
    *_rows("regnet", {f"regnet_{n}": partial(mobile.regnet, *s) for n, s in _REGNET.items()}),
    *_rows("convnext", {f"convnext_{n}": partial(_convnext, n) for n in _CONVNEXT}),
    *_rows("vit", {f"vit_{n}": partial(attention.VisionTransformer, *s) for n, s in _VIT.items()}),
    *_rows("swin", {f"swin_{n}": partial(attention.Swin, *s) for n, s in _SWIN.items()}),
    *_rows("mixer", {"mixer_s_16": partial(attention.Mixer, 512, 8), "mixer_b_16": partial(attention.Mixer, 768, 12)}),
    *_rows("poolformer", {"poolformer_s12": partial(attention.poolformer, (2, 2, 6, 2))}),
    *_rows("poolformer", {"poolformer_s24": partial(attention.poolformer, (4, 4, 12, 4))}),
    *_rows("unet", {f"unet_{width}": partial(convolutional.UNet, width) for width in (16, 32, 64)}),
    *_rows("dcgan", {"dcgan_generator": convolutional.generator}, sizes=(100,)),
    *_rows(
        "bert",
        {
            "bert_mini": partial(attention.Bert, 256, 4, 4),
            "bert_base": partial(attention.Bert, 768, 12, 12),
            "bert_large": partial(attention.Bert, 1024, 24, 16),
            "distilbert": partial(attention.Bert, 768, 6, 12, True),
        },
        sizes=(128,),
        is_text=True,
    ),
    *_rows(
        "gpt",
        {"gpt2": partial(attention.Gpt, 768, 12, 12), "gpt2_medium": partial(attention.Gpt, 1024, 24, 16)},
        sizes=(256,),
        is_text=True,
    ),
    *_rows(
        "t5",
        {
            "t5_small_encoder": partial(attention.T5Encoder, 512, 6, 8, 2048),
            "t5_base_encoder": partial(attention.T5Encoder, 768, 12, 12, 3072),
        },
        sizes=(256,),
        is_text=True,
    ),
    *_rows("llama", {"llama_8_layers": partial(attention.Llama, 2048, 8, 16, 5504)}, sizes=(256,), is_text=True),
)


def _recurrent(cell: str, width: int, layers: int) -> torch.nn.Module:
    import torch

    return attention.Recurrent(getattr(torch.nn, cell), width, layers)


RECURRENT: tuple[Network, ...] = tuple(
    Network(f"{cell.lower()}_{width}x{layers}", "recurrent", partial(_recurrent, cell, width, layers), (64,), True)
    for cell, width, layers in (("LSTM", 256, 2), ("LSTM", 512, 1), ("GRU", 256, 2))
)

"""What each part measures, and in which order: lists that a seed fixes, of which any prefix is useful."""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Callable, Iterable, Iterator, Sequence

from latpred.datasets import cnn, fnn
from networks import NETWORKS, RECURRENT, Network

BATCHES = (1, 8, 32, 128)
_SEED = 0

# Networks as their users have them, one or two of each module of timm, those of most users first; images as a table of
# timm's timed them, so that their graphs are in data/measurements/graphs.xz.
_TIMM = (
    "resnet50@224", "vgg16@224", "vit_base_patch16_224@224", "mobilenetv2_100@224", "densenet121@224",
    "efficientnet_b0@224", "convnext_tiny@288", "swin_tiny_patch4_window7_224@224", "resnet18@224",
    "mobilenetv3_large_100@224", "inception_v3@299", "regnety_032@224", "ghostnet_100@224", "dpn68@224",
    "hrnet_w18_small@224", "beit_base_patch16_224@224", "levit_256@224", "mixer_b16_224@224", "maxvit_tiny_pm_256@256",
    "poolformer_s12@224", "edgenext_small@256", "mobilevit_s@256", "cait_xxs24_224@224", "eca_nfnet_l0@288",
    "repvit_m1_0@224", "fasternet_s@224", "xception41@299", "res2net50_26w_4s@224", "crossvit_15_240@240",
    "coat_lite_small@224", "resnest26d@224", "seresnext50_32x4d@288", "skresnet34@224", "dla60@224",
    "cs3darknet_focus_l@256", "davit_tiny@224", "deit3_small_patch16_224@224", "efficientformer_l1@224",
    "efficientvit_b1@288", "efficientvit_m4@224", "eva02_tiny_patch14_224@224", "fastvit_t8@256",
    "focalnet_tiny_srf@224", "gcvit_xtiny@224", "hardcorenas_d@224", "hgnetv2_b4@224", "hiera_tiny_224@224",
    "inception_next_tiny@224", "mambaout_kobe@224", "mobilenetv4_conv_medium@256", "mvitv2_tiny@224",
    "nest_tiny_jx@224", "nextvit_small@224", "pit_s_224@224", "pvt_v2_b1@224", "rdnet_tiny@224", "repghostnet_100@224",
    "resnetv2_50d@224", "rexnet_130@224", "selecsls60@224", "starnet_s3@224", "swiftformer_s@224",
    "swinv2_tiny_window8_256@256", "tiny_vit_11m_224@224", "tnt_s_patch16_224@224", "tresnet_m@224",
    "twins_svt_small@224", "visformer_small@224", "vit_relpos_small_patch16_rpn_224@224", "vitamin_small_224@224",
    "volo_d1_224@224", "vovnet39a@224", "xcit_tiny_24_p16_224@224", "convit_tiny@224", "convmixer_1024_20_ks9_p14@224",
    "botnet26t_256@256", "resnet101@224", "efficientnet_lite4@380", "vit_large_patch16_224@224", "convnext_base@288",
    "vgg11_bn@224", "densenet201@224", "resnet50x4_clip@288", "regnetx_120@224", "swin_base_patch4_window7_224@224",
)  # fmt: skip
_TRANSFORMERS = (
    "bert?layers=12&hidden=768&seq=128", "gpt2?layers=12&hidden=768&seq=256", "t5_encoder?layers=6&hidden=512&seq=256",
    "bert?layers=24&hidden=1024&seq=384", "llama?layers=8&hidden=2048&heads=16&feed_forward=5504&seq=256",
    "bert?layers=6&hidden=768&seq=128", "vit?layers=12&hidden=384&size=224", "bert?layers=4&hidden=256&seq=512",
    "gpt2?layers=24&hidden=1024&seq=512",
)  # fmt: skip
_EVERY = 8  # after so many of timm one of transformers

# Work of several kinds for parts that cannot take every network: convolutions large and small, tokens, text.
_CHOSEN = (
    "timm:resnet50@224", "timm:vit_base_patch16_224@224", "timm:mobilenetv2_100@224",
    "hf:bert?layers=12&hidden=768&seq=128", "timm:vgg16@224", "timm:convnext_tiny@288", "timm:efficientnet_b0@224",
    "timm:swin_tiny_patch4_window7_224@224", "timm:densenet121@224", "hf:gpt2?layers=12&hidden=768&seq=256",
    "timm:regnety_032@224", "timm:levit_256@224",
)  # fmt: skip
# Shares of a GPU's multiprocessors; the sizes that it can be split into are taken nearest to them.
SHARES = (1 / 16, 1 / 8, 1 / 4, 3 / 8, 1 / 2, 5 / 8, 3 / 4, 7 / 8)


@dataclasses.dataclass(frozen=True)
class Setting:
    """One thing to measure: a network in a situation."""

    recipe: str
    batch: int
    precision: str = "fp32"
    runtime: str = "eager"
    share: float | None = None  # of the multiprocessors; None: all, in the ordinary way
    beside: tuple[tuple[str, int], ...] = ()  # recipe and batch of what runs at the same time, in processes of its own

    @property
    def key(self) -> str:
        """The same for the same setting: what a part has done is told by it."""
        share = "" if self.share is None else f" share {self.share:g}"
        others = "".join(f" beside {recipe} x{batch}" for recipe, batch in self.beside)
        return f"{self.recipe} x{self.batch} {self.precision} {self.runtime}{share}{others}"


@dataclasses.dataclass(frozen=True)
class Part:
    """One run of some minutes."""

    name: str
    description: str
    settings: Callable[[], Iterable[Setting]]
    has_energy: bool = False
    has_kernels: bool = False


def network_of(recipe: str) -> Network | None:
    """The row of the committed list; None: a recipe that latpred builds itself."""
    return _BY_RECIPE.get(recipe)


_BY_RECIPE = {network.recipe: network for network in (*NETWORKS, *RECURRENT)}


def _by_family() -> list[Network]:
    """One network of each family, then the second of each: any prefix has all kinds of work."""
    families: dict[str, list[Network]] = {}
    for network in (*NETWORKS, *RECURRENT):
        families.setdefault(network.family, []).append(network)
    rounds = itertools.zip_longest(*families.values())
    return [network for row in rounds for network in row if network is not None]


def _published() -> Iterator[Setting]:
    """Networks of timm and transformers, each as PyTorch runs it by itself and in one other precision, which takes
    turns."""
    texts = iter(_TRANSFORMERS)
    recipes: list[str] = []
    for place, name in enumerate(_TIMM):
        if place % _EVERY == 4:
            recipes += [f"hf:{text}" for text in itertools.islice(texts, 1)]
        recipes.append(f"timm:{name}")
    others = itertools.cycle(("amp", "fp16", "bf16", "amp", "fp32", "tf32"))
    middle = itertools.cycle((32, 16, 64))
    for recipe in recipes:
        batches = (1, next(middle), 8, 128)
        for precision in ("default", next(others)):
            for batch in batches:
                yield Setting(recipe, batch, precision)


def _networks(precision: str, batches: Sequence[int] = BATCHES, runtime: str = "eager") -> Iterator[Setting]:
    for network in _by_family():
        for batch in batches:
            yield Setting(network.recipe, batch, precision, runtime)


def _chosen(batches: Sequence[int]) -> list[tuple[str, int]]:
    return list(itertools.product(_CHOSEN, batches))


def _energy() -> Iterator[Setting]:
    for precision, batch in (("default", 32), ("amp", 32), ("default", 8)):
        for recipe in _CHOSEN:
            yield Setting(recipe, batch, precision)


def _kernels() -> Iterator[Setting]:
    for precision in ("default", "amp"):
        for recipe in _CHOSEN:
            yield Setting(recipe, 32, precision)


def _small() -> Iterator[Setting]:
    """Random feed-forward nets and plain CNNs in turn, without end."""
    precisions = itertools.cycle(("fp32", "fp32", "tf32", "amp"))
    for pair in zip(fnn.generate(_SEED), cnn.generate(_SEED), strict=False):
        for recipe, batch in itertools.product(pair, (1, 32)):
            yield Setting(recipe, batch, next(precisions))


def _slices() -> Iterator[Setting]:
    for recipe, batch in _chosen((32,)):
        for share in SHARES:
            yield Setting(recipe, batch, "default", share=share)


def _together() -> Iterator[Setting]:
    """Pairs and, after every second one, trios; each member is measured."""
    generator = random.Random(_SEED)
    choices = _chosen((1, 8, 32))
    seen: set[frozenset[tuple[str, int]]] = set()
    for size in itertools.cycle((2, 2, 3)):
        members = generator.sample(choices, size)
        if frozenset(members) not in seen:
            seen.add(frozenset(members))
            yield Setting(*members[0], beside=tuple(members[1:]))


def _compiled() -> Iterator[Setting]:
    for recipe in _CHOSEN:
        for precision, batch in itertools.product(("default", "amp"), (1, 32)):
            yield Setting(recipe, batch, precision, "compiled")


# In the order of their use when time is short.
PARTS: tuple[Part, ...] = (
    Part(
        "published", "networks of timm and transformers, in the precision of PyTorch's defaults and another", _published
    ),
    Part("slices", "twelve networks on parts of the multiprocessors", _slices),
    Part("energy", "twelve networks: joules of windows of 2 s", _energy, has_energy=True),
    Part("plain", "every network of benchmarks/networks.py at batch 1, 8, 32, 128", lambda: _networks("default")),
    Part("fp32", "the same without TF32", lambda: _networks("fp32")),
    Part("amp", "the same under autocast", lambda: _networks("amp")),
    Part("tf32", "the same with TF32", lambda: _networks("tf32")),
    Part("small", "random feed-forward nets and plain CNNs", _small),
    Part("together", "pairs and trios of processes", _together),
    Part("kernels", "kernels of twelve networks", _kernels, has_kernels=True),
    Part("compiled", "twelve networks through torch.compile", _compiled),
)

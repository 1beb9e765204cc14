"""What runs together: networks with their batches, each in a process of its own, on cores of their own or on one.

A combination is written as a recipe, "together:cores?members=timm:vgg16@224*4;timm:resnet50@128*1": the journal of a
campaign holds it as it holds any other.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Sequence
from urllib.parse import parse_qs, quote

from latpred import _core
from latpred.errors import InvalidArgumentError

KIND = "together"
STREAM = "stream"  # a neighbour that reads memory for a share of its time, "stream:50": no network
# Where the members run.
CORES = "cores"  # each on its own while there are enough; then two share the first, and so on
ONE_CORE = "one_core"
PLACEMENTS = (CORES, ONE_CORE)
_MEMBER_MARK, _BATCH_MARK, _UNQUOTED = ";", "*", ":@*;,"


@dataclasses.dataclass(frozen=True, order=True)
class Member:
    """A network at a batch, or a stream of reads."""

    recipe: str
    batch: int = 1

    def __str__(self) -> str:
        return f"{self.recipe}{_BATCH_MARK}{self.batch}"

    @property
    def is_stream(self) -> bool:
        return self.recipe.startswith(f"{STREAM}:")

    @property
    def stream_share(self) -> float:
        """Of its time in which a stream reads."""
        share = float(self.recipe.partition(":")[2]) / 100
        if not 0 < share <= 1:
            raise InvalidArgumentError(f"'{self.recipe}': a stream reads for 1 to 100 percent of its time")
        return share


@dataclasses.dataclass(frozen=True)
class Combination:
    """Members that run at the same time."""

    placement: str
    members: tuple[Member, ...]
    repeat: int = 0  # 0: measured for the first time

    def __post_init__(self) -> None:
        if self.placement not in PLACEMENTS:
            raise InvalidArgumentError(
                _core.unknown_name_message("placement of members", self.placement, list(PLACEMENTS))
            )
        if len(self.members) < 2:
            raise InvalidArgumentError(f"a combination has two members or more, got {len(self.members)}")

    def __str__(self) -> str:
        members = quote(_MEMBER_MARK.join(map(str, self.members)), safe=_UNQUOTED)
        tail = f"&repeat={self.repeat}" if self.repeat else ""
        return f"{KIND}:{self.placement}?members={members}{tail}"

    @property
    def key(self) -> str:
        """What is left out together: the networks, whatever their order, batch, size and placement."""
        return "+".join(sorted(network_of(member.recipe) for member in self.members))


def parse(text: str) -> Combination:
    """Reads what str(combination) wrote."""
    head, _, query = text.partition("?")
    kind, _, placement = head.partition(":")
    values = parse_qs(query)
    if kind != KIND or "members" not in values:
        raise InvalidArgumentError(f"'{text}' is no combination; expected {KIND}:cores?members=timm:vgg16@224*4;...")
    members = []
    for word in values["members"][0].split(_MEMBER_MARK):
        recipe, _, batch = word.rpartition(_BATCH_MARK)
        if not recipe or not batch.isdigit():
            raise InvalidArgumentError(f"'{text}': member '{word}' is not RECIPE{_BATCH_MARK}BATCH")
        members.append(Member(recipe, int(batch)))
    return Combination(placement, tuple(members), int(values.get("repeat", ["0"])[0]))


def network_of(recipe: str) -> str:
    """Its name without the size of its images: sizes of one network are left out together."""
    return recipe.partition(":")[2].partition("@")[0] if not recipe.startswith(STREAM) else STREAM


# Keras's application networks that timm builds, and billions of FLOPs for one image of 224 (2 x multiply-accumulates,
# as latpred counts). NASNetMobile is the one of Keras's that timm has in another size only.
APPLICATIONS = {
    "vgg16": 31.0,
    "vgg19": 39.3,
    "resnet50": 8.2,
    "resnet101": 15.7,
    "resnetv2_50": 8.2,
    "inception_v3": 5.7,
    "inception_resnet_v2": 13.0,
    "legacy_xception": 9.1,
    "mobilenetv1_100": 1.15,
    "mobilenetv2_100": 0.62,
    "densenet121": 5.7,
    "densenet169": 6.8,
    "efficientnet_b0": 0.81,
    "efficientnet_b1": 1.2,
}
SIZES = (128, 224)
# Their dense layers fit images of 224 alone, as in Keras.
OF_ONE_SIZE = ("vgg16", "vgg19")
BATCHES = (1, 4, 8)
STREAM_PERCENT = (25, 50, 100)
# Longer calls are too few in a second: about 0.1 s on one core. The smallest setting of a network is always there.
MOST_GFLOPS = 16.0
ONE_CORE_PAIRS, TRIOS, REPEATED_SHARE = 14, 12, 0.1


def _settings(name: str, gflops: float) -> list[Member]:
    """Those of a network whose calls are short enough."""
    found = [
        (gflops * batch * (size / 224) ** 2, Member(f"timm:{name}@{size}", batch))
        for size, batch in itertools.product(SIZES, BATCHES)
        if size == 224 or name not in OF_ONE_SIZE
    ]
    smallest = min(found)
    return [member for work, member in found if work <= MOST_GFLOPS or member == smallest[1]]


def applications_sample(seed: int = 1) -> list[Combination]:
    """All pairs of APPLICATIONS on cores of their own, some on one core, some trios, and each network beside streams:
    batch and size drawn for each member, in an order that makes a shorter campaign the beginning of a longer one."""
    chance = random.Random(seed)  # noqa: S311 - a sample, no secret
    settings = {name: _settings(name, gflops) for name, gflops in APPLICATIONS.items()}

    def drawn(names: Sequence[str]) -> tuple[Member, ...]:
        return tuple(chance.choice(settings[name]) for name in names)

    names = list(APPLICATIONS)
    pairs = list(itertools.combinations_with_replacement(names, 2))
    found = [Combination(CORES, drawn(pair)) for pair in pairs]
    found += [Combination(ONE_CORE, drawn(pair)) for pair in chance.sample(pairs, ONE_CORE_PAIRS)]
    trios = list(itertools.combinations(names, 3))
    found += [Combination(CORES, drawn(trio)) for trio in chance.sample(trios, TRIOS)]
    for name in names:
        for percent in (STREAM_PERCENT[-1], chance.choice(STREAM_PERCENT[:-1])):
            found.append(Combination(CORES, (*drawn([name]), Member(f"{STREAM}:{percent}"))))
    chance.shuffle(found)
    return found


def repeats(combinations: Sequence[Combination], seed: int = 1) -> list[Combination]:
    """Some of them, to be measured again at the end in another order: how far two measurements are from each other."""
    count = max(1, round(REPEATED_SHARE * len(combinations)))
    chosen = random.Random(seed + 1).sample(list(combinations), min(count, len(combinations)))  # noqa: S311
    return [dataclasses.replace(combination, repeat=1) for combination in chosen]

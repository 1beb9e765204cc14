"""Recipes fnn: and cnn: as LibTorch calls, and whole lists of them at once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred._torch import predictors_module
from latpred.datasets import cnn, fnn
from latpred.datasets.recipe_builders import build
from latpred.errors import InvalidArgumentError
from latpred.workloads.sources import recipe_of
from latpred.workloads.workload import Setting, Workload, protocol_of

if TYPE_CHECKING:
    from latpred._core import Graph, Measurement, Protocol


@cache
def shared_meter() -> Any:
    """The process's pool of weights, 4 GiB, filled when it is first asked for."""
    return predictors_module().PlainNetMeter()


def sizes_of(source: Any, input: Any = None) -> tuple[list[int], int]:
    """Widths, and the size of the images (0: dense layers)."""
    net = recipe_of(source, input)
    if net.kind == fnn.KIND:
        return list(fnn.widths_of(net)), 0
    if net.kind == cnn.KIND:
        widths, size = cnn.sizes_of(net)
        return list(widths), size
    raise InvalidArgumentError(
        f"recipe '{net}': runtime 'libtorch' runs feed-forward nets ({fnn.KIND}:16-128-1) and plain CNNs "
        f"({cnn.KIND}:3-64?size=32); take another runtime"
    )


def measure_plain_nets(
    recipes: Sequence[str],
    *,
    batch: int = 1,
    protocol: str | Protocol | None = None,
    threads: int = 1,
    core: int = -1,
    meter: Any = None,
) -> list[Measurement]:
    """One Measurement for each recipe, without Python between the nets.

    meter: a PlainNetMeter with a pool of another size than the shared one's.
    """
    nets = [sizes_of(text) for text in recipes]
    found: list[Measurement] = (meter or shared_meter()).measure(
        [widths for widths, _ in nets],
        [image_size for _, image_size in nets],
        batch=batch,
        protocol=protocol_of(protocol, Setting(None, threads=threads)),
        core=core,
    )
    return found


class PlainNetWorkload(Workload):
    """One net; the pool stays for the next."""

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        sizes_of(setting.source, setting.input)

    @property
    def versions(self) -> list[tuple[str, str]]:
        return [("torch", str(_core.TORCH_VERSION))]

    def measure(self, protocol: str | Protocol | None = None) -> Measurement:
        return measure_plain_nets(
            [str(self.setting.source)], batch=self.setting.batch, protocol=protocol, threads=self.setting.threads
        )[0]

    def run_once(self) -> None:
        self.run_many(1)

    def run_many(self, runs: int) -> None:
        counted = _core.protocol("khan")
        counted.name, counted.warm_up, counted.min_samples, counted.max_samples = "run", 0, runs, runs
        counted.threshold = runs
        self.measure(counted)

    def graph(self) -> Graph:
        net = _core.GraphBuilder()
        build(net, recipe_of(self.setting.source))
        return net.build(self.setting.batch)

"""Networks of timm and transformers, built without weights and recorded: what their recipes stand for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from latpred import _core
from latpred._core import Program
from latpred.datasets import huggingface
from latpred.datasets.recipe import Recipe
from latpred.errors import InvalidArgumentError
from latpred.optional import need

# Recorded at a batch that no other size of a network equals by chance, and above 1, at which torch writes other views.
RECORDED_BATCH = 5
EXTRA = "architectures"  # of latpred, with what builds all of these


@dataclasses.dataclass(frozen=True)
class Recorded:
    """A network as _core.read_exported_program takes it."""

    document: bytes
    tied: Mapping[str, int]  # weights that are one tensor: name -> number of the tensor
    name: str
    versions: Mapping[str, str]

    def facts(self) -> dict[str, Any]:
        """All but the document, for JSON."""
        return {"tied": dict(self.tied), "name": self.name, "versions": dict(self.versions)}

    def program(self) -> Program:
        """What the document says; _core.resolve makes a graph of it at any batch."""
        return _core.read_exported_program(self.document, dict(self.tied), self.name)


def _tied(keys: Mapping[str, Any]) -> dict[str, int]:
    """Weights that share a tensor, numbered in order: addresses would differ from run to run."""
    names: dict[Any, list[str]] = {}
    for name, key in keys.items():
        names.setdefault(key, []).append(name)
    shared = [group for key, group in names.items() if key is not None and len(group) > 1]
    return {name: number for number, group in enumerate(shared) for name in group}


def _timm(recipe: Recipe) -> tuple[Any, Any]:
    """timm:resnet50@224"""
    import timm
    import torch

    name, at, size = recipe.name.partition("@")
    if not at or not size.isdigit():
        raise InvalidArgumentError(f"recipe '{recipe}' names no image size; expected timm:resnet50@224")
    if not timm.is_model(name):
        raise InvalidArgumentError(f"recipe '{recipe}': timm {timm.__version__} has no network '{name}'")
    with torch.device("meta"):
        try:
            module = timm.create_model(name, pretrained=False, img_size=int(size))
        except TypeError:  # networks of convolutions take any size and no such argument
            module = timm.create_model(name, pretrained=False)
    return module, f"3,{size},{size}"


@dataclasses.dataclass(frozen=True)
class Builder:
    package: str
    build: Callable[[Recipe], tuple[Any, Any]]  # a module without weights, and its input=


# What each kind of recipe is built with.
BUILDERS: dict[str, Builder] = {"timm": Builder("timm", _timm), "hf": Builder("transformers", huggingface.build)}


def is_recorded(recipe: Recipe) -> bool:
    """Whether the recipe's network is built by a framework, and so recorded once."""
    return recipe.kind in BUILDERS


def record(recipe: Recipe, batch: int = RECORDED_BATCH) -> Recorded:
    """Builds the network of `recipe` with its framework and writes down what it runs at `batch`."""
    if not is_recorded(recipe):
        raise InvalidArgumentError(
            f"recipe '{recipe}': no framework builds '{recipe.kind}'; valid: {', '.join(BUILDERS)}"
        )
    builder = BUILDERS[recipe.kind]
    torch = need("torch", EXTRA, f"recipe '{recipe}'")
    package = need(builder.package, EXTRA, f"recipe '{recipe}'")
    from latpred.frontends import recorder, torch_export

    module, sizes = builder.build(recipe)
    module.eval()
    captured = recorder.record(module, torch_export.call_arguments(module, sizes, batch))
    versions = {"torch": torch.__version__, builder.package: package.__version__}
    return Recorded(captured.document, _tied(captured.weights), captured.name, versions)

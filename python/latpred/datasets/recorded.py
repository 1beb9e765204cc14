"""Networks of timm and transformers, built without weights and recorded: what their recipes stand for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from latpred import _core
from latpred._core import Program
from latpred.datasets import huggingface
from latpred.datasets.recipe import Recipe
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.optional import need

# Recorded at a batch that no other size of a network equals by chance, and above 1, at which torch writes other views.
RECORDED_BATCH = 5
EXTRA = "architectures"  # of latpred, with what builds all of these

# Parameters of timm's recipes, as options of its benchmark.py: its own norms stay in half precision under autocast, but
# for LayerNorm where that is torch's; branches are merged and norms folded. And attention: torch's function for it, or
# products and a softmax, as it was before, of which either the queries were scaled or the scores.
TIMM_PARAMETERS = FAST_NORM, LAYER_NORM, REPARAM, ATTENTION = "fast_norm", "layer_norm", "reparam", "attention"
TORCH_NORM = "torch"
LAYER_NORMS = ("timm", TORCH_NORM)  # whose a network has; here and below the first where a recipe does not say
ATTENTIONS = FUSED, SCALED_QUERIES, SCALED_SCORES = "fused", "scaled_queries", "scaled_scores"


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


def timm_module(recipe: Recipe, size: int | None) -> Any:
    """The module of timm:NAME without weights, for images of `size` (None: its own), branches merged and norms folded
    where the recipe says "reparam=1"."""
    import timm
    import torch

    name = recipe.name.partition("@")[0]
    if not timm.is_model(name):
        raise InvalidArgumentError(f"recipe '{recipe}': timm {timm.__version__} has no network '{name}'")
    for parameter in recipe.parameters:
        if parameter not in TIMM_PARAMETERS:
            raise InvalidArgumentError(_core.unknown_name_message("parameter", parameter, list(TIMM_PARAMETERS)))
    for parameter, values in ((LAYER_NORM, LAYER_NORMS), (ATTENTION, ATTENTIONS)):
        value = recipe.parameters.get(parameter, values[0])
        if value not in values:
            raise InvalidArgumentError(_core.unknown_name_message(parameter, value, list(values)))
    with torch.device("meta"):
        try:
            module = timm.create_model(name, pretrained=False, **({} if size is None else {"img_size": size}))
        except TypeError:  # networks of convolutions take any size and no such argument
            module = timm.create_model(name, pretrained=False)
        if recipe.integer(REPARAM, 0):
            module = timm.utils.reparameterize_model(module.eval(), inplace=True)
    return module


def timm_norms(module: Any) -> list[Any]:
    """The norms that timm's benchmark.py --fast-norm keeps in half precision under autocast."""
    return [norm for norm in module.modules() if hasattr(norm, "_fast_norm")]


def timm_fused_attention(module: Any) -> list[Any]:
    """The modules of timm that call torch's function for attention."""
    return [part for part in module.modules() if getattr(part, "fused_attn", False)]


class _ScoreScale:
    """A module's scale that `(queries * scale) @ keys` applies to the product."""

    def __init__(self, value: float) -> None:
        self._value = value

    def __rmul__(self, queries: Any) -> _ScaledLater:
        return _ScaledLater(queries, self._value)


@dataclasses.dataclass(frozen=True)
class _ScaledLater:
    queries: Any
    scale: float

    def transpose(self, *dimensions: int) -> _ScaledLater:
        return _ScaledLater(self.queries.transpose(*dimensions), self.scale)

    def __matmul__(self, keys: Any) -> Any:
        return (self.queries @ keys) * self.scale


def _timm(recipe: Recipe) -> tuple[Any, Any]:
    """timm:resnet50@224"""
    _, at, size = recipe.name.partition("@")
    if not at or not size.isdigit():
        raise InvalidArgumentError(f"recipe '{recipe}' names no image size; expected timm:resnet50@224")
    module = timm_module(recipe, int(size))
    if recipe.integer(FAST_NORM, 0):
        from timm.layers import LayerNorm

        is_torch = recipe.parameters.get(LAYER_NORM) == TORCH_NORM
        for norm in timm_norms(module):
            norm._fast_norm = not (is_torch and type(norm) is LayerNorm)
    attention = recipe.parameters.get(ATTENTION, FUSED)
    if attention != FUSED:
        for part in timm_fused_attention(module):
            part.fused_attn = False
            if attention == SCALED_SCORES:
                part.scale = _ScoreScale(part.scale)
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
    if recipe.parameters.get(FAST_NORM) and captured.warnings:
        raise LatpredError(f"recipe '{recipe}': {'; '.join(captured.warnings)}")
    versions = {"torch": torch.__version__, builder.package: package.__version__}
    return Recorded(captured.document, _tied(captured.weights), captured.name, versions)

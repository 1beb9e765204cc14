"""What builds each kind of recipe; those that only a framework builds are in recorded.BUILDERS."""

from __future__ import annotations

from collections.abc import Callable

from latpred._core import GraphBuilder
from latpred.datasets import (
    accel_nasbench,
    cnn,
    family_networks,
    fbnet,
    fnn,
    googlenet,
    language_model,
    nasbench201,
    ofa,
    paddle_networks,
    single_operators,
    stable_diffusion,
    transformer,
)
from latpred.datasets.recipe import Recipe
from latpred.errors import InvalidArgumentError

BUILDERS: dict[str, Callable[[GraphBuilder, Recipe], None]] = {
    "op": single_operators.build,
    "anb": accel_nasbench.build,
    "nb201": nasbench201.build,
    "fbnet": fbnet.build,
    family_networks.KIND: family_networks.build,
    "fnn": fnn.build,
    "cnn": cnn.build,
    googlenet.KIND: googlenet.build,
    "ofa": ofa.build,
    "paddle": paddle_networks.build,
    "bert": transformer.build,
    "vit": transformer.build_vision,
    "llm": language_model.build,
    "sd": stable_diffusion.build,
}


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of `recipe` into `net`."""
    rule = BUILDERS.get(recipe.kind)
    if rule is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown kind '{recipe.kind}'; valid: {', '.join(BUILDERS)}")
    rule(net, recipe)

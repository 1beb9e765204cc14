"""Networks of timm, rebuilt without weights: what a "timm:resnet50@224" recipe stands for."""

from __future__ import annotations

import latpred
from latpred._core import Graph
from latpred.datasets.recipe import Recipe
from latpred.errors import InvalidArgumentError, MissingDependencyError

# How far a rebuilt network may be from what the table states before it counts as another one: timm changes networks,
# and what it counts as a multiply-accumulate, from release to release.
MAX_PARAMETER_ERROR = 0.02
MAX_MACS_ERROR = 0.10
ROUNDING = 0.005  # of the tables: two digits


def graph_of(recipe: Recipe, batch: int) -> Graph:
    """The network of `recipe` at `batch`, built on the meta device with timm and captured as a live module is."""
    try:
        import timm
        import torch
    except ImportError as error:
        raise MissingDependencyError(
            f"recipe '{recipe}' needs timm and torch: pip install \"latpred[architectures]\""
        ) from error
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
    return latpred.load(model=module, input=f"3,{size},{size}", batch=batch)


def is_as_stated(graph: Graph, parameters_m: float, macs_g: float) -> bool:
    """Whether `graph` is the network that a table states: millions of parameters, billions of MACs for one image."""
    parameters = graph.num_parameters / 1e6
    macs = graph.macs / graph.batch / 1e9
    return (
        abs(parameters - parameters_m) <= MAX_PARAMETER_ERROR * parameters_m + ROUNDING
        and abs(macs - macs_g) <= MAX_MACS_ERROR * macs_g + ROUNDING
    )

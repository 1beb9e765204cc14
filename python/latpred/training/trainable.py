"""What train() makes: the table of learners, and how each is trained."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from latpred._core import unknown_name_message
from latpred.datasets.fnn import KIND as FNN
from latpred.datasets.fnn import MOST_NODES
from latpred.datasets.nets import KINDS
from latpred.errors import InvalidArgumentError
from latpred.training.learner import Learner, Parameters


@dataclass(frozen=True)
class Search:
    """A hyper-parameter whose best value by validation error is looked for: a training for each of the values."""

    parameter: str
    values: tuple[int, ...]


@dataclass(frozen=True)
class TrainableRow:
    """A predictor that train() makes."""

    name: str
    description: str
    make: Callable[[int, Parameters], Learner]  # from a seed and what hyper_parameters() gave
    epochs: int  # 1: a fit in closed form
    hyper_parameters: Callable[[int], Parameters]  # for so many epochs, which are one of them
    max_nodes: int | None  # None: any
    patience: int | None = None  # epochs without a better validation error after which training stops; None: never
    chosen_by: str = "log"  # the validation error that chooses the epoch: "log" or "seconds"
    kinds: tuple[str, ...] = (FNN,)  # of nets that it takes: rows of nets.KINDS
    search: Search | None = None


def _linear(seed: int, parameters: Parameters) -> Learner:
    from latpred.training.linear import Linear

    return Linear(parameters["column"])


def _cache_roofline(seed: int, parameters: Parameters) -> Learner:
    from latpred.training.cache_roofline import CacheRoofline

    return CacheRoofline()


def _trees(seed: int, parameters: Parameters) -> Learner:
    from latpred.training.trees import Trees

    return Trees(seed, parameters)


def _transformer(seed: int, parameters: Parameters) -> Learner:
    from latpred.training.transformer import Transformer

    return Transformer(seed, parameters)


def _dense(seed: int, parameters: Parameters) -> Learner:
    from latpred.training.regressors import Dense

    return Dense(seed, parameters)


def _flat_linear(seed: int, parameters: Parameters) -> Learner:
    from latpred.training.regressors import FlatLinear

    return FlatLinear(parameters)


def _dense_parameters(recipe: str) -> Callable[[int], Parameters]:
    def found(epochs: int) -> Parameters:
        from latpred.training.regressors import hyper_parameters

        return hyper_parameters(recipe, epochs)

    return found


def _transformer_parameters(recipe: str, base: str) -> Callable[[int], Parameters]:
    def found(epochs: int) -> Parameters:
        from latpred.training.transformer import hyper_parameters

        return hyper_parameters(recipe, base, epochs)

    return found


def _trees_parameters(epochs: int) -> Parameters:
    from latpred.training.trees import PARAMETERS

    return PARAMETERS | {"epochs": epochs}


def _fixed(**parameters: Any) -> Callable[[int], Parameters]:
    return lambda epochs: parameters | {"epochs": epochs}


ANY_KIND = tuple(KINDS)

TRAINABLE: tuple[TrainableRow, ...] = (
    TrainableRow(
        "transformer",
        "transformer over the nodes of a feed-forward net, logarithms in and out, over a roofline that knows caches",
        _transformer,
        epochs=60,
        hyper_parameters=_transformer_parameters("ours", base="cache_roofline"),
        max_nodes=None,
    ),
    TrainableRow(
        "transformer_paper",
        "the same by Khan's recipe: learnt positions, standardised inputs, squared error of seconds",
        _transformer,
        epochs=100,
        hyper_parameters=_transformer_parameters("paper", base="none"),
        max_nodes=MOST_NODES,
        chosen_by="seconds",
    ),
    TrainableRow(
        "trees",
        "gradient-boosted trees over sizes of a feed-forward net",
        _trees,
        epochs=1,
        hyper_parameters=_trees_parameters,
        max_nodes=None,
    ),
    TrainableRow(
        "cache_roofline",
        "time per layer and weight bytes over a bandwidth that depends on the size of the net",
        _cache_roofline,
        epochs=1,
        hyper_parameters=_fixed(),
        max_nodes=None,
        kinds=ANY_KIND,
    ),
    TrainableRow(
        "layer_sum",
        "the sum of each layer's time, which a dense network finds as a factor of cache_roofline's",
        _dense,
        epochs=80,
        hyper_parameters=_dense_parameters("ours"),
        max_nodes=None,
        kinds=ANY_KIND,
    ),
    TrainableRow(
        "flat_dnn",
        "Mendoza and Wang's dense network over flattened nets, its depth searched for",
        _dense,
        epochs=100,
        hyper_parameters=_dense_parameters("paper"),
        max_nodes=MOST_NODES,
        patience=20,
        chosen_by="seconds",
        kinds=ANY_KIND,
        search=Search("hidden_layers", tuple(range(1, 21))),
    ),
    TrainableRow(
        "flat_linear",
        "Mendoza and Wang's linear regression on flattened nets, of the least coefficients",
        _flat_linear,
        epochs=1,
        hyper_parameters=_fixed(most_nodes=MOST_NODES),
        max_nodes=MOST_NODES,
        kinds=ANY_KIND,
    ),
    TrainableRow(
        "linear_weights",
        "linear regression on the weight count of each node",
        _linear,
        epochs=1,
        hyper_parameters=_fixed(column="weights"),
        max_nodes=MOST_NODES,
    ),
    TrainableRow(
        "linear_widths",
        "linear regression on the units of each node",
        _linear,
        epochs=1,
        hyper_parameters=_fixed(column="units"),
        max_nodes=MOST_NODES,
    ),
)


def trainable_names() -> list[str]:
    """What predictor= of train() takes."""
    return [row.name for row in TRAINABLE]


def names_taking(kinds: Iterable[str]) -> list[str]:
    """The predictors that take all these kinds of nets."""
    return [row.name for row in TRAINABLE if set(kinds) <= set(row.kinds)]


def trainable_row(name: str) -> TrainableRow:
    """The row of this name; an error that names the nearest."""
    for row in TRAINABLE:
        if row.name == name:
            return row
    names = trainable_names()
    raise InvalidArgumentError(unknown_name_message("trainable predictor", name, names), valid=names)

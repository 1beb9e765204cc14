"""Graph neural networks that learn fusion and kernels: training, checkpoints, answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import checkpoint_file
from latpred._torch import predictors_module
from latpred.errors import CheckpointError, InvalidArgumentError
from latpred.fusion.graph_arrays import Arrays
from latpred.fusion.inputs import AS_THEY_ARE, derive

if TYPE_CHECKING:
    from latpred._predictors import GraphConfig, GraphPredictor, GraphSizes, GraphTrainer

FORMAT_VERSION = 1
KIND = "graph network"  # what tells these files from other checkpoints
NO_KERNEL = "none"  # the type of nodes that are executed in place: they take no time
_LABELS = ("fusible", "targets", "types", "first_term", "counts", "sums")
_CONFIG_FIELDS = (
    "name", "task", "layer", "layers", "width", "heads", "l2_norm", "size_norm", "undirected", "columns", "readout",
    "dense_layers", "dense_width", "dropout", "input_scale", "scale", "sum_weight", "loss", "schedule", "learning_rate",
    "batch_graphs", "epochs",
)  # fmt: skip
_SIZE_FIELDS = ("node_columns", "graph_columns", "operators", "targets", "types")


def recipe(name: str, **changes: Any) -> GraphConfig:
    """The config of that name, with some of its fields changed: recipe("fusion_edges", epochs=5)."""
    config: GraphConfig = predictors_module().graph_config(name)
    for field_name, value in changes.items():
        if field_name not in _CONFIG_FIELDS:
            raise InvalidArgumentError(f"a graph config has no field '{field_name}'", valid=_CONFIG_FIELDS)
        setattr(config, field_name, value)
    return config


@dataclass
class GraphNetwork:
    """A trained network; `classes`: the names of its types; `history`: of each epoch, loss and validation score;
    `inputs`: what of graphs it reads (a row of latpred.fusion.inputs), computed here from the graphs that it is given.
    """

    config: GraphConfig
    sizes: GraphSizes
    arrays: Arrays
    classes: tuple[str, ...] = ()
    history: list[dict[str, float]] = field(default_factory=list)
    trained_on: dict[str, Any] = field(default_factory=dict)
    inputs: str = AS_THEY_ARE

    def __post_init__(self) -> None:
        self._predictor: GraphPredictor = predictors_module().GraphPredictor(self.config, self.sizes, self.arrays)

    def predict(self, graphs: Arrays) -> Arrays:
        """'fusible' [E], or 'targets' [G, T] and 'types' [G, K]; labels in `graphs` are not looked at."""
        answers = dict(self._predictor.predict(self._asked(graphs)))
        if NO_KERNEL in self.classes:
            in_place = answers["types"].argmax(axis=1) == self.classes.index(NO_KERNEL)
            answers["targets"] = np.where(in_place[:, None], 0.0, answers["targets"])
        return answers

    def attention(self, graphs: Arrays) -> tuple[np.ndarray, list[np.ndarray]]:
        """Edges [2, e], one from each node to itself included, and of each layer the shares [e, heads]."""
        edges, shares = self._predictor.attention(self._asked(graphs))
        return edges, list(shares)

    def _asked(self, graphs: Arrays) -> Arrays:
        return derive(self.inputs, {name: values for name, values in graphs.items() if name not in _LABELS})

    def save(self, path: Path) -> None:
        """One file: numbers as float32, all else in its manifest."""
        manifest = {
            "format_version": FORMAT_VERSION,
            "kind": KIND,
            "config": {name: getattr(self.config, name) for name in _CONFIG_FIELDS},
            "sizes": {name: getattr(self.sizes, name) for name in _SIZE_FIELDS},
            "classes": list(self.classes),
            "history": self.history,
            "trained_on": self.trained_on,
            "inputs": self.inputs,
        }
        # Scales of targets are kept whole; weights were trained in float32.
        stored = {
            name: values if name.startswith("target_") else values.astype(np.float32)
            for name, values in self.arrays.items()
        }
        checkpoint_file.write(path, manifest, stored)


def load(path: Path) -> GraphNetwork:
    """What GraphNetwork.save wrote."""
    manifest, arrays = checkpoint_file.read(path)
    if manifest.get("kind") != KIND or manifest.get("format_version") != FORMAT_VERSION:
        found = f"{manifest.get('kind')!r} of version {manifest.get('format_version')!r}"
        raise CheckpointError(f"'{path}' holds {found}, expected {KIND!r} of version {FORMAT_VERSION}", path=str(path))
    changes = dict(manifest["config"])
    config = recipe(changes.pop("name"), **changes)
    sizes = predictors_module().GraphSizes(**manifest["sizes"])
    return GraphNetwork(
        config,
        sizes,
        arrays,
        tuple(manifest["classes"]),
        manifest["history"],
        manifest["trained_on"],
        manifest.get("inputs", AS_THEY_ARE),
    )


def sizes_of(graphs: Arrays, operators: int, classes: int = 0) -> GraphSizes:
    """How wide a network for these graphs must be."""

    def width(name: str) -> int:
        return graphs[name].shape[1] if name in graphs else 0

    sizes: GraphSizes = predictors_module().GraphSizes(
        node_columns=width("nodes"),
        graph_columns=width("columns"),
        operators=operators,
        targets=width("targets"),
        types=classes,
    )
    return sizes


def find_learning_rate(
    config: GraphConfig, sizes: GraphSizes, graphs: Arrays, *, seed: int = 0, inputs: str = AS_THEY_ARE
) -> dict[str, Any]:
    """A new network's losses [S] while the rates [S] grow from 1e-7 to 1, a batch each, and the rate where they fall
    fastest ("steepest"; NaN where they fall nowhere)."""
    trainer: GraphTrainer = predictors_module().GraphTrainer(config, sizes, seed)
    found: dict[str, Any] = trainer.find_learning_rate(derive(inputs, graphs))
    return found


def train(
    config: GraphConfig,
    sizes: GraphSizes,
    graphs: Arrays,
    validation: Arrays | None,
    *,
    seed: int = 0,
    classes: tuple[str, ...] = (),
    inputs: str = AS_THEY_ARE,
    state: Path | None = None,
    epoch_done: Callable[[int, float, float], None] | None = None,
) -> GraphNetwork:
    """Trains to the config's last epoch and keeps the weights of the best validation score, as Lilou does: accuracy of
    edges, else the lowest loss. Without a validation the last ones stay.

    sizes: of the graphs with their inputs (sizes_of(derive(inputs, graphs), ...)).
    state: a file that holds everything after each epoch, so that an interrupted training goes on; removed at the end.
    """
    graphs = derive(inputs, graphs)
    held_out = None if validation is None else derive(inputs, validation)
    trainer: GraphTrainer = predictors_module().GraphTrainer(config, sizes, seed)
    history: list[dict[str, float]] = []
    best: Arrays = {}
    if state is not None and state.exists():
        manifest, arrays = checkpoint_file.read(state)
        history = manifest["history"]
        best = {name[5:]: values for name, values in arrays.items() if name.startswith("best.")}
        trainer.load_state({name[6:]: values for name, values in arrays.items() if name.startswith("state.")})
    while trainer.epochs_done < config.epochs:
        loss = trainer.fit_epoch(graphs)
        score = 0.0 if held_out is None else _score(trainer, held_out)
        if held_out is None or not history or score > max(row["score"] for row in history):
            best = dict(trainer.arrays())
        history.append({"loss": loss, "score": score})
        if state is not None:
            arrays = {f"state.{name}": values for name, values in trainer.state().items()}
            checkpoint_file.write(state, {"history": history}, arrays | {f"best.{name}": v for name, v in best.items()})
        if epoch_done is not None:
            epoch_done(trainer.epochs_done, loss, score)
    if state is not None:
        state.unlink(missing_ok=True)
    trained_on = {"graphs": len(graphs["first_node"]) - 1, "seed": seed}
    return GraphNetwork(config, sizes, best, classes, history, trained_on, inputs)


def _score(trainer: GraphTrainer, validation: Arrays) -> float:
    """The higher the better."""
    if trainer.config.task != "edges":
        return -float(trainer.loss(validation))
    asked = {name: values for name, values in validation.items() if name != "fusible"}
    return float(np.mean((trainer.predict(asked)["fusible"] > 0.5) == (validation["fusible"] == 1)))

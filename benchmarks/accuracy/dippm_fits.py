"""The fits of DIPPM's benchmark: its predictor, the four rivals, and what they are compared with."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import latpred
import numpy as np
import pandas as pd
from dippm_data import ALL, HERE, LATENCY, MEMORY, ROWS, TEN, Data, read, short, write
from latpred import fusion
from latpred.datasets import families
from latpred.fusion import graph_arrays

RECIPES = {"pmgns_gat": "GAT", "pmgns_gcn": "GCN", "pmgns_gin": "GIN", "pmgns_mlp": "MLP", "pmgns": "GraphSAGE"}
# Ours: logarithms in and out over a physical base, a mean of nodes, batches of several graphs, a rate that fits them.
TUNED: dict[str, Any] = {
    "width": 128, "layers": 4, "dense_width": 128, "readout": "mean", "input_scale": "log", "scale": "log",
    "loss": "l1", "schedule": "one_cycle", "learning_rate": 2e-3, "batch_graphs": 16, "epochs": 30,
}  # fmt: skip
RATES = "rates"  # the journal of the finder's
PUBLISHED = "as_published"  # graphs as DIPPM's code reads them
SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {},  # the recipes as they are: Table 3, 10 epochs, batches of one
    "paper_mse": {"loss": "mse"},
    PUBLISHED: {},
    "tuned": TUNED,
}


@dataclasses.dataclass(frozen=True)
class Fit:
    """One training: what learns, by which settings, on which rows, split how."""

    recipe: str
    settings: str
    rows: str
    split: str
    seed: int = 0

    @property
    def name(self) -> str:
        """Of its file."""
        words = (self.recipe, self.settings, short(self.rows), self.split, str(self.seed))
        return "-".join(words)


def _of(settings: str, rows: str, split: str, seed: int = 0, recipes: Sequence[str] = tuple(RECIPES)) -> list[Fit]:
    order = sorted(recipes, key=lambda name: (name not in ("pmgns_mlp", "pmgns"), name))
    return [Fit(recipe, settings, rows, split, seed) for recipe in order]


def plan(seeds: int) -> list[Fit]:
    """In the order in which they are trained: what the page needs most comes first."""
    fits = []
    for seed in range(seeds):
        fits += _of("paper", TEN, "random", seed)
        for split in ("family", "architecture", "random"):
            fits += _of("tuned", ALL, split, seed)
        fits += [fit for settings in ("tuned", "paper") for fit in _of(settings, HERE, "random", seed)]
        fits += [fit for settings in ("paper_mse", PUBLISHED) for fit in _of(settings, TEN, "random", seed, ["pmgns"])]
    for seed in range(seeds):
        fits += [fit for split in ("architecture", "family") for fit in _of("paper", TEN, split, seed)]
    return fits


class Spent(Exception):
    """The minutes are used up."""


def config_of(fit: Fit) -> Any:
    """The recipe by its settings; an MLP stays without layers over nodes."""
    changes = SETTINGS[fit.settings]
    if fusion.recipe(fit.recipe).layers == 0:
        changes = {name: value for name, value in changes.items() if name != "layers"}
    return fusion.recipe(fit.recipe, **changes)


def seen_by(fit: Fit, data: Data) -> graph_arrays.Arrays:
    """All graphs of the rows' source as the fit reads them."""
    arrays = data.arrays(fit.rows, fit.settings == PUBLISHED)
    if config_of(fit).scale == "log":
        return arrays
    # DIPPM's five static features, no base
    return {name: values for name, values in arrays.items() if name != "bases"} | {"columns": arrays["columns"][:, :5]}


def find_rates(data: Data, seeds: int) -> None:
    """The learning rates where the loss of the paper's settings falls fastest, as DIPPM chose its own."""
    calls = data.of(TEN)
    if read(RATES, calls.rows) is not None:
        return
    training = np.flatnonzero(data.is_in(TEN) & (calls.parts("random") == "train"))
    rates = {}
    for recipe in RECIPES:
        fit = Fit(recipe, "paper", TEN, "random")
        graphs = graph_arrays.part(seen_by(fit, data), training)
        sizes = fusion.sizes_of(graphs, 0)
        found = [fusion.find_learning_rate(config_of(fit), sizes, graphs, seed=seed) for seed in range(seeds)]
        rates[recipe] = [f"{one['steepest']:.1e}" if one["steepest"] == one["steepest"] else "none" for one in found]
    write(RATES, calls.rows, {}, rates=rates)


def train(fit: Fit, data: Data, work: Path, is_spent: Callable[[], bool]) -> None:
    """Trains one fit, or raises Spent and leaves what the next call goes on with."""
    config, calls, arrays = config_of(fit), data.of(fit.rows), seen_by(fit, data)
    parts, is_in = calls.parts(fit.split), data.is_in(fit.rows)
    training, validation = (
        graph_arrays.part(arrays, np.flatnonzero(is_in & (parts == part))) for part in ("train", "validation")
    )
    start = time.process_time()

    def epoch_done(epoch: int, loss: float, score: float) -> None:
        print(f"{fit.name}: epoch {epoch}, {loss:.4f}, {score:.4f}, {time.process_time() - start:.0f} s", flush=True)
        if is_spent() and epoch < config.epochs:
            raise Spent

    network = fusion.train(
        config,
        fusion.sizes_of(training, 0),
        training,
        validation,
        seed=fit.seed,
        state=work / f"{fit.name}.training",
        epoch_done=epoch_done,
    )
    answers = network.predict(arrays)["targets"]
    network.save(work / f"{fit.name}.safetensors")
    write(
        fit.name,
        calls.rows,
        dict(zip(ROWS[fit.rows].source.targets, answers.T, strict=True)),
        fit=dataclasses.asdict(fit),
        epochs=len(network.history),
        cpu_s_of_last_run=round(time.process_time() - start),
        history=[[float(f"{row[name]:.4g}") for name in ("loss", "score")] for row in network.history],
    )


def linear(known: graph_arrays.Arrays, asked: graph_arrays.Arrays, target: int = 0) -> np.ndarray:
    """Least squares of the relative error over DIPPM's static features and a constant."""
    from scipy.optimize import nnls

    def design(arrays: graph_arrays.Arrays) -> np.ndarray:
        columns = arrays["columns"][:, :5]
        # A count costs for each item of the batch, MACs and the batch are what they are.
        return np.column_stack([columns[:, :2], columns[:, 2:] * columns[:, 1:2], np.ones(len(columns))])

    scale = design(known).max(axis=0)
    scale[scale == 0] = 1
    seconds = known["targets"][:, target]
    weights, _ = nnls(design(known) / scale / seconds[:, None], np.ones(len(seconds)))
    return np.asarray(design(asked) / scale @ weights)


def trees(known: graph_arrays.Arrays, asked: graph_arrays.Arrays, target: int = 0) -> np.ndarray:
    """Gradient-boosted trees over the columns that ours reads, on the logarithm of what is measured over the same
    base."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.06, random_state=0)
    # The bound of the time is a feature whatever the target is.
    features = [np.column_stack([np.log1p(a["columns"]), np.log(a["bases"][:, 0])]) for a in (known, asked)]
    model.fit(features[0], np.log(known["targets"][:, target] / known["bases"][:, target]))
    return np.asarray(asked["bases"][:, target] * np.exp(model.predict(features[1])))


BASELINES = {"linear": linear, "trees": trees}
BASELINE_TITLES = {
    "linear": "linear regression, static features",
    "trees": "gradient-boosted trees, static features and totals",
    "default-left-out": "default predictor, its family left out",
    "default": "default predictor as shipped (it saw these rows)",
    "roofline": "roofline",
    "host-default": "default predictor as shipped: kernels timed on this processor too, memory's law on these calls",
    "host-roofline": "roofline of this machine",
}


def run_baselines(data: Data) -> None:
    """Those that take seconds to fit."""
    for rows_name, rows in ROWS.items():
        calls, is_in, arrays = data.of(rows_name), data.is_in(rows_name), data.arrays(rows_name)
        for split in families.SPLITS:
            known = graph_arrays.part(arrays, np.flatnonzero(is_in & (calls.parts(split) == "train")))
            for name, run in BASELINES.items():
                label = f"{name}-{short(rows_name)}-{split}"
                if read(label, calls.rows) is None:
                    answers = {target: run(known, arrays, place) for place, target in enumerate(rows.source.targets)}
                    write(label, calls.rows, answers)


def ask_shipped(data: Data) -> None:
    """What the default predictor and the roofline say of all rows: a graph is built once for both."""
    predictors = {"default": None, "roofline": "roofline"}
    calls = data.of(ALL)
    if all(read(name, calls.rows) is not None for name in predictors):
        return
    seconds: dict[str, list[float]] = {name: [] for name in predictors}
    for place, row in enumerate(calls.rows.itertuples()):
        graph = calls.graph(place)
        asked = {"device": row.device, "runtime": row.runtime, "precision": row.precision}
        for name, predictor in predictors.items():
            seconds[name].append(latpred.predict(graph=graph, predictor=predictor, **asked).latency_s)
    for name, answers in seconds.items():
        write(name, calls.rows, {LATENCY: np.array(answers)})


def ask_host(data: Data) -> None:
    """What the default predictor and the roofline say of the calls on one core: on that machine alone."""
    calls = data.of(HERE)
    predictors = {"host-default": None, "host-roofline": "roofline"}
    is_here = set(calls.rows.device) == {latpred.host().fingerprint}
    if not is_here or all(read(name, calls.rows) is not None for name in predictors):
        return
    for name, predictor in predictors.items():
        told = [
            latpred.predict(
                graph=calls.graph(place), device="cpu", runtime="openvino", precision="fp32", predictor=predictor
            )
            for place in range(len(calls))
        ]
        answers = {LATENCY: [one.latency_s for one in told], MEMORY: [1e6 * one.memory_mb for one in told]}
        write(name, calls.rows, {target: np.array(values) for target, values in answers.items()})


def take_left_out(data: Data, folder: Path) -> None:
    """What networks.py kept of the fits that had not seen a row's family: the folds, and the part for the last look."""
    files = [*folder.glob("rows_fold_?_0.parquet"), *folder.glob("rows_test_test_0.parquet")]
    answers = pd.concat([pd.read_parquet(file)[["id", "pred"]] for file in files]).set_index("id").pred
    rows = data.of(ALL).rows
    write("default-left-out", rows, {LATENCY: answers.reindex(rows.id).to_numpy()})

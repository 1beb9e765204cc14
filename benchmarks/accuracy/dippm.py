"""DIPPM's predictor of whole graphs, its four rivals and what they are compared with: the tables, or the trainings.

python benchmarks/accuracy/dippm.py [--docs docs/dippm.md] [--plot docs/dippm.png]      the tables, from committed files
python benchmarks/accuracy/dippm.py --train --work FOLDER [--only NAME ...] [--seeds N] [--budget-minutes M]

Networks are timm's on an RTX 4090 (eager PyTorch 2.9.1, autocast), a row for each network and image size, at the batch
that timm chose. Each fit ends in a file of its own in benchmarks/accuracy/dippm/, with its answers for all rows; FOLDER
keeps graphs and unfinished trainings, so that the same command goes on. All fits of one seed take about an hour and a
half of one core.
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import latpred
import numpy as np
import pandas as pd
from latpred import fusion
from latpred.datasets import families, load
from latpred.fusion import graph_arrays, whole_graph

sys.path.insert(0, str(Path(__file__).resolve().parent))

import dippm_mig
import docs_table

MARK = "benchmarks/accuracy/dippm.py"
JOURNALS = Path(__file__).resolve().parent / "dippm"
DEVICE, RUNTIME, VERSION = "RTX 4090", "eager", "torch 2.9.1 cuda 12.8"

RECIPES = {"pmgns_gat": "GAT", "pmgns_gcn": "GCN", "pmgns_gin": "GIN", "pmgns_mlp": "MLP", "pmgns": "GraphSAGE"}
# DIPPM's Table 4: train, validation, test; its three outputs pooled, its data, ten epochs.
PAPER = {
    "pmgns_gat": (49.7, 37.9, 36.7),
    "pmgns_gcn": (21.2, 17.8, 17.5),
    "pmgns_gin": (48.8, 39.4, 38.2),
    "pmgns_mlp": (37.1, 38.7, 36.6),
    "pmgns": (18.2, 15.9, 16.0),
}
# Ours: logarithms in and out over a physical base, a mean of nodes, batches of several graphs, a rate that fits them.
TUNED: dict[str, Any] = {
    "width": 128, "layers": 4, "dense_width": 128, "readout": "mean", "input_scale": "log", "scale": "log",
    "loss": "l1", "schedule": "one_cycle", "learning_rate": 2e-3, "batch_graphs": 16, "epochs": 30,
}  # fmt: skip
SETTINGS: dict[str, dict[str, Any]] = {
    "paper": {},  # the recipes as they are: Table 3, 10 epochs, batches of one
    "paper_mse": {"loss": "mse"},
    "tuned": TUNED,
}
TEN, ALL = "ten families", "all networks"
SETS: dict[str, Callable[[pd.DataFrame], pd.Series]] = {
    TEN: lambda rows: rows.family.isin(set(families.FAMILIES) - {families.UNSEEN}),
    ALL: lambda rows: rows.family.notna(),
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
        words = (self.recipe, self.settings, self.rows.partition(" ")[0], self.split, str(self.seed))
        return "-".join(words)


def _of(settings: str, rows: str, split: str, seed: int = 0, recipes: Sequence[str] = tuple(RECIPES)) -> list[Fit]:
    order = sorted(recipes, key=lambda name: (name not in ("pmgns_mlp", "pmgns"), name))
    return [Fit(recipe, settings, rows, split, seed) for recipe in order]


def plan(seeds: int) -> list[Fit]:
    """In the order in which they are trained: what the page needs most comes first."""
    fits = _of("paper", TEN, "random")
    fits += [fit for split in ("family", "architecture", "random") for fit in _of("tuned", ALL, split)]
    fits += _of("paper_mse", TEN, "random", recipes=("pmgns",))
    for seed in range(1, seeds):
        fits += _of("paper", TEN, "random", seed)
        for split in ("family", "architecture", "random"):
            fits += _of("tuned", ALL, split, seed)
    fits += [
        fit for seed in range(seeds) for split in ("architecture", "family") for fit in _of("paper", TEN, split, seed)
    ]
    return fits


def chosen() -> families.Families:
    """The rows of the one device."""
    whole = load("families")
    rows = whole.rows
    return whole.select((rows.device == DEVICE) & (rows.runtime == RUNTIME) & (rows.runtime_version == VERSION))


def digest(rows: pd.DataFrame) -> str:
    """Of the rows that answers stand beside."""
    return hashlib.sha256("".join(rows.id).encode()).hexdigest()[:16]


def graphs_of(data: families.Families, work: Path) -> graph_arrays.Arrays:
    """All graphs with the latency alone as target, and the base that ours multiplies; kept in `work`."""
    path = work / f"graphs-{digest(data.rows)}.npz"
    if not path.is_file():
        np.savez(path, **data.arrays())
    arrays = whole_graph.with_totals(dict(np.load(path)))
    base = whole_graph.latency_base_s(arrays, DEVICE)
    return arrays | {"targets": arrays["targets"][:, :1], "bases": base[:, None]}


class Spent(Exception):
    """The minutes are used up."""


def journal(name: str) -> Path:
    """Where a fit's answers lie."""
    return JOURNALS / f"{name}.json"


def write(name: str, rows: pd.DataFrame, answers: np.ndarray, **facts: Any) -> None:
    """Answers in seconds for all rows, whichever of them a fit saw."""
    numbers = [float(f"{answer:.4g}") for answer in answers]
    JOURNALS.mkdir(exist_ok=True)
    journal(name).write_text(json.dumps(facts | {"rows": digest(rows), "latency_s": numbers}) + "\n", encoding="utf-8")


def read(name: str, rows: pd.DataFrame) -> dict[str, Any] | None:
    """What write() wrote; None: not trained yet, or on other rows."""
    if not journal(name).is_file():
        return None
    found: dict[str, Any] = json.loads(journal(name).read_text(encoding="utf-8"))
    return found if found["rows"] == digest(rows) else None


def config_of(fit: Fit) -> Any:
    """The recipe by its settings; an MLP stays without layers over nodes."""
    changes = SETTINGS[fit.settings]
    if fusion.recipe(fit.recipe).layers == 0:
        changes = {name: value for name, value in changes.items() if name != "layers"}
    return fusion.recipe(fit.recipe, **changes)


def train(
    fit: Fit, data: families.Families, arrays: graph_arrays.Arrays, work: Path, is_spent: Callable[[], bool]
) -> None:
    """Trains one fit, or raises Spent and leaves what the next call goes on with."""
    config = config_of(fit)
    if config.scale != "log":  # DIPPM's five static features, no base
        arrays = {name: values for name, values in arrays.items() if name != "bases"}
        arrays["columns"] = arrays["columns"][:, :5]
    parts, is_in = data.parts(fit.split), SETS[fit.rows](data.rows).to_numpy()
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
    answers = network.predict(arrays)["targets"][:, 0]
    network.save(work / f"{fit.name}.safetensors")
    write(
        fit.name,
        data.rows,
        answers,
        fit=dataclasses.asdict(fit),
        epochs=len(network.history),
        cpu_s_of_last_run=round(time.process_time() - start),
        history=[[float(f"{row[name]:.4g}") for name in ("loss", "score")] for row in network.history],
    )


def linear(known: graph_arrays.Arrays, asked: graph_arrays.Arrays) -> np.ndarray:
    """Least squares of the relative error over DIPPM's static features and a constant."""
    from scipy.optimize import nnls

    def design(arrays: graph_arrays.Arrays) -> np.ndarray:
        columns = arrays["columns"][:, :5]
        # A count costs for each item of the batch, MACs and the batch are what they are.
        return np.column_stack([columns[:, :2], columns[:, 2:] * columns[:, 1:2], np.ones(len(columns))])

    scale = design(known).max(axis=0)
    scale[scale == 0] = 1
    seconds = known["targets"][:, 0]
    weights, _ = nnls(design(known) / scale / seconds[:, None], np.ones(len(seconds)))
    return np.asarray(design(asked) / scale @ weights)


def trees(known: graph_arrays.Arrays, asked: graph_arrays.Arrays) -> np.ndarray:
    """Gradient-boosted trees over the columns that ours reads, on the logarithm of seconds over the same base."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    model = HistGradientBoostingRegressor(max_iter=300, learning_rate=0.06, random_state=0)
    features = [np.column_stack([np.log1p(a["columns"]), np.log(a["bases"][:, 0])]) for a in (known, asked)]
    model.fit(features[0], np.log(known["targets"][:, 0] / known["bases"][:, 0]))
    return np.asarray(asked["bases"][:, 0] * np.exp(model.predict(features[1])))


BASELINES = {"linear": linear, "trees": trees}
BASELINE_TITLES = {
    "linear": "linear regression, static features",
    "trees": "gradient-boosted trees, static features and totals",
    "default-left-out": "default predictor, its family left out",
    "default": "default predictor as shipped (it saw these rows)",
    "roofline": "roofline",
}


def run_baselines(data: families.Families, arrays: graph_arrays.Arrays) -> None:
    """Those that take seconds to fit."""
    for rows_name, select in SETS.items():
        is_in = select(data.rows).to_numpy()
        for split in families.SPLITS:
            known = np.flatnonzero(is_in & (data.parts(split) == "train"))
            for name, run in BASELINES.items():
                label = f"{name}-{rows_name.partition(' ')[0]}-{split}"
                if read(label, data.rows) is None:
                    write(label, data.rows, run(graph_arrays.part(arrays, known), arrays))


def ask_shipped(data: families.Families) -> None:
    """What the default predictor and the roofline say of all rows: a graph is built once for both."""
    predictors = {"default": None, "roofline": "roofline"}
    if all(read(name, data.rows) is not None for name in predictors):
        return
    seconds: dict[str, list[float]] = {name: [] for name in predictors}
    for place, row in enumerate(data.rows.itertuples()):
        graph = data.graph(place)
        asked = {"device": row.device, "runtime": row.runtime, "precision": row.precision}
        for name, predictor in predictors.items():
            seconds[name].append(latpred.predict(graph=graph, predictor=predictor, **asked).latency_s)
    for name, answers in seconds.items():
        write(name, data.rows, np.array(answers))


def take_left_out(data: families.Families, folder: Path) -> None:
    """What networks.py kept of the fits that had not seen a row's family: the folds, and the part for the last look."""
    files = [*folder.glob("rows_fold_?_0.parquet"), *folder.glob("rows_test_test_0.parquet")]
    answers = pd.concat([pd.read_parquet(file)[["id", "pred"]] for file in files]).set_index("id").pred
    write("default-left-out", data.rows, answers.reindex(data.rows.id).to_numpy())


def errors_percent(answers: Sequence[float], rows: pd.DataFrame) -> np.ndarray:
    """[rows] of each."""
    return np.abs(np.array(answers) / rows.latency_s.to_numpy() - 1) * 100


def _cell(values: Sequence[float]) -> str:
    tail = f" ± {np.std(values, ddof=1):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{tail}" if len(values) else ""


def _line(data: families.Families, names: Sequence[str], rows_name: str, split: str) -> list[str] | None:
    """MAPE of train, validation and test, median and 90th percentile of test, ConvNeXt; over the seeds in `names`."""
    found = [answers for name in names if (answers := read(name, data.rows)) is not None]
    if not found:
        return None
    parts, is_in = data.parts(split), SETS[rows_name](data.rows).to_numpy()
    masks = {part: is_in & (parts == part) for part in families.PARTS}
    if rows_name == TEN:
        masks["unseen"] = (data.rows.family == families.UNSEEN).to_numpy()
    errors = [errors_percent(answers["latency_s"], data.rows) for answers in found]
    cells = [_cell([error[mask].mean() for error in errors]) for mask in masks.values()]
    test = masks["test"]
    cells += [_cell([float(np.quantile(error[test], share)) for error in errors]) for share in (0.5, 0.9)]
    return [*cells, str(len(found)) if "fit" in found[0] else ""]


def table(data: families.Families, settings: Sequence[str], rows_name: str, split: str, seeds: int) -> str:
    """One split: the five architectures by each of the settings, and what they stand beside."""
    unseen = ["ConvNeXt"] if rows_name == TEN else []
    headings = ["predictor", "epochs", "train", "validation", "test", *unseen, "test median", "test p90", "seeds"]
    rows = []
    for name in settings:
        for recipe, title in RECIPES.items():
            fits = [Fit(recipe, name, rows_name, split, seed).name for seed in range(seeds)]
            cells = _line(data, fits, rows_name, split)
            if cells is None:
                continue
            known = next(journal for fit in fits if (journal := read(fit, data.rows)) is not None)
            rows.append([f"{title}, {name.replace('_', ' ')}", str(known["epochs"]), *cells])
    short = rows_name.partition(" ")[0]
    for name, title in BASELINE_TITLES.items():
        label = f"{name}-{short}-{split}" if name in BASELINES else name
        cells = _line(data, [label], rows_name, split)
        if cells is not None:
            rows.append([title, "", *cells])
    return docs_table.table(headings, rows)


def markdown(data: families.Families, seeds: int) -> str:
    """All tables."""
    text = "MAPE of the latency in percent; medians and 90th percentiles of the percentage errors of the test part.\n"
    in_ten = int(SETS[TEN](data.rows).sum())
    text += f"\n### DIPPM's Table 4: its ten families, {in_ten} networks, its random split, its settings\n\n"
    text += table(data, ("paper", "paper_mse"), TEN, "random", seeds)
    order = [
        (read(Fit(recipe, "paper", TEN, "random").name, data.rows), recipe, title) for recipe, title in RECIPES.items()
    ]
    test = SETS[TEN](data.rows).to_numpy() & (data.parts("random") == "test")
    scored = sorted(
        (float(errors_percent(found["latency_s"], data.rows)[test].mean()), title, recipe)
        for found, recipe, title in order
        if found is not None
    )
    if len(scored) == len(RECIPES):
        ours = ", ".join(f"{title} {value:.1f}" for value, title, _ in scored)
        theirs = ", ".join(
            f"{RECIPES[recipe]} {values[2]}" for recipe, values in sorted(PAPER.items(), key=lambda item: item[1][2])
        )
        text += f"\nOrder found on test, seed 0: {ours}. DIPPM's, on its own data and three outputs: {theirs}.\n"
    for split, title in (("architecture", "by architecture"), ("family", "with families left out")):
        text += f"\n### The same {title}\n\n" + table(data, ("paper",), TEN, split, seeds)
    for split, title in (
        ("random", "rows at random"),
        ("architecture", "by architecture"),
        ("family", "families left out"),
    ):
        text += f"\n### Ours, all {len(data)} networks, {title}\n\n" + table(data, ("tuned",), ALL, split, seeds)
    return text


def plot(data: families.Families, path: Path) -> None:
    """Predicted against measured, DIPPM's Figure 4: test rows of the random split and of families left out."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    shown = (
        ("PMGNS, paper, random", Fit("pmgns", "paper", TEN, "random")),
        ("PMGNS, tuned, families left out", Fit("pmgns", "tuned", ALL, "family")),
    )
    figure, axes = plt.subplots(1, len(shown), figsize=(5 * len(shown), 4.6))
    for axis, (title, fit) in zip(axes, shown, strict=True):
        found = read(fit.name, data.rows)
        if found is None:
            continue
        test = SETS[fit.rows](data.rows).to_numpy() & (data.parts(fit.split) == "test")
        measured, predicted = data.rows.latency_s.to_numpy()[test], np.array(found["latency_s"])[test]
        axis.loglog(1e3 * measured, 1e3 * predicted, ".", markersize=4)
        ends = 1e3 * np.array([measured.min(), measured.max()])
        axis.loglog(ends, ends, color="0.5", linewidth=1)
        axis.set(title=title, xlabel="measured ms", ylabel="predicted ms")
    figure.tight_layout()
    figure.savefig(path, dpi=90)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--train", action="store_true", help="make the fits that are missing")
    parser.add_argument("--work", type=Path, help="folder for graphs and unfinished trainings")
    parser.add_argument("--only", nargs="+", help="fits whose names contain one of these words")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--budget-minutes", type=float, default=float("inf"), help="of processor time; then it stops")
    parser.add_argument("--left-out", type=Path, help="the --work folder of networks.py: left-out answers are taken")
    parser.add_argument("--docs", type=Path, help="page whose tables are replaced")
    parser.add_argument("--plot", type=Path, help="picture of predicted against measured")
    arguments = parser.parse_args()
    data = chosen()
    if arguments.train:
        if arguments.work is None:
            parser.error("--train needs --work FOLDER: it keeps unfinished trainings")
        arguments.work.mkdir(parents=True, exist_ok=True)
        if arguments.left_out is not None:
            take_left_out(data, arguments.left_out)
        arrays = graphs_of(data, arguments.work)
        run_baselines(data, arrays)
        limit = time.process_time() + 60 * arguments.budget_minutes
        for fit in plan(arguments.seeds):
            is_wanted = arguments.only is None or any(word in fit.name for word in arguments.only)
            if not is_wanted or read(fit.name, data.rows) is not None:
                continue
            try:
                train(fit, data, arrays, arguments.work, lambda: time.process_time() > limit)
            except Spent:
                print(f"{fit.name}: goes on later; the minutes are used up")
                break
            if time.process_time() > limit:
                break
        if time.process_time() <= limit:
            ask_shipped(data)
    text = markdown(data, arguments.seeds) + dippm_mig.markdown()
    print(text)
    if arguments.docs is not None:
        docs_table.replace(arguments.docs, MARK, text)
    if arguments.plot is not None:
        plot(data, arguments.plot)


if __name__ == "__main__":
    main()

"""How fast graph neural networks train and answer: latpred beside the same layers in plain PyTorch, and in PyTorch
Geometric where it is installed, on the same batches of the same graphs.

    python benchmarks/graph_training.py [--recipes pmgns fusion_edges] [--graphs 128] [--rounds 3] [--out graphs.json]
                                        [--smoke]

Each round runs one epoch of each contestant in turn, then its answers for all graphs together and one graph at a time;
ratios are paired. One thread each. The limit is what the layers' matrix products alone would take at the rate that
PyTorch's own product of such matrices reaches here; training counts three times the products of an answer.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from latpred import _torch, fusion
from latpred.fusion import graph_arrays

OURS = "latpred"
OPERATORS = 60
COLUMNS = 4
MEAN_NODES = 200


def random_graphs(count: int, of_edges: bool, seed: int) -> dict[str, np.ndarray]:
    """Chains with branches, as networks are: each node reads the one before it, every sixth another one too."""
    random = np.random.default_rng(seed)
    sizes = random.integers(MEAN_NODES // 2, MEAN_NODES * 3 // 2, count)
    first = np.concatenate([[0], np.cumsum(sizes)])
    pairs = []
    for begin, size in zip(first[:-1], sizes, strict=True):
        for node in range(1, size):
            pairs.append((begin + node - 1, begin + node))
            if node % 6 == 5:
                pairs.append((begin + random.integers(0, node - 1), begin + node))
    edges = np.array(pairs, np.int64).T
    graphs = {
        "nodes": np.exp(random.normal(8, 2, (first[-1], COLUMNS))),
        "operators": random.integers(0, OPERATORS, first[-1]),
        "edges": edges,
        "first_node": first.astype(np.int64),
    }
    if of_edges:
        return graphs | {"fusible": (random.random(edges.shape[1]) < 0.4).astype(np.int64)}
    targets = np.exp(random.normal(0, 1, (count, 3)))
    return graphs | {"columns": random.uniform(0, 9, (count, 5)), "targets": targets}


class PlainSage(torch.nn.Module):
    """SAGEConv's published formula with index_add."""

    def __init__(self, inputs: int, width: int, normalize: bool) -> None:
        super().__init__()
        self.neighbours = torch.nn.Linear(inputs, width)
        self.own = torch.nn.Linear(inputs, width, bias=False)
        self.normalize = normalize

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        sums = torch.zeros_like(x).index_add(0, edges[1], x[edges[0]])
        counts = torch.zeros(len(x)).index_add(0, edges[1], torch.ones(edges.shape[1])).clamp(min=1)
        values = self.neighbours(sums / counts[:, None]) + self.own(x)
        return torch.nn.functional.normalize(values, dim=-1) if self.normalize else values


class PlainGat(torch.nn.Module):
    """GATConv's published formula with index_add and scatter_reduce; one head."""

    def __init__(self, inputs: int, width: int) -> None:
        super().__init__()
        self.map = torch.nn.Linear(inputs, width, bias=False)
        self.source = torch.nn.Parameter(torch.randn(width) / width**0.5)
        self.target = torch.nn.Parameter(torch.randn(width) / width**0.5)
        self.bias = torch.nn.Parameter(torch.zeros(width))

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        loops = torch.arange(len(x))
        source, target = torch.cat([edges[0], loops]), torch.cat([edges[1], loops])
        values = self.map(x)
        scores = torch.nn.functional.leaky_relu((values @ self.source)[source] + (values @ self.target)[target], 0.2)
        most = torch.full((len(x),), -torch.inf).scatter_reduce(0, target, scores.detach(), "amax")
        weights = (scores - most[target]).exp()
        shares = weights / torch.zeros(len(x)).index_add(0, target, weights)[target]
        return torch.zeros_like(values).index_add(0, target, shares[:, None] * values[source]) + self.bias


def plain_layer(config: Any, inputs: int) -> torch.nn.Module:
    if config.layer == "gat":
        return PlainGat(inputs, config.width)
    return PlainSage(inputs, config.width, config.l2_norm)


def geometric_layer(config: Any, inputs: int) -> torch.nn.Module:
    from torch_geometric import nn

    if config.layer == "gat":
        return nn.GATConv(inputs, config.width)
    return nn.SAGEConv(inputs, config.width, normalize=config.l2_norm)


class TorchNetwork(torch.nn.Module):
    """What stands around the layers, as a user of PyTorch would write it."""

    def __init__(self, config: Any, layer: Callable[[Any, int], torch.nn.Module]) -> None:
        super().__init__()
        self.config = config
        widths = [OPERATORS + COLUMNS, *[config.width] * config.layers]
        self.layers = torch.nn.ModuleList(layer(config, inputs) for inputs in widths[:-1])
        self.dropout = torch.nn.Dropout(config.dropout)
        if config.task == "edges":
            self.lstm = torch.nn.LSTM(config.width, config.width, batch_first=True)
            self.output: torch.nn.Module = torch.nn.Linear(config.width, 2)
            return
        dense: list[torch.nn.Module] = []
        inputs = config.width + 5
        for _ in range(config.dense_layers):
            dense += [torch.nn.Linear(inputs, config.dense_width), torch.nn.ReLU(), torch.nn.Dropout(config.dropout)]
            inputs = config.dense_width
        self.output = torch.nn.Sequential(*dense, torch.nn.Linear(inputs, 3))

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        one_hot = torch.nn.functional.one_hot(batch["operators"], OPERATORS).float()
        x = torch.cat([one_hot, batch["nodes"]], 1)
        for layer in self.layers:
            x = layer(x, batch["edges"])
            if self.config.size_norm:
                x = x / batch["sizes"][batch["graph"]][:, None].sqrt()
            x = self.dropout(torch.relu(x))
        if self.config.task == "edges":
            return self.output(self.lstm(x[batch["edges"].T])[0][:, -1])  # type: ignore[no-any-return]
        sums = torch.zeros(len(batch["sizes"]), x.shape[1]).index_add(0, batch["graph"], x)
        return self.output(torch.cat([sums, batch["columns"]], 1))  # type: ignore[no-any-return]


class TorchContestant:
    def __init__(
        self, config: Any, layer: Callable[[Any, int], torch.nn.Module], graphs: dict[str, np.ndarray]
    ) -> None:
        torch.manual_seed(0)
        self.config = config
        self.network = TorchNetwork(config, layer)
        self.adam = torch.optim.Adam(self.network.parameters(), config.learning_rate)
        count = len(graphs["first_node"]) - 1
        scale = {
            name: (graphs[name].mean(0), graphs[name].std(0))
            for name in ("nodes", "columns", "targets")
            if name in graphs
        }

        def batch_of(which: np.ndarray) -> dict[str, torch.Tensor]:
            part = graph_arrays.part(graphs, which)
            for name, (mean, deviation) in scale.items():
                part[name] = ((part[name] - mean) / deviation).astype(np.float32)
            batch = {name: torch.from_numpy(np.ascontiguousarray(values)) for name, values in part.items()}
            sizes = batch["first_node"].diff()
            return batch | {"sizes": sizes.float(), "graph": torch.repeat_interleave(torch.arange(len(which)), sizes)}

        self.batches = [batch_of(which) for which in np.array_split(np.arange(count), -(-count // config.batch_graphs))]
        self.whole = batch_of(np.arange(count))
        self.single = [batch_of(np.array([graph])) for graph in range(count)]

    def epoch(self) -> None:
        self.network.train()
        for batch in self.batches:
            self.adam.zero_grad()
            out = self.network(batch)
            if self.config.task == "edges":
                loss = torch.nn.functional.cross_entropy(out, batch["fusible"])
            else:
                loss = torch.nn.functional.huber_loss(out, batch["targets"])
            loss.backward()
            self.adam.step()

    @torch.no_grad()
    def answer_all(self) -> None:
        self.network.eval()
        for batch in self.batches:
            self.network(batch)

    @torch.no_grad()
    def answer_each(self) -> None:
        self.network.eval()
        for batch in self.single:
            self.network(batch)


class OurContestant:
    """From arrays to arrays: putting batches together is part of it, which the others have done beforehand."""

    def __init__(self, config: Any, graphs: dict[str, np.ndarray]) -> None:
        sizes = fusion.sizes_of(graphs, OPERATORS)
        self.trainer = _torch.predictors_module().GraphTrainer(config, sizes, 0)
        self.graphs = graphs
        self.asked = {name: values for name, values in graphs.items() if name not in ("fusible", "targets")}
        count = len(graphs["first_node"]) - 1
        self.single = [graph_arrays.part(self.asked, np.array([graph])) for graph in range(count)]

    def epoch(self) -> None:
        self.trainer.fit_epoch(self.graphs)

    def answer_all(self) -> None:
        self.trainer.predict(self.asked)

    def answer_each(self) -> None:
        for graph in self.single:
            self.trainer.predict(graph)


def product_seconds(config: Any, graphs: dict[str, np.ndarray]) -> float:
    """What the matrix products of one answer for all graphs take at the rate of PyTorch's own."""
    nodes, width = MEAN_NODES * config.batch_graphs, config.width
    a, b = torch.randn(nodes, width), torch.randn(width, width)
    seconds = []
    for _ in range(5):
        start = time.perf_counter()
        torch.mm(a, b)
        seconds.append(time.perf_counter() - start)
    rate = nodes * width * width / min(seconds)
    maps = 2 if config.layer == "sage" else 1
    all_nodes = int(graphs["first_node"][-1])
    macs = all_nodes * maps * width * (OPERATORS + COLUMNS + (config.layers - 1) * width)
    if config.task == "edges":
        macs += all_nodes * 2 * 4 * width * width
    return macs / rate


def compare(recipe: str, graphs_count: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each contestant: graphs per second of each kind of work, ratios to latpred, share of the limit."""
    torch.set_num_threads(1)
    config = fusion.recipe(recipe, batch_graphs=16, epochs=rounds + 1)
    graphs = random_graphs(graphs_count, config.task == "edges", 0)
    contestants: dict[str, Any] = {
        OURS: OurContestant(config, graphs),
        "plain torch": TorchContestant(config, plain_layer, graphs),
    }
    if importlib.util.find_spec("torch_geometric") is not None:
        contestants["PyTorch Geometric"] = TorchContestant(config, geometric_layer, graphs)
    works = ("epoch", "answer_all", "answer_each")
    seconds: dict[tuple[str, str], list[float]] = {(name, work): [] for name in contestants for work in works}
    for _ in range(rounds):
        for work in works:
            for name, contestant in contestants.items():
                start = time.perf_counter()
                getattr(contestant, work)()
                seconds[name, work].append(time.perf_counter() - start)
    limit = product_seconds(config, graphs)
    rows = []
    for name in contestants:
        row: dict[str, Any] = {"recipe": recipe, "contestant": name}
        for work in works:
            spent = seconds[name, work]
            ratios = [value / own for value, own in zip(spent, seconds[OURS, work], strict=True)]
            row[work] = {
                "graphs_per_s": graphs_count / statistics.median(spent),
                "ratio_median": statistics.median(ratios),
                "share_of_limit": limit * (3 if work == "epoch" else 1) / statistics.median(spent),
            }
        rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", nargs="+", default=["pmgns", "fusion_edges"])
    parser.add_argument("--graphs", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    parser.add_argument("--smoke", action="store_true", help="a few graphs, one round: does it run?")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.graphs, arguments.rounds = 4, 1
    rows = []
    for recipe in arguments.recipes:
        print(f"{recipe}: {arguments.graphs} graphs of {MEAN_NODES} nodes, batches of 16, {arguments.rounds} rounds")
        for row in compare(recipe, arguments.graphs, arguments.rounds):
            cells = [
                f"{label} {row[work]['graphs_per_s']:7.0f}/s (latpred x{row[work]['ratio_median']:.2f}, "
                f"{row[work]['share_of_limit']:.0%} of the limit)"
                for label, work in (("training", "epoch"), ("batches", "answer_all"), ("one by one", "answer_each"))
            ]
            print(f"  {row['contestant']:18s}" + "   ".join(cells))
            rows.append(row)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"graphs": arguments.graphs, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

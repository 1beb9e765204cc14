"""How fast Khan's transformer trains: latpred beside plain PyTorch, on the same graphs, at the loss that each reaches.

    python benchmarks/training.py [--graphs 20000] [--rounds 3] [--threads 1 2] [--out training.json] [--smoke]

Contestants: latpred's C++ training; torch.nn.TransformerEncoder (its own block with one LayerNorm before each half, a
little less work); and the paper's block of torch.nn modules, which is the same arithmetic. Both PyTorch ones read a
DataLoader over tensors in memory, as a user would write it. Each round runs one epoch of each in turn; ratios are
paired, of wall clocks and of processor time (which a busy neighbour changes less). All train the paper's recipe: batch
64, Adam 1e-3, MSE of the standardised target, dropout 0.1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from latpred import _torch

OURS = "latpred"
NODES = 10
VALIDATION_SHARE = 0.1


def chains(graphs: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Attributes [G, 10, 3], lengths and seconds of random chains of dense layers: a roofline of two bandwidths (32 MiB
    of weights stay in the last cache) with 5 % of noise."""
    random = np.random.default_rng(seed)
    lengths = random.integers(3, NODES, graphs, endpoint=True)
    widths = 2.0 ** random.integers(0, 14, (graphs, NODES), endpoint=True)
    attributes = np.zeros((graphs, NODES, 3))
    attributes[:, 1:, 0] = 1
    attributes[:, 1:, 1] = (widths[:, :-1] + 1) * widths[:, 1:]
    attributes[:, :, 2] = widths
    attributes[np.arange(NODES) >= lengths[:, None]] = 0
    size_bytes = 4 * attributes[:, :, 1].sum(1)
    bandwidth = np.where(size_bytes < 2**25, 5e10, 2.8e10)
    seconds = size_bytes / bandwidth + 2e-6 * (lengths - 1)
    return attributes, lengths, seconds * np.exp(random.normal(0, 0.05, graphs))


class PaperBlock(torch.nn.Module):
    """x + dropout(LN(f(LN(x)))) for attention and for the feed-forward net."""

    def __init__(self, config: Any) -> None:
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(config.width) for _ in range(4))
        self.attention = torch.nn.MultiheadAttention(config.width, config.heads, batch_first=True)
        self.inner = torch.nn.Linear(config.width, config.feed_forward_width)
        self.outer = torch.nn.Linear(config.feed_forward_width, config.width)
        self.dropout = torch.nn.Dropout(config.dropout)

    def forward(self, x: torch.Tensor, src_key_padding_mask: torch.Tensor) -> torch.Tensor:
        y = self.norms[0](x)
        mixed, _ = self.attention(y, y, y, key_padding_mask=src_key_padding_mask, need_weights=False)
        x = x + self.dropout(self.norms[1](mixed))
        y = self.outer(torch.relu(self.inner(self.norms[2](x))))
        return x + self.dropout(self.norms[3](y))


class PaperBlocks(torch.nn.Module):
    def __init__(self, config: Any) -> None:
        super().__init__()
        self.blocks = torch.nn.ModuleList(PaperBlock(config) for _ in range(config.blocks))

    def forward(self, x: torch.Tensor, src_key_padding_mask: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x, src_key_padding_mask=src_key_padding_mask)
        return x


def torch_encoder(config: Any) -> torch.nn.Module:
    layer = torch.nn.TransformerEncoderLayer(
        config.width, config.heads, config.feed_forward_width, config.dropout, batch_first=True, norm_first=True
    )
    return torch.nn.TransformerEncoder(layer, config.blocks, enable_nested_tensor=False)


class Regressor(torch.nn.Module):
    """What stands around the blocks."""

    def __init__(self, config: Any, encoder: torch.nn.Module) -> None:
        super().__init__()
        self.embedding = torch.nn.Linear(3, config.width)
        self.positions = torch.nn.Parameter(torch.empty(NODES, config.width).uniform_(-0.05, 0.05))
        self.encoder = encoder
        self.output = torch.nn.Linear(config.width, 1)

    def forward(self, tokens: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        x = self.encoder(self.embedding(tokens) + self.positions, src_key_padding_mask=~mask)
        x = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.output(x)[:, 0]


class TorchContestant:
    def __init__(self, config: Any, encoder: Callable[[Any], torch.nn.Module], train: Any, validation: Any) -> None:
        torch.manual_seed(0)
        self.module = Regressor(config, encoder(config))
        self.adam = torch.optim.Adam(self.module.parameters(), config.learning_rate)
        attributes, lengths, seconds = train
        mask = np.arange(NODES) < lengths[:, None]
        token_scale = attributes[mask].mean(0), attributes[mask].std(0)
        target_scale = seconds.mean(), seconds.std()

        def tensors(data: Any) -> torch.utils.data.TensorDataset:
            attributes, lengths, seconds = data
            return torch.utils.data.TensorDataset(
                torch.from_numpy((attributes - token_scale[0]) / token_scale[1]).float(),
                torch.from_numpy(np.arange(NODES) < lengths[:, None]),
                torch.from_numpy((seconds - target_scale[0]) / target_scale[1]).float(),
            )

        self.batches: Iterable[Any] = torch.utils.data.DataLoader(tensors(train), config.batch_graphs, shuffle=True)
        self.validation = tensors(validation).tensors

    def epoch(self) -> None:
        self.module.train()
        for tokens, mask, target in self.batches:
            self.adam.zero_grad()
            torch.nn.functional.mse_loss(self.module(tokens, mask), target).backward()
            self.adam.step()

    def loss(self) -> float:
        self.module.eval()
        tokens, mask, target = self.validation
        with torch.no_grad():
            return float(torch.nn.functional.mse_loss(self.module(tokens, mask), target))


class OurContestant:
    def __init__(self, config: Any, threads: int, train: Any, validation: Any) -> None:
        self.trainer = _torch.predictors_module().TransformerTrainer(config, 0, threads)
        self.train, self.validation = train, validation

    def epoch(self) -> None:
        self.trainer.fit_epoch(*self.train)

    def loss(self) -> float:
        return float(self.trainer.loss(*self.validation))


def paired_ratios(seconds: list[float], ours: list[float]) -> list[float]:
    return [value / own for value, own in zip(seconds, ours, strict=True)]


def compare(threads: int, graphs: int, rounds: int) -> list[dict[str, Any]]:
    """A row for each contestant: median speed, how many times faster latpred is, loss after all rounds."""
    torch.set_num_threads(threads)
    config = _torch.predictors_module().transformer_config("paper")
    data = chains(graphs, 0)
    held = max(1, int(graphs * VALIDATION_SHARE))
    validation, train = tuple(part[:held] for part in data), tuple(part[held:] for part in data)
    contestants: dict[str, Any] = {
        OURS: OurContestant(config, threads, train, validation),
        "nn.TransformerEncoder": TorchContestant(config, torch_encoder, train, validation),
        "same block in torch": TorchContestant(config, PaperBlocks, train, validation),
    }
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    cpu_seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(rounds):
        for name, contestant in contestants.items():
            start, cpu_start = time.perf_counter(), time.process_time()
            contestant.epoch()
            seconds[name].append(time.perf_counter() - start)
            cpu_seconds[name].append(time.process_time() - cpu_start)
    rows = []
    for name, contestant in contestants.items():
        ratios = paired_ratios(seconds[name], seconds[OURS])
        rows.append(
            {
                "contestant": name,
                "threads": threads,
                "graphs_per_s": len(train[1]) / statistics.median(seconds[name]),
                "ratio_median": statistics.median(ratios),
                "ratio_min": min(ratios),
                "ratio_max": max(ratios),
                "graphs_per_cpu_s": len(train[1]) / statistics.median(cpu_seconds[name]),
                "cpu_ratio_median": statistics.median(paired_ratios(cpu_seconds[name], cpu_seconds[OURS])),
                "epochs": rounds,
                "loss": contestant.loss(),
            }
        )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--graphs", type=int, default=20_000, help="a tenth of them for validation")
    parser.add_argument("--rounds", type=int, default=3, help="epochs of each contestant")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--out", type=Path, help="write the rows as JSON")
    parser.add_argument("--smoke", action="store_true", help="a few graphs, one round: does it run?")
    arguments = parser.parse_args()
    if arguments.smoke:
        arguments.graphs, arguments.rounds, arguments.threads = 200, 1, [1]
    rows = []
    for threads in arguments.threads:
        print(f"{threads} thread{'s' * (threads > 1)}, {arguments.graphs} graphs, {arguments.rounds} epochs each")
        for row in compare(threads, arguments.graphs, arguments.rounds):
            spread = f"{row['ratio_min']:.1f} to {row['ratio_max']:.1f}"
            print(
                f"  {row['contestant']:24s}{row['graphs_per_s']:9.0f} graphs/s   latpred x{row['ratio_median']:.1f} "
                f"({spread}), processor time x{row['cpu_ratio_median']:.1f}   validation loss {row['loss']:.4f}"
            )
            rows.append(row)
    if arguments.out is not None:
        arguments.out.write_text(json.dumps({"graphs": arguments.graphs, "rows": rows}, indent=1) + "\n")


if __name__ == "__main__":
    main()

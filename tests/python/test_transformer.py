"""Khan's transformer in C++ beside the same one in PyTorch, and what its training promises."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from latpred import _torch
from latpred.errors import InvalidArgumentError

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

BENCHMARK = Path(__file__).resolve().parents[2] / "benchmarks" / "training.py"
RECIPES = ("paper", "ours")


def chains(graphs, nodes, seed, least_nodes=3):
    """Attributes [G, nodes, 3], lengths and seconds of random chains of dense layers; a roofline with noise."""
    random = np.random.default_rng(seed)
    lengths = random.integers(least_nodes, nodes, graphs, endpoint=True)
    widths = 2.0 ** random.integers(0, 14, (graphs, nodes), endpoint=True)
    attributes = np.zeros((graphs, nodes, 3))
    attributes[:, 1:, 0] = 1
    attributes[:, 1:, 1] = (widths[:, :-1] + 1) * widths[:, 1:]
    attributes[:, :, 2] = widths
    attributes[np.arange(nodes) >= lengths[:, None]] = 0
    target_s = 4 * attributes[:, :, 1].sum(1) / 3e10 + 2e-6 * (lengths - 1)
    return attributes, lengths, target_s * random.uniform(0.97, 1.03, graphs)


def make_trainer(recipe, epochs=3, seed=0, threads=1, **changes):
    module = _torch.predictors_module()
    config = module.transformer_config(recipe)
    config.epochs = epochs
    for name, value in changes.items():
        setattr(config, name, value)
    return module.TransformerTrainer(config, seed, threads)


class Block(torch.nn.Module):
    """x + LN(f(LN(x))) for attention and for the feed-forward net, of torch's own parts."""

    def __init__(self, config):
        super().__init__()
        self.norms = torch.nn.ModuleList(torch.nn.LayerNorm(config.width) for _ in range(4))
        self.attention = torch.nn.MultiheadAttention(config.width, config.heads, batch_first=True)
        self.inner = torch.nn.Linear(config.width, config.feed_forward_width)
        self.outer = torch.nn.Linear(config.feed_forward_width, config.width)

    def forward(self, x, padding):
        y = self.norms[0](x)
        mixed, shares = self.attention(y, y, y, key_padding_mask=padding, average_attn_weights=False)
        x = x + self.norms[1](mixed)
        return x + self.norms[3](self.outer(torch.relu(self.inner(self.norms[2](x))))), shares


class Reference(torch.nn.Module):
    """The whole of it, given the arrays of a trained one."""

    def __init__(self, config, arrays):
        super().__init__()
        self.config = config
        self.arrays = arrays
        self.by_name = {}
        self.embedding = torch.nn.Linear(3, config.width)
        self.blocks = torch.nn.ModuleList(Block(config) for _ in range(config.blocks))
        self.output = torch.nn.Linear(config.width, 1)
        self.set("embedding", self.embedding)
        self.set("output", self.output)
        if config.positions == "learned":
            self.positions_learned = torch.nn.Parameter(torch.empty(config.most_nodes, config.width))
            self.copy("positions", self.positions_learned)
        for i, block in enumerate(self.blocks):
            parts = (f"block_{i}_attention", f"block_{i}_feed_forward")
            for part, before, after in ((parts[0], 0, 1), (parts[1], 2, 3)):
                self.set(part + "_norm_before", block.norms[before], "gain")
                self.set(part + "_norm_after", block.norms[after], "gain")
            self.copy(parts[0] + "_in_weight", block.attention.in_proj_weight)
            self.copy(parts[0] + "_in_bias", block.attention.in_proj_bias)
            self.set(parts[0] + "_out", block.attention.out_proj)
            self.set(parts[1] + "_in", block.inner)
            self.set(parts[1] + "_out", block.outer)

    def copy(self, name, parameter):
        parameter.data.copy_(torch.from_numpy(self.arrays[name]))
        self.by_name[name] = parameter

    def gradients(self):
        return {name: parameter.grad.numpy() for name, parameter in self.by_name.items()}

    def set(self, name, module, weight="weight"):
        self.copy(f"{name}_{weight}", module.weight)
        self.copy(f"{name}_bias", module.bias)

    def positions(self, nodes):
        if self.config.positions == "learned":
            return self.positions_learned[:nodes]
        place = np.arange(nodes)[:, None] / 10000 ** (np.arange(0, self.config.width, 2) / self.config.width)
        return torch.from_numpy(np.stack([np.sin(place), np.cos(place)], 2).reshape(nodes, -1)).float()

    def scaled(self, attributes, lengths):
        """Scaled latencies and attention."""
        values = np.array(attributes)
        if self.config.scale == "log":
            values[..., 1] = np.log1p(values[..., 1])
            values[..., 2] = np.log(np.maximum(values[..., 2], 1))
        tokens = torch.from_numpy((values - self.arrays["token_mean"]) / self.arrays["token_deviation"]).float()
        mask = torch.arange(tokens.shape[1]) < torch.from_numpy(lengths)[:, None]
        x = self.embedding(tokens) + self.positions(tokens.shape[1])
        maps = []
        for block in self.blocks:
            x, shares = block(x, ~mask)
            maps.append(shares)
        pooled = (x * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return self.output(pooled)[:, 0], torch.stack(maps, 1)

    def forward(self, attributes, lengths):
        """Seconds and attention."""
        scaled, maps = (values.detach().numpy() for values in self.scaled(attributes, lengths))
        values = scaled.astype(float) * self.arrays["target_deviation"] + self.arrays["target_mean"]
        return (np.exp(values) if self.config.scale == "log" else values), maps


@pytest.fixture(scope="module")
def trained():
    """One of each recipe, trained a little, so that no weight is where it began."""
    data = chains(600, 10, 1)
    result = {}
    for recipe in RECIPES:
        trainer = make_trainer(recipe)
        for _ in range(3):
            trainer.fit_epoch(*data)
        result[recipe] = trainer
    return result


@pytest.mark.parametrize("recipe", RECIPES)
def test_equals_pytorch(trained, recipe):
    trainer = trained[recipe]
    reference = Reference(trainer.config, trainer.arrays())
    attributes, lengths, _ = chains(300, 10, 2, least_nodes=1)  # every mask that there is
    assert set(lengths) == set(range(1, 11))
    seconds, maps = reference(attributes, lengths)
    found = trainer.predict(attributes, lengths)
    scale = trainer.arrays()["target_deviation"]
    if recipe == "ours":
        np.testing.assert_allclose(np.log(found), np.log(seconds), atol=1e-5 * scale)
    else:
        np.testing.assert_allclose(found, seconds, atol=1e-5 * scale)
    valid = np.arange(10) < lengths[:, None]
    np.testing.assert_allclose(trainer.attention(attributes, lengths), maps * valid[:, None, None, :, None], atol=1e-5)


def test_the_gradient_equals_pytorchs():
    """Adam's first moment after one step is a tenth of the gradient of the first batch, which holds all graphs here."""
    data = chains(200, 10, 9, least_nodes=2)
    for recipe in RECIPES:
        trainer = make_trainer(recipe, 1, dropout=0.0, batch_graphs=200, loss="mse")
        before = trainer.arrays()
        trainer.fit_epoch(*data)
        scales = {name: values for name, values in trainer.arrays().items() if name.startswith(("token_", "target_"))}
        reference = Reference(trainer.config, before | scales)
        target = np.log(data[2]) if recipe == "ours" else data[2]
        scaled = (target - scales["target_mean"]) / scales["target_deviation"]
        loss = (reference.scaled(*data[:2])[0] - torch.from_numpy(scaled).float()).square().mean()
        loss.backward()
        state = trainer.state()
        found = {name: 10 * state["first_moment." + name] for name in before if name not in scales}
        expected = reference.gradients()
        assert set(found) == set(expected)
        for name, values in expected.items():
            np.testing.assert_allclose(found[name], values, atol=1e-5 * max(1, np.abs(values).max()), err_msg=name)


def test_attention_of_valid_nodes_sums_to_one(trained):
    attributes, lengths, _ = chains(50, 10, 3)
    maps = trained["ours"].attention(attributes, lengths)
    assert maps.shape == (50, 2, 4, 10, 10)
    valid = np.arange(10) < lengths[:, None]
    np.testing.assert_allclose(maps.sum(-1), np.broadcast_to(valid[:, None, None, :], maps.shape[:-1]), atol=1e-5)
    assert not maps[~np.broadcast_to(valid[:, None, None, None, :], maps.shape)].any()


@settings(max_examples=60, deadline=None)
@given(
    recipe=st.sampled_from(RECIPES),
    seed=st.integers(0, 2**32 - 1),
    extra=st.integers(0, 9),
    filler=st.floats(allow_nan=True, allow_infinity=True),
    others=st.integers(0, 3),
)
def test_padding_never_changes_a_prediction(trained, recipe, seed, extra, filler, others):
    """Neither its length, nor what stands in it, nor the graphs beside it."""
    attributes, lengths, _ = chains(4, 10, seed, least_nodes=1)
    expected = trained[recipe].predict(attributes, lengths)
    wide = np.full((4 + others, 10 + extra, 3), filler)
    wide[4:, 0] = (0, 0, 8)
    for graph, length in enumerate(lengths):
        wide[graph, :length] = attributes[graph, :length]
    found = trained[recipe].predict(wide, np.append(lengths, np.ones(others, int)))
    np.testing.assert_array_equal(found[:4], expected)
    maps = trained[recipe].attention(wide, np.append(lengths, np.ones(others, int)))[:4, :, :, :10, :10]
    np.testing.assert_allclose(maps, trained[recipe].attention(attributes, lengths), atol=1e-6)


def test_ours_knows_graphs_deeper_than_trained_on_and_the_paper_refuses(trained):
    attributes, lengths, target_s = chains(60, 16, 4, least_nodes=11)
    assert np.abs(np.log(trained["ours"].predict(attributes, lengths) / target_s)).mean() < 3
    with pytest.raises(InvalidArgumentError, match=r"knows positions of up to 10 nodes, graph \d+ has 16; use"):
        trained["paper"].predict(attributes, lengths)


def test_equal_seeds_give_equal_numbers_with_any_number_of_threads():
    data = chains(300, 10, 5)

    def trained_arrays(seed, threads):
        trainer = make_trainer("paper", 2, seed, threads)
        losses = [trainer.fit_epoch(*data) for _ in range(2)]
        return losses, trainer.arrays()

    losses, arrays = trained_arrays(1, 1)
    for threads in (1, 2, 3):
        again_losses, again = trained_arrays(1, threads)
        assert again_losses == losses
        assert all(np.array_equal(again[name], values) for name, values in arrays.items())
    assert trained_arrays(2, 1)[0] != losses


@pytest.mark.parametrize("recipe", RECIPES)
def test_a_resumed_training_equals_one_that_never_stopped(recipe, tmp_path):
    data = chains(300, 10, 6)
    whole = make_trainer(recipe, 4)
    losses = [whole.fit_epoch(*data) for _ in range(4)]
    first = make_trainer(recipe, 4)
    again = [first.fit_epoch(*data) for _ in range(2)]
    np.savez(tmp_path / "state.npz", **first.state())
    second = make_trainer(recipe, 4)
    with np.load(tmp_path / "state.npz") as stored:
        second.load_state(dict(stored))
    assert second.epochs_done == 2
    again += [second.fit_epoch(*data) for _ in range(2)]
    assert again == losses
    expected, found = whole.state(), second.state()
    assert set(expected) == set(found)
    assert all(np.array_equal(found[name], values) for name, values in expected.items())


def test_a_regressor_of_stored_arrays_predicts_alike(trained):
    module = _torch.predictors_module()
    attributes, lengths, _ = chains(20, 10, 7)
    for trainer in trained.values():
        regressor = module.TransformerRegressor(trainer.config, trainer.arrays())
        np.testing.assert_array_equal(
            regressor.predict(attributes, lengths), trainer.predict(attributes, lengths), strict=True
        )


def test_what_does_not_fit_is_refused(trained):
    attributes, lengths, target_s = chains(30, 10, 8)
    trainer = trained["paper"]
    with pytest.raises(InvalidArgumentError, match=r"must be an array \[graphs, nodes, 3\], got \[30, 10, 2\]"):
        trainer.predict(attributes[:, :, :2], lengths)
    with pytest.raises(InvalidArgumentError, match="lengths must hold 30 numbers, got 29"):
        trainer.predict(attributes, lengths[:-1])
    with pytest.raises(InvalidArgumentError, match="all 3 epochs of this config are done"):
        trainer.fit_epoch(attributes, lengths, target_s)
    with pytest.raises(InvalidArgumentError, match="unknown transformer config 'paper2'; did you mean 'paper'"):
        _torch.predictors_module().transformer_config("paper2")
    with pytest.raises(InvalidArgumentError, match="unknown schedule 'cosine'"):
        make_trainer("paper", schedule="cosine")
    with pytest.raises(InvalidArgumentError, match=r"has no array 'config\.batch_graphs'"):
        make_trainer("paper").load_state({})


def test_the_benchmark_of_training_runs(tmp_path):
    out = tmp_path / "training.json"
    command = [sys.executable, str(BENCHMARK), "--smoke", "--out", str(out)]
    answer = subprocess.run(command, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    report = json.loads(out.read_text())
    assert {row["contestant"] for row in report["rows"]} >= {"latpred", "nn.TransformerEncoder", "same block in torch"}
    assert all(row["graphs_per_s"] > 0 and np.isfinite(row["loss"]) for row in report["rows"])
    assert "graphs/s" in answer.stdout

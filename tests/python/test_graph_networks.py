"""Graph neural networks in C++ beside the same ones in plain PyTorch, and what their training promises."""

import numpy as np
import pytest
from latpred import _torch, fusion
from latpred.errors import CheckpointError, InvalidArgumentError
from latpred.fusion import graph_arrays
from latpred.fusion.network import train

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

CONFIGS = (
    "fusion_edges", "fusion_edges_ours", "fused_kernels", "fused_kernels_ours", "pmgns", "pmgns_gat", "pmgns_gcn",
    "pmgns_gin", "pmgns_mlp",
)  # fmt: skip
OPERATORS, TYPES = 5, 3


def random_graphs(count, of_edges, seed, targets=1):
    """Graphs in execution order with labels: an edge from operator 0 to operator 1 is fusible."""
    random = np.random.default_rng(seed)
    sizes = random.integers(1, 12, count)
    first = np.concatenate([[0], np.cumsum(sizes)])
    pairs = [
        (begin + random.integers(0, node), begin + node)
        for begin, size in zip(first[:-1], sizes, strict=True)
        for node in range(1, size)
        if random.random() < 0.9
    ]
    edges = np.array(pairs, np.int64).reshape(-1, 2).T
    operators = random.integers(0, OPERATORS, first[-1])
    graphs = {
        "nodes": np.exp(random.normal(5, 2, (first[-1], 2))),
        "operators": operators,
        "edges": edges,
        "first_node": first,
        "columns": random.uniform(0, 9, (count, 2)),
    }
    if of_edges:
        return graphs | {"fusible": ((operators[edges[0]] == 0) & (operators[edges[1]] == 1)).astype(np.int64)}
    values = np.add.reduceat(graphs["nodes"], first[:-1]) * 1e-6
    values = values[:, :targets].copy()
    values[::4, -1] = np.nan if targets > 1 else values[::4, -1]
    return graphs | {"targets": values, "types": random.integers(-1, TYPES, count)}


def make_trainer(name, graphs, seed=0, **changes):
    config = fusion.recipe(name, **({"width": 16, "dense_width": 16, "epochs": 2, "batch_graphs": 8} | changes))
    classes = TYPES if "types" in graphs else 0
    return _torch.predictors_module().GraphTrainer(config, fusion.sizes_of(graphs, OPERATORS, classes), seed)


def softmax_at(scores, target, count):
    """Over the edges that reach the same node, each column by itself; PyTorch Geometric's utils.softmax."""
    index = target[:, None].expand_as(scores)
    most = torch.full((count, scores.shape[1]), -torch.inf).scatter_reduce(0, index, scores, "amax")
    exponentials = (scores - most[target]).exp()
    return exponentials / (torch.zeros(count, scores.shape[1]).scatter_add(0, index, exponentials) + 1e-16)[target]


class PlainNetwork:
    """The published formulas with general operations of PyTorch, on the weights of a trainer."""

    def __init__(self, trainer):
        self.config, self.sizes = trainer.config, trainer.sizes
        self.arrays = {name: torch.from_numpy(values.copy()).float() for name, values in trainer.arrays().items()}

    def linear(self, x, name):
        return torch.nn.functional.linear(x, self.arrays[name + "_weight"], self.arrays[name + "_bias"])

    def scaled(self, values, what):
        x = torch.from_numpy(values).float()
        if self.config.input_scale == "log":
            x = x.sign() * x.abs().log1p()
        return (x - self.arrays[what + "_mean"]) / self.arrays[what + "_deviation"]

    def layer(self, x, number, edges):
        def own(name):
            return self.arrays[f"layer_{number}.{name}"]

        count, (source, target) = len(x), edges
        loops = torch.arange(count)
        from_, to = torch.cat([source, loops]), torch.cat([target, loops])
        if self.config.layer == "gat":
            values = (x @ own("weight").T).view(count, self.config.heads, -1)
            scores = (values * own("attention_source")).sum(-1)[from_] + (values * own("attention_target")).sum(-1)[to]
            share = softmax_at(torch.nn.functional.leaky_relu(scores, 0.2), to, count)
            sums = torch.zeros_like(values).index_add(0, to, share[..., None] * values[from_])
            return sums.reshape(count, -1) + own("bias")
        if self.config.layer == "gcn":
            degree = torch.zeros(count).index_add(0, to, torch.ones(len(to)))
            weight = (degree[from_] * degree[to]).rsqrt()
            values = x @ own("weight").T
            return torch.zeros_like(values).index_add(0, to, weight[:, None] * values[from_]) + own("bias")
        sums = torch.zeros_like(x).index_add(0, target, x[source])
        if self.config.layer == "gin":
            inner = torch.relu((x + sums) @ own("weight_in").T + own("bias_in"))
            return inner @ own("weight_out").T + own("bias_out")
        mean = sums / torch.zeros(count).index_add(0, target, torch.ones(len(target))).clamp(min=1)[:, None]
        values = mean @ own("neighbour_weight").T + own("neighbour_bias") + x @ own("own_weight").T
        return torch.nn.functional.normalize(values, dim=-1) if self.config.l2_norm else values

    def embed(self, graphs, graph):
        parts = [torch.nn.functional.one_hot(torch.from_numpy(graphs["operators"]), OPERATORS).float()]
        parts.append(self.scaled(graphs["nodes"], "node"))
        if self.config.columns == "nodes":
            parts.append(self.scaled(graphs["columns"], "column")[graph])
        x = torch.cat(parts, 1)
        edges = torch.from_numpy(graphs["edges"])
        if self.config.undirected:
            edges = torch.cat([edges, edges.flip(0)], 1)
        sizes = torch.bincount(graph).float()
        for number in range(self.config.layers):
            x = self.layer(x, number, edges)
            x = torch.relu(x / sizes[graph][:, None].sqrt() if self.config.size_norm else x)
        return x

    def lstm(self, pairs):
        lstm = torch.nn.LSTM(self.config.width, self.config.width, batch_first=True)
        with torch.no_grad():
            lstm.weight_ih_l0.copy_(self.arrays["lstm_input_weight"])
            lstm.weight_hh_l0.copy_(self.arrays["lstm_state_weight"])
            lstm.bias_ih_l0.copy_(self.arrays["lstm_input_bias"])
            lstm.bias_hh_l0.copy_(self.arrays["lstm_state_bias"])
        return lstm(pairs)[0][:, -1]

    def predict(self, graphs):
        first = torch.from_numpy(graphs["first_node"])
        graph = torch.repeat_interleave(torch.arange(len(first) - 1), first.diff())
        if self.config.task == "edges":
            x = self.embed(graphs, graph)
            state = self.lstm(x[torch.from_numpy(graphs["edges"]).T])
            return {"fusible": self.linear(state, "output").softmax(1)[:, 1]}
        parts = []
        if self.config.layers:
            x = self.embed(graphs, graph)
            sums = torch.zeros(len(first) - 1, x.shape[1]).index_add(0, graph, x)
            parts.append(sums if self.config.readout == "sum" else sums / first.diff()[:, None])
        if self.config.columns == "readout":
            parts.append(self.scaled(graphs["columns"], "column"))
        x = torch.cat(parts, 1)
        for number in range(self.config.dense_layers):
            x = torch.relu(self.linear(x, f"dense_{number}"))
        x = self.linear(x, "output")
        targets = x[:, : self.sizes.targets].double()
        if self.config.scale == "milliseconds":
            return {"targets": targets / 1e3, "types": x[:, self.sizes.targets :].softmax(1)}
        targets = targets * self.arrays["target_deviation"].double() + self.arrays["target_mean"].double()
        targets = targets.exp() if self.config.scale == "log" else targets
        return {"targets": targets, "types": x[:, self.sizes.targets :].softmax(1)}


def unlabelled(graphs):
    return {name: values for name, values in graphs.items() if name not in ("fusible", "targets", "types")}


@pytest.mark.parametrize("name", CONFIGS)
@torch.no_grad()
def test_equals_the_published_formulas(name):
    graphs = random_graphs(30, "edges" in name, 1)
    heads = {"heads": 4} if name == "fusion_edges" else {}
    trainer = make_trainer(name, graphs, **heads)
    trainer.fit_epoch(graphs)
    found = trainer.predict(unlabelled(graphs))
    expected = PlainNetwork(trainer).predict(graphs)
    assert found.keys() == expected.keys()
    for what, values in expected.items():
        scale = np.abs(values.numpy()).max()
        np.testing.assert_allclose(found[what], values.numpy(), rtol=1e-4, atol=1e-5 * scale)


def test_all_configs_are_known():
    assert tuple(_torch.predictors_module().graph_config_names()) == CONFIGS


def test_missing_targets_do_not_teach():
    """The second target's loss comes from the graphs that have it alone."""
    graphs = random_graphs(16, False, 1, targets=2)
    known = ~np.isnan(graphs["targets"][:, 1])
    assert 0 < known.sum() < len(known)
    trainer = make_trainer("pmgns", graphs, batch_graphs=16)
    before = trainer.loss(graphs)
    moved = graphs | {"nodes": graphs["nodes"].copy()}
    assert np.isfinite(before)
    assert trainer.loss(moved) == before


def test_without_a_validation_the_last_weights_stay():
    graphs = random_graphs(60, True, 1)
    config = fusion.recipe("fusion_edges", width=16, dense_width=16, epochs=3, batch_graphs=8)
    found = train(config, fusion.sizes_of(graphs, OPERATORS), graphs, None, seed=3)
    trainer = make_trainer("fusion_edges", graphs, seed=3, epochs=3)
    for _ in range(3):
        trainer.fit_epoch(graphs)
    for name, values in trainer.arrays().items():
        np.testing.assert_array_equal(found.arrays[name], values)


def test_the_paper_keeps_the_best_epoch_and_goes_on_where_it_stopped(tmp_path):
    graphs, validation = random_graphs(60, True, 1), random_graphs(20, True, 2)
    config = fusion.recipe("fusion_edges", width=16, epochs=6)
    sizes = fusion.sizes_of(graphs, OPERATORS)
    whole = train(config, sizes, graphs, validation, seed=3)
    assert [row["score"] for row in whole.history] == sorted(row["score"] for row in whole.history) or len(
        {row["score"] for row in whole.history}
    ) > 1
    score = max(row["score"] for row in whole.history)
    found = whole.predict(validation)["fusible"] > 0.5
    assert np.mean(found == validation["fusible"]) == pytest.approx(score)

    state = tmp_path / "edges.training"

    class Stopped(Exception):
        pass

    def stop_after_two(epoch, loss, score):
        if epoch == 2:
            raise Stopped

    with pytest.raises(Stopped):
        train(config, sizes, graphs, validation, seed=3, state=state, epoch_done=stop_after_two)
    again = train(config, sizes, graphs, validation, seed=3, state=state)
    assert not state.exists()
    assert again.history == whole.history
    for name, values in whole.arrays.items():
        np.testing.assert_array_equal(again.arrays[name], values)

    path = tmp_path / "edges.safetensors"
    whole.save(path)
    loaded = fusion.load(path)
    np.testing.assert_array_equal(loaded.predict(graphs)["fusible"], whole.predict(graphs)["fusible"])
    assert loaded.history == whole.history
    path.write_bytes(path.read_bytes().replace(b"graph network", b"graph nothing"))
    with pytest.raises(CheckpointError, match="'graph nothing' of version 1, expected 'graph network'"):
        fusion.load(path)


def test_part_takes_graphs_in_order():
    graphs = random_graphs(12, True, 1)
    trainer = make_trainer("fusion_edges", graphs)
    all_edges = trainer.predict(unlabelled(graphs))["fusible"]
    which = np.array([7, 2, 9])
    some = graph_arrays.part(graphs, which)
    first_edge = np.searchsorted(graphs["edges"][0], graphs["first_node"])
    places = np.concatenate([np.arange(first_edge[g], first_edge[g + 1]) for g in which])
    np.testing.assert_array_equal(some["fusible"], graphs["fusible"][places])
    np.testing.assert_allclose(trainer.predict(unlabelled(some))["fusible"], all_edges[places], rtol=1e-5)
    with pytest.raises(InvalidArgumentError, match="with a sum cannot be parted"):
        graph_arrays.part(graphs | {"sums": np.ones((3, 1))}, which)


def test_a_rate_is_found_between_too_small_and_too_large():
    graphs = random_graphs(12, True, 1)
    config = fusion.recipe("fusion_edges")
    sizes = fusion.sizes_of(graphs, graph_arrays.num_operators())
    found = fusion.find_learning_rate(config, sizes, graphs)
    assert 1e-7 < found["steepest"] < 1
    assert len(found["rates"]) == len(found["losses"])
    assert fusion.find_learning_rate(config, sizes, graphs, seed=1)["losses"] != found["losses"]


def test_a_runtimes_graph_is_put_together():
    import latpred

    net = latpred.GraphBuilder()
    x = net.apply("conv", [net.input("x", (3, 8, 8)), net.parameter((4, 3, 3, 3))])
    net.output(net.apply("relu", x))
    graph = net.build()
    whole = graph_arrays.of_graph(graph)
    operators = graph_arrays.num_operators()
    edge_sizes = fusion.sizes_of(whole, operators)
    labelled = whole | {"fusible": np.ones(1, np.int64)}
    edges = train(fusion.recipe("fusion_edges", width=8, epochs=30), edge_sizes, labelled, labelled)
    timed = whole | {"targets": np.array([[1e-3]]), "types": np.array([1])}
    config = fusion.recipe("fused_kernels", width=8, epochs=1)
    kernels = train(config, fusion.sizes_of(timed, operators, 2), timed, timed, classes=("MatMul", "Convolution"))
    optimized = fusion.optimize(graph, edges, kernels)
    assert [kernel.members for kernel in optimized.kernels] == [(0, 1)]
    assert optimized.edges.shape == (2, 0)
    assert optimized.latency_s == optimized.kernels[0].latency_s
    assert {name for name, _ in optimized.kernels[0].types} == {"MatMul", "Convolution"}
    shares = edges.attention(whole)
    assert shares[0].shape == (2, 3)
    assert shares[1][0].shape == (3, 1)


def test_wrong_arrays_are_refused():
    graphs = random_graphs(4, True, 1)
    trainer = make_trainer("fusion_edges", graphs)
    with pytest.raises(InvalidArgumentError, match=r"nodes must be an array \[rows, 2\], got"):
        trainer.predict(graphs | {"nodes": graphs["nodes"][:, :1]})
    with pytest.raises(InvalidArgumentError, match="unknown array of graphs 'node'; did you mean 'nodes'"):
        trainer.predict(graphs | {"node": graphs["nodes"]})
    with pytest.raises(InvalidArgumentError, match=r"edges must be an array \[2, edges\]"):
        trainer.predict(graphs | {"edges": graphs["edges"].T})
    with pytest.raises(InvalidArgumentError, match="a graph config has no field 'wide'"):
        fusion.recipe("pmgns", wide=3)

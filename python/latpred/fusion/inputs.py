"""What a network is given beside the numbers of nodes and edges: all of it is computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import numpy as np

from latpred import _core
from latpred._core import unknown_name_message
from latpred.errors import InvalidArgumentError

Arrays = dict[str, np.ndarray]

AS_THEY_ARE = "as they are"
IN_A_NETWORK = "in a network"

# The least that a kernel takes on one core: only the scale and the shape of what is learnt hang on these numbers.
# 512-bit fused multiply-adds at 2.5 GHz, memory bandwidth of one thread, and the call of a kernel.
PEAK_FLOPS_PER_S = 1.6e11
BANDWIDTH_BYTES_PER_S = 2e10
CALL_S = 1e-6
ELEMENT_BYTES = 4

# Kinds of operators, as columns; their order is that of shipped networks.
KINDS = (
    "conv", "matmul", "batch_matmul", "attention", "batch_norm", "layer_norm", "group_norm", "softmax", "reduce",
    "pool", "unary", "binary", "cast", "copy", "view", "concat", "index", "resize", "recurrent", "other",
)  # fmt: skip
# Operators that have a class of their own; others share that of their kind: what no labelled network has is read as its
# relatives are.
OPERATORS = (
    "relu", "leaky_relu", "clip", "hard_sigmoid", "hard_swish", "sigmoid", "silu", "gelu", "erf", "tanh", "softplus",
    "exp", "sqrt", "elu", "prelu", "mish", "add", "sub", "mul", "div", "pow", "max", "min", "where", "cast", "conv",
    "conv_transpose", "max_pool", "average_pool", "global_average_pool", "gemm", "matmul", "linear",
    "scaled_dot_product_attention", "batch_norm", "layer_norm", "rms_norm", "group_norm", "instance_norm", "lp_norm",
    "softmax", "reduce_mean", "reduce_sum", "reduce_max", "reduce_l2", "reshape", "flatten", "squeeze", "unsqueeze",
    "expand", "transpose", "depth_to_space", "tile", "pad", "roll", "concat", "split", "slice", "gather", "embedding",
    "resize",
)  # fmt: skip
SAME = {"flatten": "reshape"}  # to a runtime
YES = float(np.expm1(1.0))  # 1 after the logarithm that networks of sizes take

INPUT, OUTPUT, PARAMETERS, FLOPS = range(4)  # columns of nodes


def first_edges(graphs: Arrays) -> np.ndarray:
    """Where the edges of each graph begin, [G + 1]: edges of one graph stand together, graphs in order."""
    return np.searchsorted(graphs["edges"][0], graphs["first_node"])


def in_context(graphs: Arrays) -> Arrays:
    """Further columns of each node: how many consumers and producers it has, whether it is the last producer that some
    consumer waits for and the first consumer of some producer, how long its result waits, and of which kinds its
    producers and its consumers are.

    A convolution takes the addition behind it only as the last of the two that are added, and gives its result away
    unchanged where another node reads it too.
    """
    producers, consumers = graphs["edges"]
    nodes = len(graphs["nodes"])
    last, first, wait = np.full(nodes, -1), np.full(nodes, nodes), np.zeros(nodes)
    np.maximum.at(last, consumers, producers)
    np.minimum.at(first, producers, consumers)
    np.maximum.at(wait, producers, consumers - producers)
    is_last = np.zeros(nodes)
    is_last[producers[last[consumers] == producers]] = 1
    is_first = np.zeros(nodes)
    is_first[consumers[first[producers] == consumers]] = 1
    counts = [np.bincount(ends, minlength=nodes) for ends in (producers, consumers)]
    kinds = _kind_of_operator()[graphs["operators"]]
    around = np.zeros((2, nodes, len(KINDS)))
    around[0, consumers, kinds[producers]] = YES
    around[1, producers, kinds[consumers]] = YES
    context = np.stack([*counts, is_last, is_first, wait], axis=1)
    return graphs | {
        "nodes": np.concatenate([graphs["nodes"], context, *around], axis=1),
        "operators": _class_of_operator()[graphs["operators"]],
    }


@cache
def _class_of_operator() -> np.ndarray:
    """[operators] places in OPERATORS, then in KINDS."""
    kinds = _kind_of_operator().tolist()
    return np.array(
        [
            OPERATORS.index(name) if name in OPERATORS else len(OPERATORS) + kind
            for name, kind in zip((SAME.get(row.name, row.name) for row in _core.operators()), kinds, strict=True)
        ]
    )


def num_operators(inputs: str) -> int:
    """How many operators a network of these inputs tells apart."""
    return len(_core.operators()) if inputs == AS_THEY_ARE else len(OPERATORS) + len(KINDS)


@cache
def _kind_of_operator() -> np.ndarray:
    """[operators] places in KINDS."""
    return np.array([KINDS.index(row.cost_kind if row.cost_kind in KINDS else "other") for row in _core.operators()])


def device_columns(devices: Sequence[str], known: Sequence[str]) -> np.ndarray | None:
    """[G, D]: on which of the `known` devices each graph runs; on another halfway between them all. None: no two are
    known, there is nothing to tell apart."""
    if len(known) < 2:
        return None
    columns = np.full((len(devices), len(known)), float(np.expm1(1 / len(known))))
    for row, device in zip(columns, devices, strict=True):
        if device in known:
            row[:] = 0
            row[known.index(device)] = YES
    return columns


def sums_of(graphs: Arrays) -> np.ndarray:
    """[G, 5] of each graph as one kernel: FLOPs, elements that cross into it and out of it, parameters, nodes.

    What one node hands to another of the same kernel does not cross; an output that is read inside is counted as not
    leaving."""
    first = graphs["first_node"]
    counts = np.diff(first)
    graph = np.repeat(np.arange(len(counts)), counts)
    producers, consumers = graphs["edges"]
    nodes = graphs["nodes"]

    def total(values: np.ndarray, of: np.ndarray) -> np.ndarray:
        return np.asarray(np.bincount(of, values, len(counts)), dtype=np.float64)

    inside = total(nodes[producers, OUTPUT], graph[consumers]) if producers.size else np.zeros(len(counts))
    leaves = np.ones(len(nodes))
    leaves[producers] = 0
    return np.stack(
        [
            total(nodes[:, FLOPS], graph),
            np.maximum(total(nodes[:, INPUT], graph) - inside, 0),
            total(nodes[:, OUTPUT] * leaves, graph),
            total(nodes[:, PARAMETERS], graph),
            counts.astype(np.float64),
        ],
        axis=1,
    )


def largest_of(graphs: Arrays) -> np.ndarray:
    """[G, F] the numbers of the node of each graph that has the most FLOPs."""
    first = graphs["first_node"]
    graph = np.repeat(np.arange(len(first) - 1), np.diff(first))
    by_flops = np.lexsort((graphs["nodes"][:, FLOPS], graph))  # graphs in order, each one's largest node last
    return np.asarray(graphs["nodes"][by_flops[first[1:] - 1]])


def with_bounds(graphs: Arrays) -> Arrays:
    """Sums of each graph and the numbers of its largest node as further columns; its base: the time below which no
    kernel of its nodes can be."""
    sums = sums_of(graphs)
    flops, read, written, parameters, _ = sums.T
    memory = ELEMENT_BYTES * (read + written + parameters) / BANDWIDTH_BYTES_PER_S
    compute = flops / PEAK_FLOPS_PER_S
    bound = np.maximum(compute, memory) + CALL_S
    columns = np.concatenate([sums, compute[:, None] / CALL_S, memory[:, None] / CALL_S, largest_of(graphs)], axis=1)
    if "columns" in graphs:
        columns = np.concatenate([columns, graphs["columns"]], axis=1)
    operators = _class_of_operator()[graphs["operators"]]
    return graphs | {"operators": operators, "columns": columns, "bases": bound[:, None]}


def in_a_network(graphs: Arrays) -> Arrays:
    """With bounds, and with the numbers of the network that each graph is a kernel of: the same kernel took from 0.5 to
    1.4 times its usual time (docs/labels.md), by what else stands between two calls of it."""
    columns = [graphs[name] for name in ("columns", "networks") if name in graphs]
    return with_bounds(graphs | {"columns": np.concatenate(columns, axis=1)})


_DERIVE: dict[str, Callable[[Arrays], Arrays]] = {
    AS_THEY_ARE: lambda graphs: graphs,
    "in context": in_context,
    "with bounds": with_bounds,
    IN_A_NETWORK: in_a_network,
}


def derive(inputs: str, graphs: Arrays) -> Arrays:
    """The graphs as a network reads them that was trained on `inputs`."""
    if inputs not in _DERIVE:
        raise InvalidArgumentError(unknown_name_message("inputs", inputs, list(_DERIVE)), valid=tuple(_DERIVE))
    derived = _DERIVE[inputs](graphs)
    return {name: values for name, values in derived.items() if name != "networks"}

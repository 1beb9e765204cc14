"""Which nodes a kernel computes: what a runtime names, and what follows for the others."""

from latpred.workloads.fused_groups import close_groups
from latpred.workloads.onnx_files import FileNode


def node(name, inputs, outputs):
    return FileNode(0, "", name, "Op", tuple(inputs), tuple(outputs))


CHAIN = [node("a", ["x"], ["1"]), node("b", ["1"], ["2"]), node("c", ["2"], ["3"]), node("d", ["3"], ["y"])]


def test_what_the_runtime_says_stays():
    direct = {"a": 0, "b": 0, "c": 1, "d": 1}
    assert close_groups(CHAIN, direct) == {name: (group, True) for name, group in direct.items()}


def test_a_nameless_node_joins_its_consumers_else_its_producers():
    assert close_groups(CHAIN, {"a": 0, "c": 1})["b"] == (1, False)
    assert close_groups(CHAIN, {"a": 0, "c": 1})["d"] == (1, False)


def test_chains_of_nameless_nodes_are_reached():
    assert close_groups(CHAIN, {"d": 3}) == {"a": (3, False), "b": (3, False), "c": (3, False), "d": (3, True)}


def test_a_node_between_two_kernels_is_nobodys():
    nodes = [
        node("a", ["x"], ["1"]),
        node("b", ["1"], ["2"]),
        node("c", ["1"], ["3"]),
        node("left", ["p", "q"], ["s"]),
        node("join", ["p", "2"], ["4"]),
        node("source", ["x"], ["p"]),
    ]
    assert "source" not in close_groups(nodes, {"left": 5, "join": 6, "b": 1, "c": 2, "a": 0})


def test_a_consumer_without_a_kernel_settles_nothing():
    """Of two consumers one is unknown: nothing says that both are in one kernel."""
    nodes = [node("a", ["x"], ["1"]), node("b", ["1"], ["2"]), node("c", ["1"], ["3"]), node("d", ["2", "3"], ["y"])]
    assert close_groups(nodes, {"b": 1, "c": 2, "d": 1}) == {"b": (1, True), "c": (2, True), "d": (1, True)}


def test_names_that_the_file_lacks_are_left_out():
    assert close_groups(CHAIN, {"Constant_12": 4}) == {}

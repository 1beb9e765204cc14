"""Which nodes of a file each executed kernel computes: what the runtime says, and what follows from it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from latpred.workloads.onnx_files import FileNode


def close_groups(nodes: Sequence[FileNode], direct: Mapping[str, int]) -> dict[str, tuple[int, bool]]:
    """unique name -> (group, whether the runtime said so).

    A node that the runtime does not name joins the group of its consumers where all of them are in one, else that of
    its producers. Those that no rule reaches are left out.
    """
    producer = {output: node.unique_name for node in nodes for output in node.outputs}
    producers = {node.unique_name: {producer[name] for name in node.inputs if name in producer} for node in nodes}
    consumers: dict[str, set[str]] = {node.unique_name: set() for node in nodes}
    for name, sources in producers.items():
        for source in sources:
            consumers[source].add(name)
    groups = {name: (group, True) for name, group in direct.items() if name in producers}
    # From the outputs to the inputs, then back: a chain of nameless nodes is reached in one pass of either.
    order = [node.unique_name for node in nodes]
    has_grown = True
    while has_grown:
        has_grown = False
        for side in (consumers, producers):
            for name in reversed(order) if side is consumers else order:
                group = None if name in groups else _only_group(side[name], groups)
                if group is not None:
                    groups[name] = (group, False)
                    has_grown = True
    return groups


def _only_group(neighbours: Iterable[str], groups: Mapping[str, tuple[int, bool]]) -> int | None:
    found = {groups[name][0] if name in groups else None for name in neighbours}
    return found.pop() if len(found) == 1 else None

"""Labelled networks as the text files of the TUDataset collection, as the paper on learnt fusion published its own."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from latpred.datasets import label_table
from latpred.datasets.label_table import FEATURES, NetworkLabels

NAME = "fusion"


def write(networks: Sequence[NetworkLabels], folder: Path) -> None:
    """NAME_A.txt: an edge a line, nodes counted from 1 through all graphs; NAME_graph_indicator.txt: the graph of each
    node; NAME_node_labels.txt: the id of its operator; NAME_node_attributes.txt: FEATURES; NAME_edge_labels.txt: 1
    where one kernel computes both ends; NAME_graph_labels.txt: the number of the family."""
    folder.mkdir(parents=True, exist_ok=True)
    families = sorted({network.family for network in networks})
    lines: dict[str, list[str]] = {
        name: [] for name in ("A", "graph_indicator", "node_labels", "node_attributes", "edge_labels", "graph_labels")
    }
    first = 1
    for number, network in enumerate(networks, 1):
        lines["A"] += [f"{first + source}, {first + target}" for source, target in network.edges.T]
        lines["edge_labels"] += [str(label) for label in network.edge_label]
        lines["graph_indicator"] += [str(number)] * len(network.operators)
        lines["node_labels"] += [str(operator) for operator in network.operator_ids]
        lines["node_attributes"] += [", ".join(f"{value:.0f}" for value in row) for row in network.features]
        lines["graph_labels"].append(str(families.index(network.family)))
        first += len(network.operators)
    for name, text in lines.items():
        (folder / f"{NAME}_{name}.txt").write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    header = [f"node attributes: {', '.join(FEATURES)}", "graph labels:"]
    header += [f"{number} {family}" for number, family in enumerate(families)]
    (folder / "README.txt").write_text("".join(f"{line}\n" for line in header), encoding="utf-8")


def main() -> None:
    """Writes a table of labels as files of the TUDataset form."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("table", type=Path, help="what latpred label --out wrote, such as data/labels/fusion.parquet")
    parser.add_argument("folder", type=Path)
    arguments = parser.parse_args()
    write(label_table.read(arguments.table), arguments.folder)


if __name__ == "__main__":
    main()

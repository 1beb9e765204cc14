"""What the committed sets of labels hold, as tables for the documentation."""

from __future__ import annotations

import argparse
import textwrap
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from latpred.datasets import fusion, kernels
from latpred.datasets.label_table import NetworkLabels

_WIDTH = 120
_BEGIN, _END = "<!-- summary: begin -->", "<!-- summary: end -->"  # of the page
MAX_NOISE = 0.05  # above it a kernel was timed again


def markdown(fused: Sequence[NetworkLabels], timed: Sequence[NetworkLabels]) -> str:
    """A row for each family: what is labelled, and what is timed."""
    families = sorted({network.family for network in (*fused, *timed)})
    lines = [
        "| family | networks | nodes | edges | distinct edges | fused | timed networks | sizes | batches | kernels |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for family in families:
        own = [network for network in fused if network.family == family]
        own_timed = [network for network in timed if network.family == family]
        lines.append(_line(family, own, own_timed))
    return "\n".join([*lines, _line("**all**", fused, timed)]) + "\n"


def _line(name: str, fused: Sequence[NetworkLabels], timed: Sequence[NetworkLabels]) -> str:
    counts = fusion.count(fused)
    share = f"{100 * counts.fused_edges / counts.edges:.0f} %" if counts.edges else ""
    rows = kernels.rows_of(timed)
    sizes = sorted(set(rows.size.tolist()) - {0})
    texts = [
        name,
        str(counts.networks),
        str(counts.nodes),
        str(counts.edges),
        str(counts.distinct_edges),
        share,
        str(len({network.recipe.partition("@")[0].partition("?")[0] for network in timed})),
        f"{sizes[0]} to {sizes[-1]}" if sizes else "",
        ", ".join(str(batch) for batch in sorted(set(rows.batch.tolist()))),
        str(len(rows)),
    ]
    return f"| {' | '.join(texts)} |"


def facts(fused: Sequence[NetworkLabels], timed: Sequence[NetworkLabels]) -> str:
    """The same in sentences, with what a table by family cannot say."""
    counts, rows = fusion.count(fused), kernels.rows_of(timed)
    noise, unsteady = steadiness(timed)
    versions = ", ".join(sorted({f"{network.runtime} {network.runtime_version}" for network in (*fused, *timed)}))
    named, fused_share = counts.direct_nodes / counts.nodes, counts.fused_edges / counts.edges
    first = (
        f"Under {versions}: {counts.networks} networks of {counts.families} families, {counts.nodes} nodes, of which "
        f"the runtime names {100 * named:.0f} % itself, and {counts.edges} edges, of which {counts.distinct_edges} are "
        f"distinct and {100 * fused_share:.0f} % fused."
    )
    second = (
        f"{len(rows)} rows of kernels of {len(rows.types)} types in {len(timed)} calls; the median noise of a kernel "
        f"is {100 * noise:.1f} %, and {100 * unsteady:.0f} % of kernels stayed above {100 * MAX_NOISE:.0f} %. Of "
        f"the groups {100 * repeated_kernels(timed):.0f} % stand with the same operators and numbers elsewhere too."
    )
    return "\n".join(textwrap.fill(sentence, _WIDTH) for sentence in (first, second)) + "\n"


def steadiness(timed: Sequence[NetworkLabels]) -> tuple[float, float]:
    """Median of the kernels' noise, and the share of kernels above 5 %."""
    noise = np.concatenate([network.kernel_noise for network in timed])
    noise = noise[~np.isnan(noise)]
    return float(np.median(noise)), float((noise > MAX_NOISE).mean())


def repeated_kernels(timed: Sequence[NetworkLabels]) -> float:
    """The share of kernels whose nodes another network has too: there a table that looks them up is enough."""
    networks_of: dict[tuple[tuple[float, ...], ...], set[str]] = defaultdict(set)
    keys = []
    rows = kernels.rows_of(timed)
    node_keys = [fusion.node_keys(network) for network in timed]
    for row in range(len(rows)):
        network = int(rows.network[row])
        key = tuple(node_keys[network][node] for node in rows.members(row))
        name = timed[network].recipe.partition("@")[0].partition("?")[0]
        if key:
            keys.append(key)
            networks_of[key].add(name)
    return float(np.mean([len(networks_of[key]) > 1 for key in keys])) if keys else 0.0


def put_into(page: str, text: str) -> str:
    """The page with `text` between its marks."""
    begin, end = page.index(_BEGIN) + len(_BEGIN), page.index(_END)
    return f"{page[:begin]}\n\n{text}\n{page[end:]}"


def main() -> None:
    """Prints the sentences and the table, and puts them into the page."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--labels", type=Path, required=True, help="folder with fusion.parquet and kernels.parquet")
    parser.add_argument("--page", type=Path, help="docs/labels.md")
    arguments = parser.parse_args()
    folder = arguments.labels
    fused, timed = fusion.load(folder / "fusion.parquet"), fusion.load(folder / "kernels.parquet")
    text = f"{facts(fused, timed)}\n{markdown(fused, timed)}"
    print(text)
    if arguments.page is not None:
        page = arguments.page.read_text(encoding="utf-8")
        arguments.page.write_text(put_into(page, text), encoding="utf-8")


if __name__ == "__main__":
    main()

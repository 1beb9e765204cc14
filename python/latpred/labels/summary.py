"""What the committed sets of labels hold, as tables for the documentation."""

from __future__ import annotations

import argparse
import textwrap
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from latpred.datasets import fusion, kernels
from latpred.datasets.kernels import KernelRows
from latpred.datasets.label_table import Ints, NetworkLabels

_WIDTH = 120
_ROUNDS = 20
_SUMMARY, _TOTALS = "summary", "labels"  # names of marked places of pages
MAX_NOISE = 0.05  # Lilou's labels scatter less


def markdown(fused: Sequence[NetworkLabels], timed: KernelRows) -> str:
    """A row for each family: what is labelled, and what is timed."""
    families = sorted({network.family for network in (*fused, *timed.networks)})
    lines = [
        "| family | networks | nodes | edges | distinct edges | fused | timed networks | sizes | batches | kernels |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for family in families:
        own = [network for network in fused if network.family == family]
        is_own = np.array([network.family == family for network in timed.networks], bool)
        lines.append(_line(family, own, timed, is_own))
    return "\n".join([*lines, _line("**all**", fused, timed, np.ones(len(timed.networks), bool))]) + "\n"


def _line(name: str, fused: Sequence[NetworkLabels], timed: KernelRows, is_own: np.ndarray) -> str:
    """is_own: which of the timed networks count."""
    counts = fusion.count(fused)
    share = f"{100 * counts.fused_edges / counts.edges:.0f} %" if counts.edges else ""
    rows = is_own[timed.network]
    sizes = sorted({*timed.size[rows].tolist()} - {0})
    recipes = [network.recipe for network, is_counted in zip(timed.networks, is_own, strict=True) if is_counted]
    texts = [
        name,
        str(counts.networks),
        str(counts.nodes),
        str(counts.edges),
        str(counts.distinct_edges),
        share,
        str(len(set(map(_network_of, recipes)))),
        f"{sizes[0]} to {sizes[-1]}" if sizes else "",
        ", ".join(str(batch) for batch in sorted({*timed.batch[rows].tolist()})),
        str(int(rows.sum())),
    ]
    return f"| {' | '.join(texts)} |"


def _network_of(recipe: str) -> str:
    """Without size and options."""
    return recipe.partition("@")[0].partition("?")[0]


def facts(fused: Sequence[NetworkLabels], timed: KernelRows) -> str:
    """The same in sentences, with what a table by family cannot say."""
    counts = fusion.count(fused)
    noise, unsteady = steadiness(timed.networks)
    equals = _equals(timed)
    shared, apart = repeated_kernels(timed, *equals)
    networks = (*fused, *timed.networks)
    versions = ", ".join(sorted({f"{network.runtime} {network.runtime_version}" for network in networks}))
    named, fused_share = counts.direct_nodes / counts.nodes, counts.fused_edges / counts.edges
    first = (
        f"Under {versions}: {counts.networks} networks of {counts.families} families, {counts.nodes} nodes, of which "
        f"the runtime names {100 * named:.0f} % itself, and {counts.edges} edges, of which {counts.distinct_edges} are "
        f"distinct and {100 * fused_share:.0f} % fused."
    )
    second = (
        f"{len(timed)} rows of kernels of {len(timed.types)} types in {len(timed.networks)} calls; the median noise of "
        f"a kernel is {100 * noise:.1f} %, and {100 * unsteady:.0f} % of kernels stayed above {100 * MAX_NOISE:.0f} %. "
        f"Of the groups {100 * shared:.0f} % stand with the same operators and numbers in another network too; half of "
        f"the kernels that stand more than once are within {100 * apart:.1f} % of the median of their equals."
    )
    least, most = np.percentile(network_factors(timed, *equals), (5, 95))
    third = (
        f"A kernel's time depends on the network that it stands in: of two factors, one for the kernel and one for the "
        f"call, the latter is {least:.2f} to {most:.2f} (5 to 95 % of the calls)."
    )
    return "\n".join(textwrap.fill(sentence, _WIDTH) for sentence in (first, second, third)) + "\n"


def steadiness(timed: Sequence[NetworkLabels]) -> tuple[float, float]:
    """Median of the kernels' noise, and the share of kernels above 5 %."""
    noise = np.concatenate([network.kernel_noise for network in timed])
    noise = noise[~np.isnan(noise)]
    return float(np.median(noise)), float((noise > MAX_NOISE).mean())


def repeated_kernels(rows: KernelRows, which: Ints, of_kernel: Ints) -> tuple[float, float]:
    """The share of kernels whose nodes another network has too: there a table that looks them up is enough; and how far
    kernels that stand more than once are from the median of their equals, half of them at most."""
    if len(which) == 0:
        return 0.0, 0.0
    names = np.unique([_network_of(network.recipe) for network in rows.networks], return_inverse=True)[1]
    stands_in = np.unique(np.stack([of_kernel, names[rows.network[which]]]), axis=1)[0]
    shared = np.bincount(stands_in)[of_kernel] > 1
    order = np.argsort(of_kernel, kind="stable")
    groups = np.split(rows.latency_s[which][order], np.cumsum(np.bincount(of_kernel))[:-1])
    far = np.concatenate([np.empty(0), *(np.abs(some / np.median(some) - 1) for some in groups if len(some) > 1)])
    return float(shared.mean()), float(np.median(far)) if len(far) else 0.0


def network_factors(rows: KernelRows, which: Ints, of_kernel: Ints) -> np.ndarray:
    """[networks that share kernels with others] by how much their kernels take longer than the same ones elsewhere."""
    of_network, values = rows.network[which], np.log(rows.latency_s[which])

    def means(groups: np.ndarray, some: np.ndarray) -> np.ndarray:
        return np.asarray((np.bincount(groups, some) / np.maximum(np.bincount(groups), 1))[groups])

    by_network = np.zeros(len(values))
    for _ in range(_ROUNDS):  # time = kernel x network, least squares of the logarithms by turns
        by_network = means(of_network, values - means(of_kernel, values - by_network))
    is_shared = np.bincount(of_kernel)[of_kernel] > 1
    first = np.unique(of_network[is_shared], return_index=True)[1]
    found = by_network[is_shared][first]
    return np.asarray(np.exp(found - found.mean())) if len(found) else found


def _equals(rows: KernelRows) -> tuple[Ints, Ints]:
    """[k] the rows that compute nodes, and [k] a number of each that equal kernels share."""
    node_keys = [fusion.node_keys(network) for network in rows.networks]
    numbers: dict[tuple[object, ...], int] = {}
    which, of_kernel = [], []
    for row, network in enumerate(rows.network.tolist()):
        if nodes := tuple(node_keys[network][node] for node in rows.members(row)):
            key = (*nodes, rows.types[rows.type_id[row]], rows.networks[network].device)
            which.append(row)
            of_kernel.append(numbers.setdefault(key, len(numbers)))
    return np.array(which, np.int64), np.array(of_kernel, np.int64)


# Lilou's Table 3 and text: what its sets hold. It states no distinct edges, families and sizes as here.
_PAPER = {
    "families": "13", "models": "51", "nodes": "91,752", "edges": "134,346", "kernels": "2.2 million",
    "types of kernels": "140", "image sizes": "32, 64, 128, 169, 192, 224",
    "devices": "T4, V100, A10G, each at 10 MPS levels",
}  # fmt: skip


def totals(fused: Sequence[NetworkLabels], timed: KernelRows) -> str:
    """The paper's table of its sets, with ours beside."""
    counts, networks = fusion.count(fused), timed.networks
    copies = int((timed.group < 0).sum())
    sizes = sorted({*timed.size.tolist()} - {0})
    keys = {name: len({network.recipe.partition("@")[0] for network in some})
            for name, some in (("fused", fused), ("timed", networks))}  # fmt: skip
    ours = {
        "families": f"{counts.families}; timed {len({network.family for network in networks})}",
        "models": f"{keys['fused']}; timed {keys['timed']}",
        "distinct graphs": f"{counts.distinct_networks:,}",
        "nodes": f"{counts.nodes:,}",
        "edges": f"{counts.edges:,}",
        "distinct edges": f"{counts.distinct_edges:,}",
        "edges that are fused": f"{counts.fused_edges / counts.edges:.0%}",
        "kernels": f"{len(timed):,}, of them {copies:,} copies to another layout",
        "types of kernels": f"{len(timed.types)}",
        "image sizes": ", ".join(str(size) for size in sizes),
        "batches": ", ".join(str(batch) for batch in sorted({*timed.batch.tolist()})),
        "devices": "; ".join(sorted({f"{network.device_fingerprint}, {network.state}" for network in networks})),
    }
    lines = ["| | the paper's | ours |", "| --- | --- | --- |"]
    lines += [f"| {name} | {_PAPER.get(name, 'not stated')} | {text} |" for name, text in ours.items()]
    return "\n".join(lines) + "\n"


def put_into(page: str, name: str, text: str) -> str:
    """The page with `text` between its marks of that name."""
    first, last = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    begin, end = page.index(first) + len(first), page.index(last)
    return f"{page[:begin]}\n\n{text}\n{page[end:]}"


def main() -> None:
    """Prints the sentences and the table, and puts them into the pages."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--labels", type=Path, required=True, help="folder with fusion.parquet and kernels*.parquet")
    parser.add_argument("--page", type=Path, help="docs/labels.md; the table of totals goes into datasets.md beside it")
    arguments = parser.parse_args()
    folder = arguments.labels
    fused = fusion.load(folder / "fusion.parquet")
    timed = kernels.load(*kernels.tables_of(folder))
    texts = {_SUMMARY: f"{facts(fused, timed)}\n{markdown(fused, timed)}", _TOTALS: totals(fused, timed)}
    print("\n".join(texts.values()))
    if arguments.page is not None:
        pages = {_SUMMARY: arguments.page, _TOTALS: arguments.page.with_name("datasets.md")}
        for name, path in pages.items():
            path.write_text(put_into(path.read_text(encoding="utf-8"), name, texts[name]), encoding="utf-8")


if __name__ == "__main__":
    main()

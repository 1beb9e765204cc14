"""The tables of lilou.py, from its lines of results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import docs_table
import numpy as np
from latpred.fusion.network import NO_KERNEL
from lilou_data import FOLDS, SCHEMES
from lilou_fits import CONTESTANTS, TOPS
from lilou_scores import (
    DEVICE,
    OURS,
    PREDICTED,
    ByContestant,
    Rows,
    edge_score,
    edges_by_seed,
    family_mape,
    kernel_score,
    latency_by_seed,
    mean_and_spread,
    of_scheme,
    on_equal_folds,
    told_by,
)

TITLES = {row.name: row.title for row in CONTESTANTS}
RULES, TRANSFER, LEARNT_THERE = "rules", "transfer", "learnt there"
TRUE = "true groups"
PAIRS_SHOWN = 12
PAPER_EDGES = ["Lilou's paper, TensorRT", "98.35 %", "97.21 %", "98.22 %", ""]
PAPER_RULES = ["nn-Meter there", "73.27 %", "92.02 %", "31.66 %", ""]
PAPER_LATENCY = ["Lilou's paper, A10G", "8.68 %", "", "", "", ""]
PAPER_OTHERS = (
    "There: nn-Meter 30.24 %, BRP-NAS 93.42 %, linear 130.90 % MAPE; kernel type top-1 88.63 %, top-5 98.84 %."
)


def percent(found: tuple[float, float | None], digits: int = 1) -> str:
    """With the spread over the seeds, where there are several."""
    value, spread = found
    if np.isnan(value):
        return ""
    tail = "" if spread is None else f" ± {100 * spread:.{digits}f}"
    return f"{100 * value:.{digits}f}{tail} %"


def edge_table(fits: ByContestant, scheme: str) -> str:
    """Accuracy, precision and recall, and in how many families ours is ahead."""
    text = []
    body = []
    named = [row for row in CONTESTANTS if any("edges" in fit for fit in fits.get(row.name, ()))]
    by_family: dict[str, dict[str, float]] = {}
    for row in named:
        scores = edges_by_seed(fits[row.name], scheme)
        if not scores:
            continue
        families = sorted({n[1] for fit in fits[row.name] if fit["scheme"] == scheme for n in fit["edges"]["networks"]})
        by_family[row.name] = {
            family: mean_and_spread(edges_by_seed(fits[row.name], scheme, lambda n, f=family: n[1] == f))["accuracy"][0]
            for family in families
        }
        found = mean_and_spread(scores)
        body.append([row.title, *(percent(found[name], 2) for name in ("accuracy", "precision", "recall"))])
    for cells, row in zip(body, [row for row in named if row.name in by_family], strict=True):
        cells.append(ahead(by_family.get(OURS, {}), by_family[row.name]) if row.name != OURS else "")
    headings = ("edges", "accuracy", "precision", "recall", "ours at least as good")
    text.append(docs_table.table(headings, [*body, PAPER_EDGES, PAPER_RULES]))
    return "".join(text)


def ahead(ours: Mapping[str, float], theirs: Mapping[str, float]) -> str:
    """In how many families `ours` is the higher one, or equal."""
    shared = [family for family in ours if family in theirs]
    better = sum(ours[family] >= theirs[family] for family in shared)
    return f"{better} of {len(shared)} families" if shared else ""


def latency_table(fits: ByContestant, scheme: str) -> str:
    """End to end."""
    rows = []
    ours = family_mape(fits[OURS], scheme, PREDICTED) if fits.get(OURS) else {}
    for name, column, title in told_by(fits):
        scores = latency_by_seed(fits[name], scheme, column)
        if not scores:
            continue
        found = mean_and_spread(scores)
        theirs = family_mape(fits[name], scheme, column)
        lead = "" if name == OURS else ahead({f: -v for f, v in ours.items()}, {f: -v for f, v in theirs.items()})
        rows.append([title, *(percent(found[key]) for key in ("mape", "rmspe", "median", "p90")), lead])
    headings = ("latency of networks", "MAPE", "RMSPE", "median", "90th percentile", "ours at least as good")
    return docs_table.table(headings, [*rows, PAPER_LATENCY])


def by_key_table(fits: ByContestant, heading: str, key: Callable[[list[Any]], Any], scheme: str) -> str:
    """MAPE (and ours' RMSPE) of each value of `key`."""
    told = [(name, column) for name, column, _ in told_by(fits) if column != TRUE]
    values = sorted(
        {key(n) for name, _ in told for fit in fits[name] if fit["scheme"] == scheme for n in fit["latency"]}
    )
    rows = []
    for value in values:
        cells = []
        count = 0
        for name, column in told:
            scores = latency_by_seed(fits[name], scheme, column, lambda n, v=value: key(n) == v)
            found = mean_and_spread(scores) if scores else None
            cells.append(percent(found["mape"]) if found else "")
            if name == OURS and found:
                cells[-1] += f" ({percent(found['rmspe'])})"
                count = sum(key(n) == value for fit in of_scheme(fits[name], scheme)[0] for n in fit["latency"])
        rows.append([str(value), str(count), *cells])
    headings = [heading, "calls", *(f"{TITLES[name]}{' MAPE (RMSPE)' if name == OURS else ''}" for name, _ in told)]
    return docs_table.table(headings, rows)


def pair_table(fits: ByContestant, scheme: str) -> str:
    """How many edges of a kind that the runtime fuses are found."""
    named = [row for row in CONTESTANTS if any("edges" in fit for fit in fits.get(row.name, ()))]
    counts: dict[str, dict[str, list[int]]] = {row.name: defaultdict(lambda: [0, 0]) for row in named}
    for row in named:
        for fit in of_scheme(fits[row.name], scheme)[:1] and of_scheme(fits[row.name], scheme)[0]:
            for pair, (count, right) in fit["edges"]["pairs"].items():
                counts[row.name][pair][0] += count
                counts[row.name][pair][1] += right
    most = counts.get(OURS, {})
    shown = sorted(most, key=lambda pair: (-most[pair][0], pair))[:PAIRS_SHOWN]
    rows = []
    for pair in shown:
        cells = [counts[row.name][pair] for row in named]
        rows.append([pair, str(most[pair][0]), *(f"{100 * right / max(count, 1):.1f} %" for count, right in cells)])
    return docs_table.table(["fused edge", "edges", *(row.title for row in named)], rows)


def kernel_table(fits: ByContestant, scheme: str) -> str:
    """Times and types of kernels."""
    keys = ("mape", "rmspe", "median", "p90", *(f"top{most}" for most in TOPS))
    rows = []
    for row in CONTESTANTS:
        seeds = [some for some in of_scheme(fits.get(row.name, ()), scheme) if "kernels" in some[0]]
        if not seeds:
            continue
        if "families" in seeds[0][0]["kernels"]:
            found = mean_and_spread([kernel_score(some) for some in seeds])
            rows.append([row.title, *(percent(found[key]) for key in keys)])
        else:
            types = [
                counts for fit in seeds[0] for name, counts in fit["kernels"]["types"].items() if name != NO_KERNEL
            ]
            ranks = np.array(types).sum(axis=0)
            rows.append(
                [row.title, "", "", "", "", *(percent((ranks[1 + i] / ranks[0], None)) for i in range(len(TOPS)))]
            )
    headings = ("kernels, true groups", "MAPE", "RMSPE", "median", "90th percentile", *(f"top-{most}" for most in TOPS))
    return docs_table.table(headings, rows)


def type_table(fits: ByContestant, scheme: str) -> str:
    """Top-1, 2, 5 of each type of kernel, ours."""
    sums: dict[str, np.ndarray] = defaultdict(lambda: np.zeros(1 + len(TOPS)))
    for fit in of_scheme(fits[OURS], scheme)[0]:
        for name, counts in fit["kernels"]["types"].items():
            sums[name] += counts
    rows = [
        [name, str(int(ranks[0])), *(f"{100 * right / ranks[0]:.1f} %" for right in ranks[1:])]
        for name, ranks in sorted(sums.items(), key=lambda item: -item[1][0])
    ]
    return docs_table.table(("type of kernel, ours", "groups", *(f"top-{most}" for most in TOPS)), rows)


def cost_text(fits: ByContestant) -> str:
    """Processor time of a fit."""
    words = []
    for row in CONTESTANTS:
        spent: dict[str, list[float]] = defaultdict(list)
        for fit in fits.get(row.name, ()):
            for what, seconds in fit.get("cpu_s", {}).items():
                spent[what].append(seconds)
        words += [f"{row.title}: {what} {np.mean(values):.0f} s" for what, values in spent.items()]
    return f"Processor time of a fit, mean: {'; '.join(words)}.\n"


def shared_text(every: ByContestant, name: str, scheme: str) -> str:
    """Somebody who is not fitted on all folds, beside the others on the same ones."""
    folds = {(row["fold"], row["seed"]) for row in every[name] if row["scheme"] == scheme}
    if not folds:
        return ""
    shared = {
        other: [row for row in every[other] if row["scheme"] == scheme and (row["fold"], row["seed"]) in folds]
        for other in (OURS, RULES, name)
    }
    tables_of = [table(shared, scheme) for table in (edge_table, latency_table, kernel_table)]
    words = ", ".join(f"{fold + 1}" for fold, _ in sorted(folds))
    return f"On fold {words} alone:\n\n" + "\n".join(tables_of)


def scheme_text(fits: ByContestant, scheme: str) -> str:
    """All tables of one way to part the networks."""
    every = fits
    fits, missing = on_equal_folds(every, scheme)
    first = of_scheme(fits.get(OURS, ()), scheme)
    if not first:
        return ""
    networks = sum(len(fit["edges"]["networks"]) for fit in first[0])
    calls = sum(len(fit["latency"]) for fit in first[0])
    seeds = f"{len(first)} seed{'s' if len(first) > 1 else ''}"
    title = {"model": "By model: no architecture on both sides", "family": "Families left out"}[scheme]
    about = (
        f"### {title}\n\n{len(first[0])} of {FOLDS} folds, {seeds}; tested on edges of {networks} networks "
        f"and on {calls} timed calls.\n"
    )
    text = [
        about,
        *([missing] if missing else []),
        *(shared_text(every, name, scheme) for name in TITLES if every.get(name) and name not in fits),
        edge_table(fits, scheme),
        latency_table(fits, scheme),
        kernel_table(fits, scheme),
    ]
    same = np.array([fit["identical"] for fit in fits.get("usual", ()) if fit["scheme"] == scheme])
    if same.size:
        share = same.sum(axis=0)
        text.append(f"{share[0] / share[1]:.0%} of the tested kernels stand in the training with the same nodes.\n")
    if scheme == SCHEMES[0]:
        text += [
            pair_table(fits, scheme),
            by_key_table(fits, "family", lambda n: n[1], scheme),
            by_key_table(fits, "image size (0: none)", lambda n: n[2], scheme),
            by_key_table(fits, "batch", lambda n: n[3], scheme),
            by_key_table(fits, "device and state", lambda n: n[DEVICE], scheme),
            type_table(fits, scheme),
        ]
    return "\n".join(text)


def transfer_text(rows: Rows) -> str:
    """The shipped edge classifier on what other runtimes fuse, beside the rules and one that learnt their labels."""
    asked = ((OURS, "accuracy"), (OURS, "recall"), (RULES, "accuracy"), (RULES, "recall"), (LEARNT_THERE, "accuracy"),
             (LEARNT_THERE, "recall"))  # fmt: skip
    body = [
        [runtime, str(len(counts[OURS]))]
        + [percent((edge_score(counts[name])[key], None), 2) if name in counts else "" for name, key in asked]
        for row in rows
        for runtime, counts in row["runtimes"].items()
    ]
    headings = ("labels of", "networks", "accuracy", "recall", "rules: accuracy", "rules: recall",
                "learnt there: accuracy", "learnt there: recall")  # fmt: skip
    about = (
        "### Other runtimes\n\nThe shipped classifier, which learnt OpenVINO on a processor, on what other runtimes "
        "did: a test of transfer, not what it is for. Learnt there: the same network on that runtime's labels, five "
        "folds by model.\n"
    )
    return f"{about}\n{docs_table.table(headings, body)}"


def tables(fits: ByContestant) -> str:
    """Everything as Markdown."""
    if not fits.get(OURS):
        return "No results yet: --train makes them.\n"
    parts = [scheme_text(fits, scheme) for scheme in SCHEMES]
    parts += [transfer_text(fits[TRANSFER][-1:])] if fits.get(TRANSFER) else []
    return "\n".join([*(part for part in parts if part), PAPER_OTHERS, "", cost_text(fits)])

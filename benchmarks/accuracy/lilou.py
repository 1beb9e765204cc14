"""Lilou's learnt fusion and kernels, by the paper's recipe and by ours, beside what they are compared with: the tables
of its section 5 on labels of a CPU runtime, or the fits.

python benchmarks/accuracy/lilou.py [--json FILE] [--docs docs/lilou.md]      the tables, from committed results
python benchmarks/accuracy/lilou.py --train [--only ours paper] [--seeds 3] [--budget-minutes 35]

python benchmarks/accuracy/lilou.py --ship FOLDER        our pair, trained on all labels; its interval from the results

--train keeps a line for each fit and goes on where it was interrupted; results on other labels are not mixed in.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import lzma
import sys
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

import docs_table
import numpy as np
from latpred.datasets import fusion, kernels
from latpred.datasets.label_table import NetworkLabels
from latpred.fusion import GraphNetwork, graph_arrays
from latpred.fusion.learning import fit_edges, fit_kernels, groups_of, pair_recipe
from lilou_baselines import rule_edges
from lilou_data import FOLDS, SCHEMES, Data
from lilou_fits import CONTESTANTS, Contestant, Job, OncePerGroup, edge_scores, fusible
from lilou_scores import DEVICE, FIRST_TOLD, to_json
from lilou_tables import LEARNT_THERE, TRANSFER, tables

MARK = "benchmarks/accuracy/lilou.py"
ROOT = Path(__file__).resolve().parents[2]
LABELS = ROOT / "data" / "labels"
RESULTS = Path(__file__).resolve().parent / "lilou.jsonl.xz"
PACKED = ".xz"  # a file of results that is
OTHER_RUNTIMES = ("tensorrt", "fusion_onnxruntime", "fusion_inductor")  # files of labels
MIN_NETWORKS = 20  # to learn a runtime from
SECONDS_PER_MINUTE = 60
INTERVAL_PERCENT = 80  # of calls lie within the shipped pair's interval
SHOWN_EVERY = 8  # of the networks that are shipped: their score stands beside each epoch


def read_results(path: Path) -> list[dict[str, Any]]:
    """A line for each fit; those of the labels that the last one was made on."""
    if not path.is_file():
        return []
    packed = path.read_bytes()
    text = (lzma.decompress(packed) if path.suffix == PACKED else packed).decode()
    rows = [_expanded(json.loads(line)) for line in text.splitlines()]
    return [row for row in rows if row["labels"] == rows[-1]["labels"]]


def _short(row: dict[str, Any]) -> dict[str, Any]:
    """With each device's long name once."""
    if "latency" not in row:
        return row
    devices = sorted({network[DEVICE] for network in row["latency"]})
    told = [[*n[:DEVICE], devices.index(n[DEVICE]), *n[DEVICE + 1 :]] for n in row["latency"]]
    return row | {"devices": devices, "latency": told}


def _expanded(row: dict[str, Any]) -> dict[str, Any]:
    for network in row.get("latency", ()):
        network[DEVICE] = row["devices"][network[DEVICE]]
    return row


def jobs_of(only: Sequence[str], seeds: int, schemes: Sequence[str]) -> Iterable[tuple[Contestant, Job]]:
    """All of one seed before the next; folds by model before those by family."""
    for seed in range(seeds):
        for scheme in schemes:
            for row in CONTESTANTS:
                if row.name in only and (row.has_seeds or seed == 0):
                    for fold in range(FOLDS):
                        yield row, Job(row.name, scheme, fold, seed)


def train(options: argparse.Namespace) -> None:
    """Fits what has no line yet."""
    data = Data.load(options.labels)
    found = [row for row in read_results(options.results) if row["labels"] == data.fingerprint]
    done = {row["job"] for row in found}
    once = OncePerGroup({})
    start = time.monotonic()
    for contestant, job in jobs_of(options.only, options.seeds, options.schemes):
        if job.name in done:
            continue
        if options.budget_minutes and time.monotonic() - start > options.budget_minutes * SECONDS_PER_MINUTE:
            print(f"{options.budget_minutes} minutes are over; the same command goes on with {job.name}")
            break
        begin = time.monotonic()
        part = data.part(job.scheme, job.fold)
        scored = contestant.run(job, data, part, once, options.epochs, [])
        row = {"job": job.name, **dataclasses.asdict(job), "labels": data.fingerprint, **scored}
        append(options.results, found, row)
        found.append(row)
        print(f"{job.name}: {time.monotonic() - begin:.0f} s", flush=True)


def learnt_there(networks: Sequence[NetworkLabels]) -> np.ndarray:
    """[E] of all networks in order, each by a classifier that learnt the runtime from the other models' labels."""
    data = Data(list(networks), kernels.rows_of([]))
    fused: dict[int, np.ndarray] = {}
    for fold in range(FOLDS):
        part = data.part("model", fold)
        training, validation, test = (data.labelled_at(some[0]) for some in (part.training, part.validation, part.test))
        classifier = fit_edges(pair_recipe("ours"), training, validation)
        counts = [network.edges.shape[1] for network in test]
        told = fusible(classifier, graph_arrays.of_networks(test))
        fused |= dict(zip(part.test[0], np.split(told, np.cumsum(counts)[:-1]), strict=True))
    return np.concatenate([fused[place] for place in range(len(networks))])


def transfer(labels: Path, edges: GraphNetwork, fingerprint: str) -> dict[str, Any]:
    """How the classifier does where another runtime fused, and one that learnt that runtime."""
    counts: dict[str, dict[str, Any]] = {}
    for name in OTHER_RUNTIMES:
        path = labels / f"{name}.parquet"
        if path.is_file():
            networks = fusion.load(path)
            graphs = graph_arrays.of_networks(networks)
            said = {"ours": fusible(edges, graphs), "rules": rule_edges(graphs)}
            if len(networks) >= MIN_NETWORKS:
                said[LEARNT_THERE] = learnt_there(networks)
            counts[networks[0].runtime] = {
                who: [row[2:] for row in edge_scores(networks, fused)["networks"]] for who, fused in said.items()
            }
    job = Job(TRANSFER, "runtime", 0, 0)
    return {"job": TRANSFER, **dataclasses.asdict(job), "labels": fingerprint, "runtimes": counts}


def append(path: Path, rows: Sequence[dict[str, Any]], row: dict[str, Any]) -> None:
    """Writes `rows` and `row`, in place of an earlier one of that job; a reader never sees half a file."""
    kept = [*(other for other in rows if other["job"] != row["job"]), row]
    part = path.with_name(path.name + ".part")
    text = "".join(json.dumps(_short(one), separators=(",", ":")) + "\n" for one in kept).encode()
    part.write_bytes(lzma.compress(text) if path.suffix == PACKED else text)
    part.replace(path)


def ship(options: argparse.Namespace, results: Sequence[dict[str, Any]]) -> None:
    """Trains the pair that predict() answers with."""
    data = Data.load(options.labels)
    pair = pair_recipe("ours")
    timed = data.rows.networks
    said = [row for fit in results if (fit["contestant"], fit["scheme"]) == ("ours", "model") for row in fit["latency"]]
    if not said:
        sys.exit("the pair's interval comes from its own fits by model: --train --only ours --schemes model first")
    half_widths = {}
    for device in data.devices:
        ratios = np.array([row[-1] / row[FIRST_TOLD - 1] for row in said if row[DEVICE] == device])
        half_widths[device] = float(np.percentile(np.abs(np.log(ratios)), INTERVAL_PERCENT))
    edges = fit_edges(pair, data.labelled, data.labelled[::SHOWN_EVERY], epochs=options.epochs)
    costs = fit_kernels(pair, groups_of(data.rows, data.timed, pair.in_network), None, epochs=options.epochs)
    runtime = f"{timed[0].runtime} {timed[0].runtime_version}"
    edges.trained_on |= {
        "runtime": runtime,
        "networks": len(data.labelled),
        "operators": sorted({name for network in data.labelled for name in network.operators}),
    }
    costs.trained_on |= {
        "runtime": runtime,
        "networks": len(data.timed),
        "log_half_widths": half_widths,
    }
    append(options.results, results, transfer(options.labels, edges, data.fingerprint))
    for name, network in (("edges", edges), ("kernels", costs)):
        path = options.ship / f"lilou_{name}.safetensors"
        network.save(path)
        print(f"{path.name}: {path.stat().st_size} bytes")


def main() -> None:
    """See above."""
    names = [row.name for row in CONTESTANTS]
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labels", type=Path, default=LABELS, help="folder of labels (default: %(default)s)")
    parser.add_argument("--results", type=Path, default=RESULTS, help="file of results (default: %(default)s)")
    parser.add_argument("--train", action="store_true", help="fit first; goes on where it was interrupted")
    parser.add_argument(
        "--only", nargs="+", default=names, choices=names, metavar="NAME", help="of: " + ", ".join(names)
    )
    parser.add_argument("--schemes", nargs="+", default=SCHEMES, choices=SCHEMES, help="what is left out together")
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--epochs", type=int, help="of --train, for a quick look")
    parser.add_argument("--budget-minutes", type=float, help="begin no fit after so long")
    parser.add_argument("--ship", type=Path, metavar="FOLDER", help="train our pair on all labels and write it here")
    parser.add_argument("--json", type=Path, help="write the numbers here")
    parser.add_argument("--docs", type=Path, help="write the tables into this page")
    options = parser.parse_args()
    start = time.monotonic()
    if options.train:
        train(options)
    results = read_results(options.results)
    if options.ship:
        ship(options, results)
        return
    by_contestant: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in results:
        by_contestant[row["contestant"]].append(row)
    text = tables(by_contestant)
    print(text)
    if options.json:
        options.json.write_text(json.dumps(to_json(by_contestant), indent=1) + "\n", encoding="utf-8")
    if options.docs:
        docs_table.replace(options.docs, MARK, text)
    print(f"{time.monotonic() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()

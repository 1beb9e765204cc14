"""latpred label: how a real runtime fuses networks, and what its kernels cost; for one network or for a data set."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred.cli_output import add_json_option, console, count, minutes, print_pairs, print_table
from latpred.cli_progress import progress
from latpred.cli_request import parse_input_words
from latpred.errors import InvalidArgumentError
from latpred.labels.runtimes import LABELLERS, check_precision

if TYPE_CHECKING:
    from latpred.datasets.label_table import NetworkLabels
    from latpred.labels.labelled import Labels

_SHOWN_FAILURES = 5
_PRECISION = "fp32"
# Options by what they are about, to refuse them elsewhere; none has a default, so that it is known what was said.
_OF_AN_ENGINE = ("profile",)
_OF_A_NETWORK = ("network", "batch", "input")
_OF_A_RUNTIME = ("precision", "runs", "neighbour")
_OF_TIMES = ("runs", "neighbour", "passes")
_OF_A_DATA_SET = ("graphs", "batches", "out", "passes", "minutes", "tu")


def add_parser(commands: Any) -> None:
    """Adds "label" to what add_subparsers gave."""
    parser = commands.add_parser(
        "label",
        help="ask a runtime which nodes it fuses into which kernels",
        description="Runs a network under a runtime and shows the groups of nodes that it computes in one kernel. With "
        "--out it writes a table of many networks, which predictors of fusion and kernels are trained on; stopped by "
        "time, by Ctrl-C or by a kill, the same command goes on where it was.",
    )
    parser.add_argument(
        "network", nargs="?", metavar="NETWORK", help="an ONNX file, or a recipe: timm:resnet50@224, googlenet:v1"
    )
    group = parser.add_argument_group("the runtime (one of them)").add_mutually_exclusive_group(required=True)
    for name, labeller in LABELLERS.items():
        group.add_argument(
            f"--{name}", action="store_const", const=name, dest="runtime", help=labeller.description.replace("%", "%%")
        )
    group.add_argument(
        "--tensorrt", type=Path, metavar="LAYERS", help="an engine: what trtexec --exportLayerInfo wrote; runs nothing"
    )
    parser.add_argument("--profile", type=Path, metavar="FILE", help="of trtexec --exportProfile: the engine's times")
    parser.add_argument("--batch", type=count, metavar="N", help="items in the call (default 1)")
    parser.add_argument("--input", action="append", metavar="SIZES", help="as latpred predict takes it")
    parser.add_argument("--precision", metavar="NAME", help="default fp32")
    parser.add_argument("--runs", type=count, metavar="N", help="timed calls (default: kernels without times)")
    parser.add_argument(
        "--neighbour",
        type=count,
        metavar="PERCENT",
        help="beside a process on another core that reads memory for so much of its time (default: none)",
    )
    add_json_option(parser)
    group = parser.add_argument_group("a data set")
    group.add_argument("--recipes", type=Path, metavar="FILE", help="a recipe and its family on each line")
    group.add_argument("--graphs", type=Path, nargs="+", metavar="FILE", help="recorded networks to take")
    group.add_argument("--batches", type=count, nargs="+", metavar="N", help="default 1")
    group.add_argument("--out", type=Path, metavar="FILE", help="the .parquet file; its .journal is beside")
    group.add_argument("--passes", type=count, metavar="N", help="over the list; the least time of each kernel stays")
    group.add_argument("--minutes", type=minutes, metavar="M", help="stop then; the table holds what is there")
    group.add_argument("--tu", type=Path, metavar="FOLDER", help="write the table as files of the TUDataset form too")
    parser.set_defaults(command=_label)


def _label(options: argparse.Namespace) -> None:
    if options.recipes is not None:
        _label_many(options)
        return
    _refuse(options, _OF_A_DATA_SET, "is about a data set: add --recipes FILE, or leave it out")
    if options.tensorrt is not None:
        _label_engine(options)
        return
    if options.network is None:
        raise InvalidArgumentError("say a network, or --recipes FILE for a data set")
    _check_runtime(options)
    from latpred.labels import label

    labels = label(
        options.network,
        runtime=options.runtime,
        batch=options.batch or 1,
        input=parse_input_words(options.input),
        precision=options.precision or _PRECISION,
        runs=options.runs or 0,
        neighbour=options.neighbour or 0,
    )
    _show(options, labels)


def _refuse(options: argparse.Namespace, names: Sequence[str], why: str) -> None:
    """What would do nothing."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value is not False:
            raise InvalidArgumentError(f"'{value}' {why}" if name == "network" else f"--{name} {why}")


def _check_runtime(options: argparse.Namespace) -> None:
    """What the runtime that was said does nothing with."""
    name = options.runtime
    check_precision(name, options.precision or _PRECISION)
    _refuse(options, _OF_AN_ENGINE, f"is what trtexec wrote of an engine, not of {name}: leave it out")
    if not LABELLERS[name].clock:
        _refuse(options, _OF_TIMES, f"is about times, and --{name} says only what is fused: leave it out")
    if LABELLERS[name].of_module is not None:
        _refuse(options, ("graphs",), f"has recorded networks, and --{name} builds each from its recipe: leave it out")


def _show(options: argparse.Namespace, labels: Labels) -> None:
    if options.json:
        print(json.dumps(to_dict(labels), indent=2))
        return
    print_table(console(), str(labels), labels.groups)


def to_dict(labels: Labels) -> dict[str, Any]:
    """Groups, edges and kernels as JSON can hold them."""
    return {
        "runtime": labels.runtime,
        "runtime_version": labels.runtime_version,
        "nodes": [
            {"name": node.name, "operator": node.operator, "group": int(group), "is_direct": bool(is_direct)}
            for node, group, is_direct in zip(labels.graph.nodes, labels.group, labels.is_direct, strict=True)
        ],
        "edges": [
            {"source": int(source), "target": int(target), "is_fused": bool(is_fused)}
            for (source, target), is_fused in zip(labels.edges.T, labels.edge_label, strict=True)
        ],
        "kernels": [vars(kernel) for kernel in labels.kernels],
    }


def _label_many(options: argparse.Namespace) -> None:
    from latpred.labels import collect
    from latpred.labels.networks import Networks, read_list
    from latpred.labels.runtimes import collect_here

    if options.out is None or options.runtime is None:
        raise InvalidArgumentError("--recipes needs --out FILE.parquet and a runtime that runs here")
    _refuse(options, _OF_A_NETWORK, "is about one network, --recipes about its list at --batches: leave it out")
    _refuse(options, ("json",), "prints one network; those of --recipes are in the table of --out: leave it out")
    _check_runtime(options)
    if options.runtime == "openvino":
        collect_here()
    plan = collect.Plan(
        read_list(options.recipes),
        options.runtime,
        tuple(options.batches or [1]),
        options.precision or _PRECISION,
        options.runs or 0,
        options.neighbour or 0,
        options.passes or 1,
    )
    terminal = console()
    try:
        with progress(terminal) as show:
            for step in collect.collect(plan, options.out, Networks(options.graphs or []), minutes=options.minutes):
                show(step)
    except KeyboardInterrupt:
        terminal.print("stopped; nothing is lost: the same command goes on", soft_wrap=True)
        raise
    from latpred.datasets import label_table

    networks = label_table.read(options.out)
    failed = collect.failures(options.out)
    print_pairs(terminal, [("table", str(options.out)), *facts(networks), ("failed", str(len(failed)))])
    for name, error in list(failed.items())[:_SHOWN_FAILURES]:
        terminal.print(f"{name}: {error}", soft_wrap=True, markup=False)
    if options.tu is not None:
        from latpred.labels import tu_dataset

        tu_dataset.write(networks, options.tu)


def facts(networks: list[NetworkLabels]) -> list[tuple[str, str]]:
    """What a table of labels holds, in words."""
    from latpred.datasets import fusion, kernels

    counts = fusion.count(networks)
    rows = kernels.rows_of(networks)
    return [
        ("networks", f"{counts.networks} ({counts.distinct_networks} distinct) of {counts.families} families"),
        ("nodes", f"{counts.nodes}, of them {counts.direct_nodes} named by the runtime"),
        ("edges", f"{counts.edges} ({counts.distinct_edges} distinct), of them {counts.fused_edges} fused"),
        ("timed kernels", f"{len(rows)} of {len(rows.types)} kinds"),
    ]


def _label_engine(options: argparse.Namespace) -> None:
    from latpred.labels import tensorrt
    from latpred.labels.engine_labels import label_engine

    _refuse(options, _OF_A_RUNTIME, "is about a runtime that runs here; --tensorrt reads of an engine: leave it out")
    if options.network is not None:
        found = label_engine(
            options.network,
            options.tensorrt,
            options.profile,
            batch=options.batch or 1,
            input=parse_input_words(options.input),
        )
        _show(options, found)
        return
    _refuse(options, _OF_A_NETWORK, "is about the network of the engine: add its ONNX file, or leave it out")
    engine = tensorrt.read_engine(options.tensorrt, options.profile)
    if options.json:
        print(json.dumps(engine.to_dict(), indent=2))
        return
    print_table(console(), str(engine), engine.table)


__all__ = ["add_parser", "facts", "to_dict"]

"""The command line: the same words as the Python functions."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from latpred import (
    _core,
    api,
    catalog,
    cli_calibrate,
    cli_campaign,
    cli_colocate,
    cli_dataset,
    cli_fuse,
    cli_history,
    cli_label,
    cli_plot,
    cli_profile,
    cli_train,
)
from latpred.cli_output import add_json_option as _add_json_option
from latpred.cli_output import console as _console
from latpred.cli_output import count as _count
from latpred.cli_output import print_pairs as _print_pairs
from latpred.cli_output import print_table as _print_table
from latpred.cli_request import add_network, add_request, network_arguments, request_arguments
from latpred.errors import LatpredError
from latpred.tables import Table

if TYPE_CHECKING:
    from rich.console import Console

    from latpred.prediction import Prediction

EXIT_ERROR = 2
EXIT_SYSTEM_ERROR = 1
_SHOWN_KERNELS = 10  # of --kernels without a number, and of explain
_SHOWN_NODES = 20
# What a predictor that answers for a whole call does not have.
_KERNELS, _PARTITIONS = "times of kernels", "table of partitions"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs one command; the exit code is 0, 2 after an error that is printed as one line, or 1 after one of the
    system."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
        sys.stdout.flush()
    except LatpredError as error:
        _print_error(error)
        return EXIT_ERROR
    except BrokenPipeError:  # the reader of a pipe has seen enough
        _print_nothing_more()
    except OSError as error:  # a full disk behind the output, say
        _print_error(error)
        _print_nothing_more()
        return EXIT_SYSTEM_ERROR
    except KeyboardInterrupt:
        return 130
    return 0


def _print_error(error: Exception) -> None:
    """One line that cannot steer the terminal, whatever names a file holds."""
    line = "".join(letter if letter.isprintable() else " " for letter in str(error))
    print(f"latpred: error: {line}", file=sys.stderr)


def _print_nothing_more() -> None:
    """Keeps Python's own flush at exit from complaining."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


# The words.


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="latpred",
        description="Latency, memory, energy and MIG slice of a neural network, predicted from its file.",
    )
    parser.add_argument("--version", action="version", version=f"latpred {_core.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")

    predict = commands.add_parser("predict", help="predict one call of a network on a device")
    add_network(predict)
    add_request(predict)
    predict.add_argument(
        "--kernels",
        type=_count,
        nargs="?",
        const=_SHOWN_KERNELS,
        metavar="N",
        help=f"show the N longest kernels (default {_SHOWN_KERNELS})",
    )
    predict.add_argument("--partitions", action="store_true", help="show every MIG profile of the device")
    _add_json_option(predict)
    predict.set_defaults(command=_predict)

    inspect = commands.add_parser("inspect", help="show what a model file holds")
    add_network(inspect)
    inspect.add_argument(
        "--nodes",
        type=_count,
        nargs="?",
        const=_SHOWN_NODES,
        metavar="N",
        help=f"show the first N nodes (default {_SHOWN_NODES})",
    )
    inspect.add_argument("--onnx", metavar="FILE", help="write the network as an ONNX file without weights")
    _add_json_option(inspect)
    inspect.set_defaults(command=_inspect)

    devices = commands.add_parser("devices", help="list the devices, or show one")
    devices.add_argument("name", nargs="?", metavar="NAME", help="a device, by name or alias")
    devices.set_defaults(command=_devices)

    explain = commands.add_parser("explain", help="show where the time and the memory go, and what would change them")
    add_network(explain)
    add_request(explain)
    explain.set_defaults(command=_explain)

    cli_calibrate.add_parser(commands)
    cli_dataset.add_commands(commands)
    cli_campaign.add_commands(commands)
    cli_colocate.add_commands(commands)
    cli_fuse.add_parser(commands)
    cli_label.add_parser(commands)
    cli_train.add_commands(commands)
    cli_history.add_parser(commands)
    cli_profile.add_commands(commands)
    cli_plot.add_parser(commands)
    return parser


# The commands.


def _predict(options: argparse.Namespace) -> None:
    prediction = api.predict(**network_arguments(options), **request_arguments(options))
    if options.json:
        answer = prediction.to_dict()
        if options.kernels:
            answer["kernels"] = _known_or_note(prediction, _KERNELS, lambda: _longest(prediction, options.kernels))
        if options.partitions:
            answer["partitions"] = (
                _known_or_note(prediction, _PARTITIONS, lambda: prediction.partitions)
                if prediction.device_row.has_mig
                else []
            )
        print(json.dumps(answer, indent=2))
        return
    console = _console()
    _print_prediction(console, prediction)
    if options.kernels:
        _print_longest(console, prediction, options.kernels)
    if options.partitions:
        _print_partitions(console, prediction)


def _inspect(options: argparse.Namespace) -> None:
    from latpred import graph as graph_text

    graph = api.load(**network_arguments(options))
    if options.onnx:
        graph.to_onnx(options.onnx)
    if options.json:
        description: dict[str, Any] = {
            "name": graph_text.name(graph),
            "hash": graph.hash,
            "batch": graph.batch,
            "framework": graph.source.framework,
            "format": graph.source.format,
            "producer": graph.source.producer,
            "inputs": [_tensor_dict(tensor) for tensor in graph.inputs],
            "outputs": [_tensor_dict(tensor) for tensor in graph.outputs],
            "num_nodes": len(graph),
            "operators": graph.operators,
            "unknown_operators": graph_text.unknown_operators(graph),
            "macs": graph.macs,
            "flops": graph.flops,
            "num_parameters": graph.num_parameters,
            "num_statistics": graph.num_statistics,
            "weight_bytes": graph.weight_bytes,
            "warnings": graph.warnings,
        }
        if options.nodes:
            description["nodes"] = graph_text.nodes_table(graph)[: options.nodes].to_dicts()
        print(json.dumps(description, indent=2))
        return
    console = _console()
    _print_pairs(console, graph_text.facts(graph))
    if options.nodes:
        _print_table(console, "Nodes in execution order", graph_text.nodes_table(graph)[: options.nodes])


def _tensor_dict(tensor: Any) -> dict[str, Any]:
    return {"name": tensor.name, "shape": list(tensor.shape), "dtype": tensor.dtype}


def _devices(options: argparse.Namespace) -> None:
    from latpred.device import aliases_text, facts, partitions_table

    console = _console()
    if options.name is None:
        console.print(catalog.devices().to_rich())
        console.print(aliases_text())
        return
    device = catalog.devices()[options.name]
    _print_pairs(console, facts(device))
    profiles = partitions_table(device)
    if profiles:
        _print_table(console, "MIG profiles, smallest first", profiles)


def _explain(options: argparse.Namespace) -> None:
    from latpred import explain

    prediction = api.predict(**network_arguments(options), **request_arguments(options))
    console = _console()
    _print_prediction(console, prediction)
    if not prediction.is_of_whole_call:
        _print_table(console, "Time by kind of kernel", explain.time_by_kind(prediction))
    _print_longest(console, prediction, _SHOWN_KERNELS)
    memory = explain.memory_parts(prediction)
    if memory:
        _print_table(console, "Memory", memory)
    else:
        _print_sentence(console, f"predictor '{prediction.predictor}' says one number for all memory: it has no parts")
    if prediction.device_row.has_mig:
        _print_partitions(console, prediction)
    _print_table(console, "What would change the answer", explain.alternatives(prediction))


def _longest(prediction: Prediction, count: int) -> Table[Any]:
    from latpred.prediction_tables import KERNEL_COLUMNS

    kernels = sorted(prediction.kernels, key=lambda kernel: -kernel.latency_ms)
    return Table(kernels[:count], KERNEL_COLUMNS, what="kernel")


# Printing.


def _print_prediction(console: Console, prediction: Prediction) -> None:
    from rich.text import Text

    console.print(Text(prediction.headline(), style="bold"))
    facts = Table(
        prediction.facts(),
        [_nth_column(0, ""), _nth_column(1, "predicted"), _nth_column(2, "80 % interval"), _nth_column(3, "how")],
    )
    console.print(facts.to_rich())
    for note in prediction.coverage:
        console.print(Text(f"coverage: {note}", style="yellow"))
    if prediction.unknown_operators:
        console.print(Text(f"unknown operators: {', '.join(prediction.unknown_operators)}", style="yellow"))
    for warning in prediction.graph.warnings:
        console.print(Text(f"warning: {warning}", style="yellow"))


def _print_longest(console: Console, prediction: Prediction, count: int) -> None:
    if prediction.is_of_whole_call:
        _print_sentence(console, _without(prediction, _KERNELS))
        return
    number = len(prediction.kernels)
    title = f"The {min(count, number)} longest of {number} kernels and waits"
    _print_table(console, title, _longest(prediction, count))


def _print_partitions(console: Console, prediction: Prediction) -> None:
    if not prediction.device_row.has_mig:
        console.print(f"{prediction.device} has no MIG")
    elif prediction.is_of_whole_call:
        _print_sentence(console, _without(prediction, _PARTITIONS))
    elif prediction.partitions:
        _print_table(console, f"MIG profiles of {prediction.device}", prediction.partitions)
    else:
        console.print(f"{prediction.device} has MIG, but nobody has published the sizes of its profiles")


def _print_sentence(console: Console, sentence: str) -> None:
    from rich.text import Text

    console.print(Text(sentence))  # a predictor's name may be a file's, which is no markup


def _without(prediction: Prediction, table: str) -> str:
    """Why there is no such table, and who has one."""
    from latpred.fusion.lilou import LearntPrediction

    if table == _KERNELS and isinstance(prediction, LearntPrediction):
        return (
            f"predictor '{prediction.predictor}' learnt kernels of its own: latpred fuse (in Python .optimized) shows "
            f"them with their times; --predictor {_core.predictors()[0].name} has this table"
        )
    return (
        f"predictor '{prediction.predictor}' answers for a whole call: it has no {table}; "
        f"--predictor {_core.predictors()[0].name} has"
    )


def _known_or_note(prediction: Prediction, name: str, table: Callable[[], Table[Any]]) -> list[dict[str, Any]] | None:
    """The rows of a table; null where the predictor has none, which is said where no reader of JSON trips over it."""
    if not prediction.is_of_whole_call:
        return table().to_dicts()
    print(f"latpred: note: {_without(prediction, name)}", file=sys.stderr)
    return None


def _nth_column(index: int, heading: str) -> Any:
    from latpred.tables import Column

    return Column(heading or "quantity", lambda row: row[index], heading or " ", is_left=True)


__all__ = ["main"]

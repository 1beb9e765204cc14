"""latpred plot: pictures of predictions, as files."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred.cli_request import add_network, add_request, network_arguments, request_arguments
from latpred.errors import InvalidArgumentError
from latpred.writing import replacing, writing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_ENDINGS = ".png, .svg or .pdf"


def add_parser(commands: Any) -> None:
    """Adds "plot" to what add_subparsers gave."""
    parser = commands.add_parser(
        "plot",
        help="draw a prediction: over parts of the device, under the roofline, over the batch",
        description="; ".join(f"{name}: {text}" for name, (_, text) in _PLOTS.items()) + ".",
    )
    parser.add_argument("what", choices=list(_PLOTS), metavar="WHAT", help=", ".join(_PLOTS))
    add_network(parser)
    add_request(parser)
    parser.set_defaults(batch=None)  # one that was given is told from the default
    parser.add_argument("--out", required=True, metavar="FILE", help=f"a file: {_ENDINGS}")
    parser.set_defaults(command=_plot)


def _plot(options: argparse.Namespace) -> None:
    if not Path(options.out).suffix:  # matplotlib would append one, and write a file that nobody named
        raise InvalidArgumentError(f"--out '{options.out}' has no ending that says the kind of picture: {_ENDINGS}")
    draw, _ = _PLOTS[options.what]
    if options.what == "batches":
        _refuse("batch", options.batch)
    figure = draw(network_arguments(options) | {"batch": options.batch or 1}, request_arguments(options))
    with writing("the picture", options.out), replacing(options.out) as unfinished:
        try:
            figure.savefig(unfinished)
        except ValueError as error:
            raise InvalidArgumentError(f"cannot write '{options.out}': {error}", path=options.out) from error


def _partitions(network: dict[str, Any], request: dict[str, Any]) -> Figure:
    from latpred import api, plots

    _refuse("partition", request.pop("partition"))
    return plots.partitions(api.load(**network), request.pop("device"), **request)


def _roofline(network: dict[str, Any], request: dict[str, Any]) -> Figure:
    from latpred import api, plots

    return plots.roofline(api.predict(**network, **request))


def _batches(network: dict[str, Any], request: dict[str, Any]) -> Figure:
    from latpred import api, plots

    return plots.batch_latency(api.load(**network), device=request.pop("device"), **request)


def _refuse(name: str, value: Any) -> None:
    if value is not None:
        raise InvalidArgumentError(f"{name} cannot be said here: every one is shown")


_PLOTS: dict[str, tuple[Callable[[dict[str, Any], dict[str, Any]], Figure], str]] = {
    "partitions": (_partitions, "latency on MPS shares and MIG profiles of a GPU, or beside a neighbour of a core"),
    "roofline": (_roofline, "the rate of each kernel over its intensity"),
    "batches": (_batches, "latency over the batch"),
}

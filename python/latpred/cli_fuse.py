"""latpred fuse: a network as its runtime executes it, drawn, traced and compared."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from latpred.cli_output import add_json_option, console, count, print_table
from latpred.cli_request import add_network, add_request, network_arguments, request_arguments
from latpred.request import changed

_SHOWN = 40


def add_parser(commands: Any) -> None:
    """Adds "fuse" to what add_subparsers gave."""
    parser = commands.add_parser(
        "fuse",
        help="show which nodes a runtime computes in one kernel, and what that saves",
        description="Shows a network as its runtime executes it: kernels with their nodes, types, times and bounds. "
        "With --against-... it shows what another runtime, device or network does otherwise.",
    )
    add_network(parser)
    add_request(parser)
    group = parser.add_argument_group("what is shown")
    group.add_argument("--rows", type=count, default=_SHOWN, metavar="N", help=f"at most (default {_SHOWN})")
    group.add_argument(
        "--save",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="write .svg (a drawing coloured by time), .dot (for Graphviz), .json (a Chrome trace) or .csv; repeatable",
    )
    group.add_argument("--against-runtime", metavar="NAME", help="compare with this runtime")
    group.add_argument("--against-device", metavar="NAME", help="compare with this device")
    group.add_argument("--against", metavar="FILE", help="compare with another network")
    add_json_option(parser)
    parser.set_defaults(command=_fuse)


def _fuse(options: argparse.Namespace) -> None:
    from latpred import api

    network, request = network_arguments(options), request_arguments(options)
    found = api.predict(**network, **request).optimized
    for path in options.save:
        found.save(path)
    against = {"runtime": options.against_runtime, "device": options.against_device}
    other = {name: value for name, value in against.items() if value is not None}
    terminal = console()
    if not other and options.against is None:
        if options.json:
            print(json.dumps(found.table.to_dicts(), indent=2))
            return
        print_table(terminal, found.headline(), found.table[: options.rows])
        return
    if options.against is not None:
        network["path"] = options.against
    difference = found.diff(api.predict(**network, **changed(request, other)).optimized)
    if options.json:
        print(json.dumps(difference.table.to_dicts(), indent=2))
        return
    print_table(terminal, difference.headline(), difference.largest[: options.rows])

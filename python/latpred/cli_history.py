"""latpred history: what was measured and predicted on this machine."""

from __future__ import annotations

import argparse
import json
from typing import Any

from latpred import record
from latpred.cli_output import add_json_option, console, count

_SHOWN = 20


def add_parser(commands: Any) -> None:
    """Registers the command."""
    parser = commands.add_parser(
        "history",
        help="show what was measured and predicted on this machine",
        description=f"${record.VARIABLE} says what is kept: measurements (if not set), all (predictions too), off.",
    )
    parser.add_argument("--graph", metavar="HASH", help="of one network, by the hash that latpred inspect shows")
    parser.add_argument("--name", metavar="NAME", help="of networks of this name")
    parser.add_argument("--device", metavar="NAME", help="of this device: see latpred devices; cpu, cuda:1")
    parser.add_argument("--kind", choices=record.KINDS, help="of this kind")
    parser.add_argument("--quantity", metavar="NAME", help="latency_s, memory_bytes, energy_j, kernels_s")
    parser.add_argument("--last", type=count, default=_SHOWN, metavar="N", help=f"so many (default {_SHOWN})")
    add_json_option(parser)
    parser.set_defaults(command=_history)


def _history(options: argparse.Namespace) -> None:
    names = ("graph", "name", "device", "kind", "quantity", "last")
    entries = record.history(**{name: getattr(options, name) for name in names})
    if options.json:
        print(json.dumps(entries.to_dicts(), indent=2))
        return
    screen = console()
    screen.print(entries.to_rich() if entries else "nothing yet")
    screen.print(str(record.path()), soft_wrap=True, markup=False)


__all__ = ["add_parser"]

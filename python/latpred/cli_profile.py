"""latpred profile: how long a network takes here. latpred host: this machine."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Any

from latpred import profiling
from latpred.cli_output import add_json_option, console, count, print_pairs, print_table
from latpred.errors import InvalidArgumentError

if TYPE_CHECKING:
    from latpred.profiling_check import Check


def add_commands(commands: Any) -> None:
    """Registers both."""
    parser = commands.add_parser(
        "profile",
        help="measure a network on this machine",
        description="NETWORK: an ONNX file, or a recipe: fnn:16-128-1. --check measures what is known instead.",
    )
    parser.add_argument("network", nargs="?", metavar="NETWORK", help="a file or a recipe")
    parser.add_argument(
        "--check", action="store_true", help="check the instrument: a sleep, multiply-adds, reads of memory"
    )
    group = parser.add_argument_group("where and how it runs")
    group.add_argument("--device", default="cpu", metavar="NAME", help="cpu, cuda, cuda:1 (default cpu)")
    group.add_argument("--runtime", metavar="NAME", help="what executes it (default: openvino for files, else eager)")
    group.add_argument("--batch", type=count, metavar="N", help="items in the call (default 1)")
    group.add_argument("--input", metavar="SIZES", help="sizes without the batch, where the file leaves them open")
    group.add_argument("--precision", metavar="NAME", help="the arithmetic (default: the runtime's)")
    group.add_argument("--threads", type=count, default=1, metavar="N", help="threads that it runs on (default 1)")
    group = parser.add_argument_group("how it is measured")
    names = ", ".join(row.name for row in profiling.protocols())
    group.add_argument("--protocol", default="default", metavar="NAME", help=names)
    group.add_argument("--samples", type=count, metavar="N", help="exactly so many")
    group.add_argument("--timeout", type=float, metavar="SECONDS", help="of all runs together")
    group.add_argument("--kernels", action="store_true", help="also the time of each kernel, where the runtime tells")
    group.add_argument("--memory", action="store_true", help="also the memory of a process that runs this alone")
    add_json_option(parser)
    parser.set_defaults(command=_profile)

    parser = commands.add_parser("host", help="show this machine, as profiles and campaigns name it")
    parser.add_argument("--measure", action="store_true", help="also bandwidth and peak of one core, in two seconds")
    add_json_option(parser)
    parser.set_defaults(command=_host)


def _protocol(options: argparse.Namespace) -> Any:
    changes: dict[str, Any] = {}
    if options.samples is not None:
        changes |= {"criterion": "count", "threshold": float(options.samples)}
        changes |= {"min_samples": options.samples, "max_samples": options.samples}
    if options.timeout is not None:
        changes["timeout_s"] = options.timeout
    return profiling.make_protocol(options.protocol, **changes)


def _profile(options: argparse.Namespace) -> None:
    if options.check:
        if options.network is not None:
            raise InvalidArgumentError(f"--check measures what is known: leave '{options.network}' out, or --check")
        _check(options)
        return
    if options.network is None:
        raise InvalidArgumentError("profile needs a file or a recipe of a network, or --check")
    names = "device runtime batch input precision threads kernels memory"
    arguments = {name: getattr(options, name) for name in names.split()}
    measured = profiling.profile(options.network, protocol=_protocol(options), **arguments)
    if options.json:
        print(json.dumps(measured.to_dict(), indent=2))
        return
    screen = console()
    screen.print(measured.headline(), style="bold", markup=False)
    print_pairs(screen, measured.pairs())
    if measured.kernels is not None:
        print_table(screen, "Kernels in the order of their execution", measured.kernels_table())


def _check(options: argparse.Namespace) -> None:
    from latpred.profiling_check import check_instrument

    checks = check_instrument()
    if options.json:
        print(json.dumps(checks.to_dicts(), indent=2))
        return
    screen = console()
    print_table(screen, "What the profiler says of known work, beside an independent clock", checks)
    screen.print(_verdict(list(checks)))


def _verdict(checks: list[Check]) -> str:
    worst = max(abs(check.difference) for check in checks)
    return f"largest difference {100 * worst:.2g} %"


def _host(options: argparse.Namespace) -> None:
    from latpred.machine import host

    answer = host(measure=options.measure)
    if options.json:
        print(json.dumps(answer.to_dict(), indent=2))
        return
    screen = console()
    print_pairs(screen, answer.pairs())
    if answer.speed is not None:
        print_table(screen, "Reads of one core", answer.bandwidth)


__all__ = ["add_commands"]

"""latpred calibrate: factors from a file of timings, and which networks to time."""

from __future__ import annotations

import argparse
import csv
import json
import sys
from typing import TYPE_CHECKING, Any

from latpred import api, catalog
from latpred.cli_output import add_json_option, console, count, one_line_warnings, print_pairs, print_table
from latpred.errors import InvalidArgumentError
from latpred.host_device import NAME as HOST

if TYPE_CHECKING:
    from latpred.calibration import Calibration
    from latpred.calibration.probes import Probe
    from latpred.tables import Table

_DEFAULT_DEVICE = "A100"  # of --probe, as of predict


def add_parser(commands: Any) -> None:
    """Registers the command."""
    parser = commands.add_parser(
        "calibrate",
        help="correct predictions by your own timings, or list what to time",
        description="FILE: a .csv, .json, .jsonl or .parquet file of timings, one network and batch a row: path, "
        "batch, one of seconds, latency_s, latency_ms; input and spread where they apply. Paths are relative to it.",
    )
    parser.add_argument("timings", nargs="?", metavar="FILE", help="timings of one device")
    parser.add_argument(
        "--probe", nargs="?", type=count, const=0, metavar="N", help="list the N (default 5) networks to time instead"
    )
    parser.add_argument(
        "--run", action="store_true", help="with --probe: time them on this machine's GPU (timm, torch)"
    )
    parser.add_argument(
        "--from-record",
        nargs="*",
        metavar="NETWORK",
        help="take timings from latpred history instead: of these files and recipes (default: all that recipes name)",
    )
    group = parser.add_argument_group("what was timed")
    group.add_argument("--device", metavar="NAME", help="see latpred devices")
    group.add_argument("--partition", metavar="PART", help="a part of it: 2g.10gb (MIG), 50%% (MPS), 32sm")
    group.add_argument("--runtime", metavar="NAME", help="see latpred predict --help (default: eager)")
    group.add_argument("--precision", default="default", metavar="NAME", help="see latpred predict --help")
    group.add_argument(
        "--input-on", default="device", metavar="PLACE", help="where the input lay: device, pinned, pageable"
    )
    group.add_argument("--predictor", metavar="NAME", help="the one to correct (default: the one that answers)")
    group = parser.add_argument_group("the result")
    group.add_argument("--name", metavar="NAME", help="what answers call it (default: the file's name)")
    group.add_argument("--out", metavar="FILE", help="write it to this .json file")
    group.add_argument("--save", action="store_true", help="keep it under its name, for --calibration NAME")
    add_json_option(parser)
    parser.set_defaults(command=_calibrate)


def _calibrate(options: argparse.Namespace) -> None:
    from latpred.calibration.saving import check_file

    if options.out is not None:
        check_file(options.out)
    from_record = options.from_record is not None
    if options.probe is None:
        if options.timings is None and not from_record:
            raise InvalidArgumentError(
                "calibrate needs a file of timings, or --probe to list what to time, or --from-record"
            )
        if options.timings is not None and from_record:
            raise InvalidArgumentError(
                f"--from-record takes its timings from latpred history: leave '{options.timings}' out"
            )
        if options.run:
            raise InvalidArgumentError("--run times the networks of --probe: add --probe, or leave --run out")
        if options.device is None:
            raise InvalidArgumentError("--device is missing: what the timings were taken on")
        rows = options.from_record or options.timings
        _finish(options, _made(options, rows, options.device, from_record=from_record))
        return
    if options.timings is not None or from_record:
        what = "--from-record" if from_record else f"'{options.timings}'"
        raise InvalidArgumentError(f"--probe lists what to time: leave {what} out, or --probe")
    _run(options) if options.run else _list(options)


def _made(options: argparse.Namespace, rows: Any, device: str, **more: Any) -> Calibration:
    names = "partition runtime precision input_on predictor name"
    arguments = {name: getattr(options, name) for name in names.split()}
    with one_line_warnings():
        return api.calibrate(rows, device=device, **arguments, **more)


def _finish(options: argparse.Namespace, calibration: Calibration) -> None:
    """Prints and writes it, in this order: what --run has timed is not lost where it cannot be written."""
    if options.json:
        print(json.dumps(calibration.to_dict(), indent=2))
    else:
        screen = console()
        print_pairs(screen, calibration.facts())
        print_table(
            screen, "The timings, each predicted without the calibration and with one from the others", calibration.rows
        )
    files = [] if options.out is None else [options.out]
    for path in [*files, None] if options.save else files:
        written = calibration.save(path)
        if not options.json:
            print(f"written: {written}")


def _probes(options: argparse.Namespace, device: str) -> Table[Probe]:
    from latpred.calibration.probes import DEFAULT_COUNT, choose_probes
    from latpred.request import make_request

    request = make_request(
        device=device,
        partition=options.partition,
        runtime=options.runtime,
        precision=options.precision,
        input_on=options.input_on,
        autograd=False,
        predictor=options.predictor,
        mig_rule="memory",
        strict=False,
    )
    return choose_probes(request, api.session(), options.probe or DEFAULT_COUNT)


def _device_name(device: str) -> str:
    return device if device == HOST else catalog.devices()[device].name


def _list(options: argparse.Namespace) -> None:
    device = options.device or _DEFAULT_DEVICE
    probes = _probes(options, device)
    if options.out or options.save:
        raise InvalidArgumentError("--out and --save keep a calibration; --probe without --run makes none")
    if options.json:
        print(json.dumps(probes.to_dicts(), indent=2))
        return
    screen = console()
    print_table(screen, f"Networks whose timing tells most about {_device_name(device)}, one after another", probes)
    screen.print("Put your timings into a file and run: latpred calibrate timings.csv --device NAME --out FILE")
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["path", "batch", "seconds"])
    for probe in probes:
        writer.writerow([probe.network, probe.batch, ""])


def _device_here(asked: str | None, vendor_name: str) -> str:
    """The table's name of this machine's GPU; what was asked for decides where the table does not know the vendor's."""
    name = None if asked is None else catalog.devices()[asked].name
    try:
        here = catalog.devices()[vendor_name].name
    except InvalidArgumentError as error:
        if name is None:
            raise InvalidArgumentError(f"{error}; --device says which one this machine's GPU is") from error
        return name
    if name not in (None, here):
        raise InvalidArgumentError(f"--device {asked} was asked for, and this machine's GPU is {here}")
    return here


def _run(options: argparse.Namespace) -> None:
    from latpred.calibration import timing
    from latpred.calibration.probes import time_probe

    if options.device == HOST:
        raise InvalidArgumentError(f"--run times calls on this machine's GPU, got --device {HOST}: leave --run out")
    timing.check_precision(options.precision)
    for name, expected in (("runtime", (None, "eager")), ("input_on", ("device",)), ("partition", (None,))):
        found = getattr(options, name)
        if found not in expected:
            raise InvalidArgumentError(
                f"--run times eager calls with their input on a whole device, got --{name.replace('_', '-')} {found}"
            )
    clock, fingerprint = timing.cuda_clock(), timing.cuda_fingerprint()
    here = _device_here(options.device, timing.cuda_device_name())
    probes = _probes(options, here)
    rows = []
    for position, probe in enumerate(probes, 1):
        rows.append(time_probe(probe, clock, options.precision))
        print(
            f"{position} of {len(probes)}: {probe.network} at batch {probe.batch}: {rows[-1]['seconds'] * 1e3:.3g} ms",
            file=sys.stderr,
        )
    _finish(options, _made(options, rows, here, fingerprint=fingerprint))


__all__ = ["add_parser"]

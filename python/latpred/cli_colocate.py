"""latpred colocate: several networks on one device, and measuring them side by side on this machine."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from latpred.cli_output import add_json_option, console, count, minutes, print_pairs
from latpred.writing import writing


def add_commands(commands: Any) -> None:
    """Registers both."""
    parser = commands.add_parser(
        "colocate",
        help="latencies of networks that share a device",
        description="Each network runs in a process of its own, again and again. FILE: a model file or a recipe.",
    )
    parser.add_argument("networks", nargs="+", metavar="FILE", help="two or more")
    parser.add_argument("--device", default="A100", metavar="NAME", help="see latpred devices; cpu: this machine")
    parser.add_argument(
        "--partition",
        nargs="+",
        metavar="PART",
        help="the part of each, or one for all: 1g.10gb (MIG), 50%% (MPS), 32sm",
    )
    parser.add_argument(
        "--sharing", metavar="WAY", help="time_slicing, mps, mig, cores (default: by device and partition)"
    )
    parser.add_argument("--slo-ms", type=float, nargs="+", metavar="MS", help="the objective of each, or one for all")
    parser.add_argument("--alone-ms", type=float, nargs="+", metavar="MS", help="measured latencies without neighbours")
    parser.add_argument("--batch", type=count, nargs="+", metavar="N", help="of each, or one for all (default 1)")
    parser.add_argument("--input", metavar="SIZES", help="sizes of one item where networks leave them open: 3,224,224")
    parser.add_argument(
        "--runtime", metavar="NAME", help="see latpred predict --help (default: eager; on a processor openvino alone)"
    )
    parser.add_argument("--precision", default="default", metavar="NAME", help="see latpred predict --help")
    add_json_option(parser)
    parser.set_defaults(command=_colocate)
    _add_measure_parser(commands)


def _add_measure_parser(commands: Any) -> None:
    parser = commands.add_parser(
        "colocate-measure",
        help="measure networks side by side on this machine's cores",
        description="Runs pairs and trios of Keras's networks under OpenVINO, each in a process of its own. "
        "Stopped by time, by Ctrl-C or by a kill, the same command goes on where it was.",
    )
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the .parquet file; its .journal is beside"
    )
    parser.add_argument(
        "--files", type=Path, required=True, metavar="FOLDER", help="where the networks' files are made"
    )
    parser.add_argument("--minutes", type=minutes, metavar="N", help="stop then")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the combinations (default 1)")
    parser.set_defaults(command=_measure)


def _one_or_all(values: list[Any] | None) -> Any:
    return values[0] if values is not None and len(values) == 1 else values


def _colocate(options: argparse.Namespace) -> None:
    from latpred.colocation import colocate

    found = colocate(
        options.networks,
        device=options.device,
        partition=_one_or_all(options.partition),
        sharing=options.sharing,
        slo_ms=_one_or_all(options.slo_ms),
        alone_ms=options.alone_ms,
        batch=_one_or_all(options.batch),
        input=options.input,
        runtime=options.runtime,
        precision=options.precision,
    )
    if options.json:
        facts = {"device": found.device, "sharing": found.sharing, "memory_fits": found.memory_fits}
        print(json.dumps(facts | {"meets_slo": found.meets_slo, "members": found.to_dicts()}, indent=1))
        return
    terminal = console()
    terminal.print(found.to_rich())
    notes = [note for member in found for note in member.coverage]
    for note in dict.fromkeys([*found.memory_notes, *notes]):
        terminal.print(note, markup=False)


def _measure(options: argparse.Namespace) -> None:
    from latpred.campaign.journal import Journal
    from latpred.campaign.run import journal_of
    from latpred.cli_progress import progress
    from latpred.colocation import campaign, combination, table

    journal = journal_of(options.out)
    combinations = combination.applications_sample(options.seed)
    terminal = console()
    with progress(terminal) as on_step:
        done = campaign.run(
            combinations, journal, options.files, minutes=options.minutes, seed=options.seed, on_step=on_step
        )
    with Journal(journal, is_read_only=True) as written, writing("the table", options.out):
        table.write(options.out, table.from_journal(written))
    pairs = [
        ("table", str(options.out)),
        ("combinations", f"{done.measured} of {done.wanted}, {done.repeated} of them again"),
        *((f"{number} failed", error) for error, number in done.failures.items()),
    ]
    print_pairs(terminal, pairs)

"""latpred campaign: measure many networks into one data set, go on after an interruption, and see how far it is."""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred.cli_output import add_json_option, console, count, minutes, print_pairs
from latpred.cli_progress import progress
from latpred.errors import InvalidArgumentError, ProfilerError
from latpred.optional import need

if TYPE_CHECKING:
    from rich.console import Console

    from latpred.campaign.noise import NoiseFloor
    from latpred.campaign.run import Summary

# Options that stand in a file too.
_TEXTS = ("device", "protocol", "name", "licence")
_LISTS = ("runtimes", "precisions", "inputs", "quantities", "imports")
_COUNTS = ("threads", "batches")
_FILE_HELP = (
    "a .json or .toml file of what is measured, where and how it runs, and what stands in the rows: options of these "
    "three groups below"
)


def add_commands(commands: Any) -> None:
    """Adds "campaign" and its commands to what add_subparsers gave."""
    parser = commands.add_parser("campaign", help="measure many networks on this machine into one data set")
    parts = parser.add_subparsers(required=True, metavar="COMMAND")

    run = parts.add_parser(
        "run",
        help="start a campaign, or go on with it",
        description="Measures every recipe at every runtime, precision, number of threads, batch and input, in a fixed "
        "order. Stopped by time, by Ctrl-C or by a kill, the same command goes on where it was.",
    )
    run.add_argument("file", type=Path, nargs="?", metavar="FILE", help=_FILE_HELP)
    run.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help="the .parquet file; its .journal is beside"
    )
    group = run.add_argument_group("what is measured")
    group.add_argument("--recipes", metavar="NAME", help="a generator (fnn, cnn, ...) or a file with a recipe a line")
    group.add_argument("--count", type=count, metavar="N", help="networks (default: all of the file)")
    group.add_argument("--seed", type=int, metavar="N", help="of the generator and of what is timed twice (default 1)")
    group.add_argument("--batches", type=count, nargs="+", metavar="N", help="items in a call (default 1)")
    group.add_argument(
        "--inputs", nargs="+", metavar="SIZES", help="sizes of one item, where recipes of --imports leave them open"
    )
    group.add_argument(
        "--quantities", nargs="+", metavar="NAME", help="latency_s, memory_bytes, kernels_s (default latency_s)"
    )
    group = run.add_argument_group("where and how it runs")
    group.add_argument("--device", metavar="NAME", help="cpu or cuda (default cpu)")
    group.add_argument(
        "--runtimes", nargs="+", metavar="NAME", help="libtorch, eager, compiled, openvino, onnxruntime (default eager)"
    )
    group.add_argument("--precisions", nargs="+", metavar="NAME", help="see latpred predict --help (default fp32)")
    group.add_argument("--threads", type=count, nargs="+", metavar="N", help="of the runtime (default 1)")
    group.add_argument("--protocol", metavar="NAME", help="a protocol of latpred profile (default: default)")
    group.add_argument("--imports", nargs="+", metavar="MODULE", help="modules that each worker imports first")
    group = run.add_argument_group("what stands in the rows")
    group.add_argument("--name", metavar="NAME", help="of the campaign")
    group.add_argument("--licence", metavar="NAME", help="of the data (default Apache-2.0)")
    _add_running(run)
    run.set_defaults(command=_run)

    resume = parts.add_parser("resume", help="go on with a campaign where it stopped")
    resume.add_argument("out", type=Path, metavar="FILE", help="its .parquet file")
    _add_running(resume)
    resume.set_defaults(command=_resume)

    status = parts.add_parser("status", help="how far a campaign is; it may be running")
    status.add_argument("out", type=Path, metavar="FILE", help="its .parquet file")
    add_json_option(status)
    status.set_defaults(command=_status)


def _add_running(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how long and with what")
    group.add_argument("--minutes", type=minutes, metavar="M", help="stop then; what is there is the beginning")
    group.add_argument(
        "--workers", type=count, default=1, metavar="N", help="processes, on cores of their own (default 1)"
    )
    group.add_argument("--ray", nargs="?", const="auto", metavar="ADDRESS", help="run the workers on a Ray cluster")
    group.add_argument("--retry-failed", action="store_true", help="measure what failed once more")


def _run(options: argparse.Namespace) -> None:
    from latpred.campaign import spec

    fields = {} if options.file is None else spec.read_campaign_fields(options.file)
    for name in ("count", "seed", *_TEXTS, *_LISTS, *_COUNTS):
        if getattr(options, name) is not None:
            fields[name] = getattr(options, name)
    if options.recipes is not None:
        fields["recipes"] = spec.read_recipes(options.recipes)
    if "recipes" not in fields:
        raise InvalidArgumentError(
            "--recipes is missing: the name of a generator, or a file with a recipe on each line"
        )
    _go(options, spec.from_dict(fields, "campaign" if options.file is None else f"'{options.file}'"))


def _resume(options: argparse.Namespace) -> None:
    _go(options, None)


def _go(options: argparse.Namespace, campaign: Any) -> None:
    need("pandas", "data", "latpred campaign")
    need("pyarrow", "data", "latpred campaign")
    from latpred.campaign.run import run

    terminal = console()
    try:
        with progress(terminal) as show:
            summary = run(
                campaign,
                options.out,
                minutes=options.minutes,
                workers=options.workers,
                ray=options.ray,
                retry_failed=options.retry_failed,
                on_step=show,
            )
    except KeyboardInterrupt:
        _print_line(terminal, f"stopped; nothing is lost: latpred campaign resume {options.out}")
        raise
    for note in summary.notes:
        _print_line(terminal, f"note: {note}")
    print_pairs(terminal, _facts(summary))
    if not summary.is_complete:
        _print_line(terminal, f"go on with: latpred campaign resume {summary.path}")
    if summary.items and sum(summary.failures.values()) == summary.items:
        raise ProfilerError(
            f"campaign '{summary.path}': nothing was measured, each of {summary.items} items failed as said above; "
            f"mend it, then latpred campaign resume {summary.path} --retry-failed"
        )


def _print_line(terminal: Console, line: str) -> None:
    terminal.print(line, soft_wrap=True, markup=False)  # a path may look like markup


def _facts(summary: Summary) -> list[tuple[str, str]]:
    failed = sum(summary.failures.values())
    return [
        ("table", str(summary.path)),
        *([("kernels", str(summary.kernels_path))] if summary.kernels_path else []),
        ("measured", f"{summary.items} of {summary.wanted}, {summary.rows} rows"),
        ("failed", f"{failed}" + "".join(f"\n{number} x {error}" for error, number in summary.failures.items())),
        ("not steady", str(summary.unsteady)),
        *_noise_pairs("noise floor", "unknown: nothing was timed twice", summary.noise, summary.steady_noise),
    ]


def _noise_pairs(
    heading: str, without: str, floor: NoiseFloor | None, steady: NoiseFloor | None
) -> list[tuple[str, str]]:
    """The noise floor, and that of steady rows where it is another or unknown."""
    if floor is None:
        return [(heading, without)]
    of_steady = [] if steady == floor else [("of steady rows", str(steady or "unknown: none was steady both times"))]
    return [(heading, str(floor)), *of_steady]


def _status(options: argparse.Namespace) -> None:
    from latpred.campaign.journal import Journal, is_running
    from latpred.campaign.run import journal_of, noise_of

    path = journal_of(options.out)
    if not path.is_file():
        raise InvalidArgumentError(f"no campaign was started at '{options.out}': there is no journal '{path}'")
    with Journal(path, is_read_only=True) as journal:
        campaign, counts = journal.campaign(), journal.counts()
        floor, steady = noise_of(journal), noise_of(journal, is_steady=True)
        per_item_s = journal.measuring_seconds() / counts["items"] if counts["items"] else None
        facts: dict[str, Any] = {
            "campaign": campaign.name,
            "is_running": is_running(path),
            "wanted": campaign.num_items,
            **counts,
            "seconds_per_item": per_item_s,
            "failures": journal.failures(),
            "machines": list(journal.machines()),
            "runs": [
                {"started_at": started, "ended_at": ended, "workers": workers, "ended_by": ended_by}
                for started, ended, workers, ended_by in journal.runs()
            ],
            "noise": None if floor is None else vars(floor),
            "steady_noise": None if steady is None else vars(steady),
        }
    if options.json:
        print(json.dumps(facts, indent=2))
        return
    left_s = None if per_item_s is None else per_item_s * (campaign.num_items - counts["items"])
    print_pairs(
        console(),
        [
            ("campaign", f"{campaign.name}, {'running' if facts['is_running'] else 'not running'}"),
            ("measured", f"{counts['items']} of {campaign.num_items}, {counts['rows']} rows"),
            ("left", "unknown" if left_s is None else f"about {left_s / 60:.1f} min for one worker"),
            ("failed", "".join(f"{number} x {error}\n" for error, number in facts["failures"].items()).strip() or "0"),
            ("not steady", f"{counts['unsteady']}; {counts['dropped']} values dropped and measured again"),
            *_noise_pairs("timed twice", str(counts["retimed"]), floor, steady),
            ("machines", "\n".join(facts["machines"]) or "none yet"),
            ("runs", "\n".join(_run_text(run, facts["is_running"]) for run in facts["runs"]) or "none yet"),
        ],
    )


def _run_text(run: dict[str, Any], is_running: bool) -> str:
    started = time.strftime("%Y-%m-%d %H:%M", time.localtime(run["started_at"]))
    if run["ended_at"] is None:
        return f"{started}, {'running, or killed' if is_running else 'killed'}"
    return f"{started}, {(run['ended_at'] - run['started_at']) / 60:.1f} min, ended by {run['ended_by']}"


__all__ = ["add_commands"]

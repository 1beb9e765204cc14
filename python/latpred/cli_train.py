"""latpred train and latpred evaluate: predictors from measured nets, and how good they are."""

from __future__ import annotations

import argparse
import json
import sys
import time
from typing import Any

from latpred.cli_output import add_json_option, console, count
from latpred.training.trainable import TRAINABLE, trainable_names


def add_commands(commands: Any) -> None:
    """Adds both to what add_subparsers gave."""
    names = ", ".join(trainable_names())
    train = commands.add_parser(
        "train",
        help="train a predictor on measured nets",
        description="Predictors: " + "; ".join(f"{row.name}: {row.description}" for row in TRAINABLE) + ".",
    )
    train.add_argument("predictor", metavar="PREDICTOR", help=names)
    _add_dataset(train)
    train.add_argument("--out", required=True, metavar="FILE", help="the checkpoint to write")
    train.add_argument("--epochs", type=count, metavar="N", help="passes over the nets (default: the predictor's own)")
    train.add_argument("--seed", type=int, default=0, metavar="N", help="equal seeds give equal numbers (default 0)")
    train.add_argument(
        "--anew", action="store_true", help="start anew even where an earlier training could be continued"
    )
    train.add_argument("--quiet", action="store_true", help="show no progress")
    train.set_defaults(command=_train)

    evaluate = commands.add_parser("evaluate", help="show how far a trained predictor is from measured nets")
    evaluate.add_argument("predictor", metavar="FILE", help="the checkpoint of latpred train")
    _add_dataset(evaluate)
    evaluate.add_argument("--part", default="test", metavar="PART", help="test (default), train, validation or all")
    add_json_option(evaluate)
    evaluate.set_defaults(command=_evaluate)


def _add_dataset(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--dataset", required=True, metavar="FILE", help="Parquet file of measured nets, or of a campaign's rows"
    )


def _train(options: argparse.Namespace) -> None:
    from latpred.training import evaluate, train

    start = time.monotonic()
    trained = train(
        options.predictor,
        dataset=options.dataset,
        out=options.out,
        epochs=options.epochs,
        seed=options.seed,
        resume=not options.anew,
        progress=not options.quiet,
    )
    if not options.quiet:
        done, best = trained.manifest["epochs_done"], trained.manifest["best_epoch"]
        print(
            f"{options.out}: epoch {best} of {done}, the best by validation; {time.monotonic() - start:.0f} s",
            file=sys.stderr,
        )
    _show(evaluate(trained, dataset=options.dataset))


def _evaluate(options: argparse.Namespace) -> None:
    from latpred.training import evaluate

    found = evaluate(options.predictor, dataset=options.dataset, part=options.part)
    if options.json:
        print(json.dumps(found.to_dict(), indent=2))
    else:
        _show(found)


def _show(found: Any) -> None:
    terminal = console()
    terminal.print(found.to_rich())
    for sentence in found.sentences():
        terminal.print(sentence, markup=False)
    if len(found.noise_floor):
        terminal.print(found.noise_floor.to_rich())

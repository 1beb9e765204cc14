"""The words that say which network, and where and how it runs: those of load() and predict()."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from latpred import catalog
from latpred.cli_output import count
from latpred.errors import InvalidArgumentError


def add_network(parser: argparse.ArgumentParser) -> None:
    """The options that name a network."""
    group = parser.add_argument_group("the network")
    group.add_argument("path", metavar="FILE", help="the model file")
    group.add_argument(
        "--framework", help=f"what the file is: {', '.join(catalog.frameworks())} (default: its content)"
    )
    group.add_argument("--batch", type=count, default=1, metavar="N", help="items in the call (default 1)")
    group.add_argument(
        "--input",
        action="append",
        metavar="SIZES",
        help="sizes without the batch: 3,224,224 or 128:int64; 20,batch,64 where it does not come first, "
        "unbatched,20,20 where there is none; NAME=SIZES, repeated, for several inputs",
    )
    group.add_argument("--allow-pickle", action="store_true", help="let files that execute code when read do so")


def add_request(parser: argparse.ArgumentParser) -> None:
    """The options of where and how it runs."""
    group = parser.add_argument_group("where and how it runs")
    group.add_argument("--device", default="A100", metavar="NAME", help="see latpred devices (default A100)")
    group.add_argument("--partition", metavar="PART", help="a part of it: 2g.10gb (MIG), 50%% (MPS), 32sm")
    runtimes = ", ".join(row.name for row in catalog.runtimes())
    group.add_argument("--runtime", metavar="NAME", help=f"{runtimes} (default: eager)")
    group.add_argument(
        "--runtime-version", metavar="NAME", help='of what runs it, as "torch 2.4" of eager (default: not said)'
    )
    precisions = ", ".join(row.name for row in catalog.precisions())
    group.add_argument("--precision", default="default", metavar="NAME", help=precisions)
    group.add_argument(
        "--input-on", default="device", metavar="PLACE", help="where the input lies: device, pinned, pageable"
    )
    group.add_argument("--autograd", action="store_true", help="keep what a backward pass needs (memory)")
    predictors = ", ".join(row.name for row in catalog.predictors())
    group.add_argument(
        "--predictor",
        metavar="NAME",
        help=f"{predictors}, or the file of a trained one (default: the first; on cpu under openvino lilou)",
    )
    group.add_argument("--calibration", metavar="FILE", help="your own timings: a file or name of latpred calibrate")
    group.add_argument("--mig-rule", default="memory", metavar="RULE", help="memory or dippm")
    group.add_argument("--strict", action="store_true", help="refuse what lies outside of what was measured")


def parse_input_words(words: Sequence[str] | None) -> str | dict[str, str] | None:
    """--input words in the form that input= takes."""
    if not words:
        return None
    pairs = [word.rpartition("=") for word in words]
    unnamed = [word for word, (name, _, _) in zip(words, pairs, strict=True) if not name]
    if not unnamed:
        return {name: sizes for name, _, sizes in pairs}
    if len(words) == 1:
        return words[0]
    raise InvalidArgumentError(f"--input {unnamed[0]}: with several inputs each needs its name, as NAME={unnamed[0]}")


def network_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """As in api.load."""
    return {
        "path": options.path,
        "framework": options.framework,
        "batch": options.batch,
        "input": parse_input_words(options.input),
        "allow_pickle": options.allow_pickle,
    }


def request_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """As in api.predict."""
    names = "device partition runtime runtime_version precision input_on autograd predictor calibration mig_rule strict"
    return {name: getattr(options, name) for name in names.split()}

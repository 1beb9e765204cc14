"""Writes what the documentation says about this build: the pages of tables in docs/, and the outputs in README.md and
docs/calibration.md.

python tools/generate_docs.py           writes them
python tools/generate_docs.py --check   exits with 1 where a page is not what this build would write
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[1]
# In pages written by hand: a command in a comment, or a Python block, and the block of text that it prints.
COMMAND_OUTPUT = re.compile(r"(<!-- latpred (?P<words>.*) -->\n```text\n)(.*?)(?=```\n)", re.DOTALL)
PYTHON_OUTPUT = re.compile(r"(```python\n(?P<code>[^`]*)```\n\n```text\n)(.*?)(?=```\n)", re.DOTALL)
HELP_WIDTH = "100"
COMMANDS = (
    "predict",
    "inspect",
    "devices",
    "explain",
    "calibrate",
    "dataset build",
    "dataset show",
    "campaign run",
    "campaign resume",
    "campaign status",
    "colocate",
    "colocate-measure",
    "fuse",
    "label",
    "plot",
    "profile",
    "host",
    "train",
    "evaluate",
    "history",
)
NOTE = "<!-- Made by tools/generate_docs.py: change the tables, not this page. -->\n"
DEVICES_NOTE = """
What `device=` takes. Data-sheet values, dense; `-` is unknown. `latpred devices NAME` shows every fact of one device
and whether it was read in a source or estimated by a rule.

"""
PROFILES_NOTE = """Smallest first: what `partition=` takes besides shares (`50%`, MPS) and SM counts (`32sm`).

"""
SOURCES_NOTE = """
[datasets.md](datasets.md) says how they are read and rebuilt. `data/measurements/README.md` has the repositories.
"""
COMMANDS_NOTE = """
The words are those of the Python functions. An error is one line and exit code 2, or 1 where it is the
system's (a full disk behind the output); what a script reads comes from `--json`.
"""


def markdown_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |\n"

    return line(headings) + line(["---"] * len(headings)) + "".join(line(row) for row in rows)


def devices_page() -> str:
    import latpred
    from latpred import _core
    from latpred.tables import number, scaled

    def row(device: _core.Device) -> list[str]:
        aliases = [alias for alias, name in _core.device_aliases() if name == device.name]
        return [
            device.name,
            ", ".join(aliases),
            device.architecture,
            number(device.sms),
            scaled(device.memory_bytes, "B"),
            scaled(device.bandwidth_bytes_per_s, "B/s"),
            scaled(device.fp32_flops_per_s),
            scaled(device.tf32_flops_per_s),
            scaled(device.fp16_flops_per_s),
            scaled(device.int8_ops_per_s),
            number(device.power_limit_w),
        ]

    headings = [
        "name",
        "aliases",
        "architecture",
        "SMs",
        "memory",
        "bandwidth",
        "fp32 FLOP/s",
        "tf32",
        "fp16",
        "int8 op/s",
        "power limit W",
    ]
    gpus = [device for device in latpred.devices() if device.is_gpu]
    cpus = [device for device in latpred.devices() if not device.is_gpu]
    parts = [
        "# Devices\n\n",
        NOTE,
        DEVICES_NOTE,
        "## GPUs\n\n",
        markdown_table(headings, map(row, gpus)),
        "\n## CPUs\n\n",
        markdown_table([word if word != "SMs" else "cores" for word in headings], map(row, cpus)),
        "\n## MIG profiles\n\n",
        PROFILES_NOTE,
    ]
    profile_rows = [
        [
            device.name,
            profile.name,
            number(profile.sms),
            scaled(profile.memory_bytes, "B"),
            f"{profile.bandwidth_share:.1%}",
            str(profile.max_instances),
        ]
        for device in gpus
        for profile in _core.mig_profiles(device.name)
    ]
    parts.append(markdown_table(["device", "profile", "SMs", "usable", "bandwidth", "instances"], profile_rows))
    parts.append("\n## Sources\n\n")
    parts.append(markdown_table(["device", "source", "note"], ([d.name, d.source, d.note] for d in [*gpus, *cpus])))
    return "".join(parts)


def operators_page() -> str:
    import latpred
    from latpred.tables import number

    families: dict[str, list[str]] = {}
    for operator in latpred.operators():
        families.setdefault(operator.family, []).append(operator.name)
    rows = [
        [operator.name, operator.family, operator.cost_kind, number(operator.flops_per_element), str(operator.id)]
        for operator in latpred.operators()
    ]
    return (
        "# Operators\n\n"
        + NOTE
        + f"\n{len(rows)} operators in {len(families)} families. Attributes and inputs have ONNX's meaning. FLOPs per "
        "element are of the output and come on top of 2 x MACs. An operator that is not here is counted as memory "
        "traffic and named in `prediction.unknown_operators`.\n\n"
        + markdown_table(["operator", "family", "cost kind", "FLOPs per element", "id"], rows)
    )


def runtimes_page() -> str:
    import latpred
    from latpred.api import session

    def yes(is_so: bool) -> str:
        return "yes" if is_so else "no"

    runtimes = [
        [
            row.name,
            row.description,
            yes(row.fuses),
            yes(row.on_gpu),
            yes(row.on_cpu),
            ", ".join(["default", *row.precisions]),
            f"{row.host_s_per_launch * 1e6:g} µs: {row.host_source}",
        ]
        for row in latpred.runtimes()
    ]
    headings = ["runtime", "what it is", "fuses", "GPU", "CPU", "precisions", "host time per launch"]
    versions = [
        [name, ", ".join(f"`{version}`" for version in names)]
        for name, names in session().evidence("").versions.items()
    ]
    return (
        "# Runtimes, precisions, predictors\n\n"
        + NOTE
        + "\n## Runtimes\n\n"
        + markdown_table(headings, runtimes)
        + '\nVersions that were told apart, for `runtime_version=`. `"torch 2.4"` is `torch 2.4.0`.\n\n'
        + markdown_table(["runtime", "measured versions"], versions)
        + "\n## Precisions\n\n"
        + markdown_table(["precision", "what it is"], ([row.name, row.description] for row in latpred.precisions()))
        + '\n## Predictors\n\nWhere none is named the first answers; on `device="cpu"` under openvino it is '
        + "`lilou`.\n\n"
        + markdown_table(["predictor", "what it is"], ([row.name, row.description] for row in latpred.predictors()))
    )


def cli_page() -> str:
    os.environ["COLUMNS"] = HELP_WIDTH
    from latpred.cli import main

    def help_of(*words: str) -> str:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
            main([*words, "--help"])
        return printed.getvalue()

    parts = ["# Command line\n\n", NOTE, COMMANDS_NOTE]
    for words in ((), *(command.split() for command in COMMANDS)):
        parts.append(f"\n## {' '.join(('latpred', *words))}\n\n```text\n{help_of(*words)}```\n")
    return "".join(parts)


def sources_page() -> str:
    import pandas as pd
    from latpred.datasets.not_rebuilt import NOT_REBUILT

    folder = REPOSITORY / "data" / "measurements"
    keys = ["source", "licence", "protocol"]

    def names(values: pd.Series) -> str:
        return ", ".join(sorted(set(values)))

    def section(title: str, headings: list[str], rows: pd.DataFrame) -> str:
        return f"\n## {title}\n\n" + markdown_table(headings, rows.reset_index().astype(str).to_numpy().tolist())

    def counted(file: str) -> pd.DataFrame:
        columns = {"quantity": ("quantity", names), "rows": ("id", "size"), "recipes": ("recipe", "nunique")}
        return pd.read_parquet(folder / file).groupby(keys).agg(**columns, devices=("device", names))

    headings = [*keys, "quantity", "rows", "networks or operators", "devices"]
    dropped = pd.read_csv(folder / "dropped.csv").groupby(["source", "reason"])
    left_out = pd.DataFrame([(row.source, row.what, row.reason) for row in NOT_REBUILT]).sort_values([0, 1])
    return (
        f"# Sources of measurements\n\n{NOTE}{SOURCES_NOTE}"
        + section("Rows that ship", headings, counted("rows.parquet"))
        + section("Rows for checks alone", headings, counted("checks.parquet"))
        + section(
            "Dropped after they were rebuilt",
            ["source", "reason", "rows", "networks"],
            dropped.agg(rows=("id", "size"), networks=("recipe", names)),
        )
        + section("Not rebuilt", ["source", "what", "why"], left_out.set_index(0))
    )


def page_with_outputs(name: str) -> str:
    def run(words: Sequence[str]) -> str:
        done = subprocess.run([sys.executable, *words], cwd=REPOSITORY, capture_output=True, text=True, check=True)
        return "".join(f"{line.rstrip()}\n" for line in done.stdout.rstrip().splitlines())

    text = (REPOSITORY / name).read_text()
    text = COMMAND_OUTPUT.sub(lambda match: match[1] + run(["-m", "latpred", *match["words"].split()]), text)
    return PYTHON_OUTPUT.sub(lambda match: match[1] + run(["-c", match["code"]]), text)


PAGES = {
    "README.md": partial(page_with_outputs, "README.md"),
    "docs/calibration.md": partial(page_with_outputs, "docs/calibration.md"),
    "docs/datasets.md": partial(page_with_outputs, "docs/datasets.md"),
    "docs/optimized_graphs.md": partial(page_with_outputs, "docs/optimized_graphs.md"),
    "docs/training.md": partial(page_with_outputs, "docs/training.md"),
    "docs/devices.md": devices_page,
    "docs/operators.md": operators_page,
    "docs/runtimes.md": runtimes_page,
    "docs/cli.md": cli_page,
    "docs/sources.md": sources_page,
}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    is_check = parser.parse_args(arguments).check
    stale = []
    for name, make in PAGES.items():
        text = make()
        path = REPOSITORY / name
        if is_check:
            if not path.exists() or path.read_text() != text:
                stale.append(name)
        else:
            path.write_text(text)
    if stale:
        print(f"stale: {', '.join(stale)}; run: python tools/generate_docs.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

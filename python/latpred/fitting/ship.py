"""Fits the default predictor and measures its intervals: rows and graphs in, the checkpoint that ships out.

python -m latpred.fitting.ship --rows FILE --graphs FILE --work FOLDER --out FILE

Everything measured teaches the fit that ships. Its intervals come from fits that leave families (those that no choice
looks at, too, which are scored by the intervals of the others), recipes of known families, versions of the framework,
chips and blocks of operators out in turn; what it lacks on CPUs, which it does not see, from networks measured there
(cpus.py). FOLDER keeps the lowered rows, every member and every such fit's answers, so that an interrupted call goes
on; benchmarks/accuracy/networks.py, which scores the same fits, may share it.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from functools import partial
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import checkpoint, conformal, cpus, kernel_residual, left_out
from latpred.fitting.errors import summarise
from latpred.fitting.evaluate import Term
from latpred.fitting.fit_inputs import Effects
from latpred.writing import replacing

SEEDS = 3
SITUATIONS = (
    *conformal.FAMILIES,
    conformal.UNTRIED,
    conformal.KNOWN,
    conformal.VERSION,
    conformal.CHIP,
    conformal.BLOCK,
)


def checkpoint_path(predictor: str) -> Path:
    """The one that ships."""
    return Path(str(resources.files("latpred"))) / "data" / "predictors" / f"{predictor}.safetensors"


def kept_terms() -> dict[str, Term]:
    """The analytic predictor's: of runtimes and kinds, which these fits do not leave out, its terms stand."""
    manifest, _ = checkpoint.read(checkpoint_path("analytic"))
    return {name: Term(**term) for name, term in manifest["interval_terms"].items()}


def member_file(work: Path, seed: int) -> Path:
    """Where a member of the ensemble is kept."""
    return work / f"member_{seed}.npz"


def fit_member(folder: Path, work: Path, seed: int, changes: dict[str, Any]) -> str:
    """Fits one and keeps it, in a process of its own; `folder` has the table."""
    table = left_out.load(folder)
    fitted: dict[str, Any] = kernel_residual.fit_member(table, Effects.of(table.rows), seed, **changes)
    with replacing(member_file(work, seed)) as unfinished:
        np.savez(unfinished, **fitted)
    return f"member {seed}"


def read_member(work: Path, seed: int) -> dict[str, np.ndarray]:
    """What fit_member() kept."""
    with np.load(member_file(work, seed)) as arrays:
        return dict(arrays)


def measured_intervals(work: Path) -> tuple[conformal.Intervals, dict[str, Any]]:
    """From the answers in `work`: what intervals are made of, and the manifest's table of errors."""
    rows = conformal.ensemble(conformal.read_rows(work))
    residuals = conformal.residuals(rows[rows.situation.isin(SITUATIONS)])
    intervals = conformal.intervals_of(residuals, conformal.read_hosts(work), kept_terms())
    return intervals, conformal.errors_by_situation(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    import pandas as pd
    from rich.progress import Progress

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=Path, required=True, help="Parquet file of measurements")
    parser.add_argument("--graphs", type=Path, required=True, help="their graph cache")
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps what is done")
    parser.add_argument("--out", type=Path, required=True, help="checkpoint to write")
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"members of the ensemble (default {SEEDS})")
    parser.add_argument("--left-out-seeds", type=int, default=1, help="fits of each part left out (default 1)")
    parser.add_argument("--epochs", type=int, help="passes over the rows (default: that of the fit)")
    options = parser.parse_args(arguments)
    changes = {} if options.epochs is None else {"epochs": options.epochs}

    rows, graphs = pd.read_parquet(options.rows), GraphCache(options.graphs)
    with Progress() as progress:
        task = progress.add_task("lowering", total=None)
        table = left_out.lowered(
            rows,
            graphs,
            options.work,
            lambda done, of: progress.update(task, completed=done, total=of),
        )
        left_out.keep_apart(options.work, table, **changes)
        seeds = range(options.seeds)
        members = [
            partial(fit_member, seed=seed, changes=changes)
            for seed in seeds
            if not member_file(options.work, seed).is_file()
        ]
        bar = progress.add_task("fits", total=None)
        for done, of, name in left_out.run(table, options.work, SITUATIONS, options.left_out_seeds, members, **changes):
            progress.update(bar, completed=done, total=of, description=f"fits, {name}")

    fitted = kernel_residual.KernelResidual(
        tuple(read_member(options.work, seed) for seed in seeds), Effects.of(table.rows)
    ).with_alike_networks(table)
    intervals, errors = measured_intervals(options.work)
    manifest = kernel_residual.make_manifest(fitted, table, intervals.manifest()) | {"errors": errors}
    arrays = fitted.arrays()
    on_cpu = rows[cpus.is_on_cpu(rows)]
    if on_cpu.device.nunique() >= cpus.LEAST:
        of_gpus = options.work / "of_gpus.safetensors"
        checkpoint.write(of_gpus, manifest, arrays)
        measured = cpus.measure(cpus.answers(kernel_residual.NAME, of_gpus, on_cpu, graphs))
        manifest |= {"cpu": measured.manifest()}
        print(measured)
    checkpoint.write(options.out, manifest, arrays)
    print(intervals)
    print(f"{options.out}: training rows, {summarise(fitted.predict(table), table.latency_s)}")


if __name__ == "__main__":
    main()

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
from collections.abc import Callable, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.datasets.graph_cache import GraphCache
from latpred.fitting import checkpoint, conformal, cpus, kernel_residual, left_out
from latpred.fitting.errors import summarise
from latpred.fitting.evaluate import Term
from latpred.fitting.fit_inputs import Effects

if TYPE_CHECKING:
    from latpred.fitting.kernel_terms import KernelTable

SEEDS = 3
SITUATIONS = (*conformal.NEW_FAMILIES, conformal.KNOWN, conformal.VERSION, conformal.CHIP, conformal.BLOCK)


def checkpoint_path(predictor: str) -> Path:
    """The one that ships."""
    return Path(str(resources.files("latpred"))) / "data" / "predictors" / f"{predictor}.safetensors"


def kept_terms() -> dict[str, Term]:
    """The analytic predictor's: of runtimes and kinds, which these fits do not leave out, its terms stand."""
    manifest, _ = checkpoint.read(checkpoint_path("analytic"))
    return {name: Term(**term) for name, term in manifest["interval_terms"].items()}


def member(
    table: KernelTable,
    effects: Effects,
    seed: int,
    work: Path,
    done: kernel_residual.Done,
    **changes: object,
) -> dict[str, np.ndarray]:
    """A member of the ensemble that an earlier call has fitted, or a new one, kept in `work`."""
    path = work / f"member_{seed}.npz"
    if not path.is_file():
        unfinished = path.with_name(f"{path.stem}.part.npz")
        fitted: dict[str, Any] = kernel_residual.fit_member(table, effects, seed, done, **changes)
        np.savez(unfinished, **fitted)
        unfinished.replace(path)
    with np.load(path) as arrays:
        return dict(arrays)


def measured_intervals(work: Path) -> tuple[conformal.Intervals, dict[str, Any]]:
    """From the answers in `work`: what intervals are made of, and the manifest's table of errors."""
    rows = conformal.ensemble(conformal.read_rows(work))
    residuals = conformal.residuals(rows[rows.situation.isin(SITUATIONS)])
    intervals = conformal.intervals_of(residuals, conformal.read_host_effects(work), kept_terms())
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
        epochs = kernel_residual.options(**changes).epochs
        effects = Effects.of(table.rows)
        members = []
        for seed in range(options.seeds):
            bar = progress.add_task(f"seed {seed}", total=epochs)
            members.append(member(table, effects, seed, options.work, _shown(progress.update, bar), **changes))
            progress.update(bar, completed=epochs)
        bar = progress.add_task("parts left out", total=None)
        for done, of, name in left_out.run(table, options.work, SITUATIONS, options.left_out_seeds, **changes):
            progress.update(bar, completed=done, total=of, description=f"left out {name}")

    fitted = kernel_residual.KernelResidual(tuple(members), effects).with_alike_networks(table)
    intervals, errors = measured_intervals(options.work)
    manifest = kernel_residual.make_manifest(fitted, table, intervals.manifest()) | {"errors": errors}
    arrays = fitted.arrays()
    on_cpu = rows[cpus.is_on_cpu(rows)]
    if on_cpu.device.nunique() >= cpus.LEAST:
        of_gpus = options.work / "of_gpus.safetensors"
        checkpoint.write(of_gpus, manifest, arrays)
        predictor = _core.load_predictor(kernel_residual.NAME, str(of_gpus))
        measured = cpus.measure(cpus.answers(predictor, on_cpu, graphs))
        manifest |= {"cpu": measured.manifest()}
        print(measured)
    checkpoint.write(options.out, manifest, arrays)
    print(intervals)
    print(f"{options.out}: training rows, {summarise(fitted.predict(table), table.latency_s)}")


def _shown(update: Callable[..., None], bar: Any) -> kernel_residual.Done:
    return lambda seed, epoch, loss: update(bar, completed=epoch, description=f"seed {seed}, loss {loss:.4f}")


if __name__ == "__main__":
    main()

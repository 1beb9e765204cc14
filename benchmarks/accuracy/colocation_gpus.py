"""Tables of what public data say about shared GPUs: pairs of training jobs, MIG neighbours, slices."""

from __future__ import annotations

import dataclasses

import docs_table
import numpy as np
import pandas as pd
from colocation_errors import BASELINES, LEAD, MEAN, NONE, OURS, Lead, lead_of
from latpred import _core
from latpred.colocation import fits
from latpred.colocation.fit import left_out_predictions
from latpred.colocation.jobs import Jobs, slice_terms
from latpred.datasets import colocation as shared_gpus

MIG_LIMIT = 0.03


@dataclasses.dataclass(frozen=True)
class JobPairs:
    """gavel's pairs of training jobs on one device, each job left out once, whatever its batch."""

    slow_downs: np.ndarray
    groups: list[str]
    predicted: dict[str, np.ndarray]  # by predictor

    @property
    def leads(self) -> dict[str, Lead]:
        own = self.predicted[OURS]
        return {name: lead_of(own, self.predicted[name], self.slow_downs, self.groups) for name in BASELINES}


def job_pairs(rows: pd.DataFrame, device: str) -> JobPairs:
    """rows: of all devices; a job's times alone on the others tell how busy it keeps this one."""
    part = rows[rows.device == device]
    slow_downs = (part.beside_s / part.alone_s).to_numpy()
    names, neighbours = part.network.to_numpy(), part.neighbour.to_numpy()
    means = np.zeros(len(part))
    for name in set(names):
        means[names == name] = slow_downs[(names != name) & (neighbours != name)].mean()
    both = [frozenset(pair) for pair in zip(names, neighbours, strict=True)]
    own = left_out_predictions(Jobs(rows).terms(part, part.sharing.iloc[0]), slow_downs.tolist(), both)
    predicted = {NONE: np.ones(len(part)), MEAN: means, OURS: own}
    return JobPairs(slow_downs, ["+".join(sorted(pair)) for pair in both], predicted)


def pair_table(rows: pd.DataFrame, device: str) -> str:
    found = job_pairs(rows, device)
    ahead = found.leads
    lines = []
    for name, predicted in found.predicted.items():
        errors = np.abs(predicted - found.slow_downs)
        lines.append(
            [name, f"{errors.mean():.3f}", f"{(errors / found.slow_downs).mean():.1%}", str(ahead.get(name, ""))]
        )
    sharing = rows[rows.device == device].sharing.iloc[0]
    return (
        f"Pairs of training jobs on one {device} (gavel, read as {sharing}): {len(found.slow_downs)} labels, slow-down "
        f"{found.slow_downs.mean():.2f} on average; jobs left out.\n\n"
        + docs_table.table(("predictor", "MAE of the slow-down", "MAPE", LEAD), lines)
    )


def mig_table(rows: pd.DataFrame) -> str:
    """Neighbours on the other slices."""
    learnt = fits.shipped().fit("mig", fits.GPU)
    predicted = _core.slow_down(list(learnt.coefficients), slice_terms(rows[:1])[0])
    lines = []
    for row in rows.itertuples(index=False):
        found = row.beside_s / row.alone_s
        lines.append([row.network, f"{found:.4f}", f"{predicted:.4f}", f"{predicted / found - 1:+.1%}"])
    word = "within" if predicted - 1 <= MIG_LIMIT else "not within"
    return (
        f"Neighbours on the other six MIG slices of an {rows.device.iloc[0]} (MLPerf inference, TensorRT): predicted "
        f"{predicted - 1:.1%} slower, {word} {MIG_LIMIT:.0%} of none.\n\n"
        + docs_table.table(("network", "measured slow-down", "predicted", "error"), lines)
    )


def slice_table(rows: pd.DataFrame) -> str:
    """Training jobs on slices, by what they use of the whole GPU."""
    whole = rows[rows.partition == "7g.40gb"].set_index(["network", "batch"]).alone_s
    part = rows[rows.partition != "7g.40gb"]
    keys = list(zip(part.network, part.batch, strict=True))
    is_known = np.array([key in whole.index for key in keys])
    part = part[is_known]
    measured = part.alone_s.to_numpy() / np.array(
        [whole[key] for key, known in zip(keys, is_known, strict=True) if known]
    )
    shares = np.array([_core.partition(part.device.iloc[0], name).sm_share for name in part.partition])
    predicted = {
        "no slow-down": np.ones(len(part)),
        "1 / share of the SMs": 1 / shares,
        "SM use / share, at least 1": np.maximum(1, part.sm_share.to_numpy() / shares),
    }
    lines = [
        [name, f"{np.abs(values - measured).mean():.2f}", f"{np.median(np.abs(values / measured - 1)):.0%}"]
        for name, values in predicted.items()
    ]
    return (
        f"Training jobs alone on a MIG slice of an A100 against the whole of it (MISO): {len(part)} rows, slow-down "
        f"{np.median(measured):.2f} (median).\n\n"
        + docs_table.table(("predictor", "MAE of the slow-down", "median error"), lines)
    )


def tables(rows: pd.DataFrame) -> str:
    """Of public data."""
    pairs = rows[rows.kind == shared_gpus.PAIR]
    text = []
    for device in sorted(set(pairs.device)):
        text.append(pair_table(pairs, device))
    text.append(mig_table(rows[rows.kind == shared_gpus.MIG_NEIGHBOURS]))
    text.append(slice_table(rows[rows.kind == shared_gpus.SLICE]))
    return "\n".join(text)

"""Lines of the tables of networks.py: errors, and how often and how widely intervals hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from latpred import _core
from latpred.fitting import conformal
from latpred.fitting.conformal import CHIP, FAMILIES, NORMAL_80, Residuals
from latpred.fitting.errors import ErrorSummary, summarise
from latpred.fitting.evaluate import HOST_SD, Term
from latpred.fitting.measurements import CLEAR_OF_FLOOR

HOST_NORM = 3  # kHostNorm of predict/host.cpp
MIN_ROWS = 30  # of a line
BANDS = {"batch 1": (1, 1), "batch 2 to 31": (2, 31), "batch 32 and more": (32, 10**9)}
CALIBRATION_ROWS = (5, 10)
DRAWS = 20
ALL = "all of these"
RESAMPLES = 200
NETWORKS = ("timm", "anb")  # what the pooled lines are about
FIELDS = ("mape_percent", "median_percent", "p90_percent", "spearman", "bias")


def _widths(rows: pd.DataFrame, situation: str, what: str, terms: dict[str, Term]) -> tuple[float, float]:
    """Centre and half-width of the interval for a part left out, by the residuals of other parts alone."""
    families = Residuals.of(
        rows[rows.situation.isin(FAMILIES) & ~((rows.situation == situation) & (rows.what == what))]
    )
    found = dict(terms)
    if len(families.family):
        found |= conformal.known_device_terms(families)
    if situation != CHIP:
        return found["log_bias"].value, conformal.half_width(found, True) if len(families.family) else np.nan
    chips = Residuals.of(rows[(rows.situation == CHIP) & (rows.what != what)])
    if len(np.unique(chips.left_out)) < 2:
        return 0.0, np.nan
    found |= conformal.unknown_device_terms(chips, found["log_bias"].value)
    return found["log_bias"].value, conformal.half_width(found, False)


def _waiting(rows: pd.DataFrame) -> np.ndarray:
    """[N] which share of the predicted latency is waiting for the host, as predict/host.cpp joins the two."""
    of_launch = {row.name: row.host_s_per_launch for row in _core.runtimes()}
    host = np.asarray(rows.launches * rows.runtime.map(of_launch) / rows.pred)
    return np.asarray(1 - np.maximum(1 - host**HOST_NORM, 0) ** (1 / HOST_NORM))


def with_intervals(rows: pd.DataFrame, host_sd: float = HOST_SD) -> pd.DataFrame:
    """`rows` with the half-width of their interval, and whether it holds what was measured. Families and chips are
    judged by terms from the others."""
    one = conformal.ensemble(rows)
    answers = one.set_index(["situation", "what", "id"]).pred
    off = np.log(
        rows.value.to_numpy() / answers.loc[list(zip(rows.situation, rows["what"], rows.id, strict=True))].to_numpy()
    )
    width, centre = np.full(len(rows), np.nan), np.zeros(len(rows))
    for (situation, what), places in rows.groupby(["situation", "what"]).indices.items():
        centre[places], width[places] = _widths(one, situation, what, {"log_bias": Term(0.0, "none")})
    width = np.hypot(width, NORMAL_80 * host_sd * np.sqrt(_waiting(rows)))
    return rows.assign(half_width=width, is_inside=np.abs(off - centre) <= width)


def _coverage(rows: pd.DataFrame, by: str) -> dict[str, Any]:
    """Share of rows inside, families (chips) alike, and its standard error by drawing these again."""
    if rows.half_width.isna().any():
        return {}
    by_group = rows.groupby(by).is_inside.mean().to_numpy()
    random = np.random.default_rng(0)
    drawn = [by_group[random.integers(len(by_group), size=len(by_group))].mean() for _ in range(RESAMPLES)]
    return {
        "covers": float(by_group.mean()),
        "covers_error": float(np.std(drawn)),
        "covers_rows": float(rows.is_inside.mean()),
        "interval_factor": float(np.exp(rows.half_width.median())),
    }


def _line(rows: pd.DataFrame, situation: str, group: str, predictor: str) -> dict[str, Any]:
    by_seed = [
        vars(summarise(of_seed[predictor].to_numpy(), of_seed.value.to_numpy())) for _, of_seed in rows.groupby("seed")
    ]
    errors = pd.DataFrame(by_seed)
    line: dict[str, Any] = {"situation": situation, "group": group, "predictor": predictor}
    line |= {"rows": int(errors.rows.iloc[0]), "seeds": len(errors)}
    line |= {name: float(errors[name].mean()) for name in FIELDS}
    if predictor == "pred":
        line["spread_percent"] = float(errors.mape_percent.std()) if len(errors) > 1 else None
        is_of_chips = situation == CHIP and group == ALL
        line |= _coverage(rows.drop_duplicates(["what", "id"]), "what" if is_of_chips else "family")
    return line


def _calibrated(rows: pd.DataFrame, predictor: str, count: int) -> ErrorSummary | None:
    """Errors after one factor from `count` rows of each device and runtime, drawn again and again, on the others."""
    random = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for _, part in rows.groupby(["device", "runtime", "seed"]):
        if len(part) < MIN_ROWS:
            continue
        predicted, measured = part[predictor].to_numpy(), part.value.to_numpy()
        for _ in range(DRAWS):
            drawn = random.permutation(len(part)) < count
            factor = np.exp(np.median(np.log(measured[drawn] / predicted[drawn])))
            found.append(np.stack([factor * predicted[~drawn], measured[~drawn]]))
    if not found:
        return None
    predicted, measured = np.concatenate(found, axis=1)
    return summarise(predicted, measured)


def _groups(rows: pd.DataFrame, situation: str) -> Iterator[tuple[str, pd.DataFrame]]:
    if situation == "block":
        yield "all operators", rows
        yield from rows.groupby("family")
        return
    if situation in ("chip", "version", "family"):
        for what, part in rows.groupby("what"):
            yield str(what), part
            if situation == CHIP:
                tables = part.groupby(["device", "runtime"])
                yield from ((f"{what}: {device}, {runtime}", table) for (device, runtime), table in tables)
        yield ALL, rows
        return
    is_main = rows.family.str.startswith(NETWORKS)
    with_space = " and Accel-NASBench" if (rows.family == "anb").any() else ""
    yield f"all of timm's families{with_space}", rows[is_main]
    for (device, runtime), part in rows[is_main].groupby(["device", "runtime"]):
        yield f"{device}, {runtime}", part
    for family, part in rows[~is_main].groupby("family"):
        yield f"family {family}", part
    for name, (least, most) in BANDS.items():
        yield f"all, {name}", rows[(rows.batch >= least) & (rows.batch <= most)]


def lines_of(rows: pd.DataFrame, situation: str, predictors: list[str]) -> list[dict[str, Any]]:
    """The lines of one situation; seeds that every part has."""
    if not len(rows):
        return []
    seeds = set.intersection(*(set(part.seed) for _, part in rows.groupby("what")))
    rows = (
        rows[rows.seed.isin(seeds)]
        if seeds
        else rows.sort_values("seed").drop_duplicates(["what", "id"]).assign(seed=0)
    )
    is_clear = rows.value > CLEAR_OF_FLOOR * rows.host_floor_s
    is_operator = rows.recipe.str.startswith(conformal.OPERATOR_RECIPES)
    rows = rows[is_clear & (is_operator if situation == "block" else ~is_operator)]
    lines = []
    for group, part in _groups(rows, situation):
        if part.id.nunique() < MIN_ROWS:
            continue
        for predictor in predictors:
            lines.append(_line(part, situation, str(group), predictor))
            for count in CALIBRATION_ROWS if situation == CHIP and ":" not in group and group != ALL else ():
                errors = _calibrated(part, predictor, count)
                if errors is not None:
                    group_after = f"{group}, after {count} rows"
                    line = {"situation": situation, "group": group_after, "predictor": predictor, "seeds": len(seeds)}
                    lines.append(line | vars(errors) | {"rows": int(part.id.nunique())})
    return lines


def plot(rows: pd.DataFrame, path: Path) -> None:
    """Predicted over measured against measured, families left out."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = rows[rows.situation.isin(FAMILIES) & conformal.is_judged(rows)]
    figure, axes = pyplot.subplots(figsize=(7, 4.5))
    for device, part in rows.groupby("device"):
        if len(part) >= MIN_ROWS:
            axes.scatter(part.value, part.pred / part.value, s=3, alpha=0.5, label=device, linewidths=0)
    axes.set(xscale="log", yscale="log", xlabel="measured, s", ylabel="predicted / measured", ylim=(1 / 3, 3))
    axes.set_yticks([0.5, 0.8, 1, 1.25, 2], ["0.5", "0.8", "1", "1.25", "2"])
    axes.minorticks_off()
    axes.axhline(1, color="black", linewidth=0.8)
    axes.legend(fontsize=6, markerscale=3, ncols=2)
    figure.tight_layout()
    figure.savefig(path, dpi=65, metadata={"Date": None} if path.suffix == ".svg" else {"Software": None})
    pyplot.close(figure)

"""Lines of the tables of networks.py: errors, and how often and how widely intervals hold."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from latpred.calibration.fit import CLASSES, Design, Expected
from latpred.calibration.levels import choose
from latpred.fitting import conformal, fit_inputs, ship
from latpred.fitting.conformal import BLOCK, CHIP, FAMILIES, OF_CHIPS, UNTRIED, VERSION
from latpred.fitting.errors import ErrorSummary, summarise
from latpred.fitting.evaluate import Term
from latpred.fitting.situation import BANDS, SPACE
from latpred.fitting.split import part_of_family

OURS = "pred"  # among the columns of answers
MIN_ROWS = 30  # of a line
CALIBRATION_ROWS = (5, 10)
DRAWS = 20
ALL = "all of these"
BY_PART = (VERSION, SPACE)  # situations with a line for each of their parts
NOT_MEASURED = "devices that were not measured"
RESAMPLES = 2000
NETWORKS = ("timm", "anb")  # what the pooled lines are about
FIELDS = ("mape_percent", "median_percent", "p90_percent", "spearman", "bias")


def _groups_judged_apart(rows: pd.DataFrame) -> np.ndarray:
    """[N] what a row's interval must not come from: rows of its chip or version, where that was left out, those of an
    operator's device, its family where no choice looked at it, else its families' part."""
    parts = part_of_family()
    part = rows.family.map(lambda family: f"families {parts.get(family, family)}")
    part = part.where(rows.situation != UNTRIED, UNTRIED + " " + rows.family)
    is_of_chip = rows.situation.isin(OF_CHIPS)
    of_what = rows.situation.where(~is_of_chip, CHIP) + " " + rows["what"]
    part = part.where(~is_of_chip & (rows.situation != VERSION), of_what)
    return np.asarray(part.where(rows.situation != BLOCK, "operators " + rows.device))


def with_intervals(rows: pd.DataFrame, hosts: list[float], kept: dict[str, Term]) -> pd.DataFrame:
    """`rows` with the half-width of their interval, what a calibration expects of networks, the device and the host,
    and whether the interval holds what was measured. The interval of a part of the families comes from the other parts,
    that of a chip or version from the others; of other situations from all these. Those of families that no choice
    looked at, the others of which say what the ones above lack, are widened for that; as what ships is."""
    one = conformal.ensemble(rows)
    seen = conformal.residuals(one[one.situation.isin(ship.SITUATIONS)])
    apart = _groups_judged_apart(seen)
    asked = rows.assign(waiting=conformal.waiting(rows))
    group = _groups_judged_apart(rows)
    answers = one.set_index(["situation", "what", "id"]).pred
    places = list(zip(rows.situation, rows["what"], rows.id, strict=True))
    off = np.log(rows.value.to_numpy() / answers.loc[places].to_numpy())
    width, centre, expected = np.full(len(rows), np.nan), np.zeros(len(rows)), np.zeros((3, len(rows)))
    made: dict[str, conformal.Intervals] = {}
    for name, of_group in rows.groupby(group).indices.items():
        is_untried = rows.situation.iloc[of_group[0]] == UNTRIED
        is_told = (seen.situation != UNTRIED) | is_untried
        others = seen[is_told & (apart != name)]
        key = name if len(others) < is_told.sum() else ALL
        if not others.situation.isin(FAMILIES).any():
            continue
        if key not in made:
            made[key] = conformal.intervals_of(others, hosts, kept)
        found, of_asked = made[key], asked.iloc[of_group]
        tells_chips = others["what"][others.situation == CHIP].nunique() > 1
        width[of_group] = np.where(tells_chips | of_asked.is_device_measured, found.half_width(of_asked), np.nan)
        centre[of_group] = found.terms["log_bias"].value
        expected[:, of_group] = [[found.terms[name].value] for name in ("unknown_device", "device_sd", "host_sd")]
    is_inside = np.abs(off - centre) <= width
    network_sd, device_sd, host_sd = expected[0] / conformal.NORMAL_80, *expected[1:]
    return rows.assign(
        half_width=width, network_sd=network_sd, device_sd=device_sd, host_sd=host_sd, is_inside=is_inside
    )


def _coverage(rows: pd.DataFrame, by: str) -> dict[str, Any]:
    """Share of rows inside, families (chips) alike, and its standard error by drawing these again: none of one. What n
    drawn from n scatter by is short of it by a factor of sqrt((n - 1) / n)."""
    if rows.half_width.isna().any():
        return {}
    by_group = rows.groupby(by).is_inside.mean().to_numpy()
    random = np.random.default_rng(0)
    count = len(by_group)
    drawn = by_group[random.integers(count, size=(RESAMPLES, count))].mean(axis=1)
    return {
        "covers": float(by_group.mean()),
        "covers_error": float(np.std(drawn) * np.sqrt(count / (count - 1))) if count > 1 else None,
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
    if predictor == OURS:
        line["spread_percent"] = float(errors.mape_percent.std()) if len(errors) > 1 else None
        if len(errors) > 1:
            together = conformal.ensemble(rows)
            line["ensemble_percent"] = summarise(together[predictor].to_numpy(), together.value.to_numpy()).mape_percent
        is_of_chips = situation in OF_CHIPS and group == ALL
        line |= _coverage(rows.drop_duplicates(["what", "id"]), "what" if is_of_chips else "family")
    return line


def _by_factor(rows: pd.DataFrame, predictor: str, drawn: np.ndarray) -> np.ndarray:
    """[N] answers times the median factor of the timings `drawn`."""
    predicted = rows[predictor].to_numpy()
    return np.asarray(predicted * np.median((rows.value.to_numpy() / predicted)[drawn]))


def _by_calibration(rows: pd.DataFrame, drawn: np.ndarray) -> np.ndarray:
    """[N] what latpred.calibrate makes of the answers by the timings `drawn`, all kernels as one class."""
    of_operators = rows.assign(pred=rows.pred - rows.beside_s)
    class_s = np.zeros((len(rows), len(CLASSES)))
    class_s[:, 0] = (1 - conformal.waiting(of_operators)) * of_operators.pred
    design = Design(class_s, rows.host_s.to_numpy(), rows.beside_s.to_numpy())
    log_measured = np.log(rows.value.to_numpy())
    expected = Expected(*rows[["network_sd", "device_sd", "host_sd"]].iloc[0])
    chosen = choose(design[drawn], log_measured[drawn], list(rows.recipe.iloc[drawn]), expected)
    return np.asarray(np.exp(design.log_s(chosen.fitted.parameters)))


def _calibrated(rows: pd.DataFrame, predictor: str, count: int) -> ErrorSummary | None:
    """Errors after `count` timings of each machine and version, drawn again and again, on its other rows."""
    if predictor == OURS and rows.half_width.isna().any():
        return None  # calibrating asks how far off answers are expected to be
    random = np.random.default_rng(0)
    found: list[np.ndarray] = []
    for _, part in rows.groupby([fit_inputs.hosts(rows), "seed"]):
        if len(part) < MIN_ROWS:
            continue
        for _ in range(DRAWS):
            order = random.permutation(len(part))
            drawn, others = order[:count], order[count:]
            answers = _by_calibration(part, drawn) if predictor == OURS else _by_factor(part, predictor, drawn)
            found.append(np.stack([answers[others], part.value.to_numpy()[others]]))
    if not found:
        return None
    predicted, measured = np.concatenate(found, axis=1)
    return summarise(predicted, measured)


def _groups(rows: pd.DataFrame, situation: str) -> Iterator[tuple[str, pd.DataFrame]]:
    if situation in OF_CHIPS:
        for what, part in rows.groupby("what"):
            yield str(what), part
            tables = part.groupby(["device", "runtime"])
            yield from ((f"{what}: {device}, {runtime}", table) for (device, runtime), table in tables)
        yield ALL, rows
        return
    yield from _groups_of_measured_devices(rows[rows.is_device_measured], situation)
    others = rows[~rows.is_device_measured]
    if situation in BY_PART:  # with a search space, or the only version of a device, the device is left out too
        yield from ((f"{what}, {NOT_MEASURED}", part) for what, part in others.groupby("what"))
        return
    is_part = others.partition != ""
    for (device, runtime), part in others[is_part].groupby(["device", "runtime"]):
        yield f"{device}, {runtime}, parts of it", part
    yield NOT_MEASURED, others[~is_part]


def _groups_of_measured_devices(rows: pd.DataFrame, situation: str) -> Iterator[tuple[str, pd.DataFrame]]:
    if situation == BLOCK:
        yield "all operators", rows
        yield from rows.groupby("family")
        return
    if situation in BY_PART:
        yield from rows.groupby("what")
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


def _calibration_rows(situation: str, group: str) -> tuple[int, ...]:
    """How many timings a line is shown after: of a chip left out more than of each of its tables."""
    if situation != CHIP or group == ALL:
        return ()
    return CALIBRATION_ROWS[:1] if ":" in group else CALIBRATION_ROWS


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
    rows = rows[conformal.is_judged(rows)]
    lines = []
    for group, part in _groups(rows, situation):
        if part.id.nunique() < MIN_ROWS:
            continue
        for predictor in predictors:
            lines.append(_line(part, situation, str(group), predictor))
            for count in _calibration_rows(situation, str(group)):
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

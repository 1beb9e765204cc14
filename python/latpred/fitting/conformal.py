"""The interval terms of a predictor, from what it answered for families and chips that its fit had not seen.

python -m latpred.fitting.conformal --work FOLDER --checkpoint FILE

FOLDER holds what benchmarks/accuracy/networks.py keeps of each fit: rows_SITUATION_PART_SEED.parquet, the rows left out
and what was predicted for them, and hosts_SITUATION_PART_SEED.parquet, the host effects of the fit. Of the checkpoint
only the manifest's interval terms and table of errors are written again.
"""

from __future__ import annotations

import argparse
import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.fitting import checkpoint
from latpred.fitting.errors import summarise
from latpred.fitting.evaluate import COVERAGE, MIN_LEFT_OUT, Term, equal_weights, weighted_quantile
from latpred.fitting.measurements import CLEAR_OF_FLOOR

if TYPE_CHECKING:
    import pandas as pd

# The situations whose names files begin with.
FAMILIES, CHIP = ("fold", "family"), "chip"
BLOCK = "block"
SITUATIONS = {
    "fold": "families left out",
    "family": "search spaces left out",
    "known": "recipes of known families left out",
    "chip": "chips left out",
    "version": "versions of the framework left out",
    "block": "blocks of operators left out",
    "test": "families of the test part",
}
NORMAL_80 = 1.2816  # half-width of an 80 % interval of the normal distribution, in its sd
OPERATOR_RECIPES = "op:"
EAGER = "eager"
# A table shows its host by this many rows that mostly wait for it; elsewhere the fitted effect means nothing.
MIN_HOST_ROWS = 10


@dataclasses.dataclass(frozen=True)
class Residuals:
    """S answers for what a fit had not seen."""

    log_ratio: np.ndarray  # [S] log(measured / predicted)
    family: np.ndarray  # [S]
    left_out: np.ndarray  # [S] with what: the fold's or the chip's name

    @classmethod
    def of(cls, rows: pd.DataFrame) -> Residuals:
        """Those of networks that do not lie on their table's floor."""
        kept = rows[is_judged(rows)]
        return cls(np.log(np.asarray(kept.value / kept.pred)), np.asarray(kept.family), np.asarray(kept["what"]))

    def select(self, mask: np.ndarray) -> Residuals:
        """Those where `mask` [S] holds."""
        return Residuals(self.log_ratio[mask], self.family[mask], self.left_out[mask])


def is_judged(rows: pd.DataFrame) -> np.ndarray:
    """[N] networks whose latency says something about the device."""
    on_floor = rows.value <= CLEAR_OF_FLOOR * rows.host_floor_s
    return np.asarray(~rows.recipe.str.startswith(OPERATOR_RECIPES) & ~on_floor)


def known_device_terms(families: Residuals) -> dict[str, Term]:
    """What the interval is centred on and its half-width on a measured device; every family weighs the same."""
    weights = equal_weights(families.family)
    bias = weighted_quantile(families.log_ratio, weights, 0.5)
    width = weighted_quantile(np.abs(families.log_ratio - bias), weights, COVERAGE)
    seen = f"{len(np.unique(families.family))} families left out whole, {len(families.family)} rows"
    return {
        "log_bias": Term(bias, f"measured: median over {seen}"),
        "known_device": Term(width, f"measured: 80 % of {seen}"),
    }


def unknown_device_terms(chips: Residuals, log_bias: float) -> dict[str, Term]:
    """The common factor of a chip left out, and the half-width that remains without it; every chip weighs the same."""
    names, medians, inside, weights = [], [], [], []
    for chip in np.unique(chips.left_out):
        of_chip = chips.select(chips.left_out == chip)
        if len(of_chip.log_ratio) < MIN_LEFT_OUT:
            continue
        of_rows = equal_weights(of_chip.family)
        median = weighted_quantile(of_chip.log_ratio, of_rows, 0.5)
        names.append(f"{chip} {np.exp(median):.2f}")
        medians.append(median)
        inside.append(np.abs(of_chip.log_ratio - median))
        weights.append(of_rows / of_rows.sum())
    width = weighted_quantile(np.concatenate(inside), np.concatenate(weights), COVERAGE)
    spread = float(np.sqrt(np.mean((np.array(medians) - log_bias) ** 2)))
    listed = ", ".join(names)
    return {
        "unknown_device": Term(width, f"measured: 80 % on {len(names)} chips left out whole, their common factors off"),
        "device_sd": Term(spread, f"measured: chips left out, measured / predicted: {listed}"),
    }


def host_terms(effects: np.ndarray) -> dict[str, Term]:
    """`effects` [H]: logarithms of the hosts' times for a launch over the runtime's."""
    spread = float(np.sqrt(np.mean(effects**2)))  # about the runtime's own time, which a prediction takes
    return {"host_sd": Term(spread, f"measured: hosts of {len(effects)} eager tables")}


def interval_terms_of(
    families: Residuals, chips: Residuals | None, host_effects: np.ndarray, kept: Mapping[str, Term]
) -> dict[str, Term]:
    """All terms of predict/interval.cpp: measured where there are residuals for them, `kept` otherwise."""
    terms = {**kept, **known_device_terms(families)}
    if chips is not None:
        terms |= unknown_device_terms(chips, terms["log_bias"].value)
    if len(host_effects) > 1:
        terms |= host_terms(host_effects)
    return terms


def half_width(terms: Mapping[str, Term], is_known: bool) -> float:
    """Of the 80 % interval on the log scale, of kinds and hosts that were measured."""
    if is_known:
        return terms["known_device"].value
    return float(np.hypot(terms["unknown_device"].value, NORMAL_80 * terms["device_sd"].value))


def _files(work: Path, prefix: str) -> list[tuple[str, str, int, Path]]:
    """Situation, part and seed of each."""
    found = []
    for path in sorted(work.glob(f"{prefix}_*.parquet")):
        situation, _, rest = path.stem.removeprefix(f"{prefix}_").partition("_")
        part, _, seed = rest.rpartition("_")
        found.append((situation, part, int(seed), path))
    return found


def read_rows(work: Path) -> pd.DataFrame:
    """The rows of all files, with the columns situation, what (was left out) and seed."""
    import pandas as pd

    tables = [
        pd.read_parquet(path).assign(situation=situation, what=part, seed=seed)
        for situation, part, seed, path in _files(work, "rows")
    ]
    if not tables:
        raise FileNotFoundError(
            f"{work}: no rows_SITUATION_PART_SEED.parquet; benchmarks/accuracy/networks.py makes them"
        )
    return pd.concat(tables, ignore_index=True)


def ensemble(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each that was predicted with several seeds: their geometric mean, as an ensemble answers."""
    rows = rows.assign(pred=np.log(rows.pred))
    mean = rows.groupby(["situation", "what", "id"]).pred.transform("mean")
    return rows.assign(pred=np.exp(mean)).drop_duplicates(["situation", "what", "id"], ignore_index=True)


def read_host_effects(work: Path) -> np.ndarray:
    """[H] of the eager tables that show their host, each the mean over the fits that saw it."""
    import pandas as pd

    tables = [pd.read_parquet(path) for _, _, _, path in _files(work, "hosts")]
    if not tables:
        return np.empty(0)
    hosts = pd.concat(tables)
    hosts = hosts[(hosts.runtime == EAGER) & (hosts.host_rows >= MIN_HOST_ROWS)]
    return np.asarray(hosts.groupby("host").log_factor.mean())


def errors_by_situation(rows: pd.DataFrame) -> dict[str, Any]:
    """As the manifest keeps it: of networks, and of operators where blocks of these were left out."""
    is_operator = rows.recipe.str.startswith(OPERATOR_RECIPES)
    found = {}
    for situation, title in SITUATIONS.items():
        part = rows[(rows.situation == situation) & (is_operator == (situation == BLOCK))]
        part = part[part.value > CLEAR_OF_FLOOR * part.host_floor_s]
        if len(part) >= MIN_LEFT_OUT:
            found[title] = vars(summarise(np.asarray(part.pred), np.asarray(part.value)))
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(description="Writes measured interval terms into a checkpoint.")
    parser.add_argument("--work", type=Path, required=True, help="folder of benchmarks/accuracy/networks.py")
    parser.add_argument("--checkpoint", type=Path, required=True, help="file whose manifest is written again")
    options = parser.parse_args(arguments)
    manifest, arrays = checkpoint.read(options.checkpoint)
    kept = {name: Term(**term) for name, term in manifest["interval_terms"].items()}
    rows = ensemble(read_rows(options.work))
    chips = rows[rows.situation == CHIP]
    terms = interval_terms_of(
        Residuals.of(rows[rows.situation.isin(FAMILIES)]),
        Residuals.of(chips) if len(chips) else None,
        read_host_effects(options.work),
        kept,
    )
    manifest["interval_terms"] = {name: dataclasses.asdict(term) for name, term in terms.items()}
    manifest["errors"] = errors_by_situation(rows)
    checkpoint.write(options.checkpoint, manifest, arrays)
    for name, term in terms.items():
        print(f"{name:15} {term.value:7.3f}  {term.source}")


if __name__ == "__main__":
    main()

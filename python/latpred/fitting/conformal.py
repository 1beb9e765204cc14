"""The interval terms of a predictor, from what it answered for families and chips that its fit had not seen.

A work folder holds what left_out.py keeps of each fit: rows_SITUATION_PART_SEED.parquet, the rows left out and what was
predicted for them, and hosts_SITUATION_PART_SEED.parquet, the host effects of the fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred.fitting import situation
from latpred.fitting.checkpoint import OPERATOR_RECIPES
from latpred.fitting.errors import summarise
from latpred.fitting.evaluate import COVERAGE, MIN_LEFT_OUT, Term, equal_weights, weighted_quantile
from latpred.fitting.measurements import HOST_NORM, is_clear_of_floor
from latpred.quantile import NORMAL_80

if TYPE_CHECKING:
    import pandas as pd

# The situations whose names files begin with.
FAMILIES, KNOWN, VERSION, CHIP = ("fold", situation.SPACE), "known", "version", "chip"
UNTRIED = "test"  # families that no choice looks at
OF_CHIPS = (CHIP, "network")  # left out whole, or but for their operators
BLOCK = "block"
SITUATIONS = {
    "fold": "families left out",
    "family": "search spaces left out",
    "known": "recipes of known families left out",
    "chip": "chips left out",
    "network": "networks of chips whose operators were measured left out",
    "version": "versions of the framework left out",
    "block": "blocks of operators left out",
    "test": "families of the test part",
}
# What an answer says besides its row: changed with the columns, so that older answers are not read as if they had them.
ANSWERS = (
    "pred",
    "host_s",
    "distance",
    "distance_there",
    "families",
    "is_device_measured",
    "is_runtime_measured",
    "is_other_version",
    "analogy_share",
    "elsewhere_share",
    "lone_kind",
)
SHARE_BY_ANALOGY = 0.1  # of the roofline, from which on rows tell what analogies are off
SMALLEST_SPREAD = 0.018  # kSmallestSpread of predict/spread.h
EAGER = "eager"
# A table shows its host by this many rows that mostly wait for it; elsewhere the fitted effect means nothing.
MIN_HOST_ROWS = 10


def is_judged(rows: pd.DataFrame) -> np.ndarray:
    """[N] rows whose latency says something about the device: networks, of blocks left out single operators."""
    is_operator = rows.recipe.str.startswith(OPERATOR_RECIPES)
    return np.asarray(is_clear_of_floor(rows) & (is_operator == (rows.situation == BLOCK)))


def is_of_measured_kinds(rows: pd.DataFrame) -> np.ndarray:
    """[N] of rows left out: what other terms widen, a runtime or kinds of kernels that the fit knows by analogy alone,
    says nothing about the rest."""
    by_analogy = np.maximum(rows.analogy_share, rows.elsewhere_share)
    return np.asarray(rows.is_runtime_measured & (by_analogy < SHARE_BY_ANALOGY))


def residuals(rows: pd.DataFrame) -> pd.DataFrame:
    """The judged ones of `rows`, with log(measured / predicted) and the share of the time that waits for the host."""
    kept = rows[is_judged(rows)]
    return kept.assign(log_ratio=np.log(kept.value / kept.pred), waiting=waiting(kept))


def waiting(rows: pd.DataFrame) -> np.ndarray:
    """[N] which share of the predicted latency is waiting for the host, as predict/host.cpp joins the two."""
    host = np.asarray(rows.host_s / rows.pred)
    return np.asarray(1 - np.maximum(1 - host**HOST_NORM, 0) ** (1 / HOST_NORM))


def host_terms(of_sources: Sequence[float]) -> dict[str, Term]:
    """`of_sources`: what each source's hosts are off the runtime's own time for a launch, which a prediction takes: the
    root of the mean square of its logarithm. Of so few the spread is known roughly: Student's t says how roughly."""
    from scipy.stats import t

    count = len(of_sources)
    spread = np.sqrt(np.mean(np.square(of_sources))) * t.ppf((1 + COVERAGE) / 2, count) / NORMAL_80
    return {"host_sd": Term(float(spread), f"measured: hosts of eager tables of {count} sources, every source alike")}


@dataclasses.dataclass(frozen=True)
class Intervals:
    """What predict/interval.cpp makes an interval of."""

    terms: dict[str, Term]
    law: situation.Law = situation.FLAT
    law_source: str = ""
    operators: Mapping[str, Term] = dataclasses.field(default_factory=dict)  # by kind, of a kernel that stands alone
    untried_source: str = "no families that no choice looked at"

    def half_width(self, rows: pd.DataFrame) -> np.ndarray:
        """[N] on the log scale; `rows` have the columns of evidence.py and waiting."""
        value = {name: term.value for name, term in self.terms.items()}
        alone = {kind: term.value for kind, term in self.operators.items()}

        def own(as_known: bool) -> np.ndarray:
            typical = value["known_device" if as_known else "unknown_device"]
            of_network = typical * self.law.relative(rows, as_known)
            width = [alone.get(kind, of_row) for kind, of_row in zip(rows.lone_kind, of_network, strict=True)]
            return np.maximum(width, NORMAL_80 * SMALLEST_SPREAD)

        of_device = np.hypot(own(False), NORMAL_80 * value["device_sd"])
        # A device of few measured networks is no worse known than one of none.
        of_device = np.where(rows.is_device_measured, np.minimum(of_device, own(True)), of_device)
        variance = (value["kind_sd"] * rows.analogy_share) ** 2 + (value["device_sd"] * rows.elsewhere_share) ** 2
        variance += value["host_sd"] ** 2 * rows.waiting + np.where(
            rows.is_runtime_measured, 0, value["runtime_sd"] ** 2
        )
        return np.asarray(np.sqrt(of_device**2 + NORMAL_80**2 * variance))

    def __str__(self) -> str:
        entries = self.manifest()
        named = dict(entries["interval_terms"])
        named |= {f"runtime {name}": term for name, term in entries["interval_runtimes"].items()}
        named |= {f"{kind} alone": term for kind, term in entries["interval_operators"].items()}
        for name, what in (("interval_tables", ""), ("interval_new_tables", ", new networks")):
            for device, of_device in entries[name].items():
                named |= {f"{device}, {runtime}{what}": term for runtime, term in of_device.items()}
        return "\n".join(f"{name:32} {term['value']:7.3f}  {term['source']}" for name, term in named.items())

    def manifest(self) -> dict[str, Any]:
        """The checkpoint's entries."""
        factors = ("near", "new", "small", "few")
        names = ("near_network", "new_network", "small_batch", "few_families")
        law = {name: Term(getattr(self.law, of), self.law_source) for name, of in zip(names, factors, strict=True)}
        law["untried_network"] = Term(self.law.untried, self.untried_source)
        lacking = f"{self.law_source}: what versions left out lack of it, every version alike"
        law["other_version"] = Term(self.law.other_version, lacking)
        drawn = f"drawn to 1: n families count n / (n + {situation.SHRINKING_FAMILIES})"
        of_new = f"{drawn}; of new networks over that of known ones"
        return {
            "interval_terms": {name: vars(term) for name, term in (self.terms | law).items()},
            "interval_runtimes": {name: vars(Term(w, self.law_source)) for name, w in self.law.runtimes.items()},
            "interval_tables": _by_device(self.law.tables, f"{self.law_source}, {drawn}"),
            "interval_new_tables": _by_device(self.law.new_tables, f"{self.law_source}, {of_new}"),
            "interval_operators": {kind: vars(term) for kind, term in self.operators.items()},
        }


def _by_device(factors: Mapping[tuple[str, str], float], source: str) -> dict[str, dict[str, Any]]:
    """The checkpoint's entry of `factors` by device and runtime."""
    found: dict[str, dict[str, Any]] = {}
    for (device, runtime), factor in factors.items():
        found.setdefault(device, {})[runtime] = vars(Term(factor, source))
    return found


def _off(rows: pd.DataFrame, centre: float, host_sd: float) -> np.ndarray:
    """[N] what residuals leave to all terms but the host's: a width of that much, with the host's, would just do."""
    host = (NORMAL_80 * host_sd) ** 2 * rows.waiting
    return np.asarray(np.sqrt(np.maximum((rows.log_ratio - centre) ** 2 - host, 0)))


def _measured_devices(rows: pd.DataFrame, kept: Mapping[str, Term]) -> Intervals:
    """Terms of measured devices. `rows`: families left out, which give the typical width and what intervals are centred
    on, every family alike, those of known ones, which the law by situation needs too, and versions of the framework
    left out, since a request does not say its own."""
    is_known = ~rows.situation.isin(FAMILIES).to_numpy()
    of_new = rows[~is_known]
    if of_new.empty:
        return Intervals(dict(kept))
    weights = equal_weights(of_new.family.to_numpy())
    bias = weighted_quantile(of_new.log_ratio.to_numpy(), weights, 0.5)
    off = _off(rows, bias, kept["host_sd"].value)
    width = weighted_quantile(off[~is_known], weights, COVERAGE)
    seen = f"{of_new.family.nunique()} families left out whole, {len(of_new)} rows"
    terms = {
        "log_bias": Term(bias, f"measured: median over {seen}"),
        "known_device": Term(width, f"measured: 80 % of {seen}, what the host explains taken off"),
    }
    is_other = np.asarray((rows.situation == VERSION) & rows.is_other_version)
    law = situation.fit_law(rows[~is_other], off[~is_other])
    if is_other.any():
        law = dataclasses.replace(law, other_version=situation.of_versions(rows[is_other], off[is_other], law))
    num_known = int(is_known[~is_other].sum())
    with_known = f" and {num_known} rows of known ones" if num_known else ""
    source = f"measured: 80 % quantile by situation over {seen}{with_known}"
    return Intervals({**kept, **terms}, law.scaled(1 / width), source)


def _with_untried_families(found: Intervals, rows: pd.DataFrame) -> Intervals:
    """Adds what `rows` of families that no choice looked at are off beyond those that choices were made on."""
    off = _off(rows, found.terms["log_bias"].value, found.terms["host_sd"].value)
    factor = situation.of_untried(rows, off / found.terms["known_device"].value, found.law)
    source = f"measured: 80 % of {rows.family.nunique()} families that no choice looked at, {len(rows)} rows"
    return dataclasses.replace(found, law=dataclasses.replace(found.law, untried=factor), untried_source=source)


def _with_unknown_devices(found: Intervals, chips: pd.DataFrame) -> Intervals:
    """Adds the common factor of a chip left out, and the half-width that remains without it; every chip alike."""
    bias, host_sd = found.terms["log_bias"].value, found.terms["host_sd"].value
    names, medians, inside, weights = [], [], [], []
    for chip, of_chip in chips.groupby("what"):
        if len(of_chip) < MIN_LEFT_OUT:
            continue
        of_rows = situation.units(of_chip)
        median = weighted_quantile(of_chip.log_ratio.to_numpy(), of_rows, 0.5)
        names.append(f"{chip} {np.exp(median):.2f}")
        medians.append(median)
        inside.append(_off(of_chip, median, host_sd) / found.law.relative(of_chip, is_known=False))
        weights.append(of_rows / of_rows.sum())
    width = weighted_quantile(np.concatenate(inside), np.concatenate(weights), COVERAGE)
    spread = float(np.sqrt(np.mean((np.array(medians) - bias) ** 2)))
    source = f"measured: 80 % on {len(names)} chips left out whole, their common factors and the situation's taken off"
    terms = {
        "unknown_device": Term(max(width, found.terms["known_device"].value), source),
        "device_sd": Term(spread, f"measured: chips left out, measured / predicted: {', '.join(names)}"),
    }
    return dataclasses.replace(found, terms=found.terms | terms)


def _of_operators(rows: pd.DataFrame, terms: Mapping[str, Term]) -> dict[str, Term]:
    """By the kind of what `rows`, operators left out, run: every sort of operator alike."""
    found = {}
    for kind, of_kind in rows.groupby("lone_kind"):
        if kind == "" or len(of_kind) < MIN_LEFT_OUT:
            continue
        off = _off(of_kind, terms["log_bias"].value, terms["host_sd"].value)
        width = weighted_quantile(off, equal_weights(of_kind.family.to_numpy()), COVERAGE)
        found[str(kind)] = Term(
            width, f"measured: 80 % of {len(of_kind)} timings of single operators left out in blocks"
        )
    return found


def intervals_of(rows: pd.DataFrame, of_sources: Sequence[float], kept: Mapping[str, Term]) -> Intervals:
    """From residuals() of rows left out and their hosts: measured where there are some for it, `kept` otherwise."""
    terms = dict(kept)
    if len(of_sources) > 1:
        terms |= host_terms(of_sources)
    blocks, rows = rows[rows.situation == BLOCK], rows[is_of_measured_kinds(rows)]
    on_measured = rows[rows.is_device_measured]
    found = _measured_devices(on_measured[on_measured.situation.isin((*FAMILIES, KNOWN, VERSION))], terms)
    untried = on_measured[on_measured.situation == UNTRIED]
    if len(untried) >= MIN_LEFT_OUT:
        found = _with_untried_families(found, untried)
    found = dataclasses.replace(found, operators=_of_operators(blocks, found.terms))
    chips = rows[rows.situation == CHIP]
    return _with_unknown_devices(found, chips) if (chips.what.value_counts() >= MIN_LEFT_OUT).any() else found


def _files(work: Path, prefix: str) -> list[tuple[str, str, int, Path]]:
    """Situation, part and seed of each."""
    found = []
    for path in sorted(work.glob(f"{prefix}_*.parquet")):
        name, _, rest = path.stem.removeprefix(f"{prefix}_").partition("_")
        part, _, seed = rest.rpartition("_")
        found.append((name, part, int(seed), path))
    return found


def read_rows(work: Path) -> pd.DataFrame:
    """The rows of all files, with the columns situation, what (was left out) and seed."""
    import pandas as pd

    tables = [
        pd.read_parquet(path).assign(situation=name, what=part, seed=seed)
        for name, part, seed, path in _files(work, "rows")
    ]
    if not tables:
        raise FileNotFoundError(
            f"{work}: no rows_SITUATION_PART_SEED.parquet; latpred.fitting.ship and benchmarks/accuracy/networks.py "
            "make them"
        )
    rows = pd.concat(tables, ignore_index=True)
    missing = [name for name in ANSWERS if name not in rows or rows[name].isna().any()]
    if missing:
        raise ValueError(f"{work}: rows without {' and '.join(missing)}, kept by an older version; take a new folder")
    return rows


def ensemble(rows: pd.DataFrame) -> pd.DataFrame:
    """One row for each that was predicted with several seeds: their geometric mean, as an ensemble answers."""
    answers = np.log(rows[["pred", "host_s"]])
    mean = answers.groupby([rows.situation, rows["what"], rows.id]).transform("mean")
    return rows.assign(**np.exp(mean)).drop_duplicates(["situation", "what", "id"], ignore_index=True)


def read_hosts(work: Path) -> list[float]:
    """What host_terms() needs: of the eager tables that show their host, each the mean over the fits that saw it."""
    import pandas as pd

    tables = [pd.read_parquet(path) for _, _, _, path in _files(work, "hosts")]
    if not tables:
        return []
    hosts = pd.concat(tables)
    hosts = hosts[(hosts.runtime == EAGER) & (hosts.host_rows >= MIN_HOST_ROWS)]
    source = hosts.host.str.split("|").str[0].rename("source")
    squares = hosts.groupby([source, "host"]).log_factor.mean() ** 2
    return list(np.sqrt(squares.groupby("source").mean()))


def errors_by_situation(rows: pd.DataFrame) -> dict[str, Any]:
    """As the manifest keeps it: of networks, and of operators where blocks of these were left out."""
    judged = rows[is_judged(rows)]
    found = {}
    for name, title in SITUATIONS.items():
        part = judged[judged.situation == name]
        if len(part) >= MIN_LEFT_OUT:
            found[title] = vars(summarise(np.asarray(part.pred), np.asarray(part.value)))
    return found

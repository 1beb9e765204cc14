"""Measured plain nets in one small file: recipe, warm latency, first run, noise, second timing.

A Parquet file of one machine and one protocol, which stand in its metadata: about fifteen bytes a net. Rows of a
campaign (datasets/rows.py) are read as well, and made into such a file by

    python -m latpred.datasets.measured_nets rows.parquet nets.parquet
"""

from __future__ import annotations

import argparse
import dataclasses
import hashlib
import json
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core
from latpred.campaign.spec import FIRST_RUN, LATENCY
from latpred.datasets import cnn, fnn, rows
from latpred.datasets.nets import KINDS, NETS_FOR_A_CNN, PARTS, Nets, encode, kind_of, part_of
from latpred.errors import InvalidArgumentError
from latpred.optional import need

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from latpred._core import Measurement

FORMAT_VERSION = 1
_METADATA = b"latpred"

# Digits that are kept: a quarter of a permille is far below the noise of any timing, and half of the bits of a float.
_KEPT_MANTISSA_BITS = 12
_COLUMNS = ("recipe", "latency_s", "first_run_s", "noise", "again_s")


def encode_recipes(recipes: Sequence[str]) -> Nets:
    """The arrays of these nets."""
    sizes: dict[str, Callable[[str], tuple[Sequence[int], int]]] = {
        "fnn": lambda recipe: (fnn.widths_of(recipe), 0),
        "cnn": cnn.sizes_of,
    }
    return encode([sizes[kind_of(recipe)](recipe) for recipe in recipes])


@dataclasses.dataclass(frozen=True)
class Conditions:
    """Where and how all nets of a file were measured."""

    device_fingerprint: str  # the processor, its cores, caches and memory, as its system names them
    runtime: str
    runtime_version: str
    precision: str
    protocol: str
    source: str
    licence: str
    batch: int = 1
    threads: int = 1

    def differences(self, other: Conditions) -> list[str]:
        """One sentence for each field that differs in `other`."""
        return [
            f"{field.name} is '{getattr(other, field.name)}' and was '{getattr(self, field.name)}'"
            for field in dataclasses.fields(self)
            if getattr(self, field.name) != getattr(other, field.name)
        ]


@dataclasses.dataclass(frozen=True, eq=False)
class MeasuredNets:
    """[G] nets; NaN: not measured."""

    recipes: tuple[str, ...]
    latency_s: np.ndarray  # warm
    first_run_s: np.ndarray
    noise: np.ndarray  # standard deviation over latency_s
    again_s: np.ndarray  # warm, measured a second time at the end
    conditions: Conditions

    def __len__(self) -> int:
        return len(self.recipes)

    @cached_property
    def nets(self) -> Nets:
        """The arrays that predictors see."""
        return encode_recipes(self.recipes)

    @cached_property
    def kinds(self) -> frozenset[str]:
        """Of the nets: KINDS."""
        return frozenset(kind_of(recipe) for recipe in self.recipes)

    @cached_property
    def parts(self) -> np.ndarray:
        """[G] "train", "validation" or "test"; shares hang on the kinds of nets in the set."""
        return self._parts_among(self.kinds)

    def _parts_among(self, kinds: frozenset[str]) -> np.ndarray:
        return np.array([part_of(recipe, kinds) for recipe in self.recipes])

    @cached_property
    def digest(self) -> str:
        """Of everything that a predictor learns from."""
        text = "\n".join(f"{recipe} {seconds!r}" for recipe, seconds in zip(self.recipes, self.latency_s, strict=True))
        return hashlib.sha256(f"{self.conditions}\n{text}".encode()).hexdigest()[: rows.KEY_LENGTH]

    def select(self, chosen: np.ndarray) -> MeasuredNets:
        """Those nets, by truth [G] or by index."""
        places = np.flatnonzero(chosen) if np.asarray(chosen).dtype == bool else np.asarray(chosen)
        columns = {name: getattr(self, name)[places] for name in _COLUMNS[1:]}
        return MeasuredNets(tuple(self.recipes[place] for place in places), **columns, conditions=self.conditions)

    def part(self, name: str, kinds: frozenset[str] | None = None) -> MeasuredNets:
        """One of PARTS, or "all". kinds: of the set whose part it is, where that is a larger one than this."""
        if name == "all":
            return self
        if name not in PARTS:
            raise InvalidArgumentError(f"unknown part '{name}'; valid: {', '.join(PARTS)}, all", valid=PARTS)
        return self.select((self.parts if kinds in (None, self.kinds) else self._parts_among(kinds)) == name)


def make(
    recipes: Any, latency_s: Any, conditions: Conditions, *, first_run_s: Any = None, noise: Any = None,
    again_s: Any = None,
) -> MeasuredNets:  # fmt: skip
    """Checked columns; None: not measured."""
    recipes = tuple(recipes)
    given = {"latency_s": latency_s, "first_run_s": first_run_s, "noise": noise, "again_s": again_s}
    columns = {
        name: np.full(len(recipes), np.nan) if values is None else np.asarray(values, dtype=float)
        for name, values in given.items()
    }
    if len(set(recipes)) != len(recipes):
        raise InvalidArgumentError("a net stands twice among the measured ones; each may be there once")
    for name, values in columns.items():
        if values.shape != (len(recipes),):
            raise InvalidArgumentError(f"{name} has {values.shape} values for {len(recipes)} nets")
    if not np.all(columns["latency_s"] > 0) or not np.all(np.isfinite(columns["latency_s"])):
        raise InvalidArgumentError("latency_s must be positive and finite for every net")
    return MeasuredNets(recipes, **columns, conditions=conditions)


def mixed(dense: MeasuredNets, cnns: MeasuredNets) -> MeasuredNets:
    """Mendoza and Wang's mixed set: all CNNs, and the first of the feed-forward nets, 3.2 for a CNN as theirs has."""
    if differences := dense.conditions.differences(cnns.conditions):
        raise InvalidArgumentError(f"the two sets were measured otherwise: {'; '.join(differences)}")
    count = round(NETS_FOR_A_CNN * len(cnns))
    if count > len(dense):
        raise InvalidArgumentError(f"{len(cnns)} CNNs ask for {count} feed-forward nets, there are {len(dense)}")
    first = dense.select(np.arange(count))
    columns = {name: np.concatenate([getattr(first, name), getattr(cnns, name)]) for name in _COLUMNS[1:]}
    return make(first.recipes + cnns.recipes, conditions=dense.conditions, **columns)


def from_measurements(recipes: Sequence[str], measured: Sequence[Measurement]) -> MeasuredNets:
    """Nets that were measured in this process, by workloads.plain_nets.measure_plain_nets."""
    protocols = {one.protocol for one in measured}
    if len(protocols) != 1:
        raise InvalidArgumentError(f"the nets were measured by {len(protocols)} protocols, expected one")
    clean = _core.Protocol()  # its label: the wall clock, or the CPU's where somebody took the core away
    return make(
        recipes,
        [one.latency_s for one in measured],
        Conditions(
            device_fingerprint=_core.host_facts().fingerprint,
            runtime="libtorch",
            runtime_version=f"torch {_core.TORCH_VERSION}",
            precision="fp32",
            protocol=protocols.pop(),
            source=rows.MEASURED_HERE,
            licence="Apache-2.0",
        ),
        first_run_s=[_core.choose_label([one.first_run], clean).latency_s for one in measured],
        noise=[one.statistics.noise for one in measured],
    )


def _rounded(values: np.ndarray) -> np.ndarray:
    """float32 with the last bits zero, which pack well."""
    mantissa, exponent = np.frexp(values)
    scale = 2.0**_KEPT_MANTISSA_BITS
    return np.asarray(np.ldexp(np.round(mantissa * scale) / scale, exponent), dtype=np.float32)


def write(path: Path, measured: MeasuredNets) -> None:
    """Writes the compact file."""
    pyarrow, parquet = _pyarrow()
    columns: dict[str, Any] = {"recipe": pyarrow.array(measured.recipes, pyarrow.string())}
    for name in _COLUMNS[1:]:
        values = _rounded(getattr(measured, name))
        columns[name] = pyarrow.array(values, pyarrow.float32(), mask=np.isnan(values))
    about = {"format_version": FORMAT_VERSION, "conditions": dataclasses.asdict(measured.conditions)}
    table = pyarrow.table(columns).replace_schema_metadata({_METADATA: json.dumps(about)})
    parquet.write_table(
        table,
        path,
        compression="zstd",
        compression_level=19,
        use_dictionary=["noise"],
        use_byte_stream_split=["latency_s", "first_run_s", "again_s"],
        write_statistics=False,
    )


def read(path: Path) -> MeasuredNets:
    """Reads a compact file, or a Parquet file of rows."""
    _, parquet = _pyarrow()
    if not Path(path).is_file():
        raise InvalidArgumentError(f"'{path}': no such file of measured nets", path=str(path))
    try:
        table = parquet.read_table(path)
    except (OSError, ValueError) as error:  # pyarrow's errors are either
        raise InvalidArgumentError(f"'{path}' is no Parquet file: {error}", path=str(path)) from error
    about = json.loads((table.schema.metadata or {}).get(_METADATA, b"{}"))
    if not about:
        return from_rows(table.to_pandas())
    if about["format_version"] != FORMAT_VERSION:
        raise InvalidArgumentError(
            f"'{path}' has format version {about['format_version']}, this build reads {FORMAT_VERSION}", path=str(path)
        )
    if missing := [name for name in _COLUMNS if name not in table.column_names]:
        raise InvalidArgumentError(f"'{path}' is damaged: it lacks {', '.join(missing)}; make it again", path=str(path))
    recipes = table["recipe"].to_pylist()
    if nameless := sum(not isinstance(recipe, str) for recipe in recipes):
        raise InvalidArgumentError(
            f"'{path}' is damaged: {nameless} of its {len(recipes)} nets have no recipe; make it again", path=str(path)
        )
    columns = {name: table[name].to_numpy().astype(float) for name in _COLUMNS[1:]}
    return make(recipes, conditions=Conditions(**about["conditions"]), **columns)


def from_rows(table: pd.DataFrame, *, only_steady: bool = False) -> MeasuredNets:
    """Those rows of a campaign that are latencies of plain nets; they must be of one machine and protocol.
    only_steady: without those that were measured while the machine was busy, whose label is clean but noisy."""
    names = [field.name for field in dataclasses.fields(Conditions)]
    own = ("threads", "is_steady", "retimed_value")
    if missing := [name for name in (*rows.COLUMNS, *own) if name not in table.columns]:
        raise InvalidArgumentError(
            f"the table is neither of measured nets nor of a campaign: it lacks {', '.join(missing)}"
        )
    is_net = table.recipe.astype(str).str.partition(":")[0].isin(KINDS) & (table.quantity == LATENCY)
    table = table[is_net & table.value.notna() & (table.is_steady | (not only_steady))]
    if not len(table):
        recipes = " or ".join(f"{kind}:..." for kind in KINDS)
        raise InvalidArgumentError(f"the table has no {LATENCY} of a recipe {recipes}")
    is_first = table.protocol.str.endswith(FIRST_RUN)
    table = table.assign(protocol=table.protocol.str.removesuffix(FIRST_RUN))
    found = table[names].drop_duplicates()
    if len(found) > 1:
        differing = [name for name in names if found[name].nunique() > 1]
        values = "; ".join(f"{name}: {', '.join(map(repr, found[name].unique()[:4]))}" for name in differing)
        raise InvalidArgumentError(f"the rows are of several machines or protocols ({values}): select one of them")
    warm = table[~is_first].set_index("recipe")
    conditions = {name: found[name].iloc[0] for name in names}
    return make(
        warm.index,
        warm.value,
        Conditions(**conditions | {name: int(conditions[name]) for name in ("batch", "threads")}),
        first_run_s=table[is_first].set_index("recipe").value.reindex(warm.index),
        noise=warm.noise.astype(float),
        again_s=warm.retimed_value.astype(float),
    )


def _pyarrow() -> tuple[Any, Any]:
    return need("pyarrow", "data", "measured nets"), need("pyarrow.parquet", "data", "measured nets")


def main() -> None:
    """Makes the compact file of a campaign's rows."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("rows", type=Path, help="Parquet file of rows")
    parser.add_argument("out", type=Path, help="file to write")
    parser.add_argument("--only-steady", action="store_true", help="leave out what a busy machine measured")
    options = parser.parse_args()
    measured = from_rows(
        need("pandas", "data", "measured nets").read_parquet(options.rows), only_steady=options.only_steady
    )
    write(options.out, measured)
    size = options.out.stat().st_size
    print(f"{options.out}: {len(measured)} nets, {size} bytes, {size / len(measured):.1f} a net")


if __name__ == "__main__":
    main()

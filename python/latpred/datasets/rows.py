"""One row format for every source of measurements."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

MEASURED_HERE = "measured here"  # the source of rows that no table was published with
KEY_LENGTH = 16  # hexadecimal digits of a row's id: 64 bits


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One measured number: what ran, where, how it was measured, and who says so. Seconds, bytes, joules."""

    recipe: str  # rebuilds the network: "op:gemm?m=8&n=16&k=32", "anb:e=6,...&size=256"
    family: str  # what is left out together: "gemm", "anb"
    batch: int
    input: str  # sizes of one item: "3,256,256"; empty where the recipe says all
    device: str  # the device table's name
    runtime: str
    runtime_version: str
    precision: str
    value: float
    source: str
    licence: str
    protocol: str  # how it was measured, in words
    quantity: str = "latency_s"
    device_fingerprint: str = ""  # of a machine that we measured ourselves
    partition: str = ""
    layout: str = "nchw"
    input_on: str = "device"
    autograd: bool = False
    noise: float | None = None  # standard deviation over value
    samples: int | None = None
    executed: str = ""  # recipe of the variant that ran, where the source ran one; empty: `recipe` itself

    @property
    def id(self) -> str:
        """The same for the same measurement, whatever was measured: "same rows" means the same ids, each once."""
        key = "|".join(
            str(part)
            for part in (
                self.source, self.recipe, self.batch, self.input, self.device, self.device_fingerprint, self.partition,
                self.runtime, self.runtime_version, self.precision, self.layout, self.input_on, self.autograd,
                self.quantity,
            )
        )  # fmt: skip
        return hashlib.sha256(key.encode()).hexdigest()[:KEY_LENGTH]


COLUMNS = ("id", *(field.name for field in dataclasses.fields(Row)))


def executed(table: pd.DataFrame) -> pd.Series:
    """[N] the recipe of the network that each row timed. Tables older than the column have rows of no variants."""
    if "executed" not in table:
        return table.recipe
    return table.recipe.where(table.executed == "", table.executed)


def to_table(rows: Iterable[Row], is_unique: bool = True) -> pd.DataFrame:
    """The rows as a table sorted by id; of several rows with one id the first stays, or all of them in their order."""
    import pandas as pd

    table = pd.DataFrame([(row.id, *dataclasses.astuple(row)) for row in rows], columns=list(COLUMNS))
    table["samples"] = table.samples.astype("Int64")  # None is no number
    return (table.drop_duplicates("id") if is_unique else table).sort_values("id", kind="stable", ignore_index=True)

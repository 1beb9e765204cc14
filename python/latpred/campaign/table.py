"""The finished data set of a campaign: one Parquet file of rows, with what the campaign was in its metadata."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from latpred.campaign.journal import Journal
from latpred.campaign.spec import FIRST_RUN, LATENCY, Campaign
from latpred.datasets.recipe import parse
from latpred.datasets.rows import COLUMNS, KEY_LENGTH, Row
from latpred.errors import InvalidArgumentError
from latpred.optional import need
from latpred.writing import replacing

if TYPE_CHECKING:
    import pandas as pd

METADATA_KEY = b"latpred campaign"
# Beside the columns of every table of rows.
OWN_COLUMNS = ("position", "threads", "error", "is_steady", "retimed_value", "measured_at")


def family_of(recipe: str) -> str:
    """What is left out together: "fnn", "timm-resnet", an operator's name."""
    parsed = parse(recipe)
    letters = re.match(r"[a-z]+", parsed.name)
    if parsed.kind == "op":
        return parsed.name
    return f"{parsed.kind}-{letters[0]}" if letters else parsed.kind


def to_frame(journal: Journal, campaign: Campaign) -> pd.DataFrame:
    """Every row, in the campaign's order; a failed one has an error and no value."""
    pandas = need("pandas", "data", "the table of a campaign")
    devices = {fingerprint: facts["device"] for fingerprint, facts in journal.machines().items()}
    rows = [_line(found, campaign, devices[found["device_fingerprint"]]) for found in journal.rows()]
    table = pandas.DataFrame(rows, columns=[*COLUMNS, *OWN_COLUMNS])
    for name in ("value", "noise", "retimed_value"):
        table[name] = table[name].astype("float64")
    table["samples"] = table.samples.astype("Int64")
    return table


def _line(found: dict[str, Any], campaign: Campaign, device: str) -> tuple[Any, ...]:
    row = Row(
        recipe=found["recipe"],
        family=family_of(found["recipe"]),
        batch=found["batch"],
        input=found["input"],
        device=device,
        runtime=found["runtime"],
        runtime_version=found["runtime_version"],
        precision=found["precision"],
        value=found["value"],
        source=campaign.source,
        licence=campaign.licence,
        protocol=found["protocol"],
        quantity=found["quantity"],
        device_fingerprint=found["device_fingerprint"],
        noise=found["noise"],
        samples=found["samples"],
    )
    is_main = found["quantity"] == LATENCY and not found["protocol"].endswith(FIRST_RUN)
    own = {
        "position": found["position"],
        "threads": found["threads"],
        "error": found["error"] or "",
        "is_steady": bool(found["is_steady"]),
        "retimed_value": found["retimed_value"] if is_main else None,
        "measured_at": found["measured_at"],
    }
    # Row.id leaves out how often and how a network was timed: here these are rows of their own.
    key = f"{row.id}|{row.protocol}|{found['threads']}"
    values = {name: getattr(row, name) for name in COLUMNS if name != "id"}
    values["id"] = hashlib.sha256(key.encode()).hexdigest()[:KEY_LENGTH]
    return tuple((values | own)[name] for name in (*COLUMNS, *OWN_COLUMNS))


def kernel_frame(journal: Journal) -> pd.DataFrame:
    """A row for each kernel of each item; `nodes` is JSON."""
    return need("pandas", "data", "the table of a campaign").DataFrame(list(journal.kernels()))


def write(path: Path, table: pd.DataFrame, facts: dict[str, Any]) -> None:
    """Whole, or not there."""
    need("pyarrow", "data", "the table of a campaign")
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrow = pa.Table.from_pandas(table, preserve_index=False)
    arrow = arrow.replace_schema_metadata({**(arrow.schema.metadata or {}), METADATA_KEY: json.dumps(facts).encode()})
    with replacing(path) as unfinished:
        pq.write_table(arrow, unfinished, compression="zstd")


def read_facts(path: Path) -> dict[str, Any]:
    """What the file says of its campaign: the campaign, machines, noise floor, counts."""
    need("pyarrow", "data", "the table of a campaign")
    import pyarrow.parquet as pq

    metadata = pq.read_schema(path).metadata or {}
    if METADATA_KEY not in metadata:
        raise InvalidArgumentError(f"'{path}' is no table of a campaign: its metadata has none", path=str(path))
    facts: dict[str, Any] = json.loads(metadata[METADATA_KEY])
    return facts

"""What a campaign measured, in the user's own record too: by graph hash, so that other parts find it."""

from __future__ import annotations

from functools import lru_cache

from latpred import _core, record
from latpred.campaign.journal import Journal
from latpred.campaign.spec import FIRST_RUN
from latpred.datasets.recipe import parse
from latpred.datasets.recipe_builders import build
from latpred.errors import LatpredError

_UNTIL = "recorded until"  # a fact of the journal


def add_to_record(journal: Journal) -> None:
    """The rows since the last time, but for first runs and those of a machine that was not steady: an entry cannot say
    that it is one of these, and who looks the latency of a network up wants neither."""
    if record.MEASUREMENT not in record.kept():
        return
    since = journal.fact(_UNTIL) or 0.0
    devices = {fingerprint: facts["device"] for fingerprint, facts in journal.machines().items()}
    entries = [
        record.Entry(
            kind=record.MEASUREMENT,
            name=row["recipe"],
            batch=row["batch"],
            device=devices[row["device_fingerprint"]],
            quantity=row["quantity"],
            value=row["value"],
            graph_hash="" if row["input"] else _graph_hash(row["recipe"], row["batch"]),  # which is of its own sizes
            device_fingerprint=row["device_fingerprint"],
            runtime=row["runtime"],
            runtime_version=row["runtime_version"],
            precision=row["precision"],
            threads=row["threads"],
            noise=row["noise"],
            samples=row["samples"],
            how=row["protocol"],
            recorded_at=row["measured_at"],
        )
        for row in journal.rows()
        if row["value"] is not None and row["measured_at"] > since
        if row["is_steady"] and not row["protocol"].endswith(FIRST_RUN)
    ]
    if record.add(entries):  # what could not be written is tried again the next time
        journal.set_fact(_UNTIL, max(entry.recorded_at for entry in entries))


@lru_cache(1024)  # its rows stand together
def _graph_hash(recipe: str, batch: int) -> str:
    """Empty where a framework would have to build the network."""
    net = _core.GraphBuilder()
    try:
        build(net, parse(recipe))
        return net.build(batch).hash
    except LatpredError:
        return ""

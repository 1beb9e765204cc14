"""Timings for calibrate() out of the local record: what profile() and campaigns measured on the device that is asked
about, as it is asked about."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from latpred import _core, loading
from latpred._core import Graph
from latpred.calibration.rows import PROBE_PREFIX, Timing, positive
from latpred.campaign.spec import FIRST_RUN
from latpred.checks import check_text
from latpred.datasets.recipe import parse
from latpred.datasets.recipe_builders import build
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.host_device import NAME as HOST
from latpred.host_device import host_device
from latpred.record import MEASUREMENT, Entry, history
from latpred.workloads import RUNTIMES

_QUANTITY = "latency_s"
_DEFAULT_RUNTIME = "eager"
_DEFAULT_PRECISION = "default"
_PROCESSOR_PRECISIONS = (_DEFAULT_PRECISION, "fp32")  # the same arithmetic there
_CUDA = "cuda"  # how profile() names a GPU: "cuda", "cuda:1"
_LISTED = 5  # of what else the record has


def rows_from_record(
    networks: Any, *, device: str, partition: str | None, runtime: str | None, precision: str | None
) -> tuple[list[Timing], str | None]:
    """Rows as calibrate() takes them, under the names that the record has, and the fingerprint that they share.

    networks: Graphs, files or recipes whose timings are meant; None: every network in the record that a recipe names.
    """
    check_text("device", device)
    for name, value in {"partition": partition, "runtime": runtime, "precision": precision}.items():
        if value is not None:
            check_text(name, value)
    _check_runtime(runtime)
    # Campaigns once wrote their first runs, which are cold, into the record too.
    measured = [entry for entry in history(kind=MEASUREMENT, quantity=_QUANTITY) if not entry.how.endswith(FIRST_RUN)]
    fits = _condition(device, partition, runtime or _DEFAULT_RUNTIME, precision)
    entries = [entry for entry in measured if fits(entry)]
    if not entries:
        raise InvalidArgumentError(_nothing(device, partition, runtime, precision, measured))
    rows = _rows_of_recipes(entries) if networks is None else _rows_of(networks, entries)
    fingerprints = {entry.device_fingerprint for entry in entries}
    return rows, fingerprints.pop() if len(fingerprints) == 1 else None


# Which entries are meant.


def _check_runtime(runtime: str | None) -> None:
    """Refuses what is measured and not predicted: nothing could be corrected by it."""
    predicted = [row.name for row in _core.runtimes()]
    if runtime in RUNTIMES and runtime not in predicted:
        both = [name for name in RUNTIMES if name in predicted]
        raise InvalidArgumentError(
            f"timings under runtime '{runtime}' correct nothing, since no prediction is of it: measure the same "
            f"networks under one of {', '.join(both)}",
            valid=both,
        )


def _condition(device: str, partition: str | None, runtime: str, precision: str | None) -> Callable[[Entry], bool]:
    is_host = device == HOST
    row = host_device() if is_host else _core.device(device)
    if row.is_gpu:
        is_there = _is_gpu(row)
        threads, at = None, partition or ""
    else:
        is_there = _is_host if is_host else _is_processor(row)
        # A processor's calls say on how many threads they ran, and those are its part.
        threads, at = int(_core.partition(row if is_host else row.name, partition or "").sms), ""
    precisions = _PROCESSOR_PRECISIONS if not row.is_gpu and precision in _PROCESSOR_PRECISIONS else (precision,)

    def fits(entry: Entry) -> bool:
        return (
            is_there(entry)
            and entry.runtime == runtime
            and (precision is None or entry.precision in precisions)
            and entry.partition == at
            and (threads is None or entry.threads == threads)
        )

    return fits


def _is_host(entry: Entry) -> bool:
    return entry.device == HOST and entry.device_fingerprint == _core.host_facts().fingerprint


def _is_processor(row: _core.Device) -> Callable[[Entry], bool]:
    return lambda entry: entry.device == HOST and entry.device_fingerprint.startswith(row.vendor_name)


def _is_gpu(row: _core.Device) -> Callable[[Entry], bool]:
    """Campaigns write the table's name, profile() the driver's number; the fingerprint begins with the vendor's."""
    vendor = f"{row.vendor_name};"
    return lambda entry: (
        entry.device == row.name
        or (entry.device.partition(":")[0] == _CUDA and entry.device_fingerprint.startswith(vendor))
    )


def _nothing(
    device: str, partition: str | None, runtime: str | None, precision: str | None, measured: list[Entry]
) -> str:
    asked = ", ".join(
        [device, *([partition] if partition else []), runtime or _DEFAULT_RUNTIME, precision or "any precision"]
    )
    found = sorted({entry.where for entry in measured})
    more = f", and {len(found) - _LISTED} more" if len(found) > _LISTED else ""
    has = f"it has timings on {'; '.join(found[:_LISTED])}{more}" if found else "it holds no timing at all"
    return (
        f"the record has no timing on {asked} (a processor with all its threads, or partition='1cores'): {has}; "
        "latpred.profile() adds some"
    )


# Their networks.


def _row(graph: Graph, entry: Entry) -> Timing:
    latency_s = positive(f"the recorded latency of {entry.name} at batch {entry.batch}", entry.value)
    return Timing(entry.name, graph, latency_s, entry.noise or None)


def _rows_of(networks: Any, entries: list[Entry]) -> list[Timing]:
    """Of each network at every batch that was timed."""
    if isinstance(networks, (str, os.PathLike, Graph)) or not isinstance(networks, Iterable):
        networks = [networks]
    batches = sorted({entry.batch for entry in entries})
    rows = []
    for network in networks:
        graphs = {graph.hash: graph for graph in _at_batches(network, batches)}
        found = [_row(graphs[entry.graph_hash], entry) for entry in entries if entry.graph_hash in graphs]
        if not found:
            timed = ", ".join(sorted({entry.name for entry in entries})[:_LISTED])
            raise InvalidArgumentError(
                f"the record has no timing of {_name(network)} there; it has those of {timed}: networks are told by "
                "their structure and sizes, the batch included"
            )
        rows += found
    return rows


def _at_batches(network: Any, batches: list[int]) -> list[Graph]:
    if not isinstance(network, Graph):
        return [_opened(network, batch) for batch in batches]
    graphs = [network]
    for batch in batches:
        try:
            graphs.append(network.with_batch(batch))
        except LatpredError:  # its sizes do not follow the batch
            continue
    return graphs


def _opened(network: Any, batch: int) -> Graph:
    if not isinstance(network, (str, os.PathLike)):
        raise InvalidArgumentError(f"a network is a Graph, a file or a recipe, got {type(network).__name__}")
    if isinstance(network, str) and not Path(network).exists() and ":" in network:
        return _built(network, batch)
    return loading.Opened(network, framework=None, input=None, allow_pickle=False).at(batch)


def _built(text: str, batch: int) -> Graph:
    if text.startswith(PROBE_PREFIX):
        from latpred.calibration.probes import probe_graph

        return probe_graph(text, batch)
    net = _core.GraphBuilder()
    build(net, parse(text))
    return net.build(batch)


def _rows_of_recipes(entries: list[Entry]) -> list[Timing]:
    """Every network whose name says how it is built, as the hash confirms; what is left out is told."""
    graphs: dict[tuple[str, int], Graph | None] = {}
    rows, left_out = [], set()
    for entry in entries:
        key = (entry.name, entry.batch)
        if key not in graphs:
            try:
                graphs[key] = _built(*key)
            except LatpredError:
                graphs[key] = None
        graph = graphs[key]
        if graph is not None and entry.graph_hash in ("", graph.hash):
            rows.append(_row(graph, entry))
        else:
            left_out.add(entry.name)
    names = ", ".join(sorted(left_out))
    hint = f"of {names} the record keeps no more than timings: give the networks too, calibrate([graph, 'net.onnx'], "
    if not rows:
        raise InvalidArgumentError(hint + "from_record=True)")
    if left_out:
        warnings.warn(hint + f"from_record=True); {len(rows)} other timings are used", stacklevel=4)
    return rows


def _name(network: Any) -> str:
    from latpred.graph import name

    return name(network) if isinstance(network, Graph) else f"'{os.fspath(network)}'"

"""The answer: plain values in the units that their names say, tables when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.errors import LatpredError
from latpred.graph import name as graph_name
from latpred.host_device import NAME as HOST
from latpred.host_device import host_device
from latpred.prediction_tables import Kernel, PartitionChoice, PredictionTable, kernel_table, partition_table
from latpred.request import make_request
from latpred.tables import Table, html_table, number
from latpred.units import MEBIBYTE, MEGABYTE, MILLISECONDS_PER_S

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latpred._core import Answer, Device, Graph, PredictRequest, Session
    from latpred.calibration import Calibration
    from latpred.fusion.optimized import OptimizedGraph


Pair = tuple[float, float]


def _scaled_pair(pair: Pair, factor: float) -> Pair:
    return pair[0] * factor, pair[1] * factor


@dataclass(frozen=True)
class Fit:
    """Whether the memory fits, judged by the upper end of its interval; true in an `if` when it does."""

    fits: bool
    needed_mb: float
    usable_mb: float
    device: str
    partition: str | None

    @property
    def margin_mb(self) -> float:
        """What is left over; negative: what is missing."""
        return self.usable_mb - self.needed_mb

    def __bool__(self) -> bool:
        return self.fits

    def __repr__(self) -> str:
        where = " ".join(filter(None, (self.device, self.partition)))
        margin = f"{number(abs(self.margin_mb))} MB {'to spare' if self.fits else 'missing'}"
        verdict = "fits" if self.fits else "does not fit"
        return f"{verdict} {where}: up to {number(self.needed_mb)} MB of {number(self.usable_mb)} MB, {margin}"


class Prediction:
    """Latency, memory, energy and MIG profile of one call on the whole batch.

    `memory, energy, latency, mig = prediction` unpacks memory_mb, energy_j, latency_ms and mig_profile.
    """

    def __init__(
        self,
        answer: Answer,
        graph: Graph,
        request: PredictRequest,
        session: Session,
        calibration: Calibration | None = None,
    ):
        self._answer = answer
        self._graph = graph
        self._request = request
        self._session = session
        self._calibration = calibration

    # What was asked.

    @property
    def graph(self) -> Graph:
        return self._graph

    @property
    def name(self) -> str:
        """The file's name."""
        return graph_name(self._graph)

    @property
    def batch(self) -> int:
        return self._answer.batch

    @property
    def device(self) -> str:
        """The device table's name; on "cpu" what the system calls this machine's processor."""
        return self._answer.device

    @property
    def is_on_host(self) -> bool:
        """Whether it is about this machine: its processor's name need not be in the device table."""
        return self._request.device == HOST

    @property
    def device_row(self) -> Device:
        """The row of the device table; on "cpu" this machine by what its system says, without its speed."""
        return host_device() if self.is_on_host else _core.device(self._request.device)

    @property
    def partition(self) -> str | None:
        """None: the whole device."""
        return self._answer.partition or None

    @property
    def runtime(self) -> str:
        return self._answer.runtime

    @property
    def runtime_version(self) -> str | None:
        """The measured version that was asked for, whole; None: none was."""
        return self._answer.runtime_version or None

    @property
    def precision(self) -> str:
        return self._answer.precision

    @property
    def predictor(self) -> str:
        return self._answer.predictor

    @property
    def is_of_whole_call(self) -> bool:
        """Whether the predictor sees a call as one: it has no times of kernels, and knows nothing of MIG slices."""
        return self.predictor not in [row.name for row in _core.predictors()]

    @property
    def mig_rule(self) -> str:
        return self._answer.mig_rule

    @property
    def calibration(self) -> Calibration | None:
        """The user's own timings that corrected the latency; None: the shipped measurements alone."""
        return self._calibration

    # What is answered.

    @property
    def latency_s(self) -> float:
        return self._answer.latency_s

    @property
    def latency_ms(self) -> float:
        return self._answer.latency_s * MILLISECONDS_PER_S

    @property
    def throughput_per_s(self) -> float | None:
        """Batch items per second, calls one after another; None for a network of views, which takes no time."""
        return self.batch / self._answer.latency_s if self._answer.latency_s > 0 else None

    @property
    def memory_mb(self) -> float:
        """Peak of the process on the device, in 10^6 bytes."""
        return self._answer.memory.total_bytes / MEGABYTE

    @property
    def memory_mib(self) -> float:
        """The same in 2^20 bytes, the unit of nvidia-smi."""
        return self._answer.memory.total_bytes / MEBIBYTE

    @property
    def memory_parts(self) -> dict[str, float]:
        """What memory_mb is made of, in 10^6 bytes; the values add up to it."""
        memory = self._answer.memory
        return {
            "weights_mb": memory.weights_bytes / MEGABYTE,
            "inputs_mb": memory.inputs_bytes / MEGABYTE,
            "activations_mb": memory.activations_peak_bytes / MEGABYTE,
            "workspace_mb": memory.workspace_bytes / MEGABYTE,
            "allocator_mb": memory.allocator_bytes / MEGABYTE,
            "context_mb": memory.context_bytes / MEGABYTE,
        }

    @property
    def peak_node(self) -> str | None:
        """The node that runs when the activations are largest."""
        node_id = self._answer.memory.peak_node
        return self._graph.nodes[node_id].name if node_id >= 0 else None

    @property
    def energy_j(self) -> float | None:
        """Board energy of the call, idle power included; None where it is unknown."""
        return self._answer.energy_j

    @property
    def mean_power_w(self) -> float | None:
        return self._answer.mean_power_w

    @property
    def mig_profile(self) -> str | None:
        """None: the device has no MIG, or no profile is large enough; `partitions` says which."""
        return self._answer.mig_profile

    @property
    def intervals(self) -> dict[str, Pair | None]:
        """80 % intervals (low, high); None where the quantity is unknown."""
        return {
            "latency_ms": _scaled_pair(self._answer.latency_interval_s, MILLISECONDS_PER_S),
            "memory_mb": _scaled_pair(self._answer.memory_interval_bytes, 1 / MEGABYTE),
            "energy_j": self._answer.energy_interval_j,
        }

    @property
    def provenance(self) -> dict[str, str | None]:
        """How each number was obtained: measured, fitted, interpolated, extrapolated or modelled."""
        return {
            "latency_ms": self._answer.latency_provenance,
            "memory_mb": self._answer.memory_provenance,
            "energy_j": self._answer.energy_provenance or None,
        }

    @property
    def coverage(self) -> list[str]:
        """A sentence for each thing that the latency rests on, or that lies outside what was measured."""
        return self._answer.coverage

    @property
    def unknown_operators(self) -> list[str]:
        """Operators that no table knows: counted as memory traffic."""
        return self._answer.unknown_operators

    @property
    def fusion(self) -> str:
        """What decided which nodes are one kernel: rules by hand, or what was learnt from a runtime."""
        return f"rules for {self.runtime}" if _core.runtime(self.runtime).fuses else f"{self.runtime} fuses nothing"

    # Tables, computed when asked for.

    @cached_property
    def kernels(self) -> Table[Kernel]:
        """What the runtime executes, in order, with each kernel's time; rows add up to latency_ms. Refused where the
        predictor answers for a whole call."""
        rows = self._session.kernels(self._graph, self._request)
        return kernel_table(rows, self._answer.latency_s)

    @cached_property
    def optimized(self) -> OptimizedGraph:
        """The network as its runtime executes it: kernels with members, types, times and bounds; drawings and
        differences."""
        from latpred.fusion.optimized import of_prediction

        return of_prediction(self)

    @cached_property
    def partitions(self) -> Table[PartitionChoice]:
        """The same network on every MIG profile of the device; empty where it has none. Refused where there are some
        and the predictor answers for a whole call."""
        rows = self._session.partitions(self._graph, self._request)
        return partition_table(rows)

    def fits(self, device: str | None = None, partition: str | None = None) -> Fit:
        """Whether the memory fits on a device, or a part of it; without arguments: where it was predicted for."""
        request = self._elsewhere(device, partition)
        row = _core.memory_fit(self._graph, request)
        return Fit(
            fits=row.fits,
            needed_mb=row.needed_bytes / MEGABYTE,
            usable_mb=row.usable_bytes / MEGABYTE,
            device=request.device_name,
            partition=request.partition or None,
        )

    def largest_batch(self, device: str | None = None, partition: str | None = None) -> int:
        """The largest batch whose memory fits; 0 where batch 1 does not."""
        return _core.largest_batch(self._graph, self._elsewhere(device, partition))

    def _elsewhere(self, device: str | None, partition: str | None) -> PredictRequest:
        asked = self.asked()
        if device is not None:
            asked["device"], asked["partition"] = device, None
        if partition is not None:
            asked["partition"] = partition
        return make_request(**asked)

    def asked(self) -> dict[str, Any]:
        """The arguments of predict() that it was made with, but for the network."""
        request = self._request
        return {
            "device": request.device,
            "partition": request.partition or None,
            "runtime": request.runtime or None,
            "runtime_version": request.runtime_version or None,
            "precision": request.precision,
            "input_on": request.input_on,
            "autograd": request.autograd,
            "predictor": request.predictor or None,
            "mig_rule": request.mig_rule,
            "strict": request.strict,
            "calibration": self._calibration,
        }

    # How it is handed on.

    def __copy__(self) -> Prediction:
        return self  # it never changes

    def __deepcopy__(self, memo: Any) -> Prediction:
        return self

    def __reduce__(self) -> str:
        raise LatpredError(
            "a Prediction cannot be pickled: it holds objects of the compiled part; hand on p.to_dict() or "
            "p.to_pandas(), of a table .to_dicts() or .to_pandas(), or call predict_many(), which answers on threads"
        )

    # How it shows itself.

    def __iter__(self) -> Iterator[Any]:
        """DIPPM's order."""
        return iter((self.memory_mb, self.energy_j, self.latency_ms, self.mig_profile))

    def to_dict(self) -> dict[str, Any]:
        """Plain values only, ready for JSON."""
        return {
            "name": self.name,
            "graph_hash": self._graph.hash,
            "batch": self.batch,
            "device": self.device,
            "partition": self.partition,
            "runtime": self.runtime,
            "runtime_version": self.runtime_version,
            "precision": self.precision,
            "predictor": self.predictor,
            "latency_ms": self.latency_ms,
            "throughput_per_s": self.throughput_per_s,
            "memory_mb": self.memory_mb,
            "memory_mib": self.memory_mib,
            "memory_parts": self.memory_parts,
            "energy_j": self.energy_j,
            "mean_power_w": self.mean_power_w,
            "mig_profile": self.mig_profile,
            "mig_rule": self.mig_rule,
            "calibration": self._calibration_dict(),
            "intervals": {name: None if pair is None else list(pair) for name, pair in self.intervals.items()},
            "provenance": self.provenance,
            "coverage": self.coverage,
            "unknown_operators": self.unknown_operators,
        }

    def _calibration_dict(self) -> dict[str, Any] | None:
        used = self._calibration
        if used is None:
            return None
        names = "name scale host_scale kind_factors log_sd num_rows"
        return {name: getattr(used, name) for name in names.split()}

    def to_pandas(self) -> pandas.DataFrame:
        """A frame of one row. Needs latpred[data]."""
        return PredictionTable([self]).to_pandas()

    def plot(self, *, ax: Axes | None = None) -> Figure:
        """The roofline plot of the kernels; see latpred.plots.roofline. Needs latpred[plot]."""
        from latpred import roofline_plot

        return roofline_plot.draw(self, ax)

    def where(self) -> str:
        return " ".join(filter(None, (self.device, self.partition)))

    def _executor(self) -> str:
        return f"{self.runtime} ({self.runtime_version})" if self.runtime_version else self.runtime

    def _memory_format(self) -> str:
        is_told = self._graph.channels_last and _core.runtime(self.runtime).strided_views
        return ", channels last" if is_told else ""

    def __repr__(self) -> str:
        low, high = _scaled_pair(self._answer.latency_interval_s, MILLISECONDS_PER_S)
        precision = "" if self.precision == "default" else f" {self.precision}"
        energy = "energy unknown" if self.energy_j is None else f"{number(self.energy_j)} J"
        mig = f", MIG {self.mig_profile}" if self.mig_profile else ""
        how = self._answer.latency_provenance
        if self._calibration is not None:
            how += f", calibration {self._calibration.summary()}"
        return (
            f"{self.name} on {self.where()}, batch {self.batch}, {self._executor()}{precision}{self._memory_format()}: "
            f"{number(self.latency_ms)} ms ({number(low)} - {number(high)}), {number(self.memory_mb)} MB, "
            f"{energy}{mig} [{how}]"
        )

    def facts(self) -> list[tuple[str, str, str, str]]:
        """Quantity, value, 80 % interval and provenance, as words."""
        intervals = self.intervals

        def row(label: str, name: str, value: float | None, unit: str) -> tuple[str, str, str, str]:
            pair = intervals[name]
            interval = "" if pair is None else f"{number(pair[0])} - {number(pair[1])} {unit}"
            return (
                label,
                "unknown" if value is None else f"{number(value)} {unit}",
                interval,
                self.provenance[name] or "",
            )

        return [
            row("latency", "latency_ms", self.latency_ms, "ms"),
            ("throughput", "" if self.throughput_per_s is None else f"{number(self.throughput_per_s)} per s", "", ""),
            row("memory", "memory_mb", self.memory_mb, "MB"),
            row("energy", "energy_j", self.energy_j, "J"),
            ("MIG profile", self.mig_profile or "none", "", f"rule: {self.mig_rule}"),
            *([] if self._calibration is None else [("calibration", self._calibration.summary(), "", "your timings")]),
        ]

    def headline(self) -> str:
        return (
            f"{self.name} on {self.where()}, batch {self.batch}, {self._executor()}, precision {self.precision}"
            f"{self._memory_format()}"
        )

    def _repr_html_(self) -> str:
        from html import escape

        table = html_table(
            self.facts(), ["", "predicted", "80 % interval", "how"], title=self.headline(), is_left=[True] * 4
        )
        notes = [*self.coverage]
        if self.unknown_operators:
            notes.append("unknown operators: " + ", ".join(self.unknown_operators))
        return table + "".join(f"<p>{escape(note)}</p>" for note in notes)

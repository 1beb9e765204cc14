"""Plots of predictions, with matplotlib (the extra latpred[plot]). Each returns its figure; nothing opens a window."""

from __future__ import annotations

import io
import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from latpred import _core, api
from latpred.errors import InvalidArgumentError
from latpred.host_device import measured_host
from latpred.optional import need
from latpred.prediction import Prediction
from latpred.prediction_tables import NO_KERNELS
from latpred.tables import number
from latpred.units import MILLISECONDS_PER_S

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latpred._core import Graph
    from latpred.prediction_tables import Kernel

# Okabe and Ito's colours: told apart by colour-blind readers too.
_COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A800")
_OTHER_COLOR = "#999999"
_ROOF_COLOR = "#333333"
_LARGEST_MARKER = 260.0  # points^2, of the longest kernel
_SMALLEST_MARKER = 14.0


def _figure(ax: Axes | None, figsize: tuple[float, float]) -> tuple[Figure, Axes]:
    need("matplotlib", "plot", "plotting")
    if ax is not None:
        figure: Any = ax.get_figure()
        return figure, ax
    # Not pyplot: it would choose a window system and keep every figure alive.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    class ShownFigure(Figure):
        """Shows itself in a notebook."""

        def _repr_png_(self) -> bytes:
            written = io.BytesIO()
            self.savefig(written, format="png")
            return written.getvalue()

    figure = ShownFigure(figsize=figsize, layout="constrained")
    FigureCanvasAgg(figure)
    return figure, figure.subplots()


def _predicted(network: Prediction | Graph | str | os.PathLike[str], options: dict[str, Any]) -> Prediction:
    if isinstance(network, _core.Graph):
        return api.predict(graph=network, **options)
    if not isinstance(network, Prediction):
        return api.predict(network, **options)
    if options:
        raise InvalidArgumentError(f"{', '.join(options)}: a Prediction has been made already: leave them out")
    return network


def roofline(
    prediction: Prediction | Graph | str | os.PathLike[str], *, ax: Axes | None = None, **options: Any
) -> Figure:
    """Each kernel's FLOP rate over its arithmetic intensity, under the rates that the device can hold.

    The area of a mark grows with the share of the latency; its colour is the kind. Kernels that compute nothing
    (copies, casts) have no place on this plot; the title says how much of the time it shows.

    prediction: or the network, whose prediction is made with options: those of predict (device, batch, ...).
    """
    prediction = _predicted(prediction, options)
    kernels = [kernel for kernel in prediction.kernels if kernel.flops > 0 and kernel.bytes > 0]
    figure, axes = _figure(ax, (8.0, 5.0))
    longest = max((kernel.share for kernel in kernels), default=1.0)
    intensities = [kernel.flops / kernel.bytes for kernel in kernels]
    low, high = min(intensities, default=0.1) / 3, max(intensities, default=100) * 3
    _draw_roofs(axes, prediction, low, high)
    for label, color, members in _by_kind(kernels):
        axes.scatter(
            [kernel.flops / kernel.bytes for kernel in members],
            [kernel.flops / (kernel.latency_ms / MILLISECONDS_PER_S) for kernel in members],
            s=[max(_SMALLEST_MARKER, _LARGEST_MARKER * kernel.share / longest) for kernel in members],
            color=color,
            alpha=0.65,
            edgecolors="white",
            linewidths=0.6,
            label=label,
            zorder=3,
        )
    shown = sum(kernel.share for kernel in kernels)
    axes.set(xscale="log", yscale="log", xlabel="FLOPs per byte", ylabel="FLOP/s")
    axes.set_xlim(low, high)
    axes.set_title(
        f"{prediction.name} on {prediction.where()}, batch {prediction.batch}, {prediction.runtime}: "
        f"{number(prediction.latency_ms)} ms\n{shown:.0%} of the time is in the kernels shown",
        fontsize=10,
        loc="left",
    )
    axes.grid(True, which="major", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    if kernels:
        legend = axes.legend(fontsize=8, loc="lower right", title="share of the time", title_fontsize=8)
        for handle in legend.legend_handles:
            handle.set_sizes([50.0])  # type: ignore[union-attr]
    return figure


def _draw_roofs(axes: Axes, prediction: Prediction, low: float, high: float) -> None:
    """The bandwidth's slope and one level for each arithmetic in use, as the answer has them."""
    if all(kernel.kind in NO_KERNELS for kernel in prediction.kernels):
        return
    bandwidth, peaks = _host_rates(prediction) if prediction.is_on_host else _table_rates(prediction)
    top = max(peaks.values(), default=bandwidth * high)
    axes.plot([low, top / bandwidth], [low * bandwidth, top], color=_ROOF_COLOR, linewidth=1.4, zorder=2)
    for arithmetic, peak in peaks.items():
        ridge = peak / bandwidth
        axes.plot([ridge, max(high, ridge)], [peak, peak], color=_ROOF_COLOR, linewidth=1.4, zorder=2)
        axes.annotate(
            f"{arithmetic} {number(peak / 1e12)} TFLOP/s",
            (min(high, max(high, ridge)), peak),
            xytext=(-4, 4),
            textcoords="offset points",
            ha="right",
            fontsize=8,
            color=_ROOF_COLOR,
        )
    middle = (low * top / bandwidth) ** 0.5  # of the slope, on its logarithmic axis
    axes.annotate(
        f"{number(bandwidth / 1e9)} GB/s",
        (middle, middle * bandwidth),
        xytext=(-8, 4),
        textcoords="offset points",
        ha="right",
        fontsize=8,
        color=_ROOF_COLOR,
    )


def _table_rates(prediction: Prediction) -> tuple[float, dict[str, float]]:
    """Bytes/s, and FLOP/s of each arithmetic, of a device of the table."""
    made = _core.fuse(prediction.graph, prediction.runtime, prediction.precision)
    features = _core.featurize(made, prediction.device, prediction.partition or "")
    peaks: dict[str, float] = {}
    for kernel, peak in zip(made.rows, features.peak_flops_per_s, strict=True):
        if kernel.macs > 0:
            peaks[kernel.arithmetic] = max(peaks.get(kernel.arithmetic, 0.0), float(peak))
    return float(max(features.bandwidth_bytes_per_s)), peaks


def _host_rates(prediction: Prediction) -> tuple[float, dict[str, float]]:
    """The same of this machine, as measured on it; a row of the table that bears its name has other rates."""
    host, _ = measured_host()
    share = _core.partition(host, prediction.partition or "").sm_share
    peaks = {}
    for arithmetic in dict.fromkeys(kernel.arithmetic for kernel in prediction.kernels if kernel.macs > 0):
        peak = host.peak_flops_per_s(arithmetic)
        if peak is not None:
            peaks[arithmetic] = peak * host.sustained_share.value * share
    # Its bandwidth is that of the bytes of a call, which bounds of kernels hold; where memory bounds none, the slowest.
    bandwidths = [
        kernel.bytes / (kernel.roofline_ms / MILLISECONDS_PER_S)
        for kernel in prediction.kernels
        if kernel.bound == "memory" and kernel.roofline_ms
    ]
    return max(bandwidths, default=host.bandwidth_bytes_per_s), peaks


def _by_kind(kernels: Sequence[Kernel]) -> list[tuple[str, str, list[Kernel]]]:
    """Kinds by their share of the time; those beyond the colours go together."""
    groups: dict[str, list[Kernel]] = {}
    for kernel in kernels:
        groups.setdefault(kernel.kind, []).append(kernel)
    ordered = sorted(groups.items(), key=lambda item: -sum(kernel.share for kernel in item[1]))
    named, rest = ordered[: len(_COLORS)], ordered[len(_COLORS) :]
    rows = [
        (f"{kind} {sum(kernel.share for kernel in members):.0%}", color, members)
        for (kind, members), color in zip(named, _COLORS, strict=False)
    ]
    if rest:
        members = [kernel for _, group in rest for kernel in group]
        rows.append((f"others {sum(kernel.share for kernel in members):.0%}", _OTHER_COLOR, members))
    return rows


def batch_latency(
    graph: Graph | str | os.PathLike[str],
    batches: Iterable[int] = (1, 2, 4, 8, 16, 32, 64, 128),
    device: str | Sequence[str] = "A100",
    *,
    ax: Axes | None = None,
    **options: Any,
) -> Figure:
    """Latency over the batch, with the 80 % interval as a band; hollow marks are batches that do not fit.

    device: one or several. options: those of predict_many (partition, runtime, precision, ...).
    """
    devices = [device] if isinstance(device, str) else list(device)
    sizes = sorted(set(batches))
    table = api.predict_many([graph], batches=sizes, devices=devices, **options)
    figure, axes = _figure(ax, (7.0, 4.5))
    for index in range(len(devices)):
        predictions = table[index :: len(devices)]
        color = _COLORS[index % len(_COLORS)]
        bands = [prediction.intervals["latency_ms"] or (0.0, 0.0) for prediction in predictions]
        latencies = [prediction.latency_ms for prediction in predictions]
        axes.fill_between(sizes, [low for low, _ in bands], [high for _, high in bands], color=color, alpha=0.15, lw=0)
        axes.plot(sizes, latencies, color=color, linewidth=1.6, label=predictions[0].where(), zorder=3)
        fits = [bool(prediction.fits()) for prediction in predictions]
        for is_fit in (True, False):
            points = [
                (size, latency) for size, latency, fit in zip(sizes, latencies, fits, strict=True) if fit == is_fit
            ]
            axes.scatter(
                [size for size, _ in points],
                [latency for _, latency in points],
                s=28,
                facecolors=color if is_fit else "white",
                edgecolors=color,
                linewidths=1.4,
                zorder=4,
            )
    first = table[0]
    axes.set(xscale="log", yscale="log", xlabel="batch", ylabel="latency, ms")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    axes.set_title(f"{first.name}, {first.runtime}, precision {first.precision}", fontsize=10, loc="left")
    axes.grid(True, which="major", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, title="band: 80 % interval", title_fontsize=8)
    return figure


def partitions(
    graph: Graph | str | os.PathLike[str], device: str = "A100", *, ax: Axes | None = None, **options: Any
) -> Figure:
    """Latency over the part of the device: the curve of MPS shares and a mark for each MIG profile of a GPU, with 80 %
    intervals; on a processor, beside neighbours that read memory for a share of their time.

    options: those of predict (runtime, precision, ...), but for partition.
    """
    from latpred import partial_devices
    from latpred.graph import name as graph_name

    loaded = graph if isinstance(graph, _core.Graph) else api.load(graph)
    rows = list(partial_devices.latency_on_parts(loaded, device, **options))
    is_gpu = rows[0].kind != partial_devices.NEIGHBOUR
    figure, axes = _figure(ax, (7.0, 4.5))
    curve = [row for row in rows if row.kind != partial_devices.MIG]
    xs = [row.sms if is_gpu else 100 * row.share for row in curve]
    label = "MPS shares" if is_gpu else "beside a neighbour"
    axes.fill_between(
        xs, [row.latency_ms_low for row in curve], [row.latency_ms_high for row in curve], color=_COLORS[0], alpha=0.15,
        lw=0,
    )  # fmt: skip
    axes.plot(xs, [row.latency_ms for row in curve], color=_COLORS[0], marker="o", markersize=4, label=label, zorder=3)
    slices = [row for row in rows if row.kind == partial_devices.MIG]
    if slices:
        lows = [row.latency_ms - row.latency_ms_low for row in slices]
        highs = [row.latency_ms_high - row.latency_ms for row in slices]
        axes.errorbar(
            [row.sms for row in slices], [row.latency_ms for row in slices], yerr=[lows, highs], color=_COLORS[3],
            fmt="D", markersize=5, linewidth=1.0, capsize=3, label="MIG profiles", zorder=4,
        )  # fmt: skip
        for row in slices:
            axes.annotate(row.name, (row.sms, row.latency_ms), xytext=(6, 4), textcoords="offset points", fontsize=7)
    axes.set(xlabel="multiprocessors" if is_gpu else "neighbour reads memory, % of its time", ylabel="latency, ms")
    axes.set_ylim(bottom=0)
    axes.set_title(f"{graph_name(loaded)}, batch {loaded.batch}, on parts of {device}", fontsize=10, loc="left")
    axes.grid(True, which="major", color="#e5e5e5", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.legend(fontsize=8, title="band: 80 % interval", title_fontsize=8)
    return figure

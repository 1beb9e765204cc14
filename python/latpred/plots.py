"""Plots of predictions, with matplotlib (the extra latpred[plot]). Each returns its figure; nothing opens a window."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from latpred import _core, api, partial_devices, roofline_plot
from latpred.errors import InvalidArgumentError
from latpred.graph import name as graph_name
from latpred.prediction import Prediction
from latpred.roofline_plot import COLORS, new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latpred._core import Graph


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
    return roofline_plot.draw(_predicted(prediction, options), ax)


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
    figure, axes = new_figure(ax, (7.0, 4.5))
    for index in range(len(devices)):
        predictions = table[index :: len(devices)]
        color = COLORS[index % len(COLORS)]
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
    loaded = graph if isinstance(graph, _core.Graph) else api.load(graph)
    rows = list(partial_devices.latency_on_parts(loaded, device, **options))
    is_gpu = rows[0].kind != partial_devices.NEIGHBOUR
    figure, axes = new_figure(ax, (7.0, 4.5))
    curve = [row for row in rows if row.kind != partial_devices.MIG]
    xs = [row.sms if is_gpu else 100 * row.share for row in curve]
    label = "MPS shares" if is_gpu else "beside a neighbour"
    axes.fill_between(
        xs, [row.latency_ms_low for row in curve], [row.latency_ms_high for row in curve], color=COLORS[0], alpha=0.15,
        lw=0,
    )  # fmt: skip
    axes.plot(xs, [row.latency_ms for row in curve], color=COLORS[0], marker="o", markersize=4, label=label, zorder=3)
    slices = [row for row in rows if row.kind == partial_devices.MIG]
    if slices:
        lows = [row.latency_ms - row.latency_ms_low for row in slices]
        highs = [row.latency_ms_high - row.latency_ms for row in slices]
        axes.errorbar(
            [row.sms for row in slices], [row.latency_ms for row in slices], yerr=[lows, highs], color=COLORS[3],
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

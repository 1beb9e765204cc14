"""The roofline plot of a prediction, and what all plots share: colours, and figures that open no window."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.host_device import measured_host
from latpred.optional import need
from latpred.prediction_tables import NO_KERNELS
from latpred.tables import number
from latpred.units import MILLISECONDS_PER_S

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from latpred.prediction import Prediction
    from latpred.prediction_tables import Kernel

# Okabe and Ito's colours: told apart by colour-blind readers too.
COLORS = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#56B4E9", "#B8A800")
_OTHER_COLOR = "#999999"
_ROOF_COLOR = "#333333"
_LARGEST_MARKER = 260.0  # points^2, of the longest kernel
_SMALLEST_MARKER = 14.0


def new_figure(ax: Axes | None, figsize: tuple[float, float]) -> tuple[Figure, Axes]:
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


def draw(prediction: Prediction, ax: Axes | None = None) -> Figure:
    """What plots.roofline says."""
    kernels = [kernel for kernel in prediction.kernels if kernel.flops > 0 and kernel.bytes > 0]
    figure, axes = new_figure(ax, (8.0, 5.0))
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
    named, rest = ordered[: len(COLORS)], ordered[len(COLORS) :]
    rows = [
        (f"{kind} {sum(kernel.share for kernel in members):.0%}", color, members)
        for (kind, members), color in zip(named, COLORS, strict=False)
    ]
    if rest:
        members = [kernel for _, group in rest for kernel in group]
        rows.append((f"others {sum(kernel.share for kernel in members):.0%}", _OTHER_COLOR, members))
    return rows

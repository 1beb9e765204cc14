"""Drawings of an optimized graph: Graphviz's language, SVG, and the trace that Chrome and Perfetto show."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

from latpred.tables import number, scaled
from latpred.units import MICROSECONDS_PER_S

if TYPE_CHECKING:
    from latpred.fusion.optimized import OptimizedGraph, OptimizedKernel

# ColorBrewer's OrRd, from no time to the longest kernel's; its darkest are read with white letters.
_COLORS = ("#fff7ec", "#fee8c8", "#fdd49e", "#fdbb84", "#fc8d59", "#ef6548", "#d7301f", "#990000")
_FIRST_DARK = 5
_UNTIMED = "#eeeeee"
_BOX_WIDTH, _BOX_HEIGHT = 210, 44
_GAP_X, _GAP_Y, _MARGIN = 24, 26, 16
_HEADER = 28
_LANE = 18  # beside the boxes, for edges that pass some
_LETTER_WIDTH = 7  # of the headline
_LETTERS = 32  # that fit into a box


class Picture(str):
    """SVG; a notebook shows it."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def _color(kernel: OptimizedKernel, longest_s: float) -> tuple[str, str]:
    """Of the box and of its letters. The root spreads the many short kernels."""
    if kernel.latency_s is None or longest_s <= 0:
        return _UNTIMED, "black"
    place = min(len(_COLORS) - 1, int(len(_COLORS) * (kernel.latency_s / longest_s) ** 0.5))
    return _COLORS[place], "white" if place >= _FIRST_DARK else "black"


def _longest_s(graph: OptimizedGraph) -> float:
    return max((graph.kernels[place].latency_s or 0.0 for place in _drawn(graph)), default=0.0)


def _time_text(kernel: OptimizedKernel) -> str:
    time = "not timed" if kernel.latency_s is None else f"{number(kernel.latency_s * MICROSECONDS_PER_S)} us"
    return f"{time}, {kernel.bound}-bound" if kernel.bound else time


def _drawn(graph: OptimizedGraph) -> list[int]:
    """Copies and waits have no place between kernels."""
    return [place for place, kernel in enumerate(graph.kernels) if kernel.members]


def dot(graph: OptimizedGraph) -> str:
    """A box for each kernel that computes a node."""
    longest_s = _longest_s(graph)
    lines = [
        "digraph optimized {",
        f'  label="{_quoted(graph.headline())}"; labelloc=t;',
        '  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=10];',
    ]
    for place in _drawn(graph):
        kernel = graph.kernels[place]
        fill, letters = _color(kernel, longest_s)
        names = ", ".join(graph.graph.nodes[node].name for node in kernel.members)
        label = f"{_quoted(kernel.title)}\\n{_quoted(_time_text(kernel))}"
        lines.append(
            f'  k{place} [label="{label}", fillcolor="{fill}", fontcolor="{letters}", '
            f'tooltip="{_quoted(f"{kernel.type}: {names}")}"];'
        )
    lines += [f"  k{source} -> k{target};" for source, target in graph.edges.T]
    return "\n".join([*lines, "}", ""])


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")


def svg(graph: OptimizedGraph) -> Picture:
    """Kernels in rows: one stands below all that it reads."""
    rows = _rows(graph)
    widest = max((len(row) for row in rows), default=1)
    headline = graph.headline()
    boxes = widest * _BOX_WIDTH + (widest - 1) * _GAP_X
    width = 2 * _MARGIN + max(boxes + 2 * _LANE, _LETTER_WIDTH * len(headline))
    height = 2 * _MARGIN + _HEADER + len(rows) * (_BOX_HEIGHT + _GAP_Y)
    corner: dict[int, tuple[float, float]] = {}
    level_of = {place: level for level, row in enumerate(rows) for place in row}
    ends = []  # of each row, its right one
    for level, row in enumerate(rows):
        ends.append((width + len(row) * (_BOX_WIDTH + _GAP_X) - _GAP_X) / 2)
        left = (width - len(row) * _BOX_WIDTH - (len(row) - 1) * _GAP_X) / 2
        for column, place in enumerate(row):
            corner[place] = (
                left + column * (_BOX_WIDTH + _GAP_X),
                _MARGIN + _HEADER + level * (_BOX_HEIGHT + _GAP_Y),
            )
    longest_s = _longest_s(graph)
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} font-family="Helvetica, Arial, sans-serif" font-size="12">',
        f'<text x="{_MARGIN}" y="{_MARGIN + 8}" font-weight="bold">{escape(headline)}</text>',
        *(
            _line(corner[source], corner[target], max(ends[level_of[source] + 1 : level_of[target]], default=None))
            for source, target in graph.edges.T.tolist()
        ),
        *(_box(graph, place, corner[place], longest_s) for place in corner),
        "</svg>",
    ]
    return Picture("\n".join(parts) + "\n")


def _rows(graph: OptimizedGraph) -> list[list[int]]:
    """Places of kernels by their longest way from an input; within a row near what they read."""
    sources: dict[int, list[int]] = {place: [] for place in _drawn(graph)}
    for source, target in graph.edges.T.tolist():
        sources[target].append(source)
    level: dict[int, int] = {}
    waiting = list(sources)
    while waiting:  # kernels need not stand in an order that follows their edges
        ready = [place for place in waiting if all(source in level for source in sources[place])]
        for place in ready or waiting:
            level[place] = 1 + max((level.get(source, -1) for source in sources[place]), default=-1)
        waiting = [place for place in waiting if place not in level]
    rows: list[list[int]] = [[] for _ in range(1 + max(level.values(), default=-1))]
    for place in sorted(level):
        rows[level[place]].append(place)
    at: dict[int, float] = {}
    for row in rows:
        wish = {place: sum(at[s] for s in sources[place]) / len(sources[place]) if sources[place] else 0.0
                for place in row}  # fmt: skip
        row.sort(key=lambda place: (wish[place], place))
        at.update({place: column - (len(row) - 1) / 2 for column, place in enumerate(row)})
    return rows


def _line(start: tuple[float, float], end: tuple[float, float], passes: float | None) -> str:
    """From one box down to another; beside those of the rows between, whose right end is `passes`."""
    if passes is None:
        x, y = start[0] + _BOX_WIDTH / 2, start[1] + _BOX_HEIGHT
        to_x, to_y = end[0] + _BOX_WIDTH / 2, end[1]
        bend = min(60.0, abs(to_y - y) / 2)
        bends = f"{x:.0f} {y + bend:.0f} {to_x:.0f} {to_y - bend:.0f}"
    else:
        x, y = start[0] + _BOX_WIDTH, start[1] + _BOX_HEIGHT / 2
        to_x, to_y = end[0] + _BOX_WIDTH, end[1] + _BOX_HEIGHT / 2
        # A curve goes three quarters of the way to where it is bent.
        bend = max(x, to_x) + (max(passes, x, to_x) + _LANE - max(x, to_x)) / 0.75
        bends = f"{bend:.0f} {y:.0f} {bend:.0f} {to_y:.0f}"
    return (
        f'<path d="M{x:.0f} {y:.0f} C{bends} {to_x:.0f} {to_y:.0f}" fill="none" stroke="#777777" stroke-opacity="0.6"/>'
    )


def _box(graph: OptimizedGraph, place: int, corner: tuple[float, float], longest_s: float) -> str:
    kernel = graph.kernels[place]
    fill, letters = _color(kernel, longest_s)
    x, y = corner
    hint = [f"{place}: {kernel.title}", *(f"{name} {probability:.0%}" for name, probability in kernel.types)]
    hint += [graph.graph.nodes[node].name for node in kernel.members]
    hint += [f"{scaled(kernel.saved_bytes, 'B')} of traffic saved"] if kernel.saved_bytes else []
    title = kernel.title if len(kernel.title) <= _LETTERS else f"{kernel.title[: _LETTERS - 3]}..."
    box = f'x="{x:.0f}" y="{y:.0f}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="6" fill="{fill}" stroke="#555555"'
    lines = [
        f'<text x="{x + 8:.0f}" y="{y + 18:.0f}" fill="{letters}">{escape(title)}</text>',
        f'<text x="{x + 8:.0f}" y="{y + 35:.0f}" fill="{letters}" font-size="11">{escape(_time_text(kernel))}</text>',
    ]
    return f"<g><title>{escape(chr(10).join(hint))}</title><rect {box}/>{''.join(lines)}</g>"


def chrome_trace(graph: OptimizedGraph) -> dict[str, Any]:
    """Times in microseconds, as the format wants them."""
    events: list[dict[str, Any]] = [
        {"name": "process_name", "ph": "M", "pid": 0, "tid": 0, "args": {"name": graph.where}}
    ]
    start_us = 0.0
    for place, kernel in enumerate(graph.kernels):
        duration_us = (kernel.latency_s or 0.0) * MICROSECONDS_PER_S
        events.append(
            {
                "name": kernel.title,
                "cat": kernel.type,
                "ph": "X",
                "ts": start_us,
                "dur": duration_us,
                "pid": 0,
                "tid": 0,
                "args": {
                    "kernel": place,
                    "nodes": [graph.graph.nodes[node].name for node in kernel.members],
                    "types": dict(kernel.types),
                    "bound": kernel.bound,
                    "saved_bytes": kernel.saved_bytes,
                },
            }
        )
        start_us += duration_us
    return {"traceEvents": events, "displayTimeUnit": "ns"}

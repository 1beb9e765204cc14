"""What the speed benchmarks share: contestants run in turn, medians and the spread of the paired ratios."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path


def paired(contestants: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each contestant in each of `rounds` rounds, all in turn, after one round that is not counted."""
    seconds: dict[str, list[float]] = {name: [] for name in contestants}
    for counted in range(-1, rounds):
        for name, run in contestants.items():
            start = time.perf_counter()
            run()
            elapsed = time.perf_counter() - start
            if counted >= 0:
                seconds[name].append(elapsed)
    return seconds


def summary(seconds: dict[str, list[float]], ours: str) -> dict[str, dict[str, float]]:
    """Median milliseconds, and how many times faster `ours` is: median, smallest and largest over the rounds."""
    rows = {}
    for name, values in seconds.items():
        ratios = [value / own for value, own in zip(values, seconds[ours], strict=True)]
        rows[name] = {
            "median_ms": 1e3 * statistics.median(values),
            "ratio_median": statistics.median(ratios),
            "ratio_min": min(ratios),
            "ratio_max": max(ratios),
        }
    return rows


def report(title: str, rows: dict[str, dict[str, float]], path: Path | None) -> None:
    """Prints one line for each contestant and, when asked, writes the rows as JSON."""
    print(title)
    for name, row in rows.items():
        spread = f"{row['ratio_min']:.1f} to {row['ratio_max']:.1f}"
        print(f"  {name:40s} {row['median_ms']:10.3f} ms   x{row['ratio_median']:.1f} ({spread})")
    if path is not None:
        path.write_text(json.dumps({"title": title, "rows": rows}, indent=1) + "\n")

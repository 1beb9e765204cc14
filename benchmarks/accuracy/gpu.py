"""Errors of the analytic, linear and roofline predictors on the measurements that ship, with what was left out.

python benchmarks/accuracy/gpu.py [--quick] [--data FOLDER] [--json FILE] [--docs docs/accuracy.md]

Left out: blocks of operator shapes and networks (data/splits/gpu.json), and every chip in turn. Every predictor is
fitted here, on what is left. --quick leaves the chips out of it. --data scores every network of the public table too,
not only those of the sample that ships.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import struct
import time
from importlib import resources
from pathlib import Path

import numpy as np
from latpred.datasets import accel_nasbench, rows
from latpred.fitting import analytic, linear, measurements, roofline, split
from latpred.fitting.errors import summarise
from latpred.fitting.evaluate import MIN_LEFT_OUT, Fitted
from latpred.fitting.measurements import Samples
from latpred.quantile import NORMAL_80

FITS = {
    "analytic": analytic.fit,
    "linear": linear.fit,
    "roofline": roofline.fit,
    "roofline x constant": roofline.fit_scaled,
}
BEGIN, END = "<!-- benchmarks/accuracy/gpu.py -->", "<!-- end -->"


def shipped_terms(predictor: str) -> dict[str, float] | None:
    """The interval terms in the shipped checkpoint; nothing for a predictor that does not ship."""
    path = resources.files("latpred").joinpath("data", "predictors", f"{predictor}.safetensors")
    if not path.is_file():
        return None
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    manifest = json.loads(json.loads(content[8 : 8 + size])["__metadata__"]["manifest"])
    return {name: term["value"] for name, term in manifest["interval_terms"].items()}


def score(predictor: str, situation: str, fitted: Fitted, samples: Samples, device_known: bool) -> dict[str, object]:
    """One line of the table: errors, and how often and how widely the shipped interval holds the measured value."""
    predicted = fitted.predict(dataclasses.replace(samples, host_s=samples.launches_s))
    line: dict[str, object] = {"situation": situation, "predictor": predictor}
    line |= dataclasses.asdict(summarise(predicted, samples.latency_s))
    terms = shipped_terms(predictor)
    if terms is not None:
        half = terms["known_device"]
        if not device_known:
            half = float(np.hypot(terms["unknown_device"], NORMAL_80 * terms["device_sd"]))
        off = np.log(samples.latency_s / predicted) - terms["log_bias"]
        line |= {"interval_covers": float(np.mean(np.abs(off) <= half)), "interval_factor": float(np.exp(half))}
    return line


def known_devices(samples: Samples) -> list[dict[str, object]]:
    """Blocks left out, devices measured."""
    test = samples.select(samples.is_left_out & samples.is_clear)
    is_network = np.isin(test.family, analytic.NETWORK_FAMILIES)
    parts = {
        "operators float32, shapes left out": test.select(~is_network & (test.runtime == "eager")),
        "products bfloat16, shapes left out": test.select(~is_network & (test.runtime == "kernel")),
        "networks fp16 autocast, depths left out": test.select(is_network),
    }
    parts |= {f"  {family}, left out": test.select(test.family == family) for family in np.unique(test.family)}
    training = samples.select(~samples.is_left_out)
    lines = []
    for name, fit in FITS.items():
        fitted = fit(training)
        lines += [score(name, situation, fitted, part, True) for situation, part in parts.items()]
    return lines


def unknown_devices(samples: Samples) -> list[dict[str, object]]:
    """Every chip left out of the fit in turn, all its boards and all their rows."""
    lines = []
    for chip in np.unique(samples.chip):
        inside = samples.chip == chip
        test = samples.select(inside & samples.is_clear)
        is_network = np.isin(test.family, analytic.NETWORK_FAMILIES)
        parts = {f"operators, {chip} left out": test.select(~is_network)}
        parts |= {f"networks, {chip} left out": test.select(is_network)}
        training = samples.select(~inside & ~samples.is_left_out)
        for name, fit in FITS.items():
            fitted = fit(training)
            lines += [
                score(name, situation, fitted, part, False)
                for situation, part in parts.items()
                if part.size >= MIN_LEFT_OUT
            ]
    return lines


def all_networks(samples: Samples, data: Path) -> list[dict[str, object]]:
    """Every network of the table: those of depths left out, and those of depths that the fit has samples of."""
    table = rows.to_table(accel_nasbench.read(data)).assign(host_floor_s=0.0)
    table["block"] = [split.block_of(text, batch) for text, batch in zip(table.recipe, table.batch, strict=True)]
    networks = measurements.lower(table)
    parts = {
        "all networks, depths left out": networks.select(networks.is_left_out),
        "all networks, other depths": networks.select(~networks.is_left_out),
    }
    training = samples.select(~samples.is_left_out)
    lines = []
    for name, fit in FITS.items():
        fitted = fit(training)
        lines += [score(name, situation, fitted, part, True) for situation, part in parts.items()]
    return lines


def markdown(result: dict[str, object]) -> str:
    """The table as docs/accuracy.md shows it."""
    made_by = (
        f"Made by `{result['command']}`, {result['rows']} measurements, of which "
        f"{result['host_bound_rows']} are host-bound and not scored; {result['seconds']:.0f} s."
    )
    lines = [
        made_by,
        "",
        "| situation | predictor | rows | MAPE % | median % | p90 % | Spearman | bias | interval covers | interval |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    for line in sorted(result["lines"], key=lambda line: str(line["situation"]).startswith("  ")):
        covers = " | "
        if "interval_covers" in line:
            covers = f"{line['interval_covers']:.2f} | x/{line['interval_factor']:.2f}"
        lines.append(
            f"| {str(line['situation']).strip()} | {line['predictor']} | {line['rows']} | {line['mape_percent']:.1f} | "
            f"{line['median_percent']:.1f} | {line['p90_percent']:.1f} | {line['spearman']:.3f} | {line['bias']:.2f} | "
            f"{covers} |"
        )
    return "\n".join(lines) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="known devices only")
    parser.add_argument("--data", type=Path, help="folder with the public tables: score all their networks")
    parser.add_argument("--json", type=Path, help="file to write the lines to")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    arguments = parser.parse_args()
    start = time.perf_counter()
    samples = measurements.lower(measurements.load())
    lines = known_devices(samples)
    if arguments.data is not None:
        lines += all_networks(samples, arguments.data)
    if not arguments.quick:
        lines += unknown_devices(samples)
    result = {
        "command": "python benchmarks/accuracy/gpu.py"
        + (" --quick" if arguments.quick else "")
        + (" --data FOLDER" if arguments.data else ""),
        "rows": samples.size,
        "host_bound_rows": int((~samples.is_clear).sum()),
        "seconds": time.perf_counter() - start,
        "lines": lines,
    }
    print(markdown(result))
    if arguments.json is not None:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    if arguments.docs is not None:
        page = arguments.docs.read_text(encoding="utf-8")
        head, _, rest = page.partition(BEGIN)
        tail = rest.partition(END)[2]
        arguments.docs.write_text(f"{head}{BEGIN}\n{markdown(result)}{END}{tail}", encoding="utf-8")


if __name__ == "__main__":
    main()

"""BERT under TensorRT on A100, A30, L4, L40S, T4 and V100, from the tables of TensorRT's BERT demo (Apache-2.0)."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

SOURCE = "TensorRT a892d222"
LICENCE = "Apache-2.0"
PROTOCOL = "mean of the demo's own benchmark, engine built for the batch, without copies"
TABLE = "demo_bert_tables.jsonl.gz"

DEVICES = {
    "A100 (40GB)": "A100-SXM4-40GB",
    "A30": "A30",
    "L4": "L4",
    "L40S": "L40S",
    "T4 (16GB)": "T4",
    "V100 (16GB)": "V100-SXM2-16GB",
}
HEADING = re.compile(r"Inference performance:? NVIDIA (?P<device>.+)", re.IGNORECASE)
SIZE = re.compile(r"BERT (?P<size>base|large)", re.IGNORECASE)  # pruned and sparse ones are other networks
# From this release on the A30's table repeats the L4's to the digit.
WRONG_A30 = "v10.9.0"
RELEASE = re.compile(r"v?(?P<numbers>\d+(\.\d+)*)")
CALENDAR = 19  # tags named after a month, "21.04", and not after TensorRT's version start above this
# The unnamed column with the mean behind each precision's first column, 95 %.
MEAN_COLUMNS = {"int8": "#2", "fp16": "#4"}


def _size_of(headings: list[str]) -> str | None:
    match = SIZE.fullmatch(headings[-1])
    return match["size"].lower() if match else None


def _device_of(headings: list[str]) -> str | None:
    for heading in headings:
        match = HEADING.match(heading)
        if match is not None:
            return DEVICES[match["device"]]
    return None


def _newest(refs: list[str]) -> str:
    """The newest of TensorRT's versions among the tags that hold a value; of months where there are none."""

    def key(ref: str) -> tuple[bool, list[int]]:
        match = RELEASE.match(ref)
        numbers = [int(word) for word in match["numbers"].split(".")] if match else [0]
        return numbers[0] < CALENDAR, numbers

    return max(refs, key=key)


def read(data: Path) -> Iterator[Row]:
    """The rows of BERT base and large under `data`/TensorRT, once for each value: the version is the newest with it."""
    with gzip.open(data / "TensorRT" / TABLE, "rt", encoding="utf-8") as lines:
        for line in lines:
            entry = json.loads(line)
            size, device = _size_of(entry["heading"]), _device_of(entry["heading"])
            cells = entry["row"]
            if size is None or device is None or not cells["Sequence Length"]:  # the second line of the heading
                continue
            if device == "A30" and WRONG_A30 in entry["refs"]:
                continue
            for precision, column in MEAN_COLUMNS.items():
                if not cells[column]:  # not measured
                    continue
                yield Row(
                    recipe=str(Recipe("bert", size, {"seq": cells["Sequence Length"]})),
                    family="bert",
                    batch=int(cells["Batch Size"]),
                    input="",
                    device=device,
                    runtime="tensorrt",
                    runtime_version=f"tensorrt {_newest(entry['refs'])}",
                    precision=precision,
                    value=float(cells[column]) * MILLISECOND,
                    source=SOURCE,
                    licence=LICENCE,
                    protocol=PROTOCOL,
                )

"""What PyTorch's allocator holds at its peak in one call of timm's networks, with and without autograd, as rows.

python benchmarks/memory/families.py --recipes FILE --batches 1 4 --out FILE.parquet

Needs timm. The peak is of parameters, buffers, inputs and activations, in bytes as the allocator was asked for them;
what the CPU's libraries take for the time of an operator (oneDNN's blocked copies) is left out, another device takes
none of it. A file that is there is gone on with.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import pandas as pd
import torch
from latpred.cli_progress import progress
from latpred.datasets.families_measured import ALLOCATOR
from latpred.datasets.recipe import parse
from latpred.datasets.rows import MEASURED_HERE, Row, to_table
from latpred.frontends.torch_export import call_arguments
from latpred.step import Step
from latpred.workloads.sources import MODULES
from rich.console import Console

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "python"))

import architectures
from allocator_events import record

PROTOCOL = "peak of PyTorch's allocator in one call: parameters, buffers, input, activations; without oneDNN's scratch"
EAGER = "eager"


def measure(recipe: str, batch: int) -> list[Row]:
    """Without and with autograd."""
    module, sizes = MODULES[parse(recipe).kind](parse(recipe))
    module.eval()
    arguments = call_arguments(module, sizes, batch).positional
    inputs = [torch.randn(value.shape) for value in arguments]
    held = [*module.parameters(), *module.buffers(), *inputs]
    held_bytes = sum(tensor.numel() * tensor.element_size() for tensor in held)
    return [
        Row(
            recipe=recipe,
            family="",
            batch=batch,
            input="",
            device=ALLOCATOR,
            runtime=EAGER,
            runtime_version=f"torch {torch.__version__}",
            precision="fp32",
            value=float(held_bytes + record(module, inputs, gradients=gradients).activation_peak),
            source=MEASURED_HERE,
            licence="Apache-2.0",
            protocol=PROTOCOL,
            quantity="memory_bytes",
            autograd=gradients,
        )
        for gradients in (False, True)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--recipes", type=Path, required=True, help="a recipe a line")
    parser.add_argument("--batches", type=int, nargs="+", default=[1])
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    architectures.prepare()
    torch.set_num_threads(1)
    table = pd.read_parquet(arguments.out) if arguments.out.is_file() else to_table([])
    done = set(zip(table.recipe, table.batch, strict=True))
    calls = [(recipe, batch) for recipe in arguments.recipes.read_text().split() for batch in arguments.batches]
    with progress(Console(stderr=True)) as show:
        for place, (recipe, batch) in enumerate(calls, 1):
            if (recipe, batch) not in done:
                table = pd.concat([table, to_table(measure(recipe, batch))], ignore_index=True)
                table.to_parquet(arguments.out, index=False)
            show(Step("measure", place, len(calls), recipe))
    print(f"{len(table)} rows")


if __name__ == "__main__":
    main()

"""Compares the kernels that `runtime="compiled"` stands for with those that Inductor itself makes for a GPU.

python benchmarks/inductor.py [--batch 256] [--networks N] [--docs docs/labels.md]

No GPU is needed: networks are traced under autocast on tensors without data that say they are on one, and Inductor is
stopped when its scheduler has fused, before it generates code. What a convolution's library makes of an image, and that
attention runs in one kernel, is put in, for a PyTorch without CUDA does not know it. Releases after those of the tables
write what is concatenated and read by others too; that rule is switched off. A C++ compiler builds the one function
that PyTorch asks of a device's driver.

One network of each family of timm that a compiled table timed, the first by name. Generated kernels: how many there
are, and the bytes of activations that they read and write; weights that are cast for libraries are counted apart.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import inspect
import logging
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

sys.path.insert(0, str(Path(__file__).parent / "accuracy"))

import docs_table
import numpy as np
import pandas as pd
import torch
from latpred import _core
from latpred.datasets import recipe, recorded
from latpred.datasets.graph_cache import GraphCache
from latpred.datasets.rows import executed
from latpred.labels.inductor import NEVER_EXECUTED, HasFused
from rich.progress import track
from torch._inductor import compile_fx, config, ir, lowering, scheduler
from torch._inductor.decomposition import select_decomp_table
from torch._inductor.runtime import hints
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

MEASUREMENTS = Path(__file__).resolve().parents[1] / "data" / "measurements"
MARK = "benchmarks/inductor.py"
DEVICE = "cuda:0"
# Of an RTX 4090; Inductor asks for these.
PROPERTIES = hints.DeviceProperties(
    type="cuda", index=0, multi_processor_count=128, cc=89, major=8, regs_per_multiprocessor=65536,
    max_threads_per_multi_processor=1536, warp_size=32,
)  # fmt: skip
GUARD = """
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <c10/core/impl/FakeGuardImpl.h>
namespace c10::impl { C10_REGISTER_GUARD_IMPL(CUDA, FakeGuardImpl<DeviceType::CUDA>); }
"""
CAT_RULE = "has_multi_consumers = any_input_has_multi_consumers()"
LIBRARIES = {"conv", "conv_1x1", "conv_grouped", "conv_depthwise", "matmul", "batch_matmul", "attention", "recurrent"}


@dataclass(frozen=True)
class Sums:
    """Of one network: generated kernels, bytes of activations that they move, and casts of weights."""

    kernels: int
    moved_bytes: float
    casts: int


@cache
def load_guard() -> None:
    """What PyTorch asks of the driver of the device that is not there."""
    root = Path(str(torch.__file__)).parent
    with tempfile.TemporaryDirectory() as folder:
        source, library = Path(folder, "guard.cpp"), Path(folder, "guard.so")
        source.write_text(GUARD, encoding="utf-8")
        flags = ["-std=c++20", "-shared", "-fPIC", f"-I{root / 'include'}", f"-L{root / 'lib'}"]
        subprocess.run(["c++", *flags, str(source), "-lc10", "-o", str(library)], check=True)
        ctypes.CDLL(str(library))


def attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """The kernel that PyTorch picks on such a GPU, under autocast."""
    del dropout_p, enable_gqa
    query, key, value = (tensor.to(torch.get_autocast_dtype("cuda")) for tensor in (query, key, value))
    if attn_mask is None:
        missing = -query.shape[-1] % 8
        padded = (
            [functional.pad(tensor, (0, missing)) for tensor in (query, key, value)] if missing else [query, key, value]
        )
        made = torch.ops.aten._scaled_dot_product_flash_attention(*padded, 0.0, is_causal, False, scale=scale)[0]
        return made[..., : value.shape[-1]]
    mask = attn_mask.to(query.dtype).expand(*query.shape[:3], key.shape[2])
    return torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, mask, False, 0.0, is_causal, scale=scale
    )[0]


def cudnn_format(image: torch.Tensor, weight: torch.Tensor, _backend: Any) -> torch.memory_format:
    """As cuDNN answers: channels-last where the image or the filters are."""
    is_last = any(
        tensor.dim() == 4 and tensor.is_contiguous(memory_format=torch.channels_last) and not tensor.is_contiguous()
        for tensor in (image, weight)
    )
    return torch.channels_last if is_last else torch.contiguous_format


def older_cat() -> Any:
    """Inductor's lowering of concatenations without the rule that came after the tables' releases."""
    text = inspect.getsource(inspect.unwrap(lowering.cat))
    if CAT_RULE not in text:
        raise SystemExit(f"Inductor of torch {torch.__version__} has no line '{CAT_RULE}' to switch off")
    body = text[text.index("def cat(") :].replace(CAT_RULE, "has_multi_consumers = False")
    scope = dict(vars(lowering))
    exec(compile(body, "older_cat", "exec"), scope)  # the library's own text
    return lowering._register_lowering(
        torch.ops.aten.cat, scope["cat"], broadcast=False, type_promotion_kind=None, convert_input_to_bool=False,
        lowering_dict={},
    )  # fmt: skip


@contextlib.contextmanager
def pretended_gpu() -> Iterator[None]:
    """Within, PyTorch traces for a GPU that is not there."""
    load_guard()
    logging.getLogger("torch._inductor").setLevel(logging.CRITICAL)
    cat = older_cat()
    with contextlib.ExitStack() as stack, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        stack.enter_context(
            mock.patch.object(hints.DeviceProperties, "create", staticmethod(lambda _device: PROPERTIES))
        )
        stack.enter_context(mock.patch.object(scheduler, "has_triton", return_value=True))
        stack.enter_context(mock.patch.object(torch._C, "_conv_determine_backend_memory_format", cudnn_format))
        stack.enter_context(mock.patch.object(functional, "scaled_dot_product_attention", attention))
        stack.enter_context(mock.patch.dict(lowering.lowerings, {torch.ops.aten.cat.default: cat}))
        yield


def traced(module: torch.nn.Module, image: tuple[int, ...], mode: FakeTensorMode) -> tuple[Any, list[torch.Tensor]]:
    """The graph that torch.compile makes under autocast, and its inputs."""
    named = {**dict(module.named_parameters()), **dict(module.named_buffers())}

    def run(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        torch.set_autocast_enabled("cuda", True)
        try:
            made = torch.func.functional_call(module, dict(zip(named, tensors[:-1], strict=True)), (tensors[-1],))
        finally:
            torch.set_autocast_enabled("cuda", False)
        return (made,) if isinstance(made, torch.Tensor) else tuple(made)

    torch.set_autocast_dtype("cuda", torch.float16)
    torch.set_autocast_cache_enabled(False)
    with mode, torch.no_grad():
        inputs = [
            torch.empty_strided(tensor.shape, tensor.stride(), dtype=tensor.dtype, device=DEVICE)
            for tensor in named.values()
        ]
        inputs.append(torch.empty(image, device=DEVICE))
        functional_run = torch.func.functionalize(run, remove="mutations")
        graph = make_fx(functional_run, decomposition_table=select_decomp_table(), tracing_mode="real")(*inputs)
    graph.graph.eliminate_dead_code()
    graph.recompile()
    return graph, inputs


@dataclass(frozen=True)
class Scheduled:
    is_generated: bool
    read: float  # bytes
    of_inputs: float  # bytes of these that are weights', or the image's
    written: float  # bytes


def summary(node: Any) -> Scheduled:
    """What a node of the scheduler moves."""
    read = node.get_read_write_buffer_accesses(include_reads=True, include_writes=False)
    written = node.get_read_write_buffer_accesses(include_reads=False, include_writes=True)
    is_library = any(isinstance(part.node, ir.ExternKernel) for part in node.get_nodes())
    of_inputs = sum(size for name, size in read.items() if name.startswith("arg"))
    return Scheduled(not is_library, sum(read.values()), of_inputs, sum(written.values()))


def scheduled(module: torch.nn.Module, image: tuple[int, ...]) -> list[Scheduled]:
    """What Inductor's scheduler runs, in order."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    graph, inputs = traced(module.eval(), image, mode)
    found: list[Scheduled] = []

    def look(nodes: Sequence[Any]) -> Sequence[Any]:
        found.extend(summary(node) for node in nodes if type(node).__name__ != NEVER_EXECUTED)
        raise HasFused

    changes = {
        "_post_fusion_custom_pass": look, "force_disable_caches": True,
        "joint_graph_constant_folding": False, "shape_padding": False,  # they run kernels
    }  # fmt: skip
    with mode, config.patch(changes), torch.no_grad():
        compile_fx._recursive_joint_graph_passes(graph)
        try:
            compile_fx.compile_fx_inner(graph, inputs, is_inference=True)
        except Exception:
            if not found:
                raise
    return found


def sums_of_inductor(module: torch.nn.Module, image: tuple[int, ...]) -> Sums:
    """Of Inductor's own schedule, within pretended_gpu()."""
    generated = [node for node in scheduled(module, image) if node.is_generated]
    kernels = [node for node in generated if node.of_inputs < node.read]
    moved = sum(node.read - node.of_inputs + node.written for node in kernels)
    return Sums(len(kernels), moved, len(generated) - len(kernels))


def sums_of_ours(graph: _core.Graph) -> Sums:
    """Of the kernels that predictions are made of."""
    generated = [row for row in _core.fuse(graph, "compiled", "amp").rows if row.kind not in LIBRARIES]
    kernels = [row for row in generated if not row.name.startswith("cast(")]
    moved = sum(row.repeat * (row.bytes_in + row.bytes_out) for row in kernels)
    return Sums(sum(row.repeat for row in kernels), moved, len(generated) - len(kernels))


def networks() -> pd.DataFrame:
    """One of each family: its rows' columns, and `name`, the recipe of the network that was timed."""
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    is_timed = (rows.runtime == "compiled") & (rows.precision == "amp") & rows.runtime_version.str.contains("2.9")
    rows = rows[is_timed & rows.recipe.str.startswith("timm:")]
    return rows.assign(name=executed(rows)).sort_values("name").groupby("family", as_index=False).first()


def text_of(table: pd.DataFrame) -> str:
    """Ratios over all networks of `table`, one line for each quantity."""
    lines = []
    for name in ("bytes", "kernels", "casts"):
        ratio = table[f"{name}_ours"] / table[f"{name}_inductor"].clip(lower=1)
        low, middle, high = np.percentile(ratio, [10, 50, 90])
        is_near = float(((ratio - 1).abs() <= 0.1).mean())
        lines.append([name, f"{middle:.2f}", f"{low:.2f} to {high:.2f}", f"{is_near:.0%}"])
    head = ["of generated kernels", "ours / Inductor's, median", "10th to 90th percentile", "within a tenth"]
    made = f"Made by `python {MARK}`, torch {torch.__version__.partition('+')[0]}, {len(table)} networks.\n\n"
    return made + docs_table.table(head, lines)


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--networks", type=int, help="so many of the families (default: all)")
    parser.add_argument("--docs", type=Path, help="page whose table is replaced")
    arguments = parser.parse_args()
    chosen = networks()
    if arguments.networks is not None:
        chosen = chosen.sample(min(arguments.networks, len(chosen)), random_state=0)
    graphs = GraphCache(MEASUREMENTS / "graphs.xz")
    lines = []
    with pretended_gpu():
        for family, name in track(list(zip(chosen.family, chosen.name, strict=True)), "networks"):
            try:
                module, size = recorded.BUILDERS["timm"].build(recipe.parse(name))
                theirs = sums_of_inductor(module, (arguments.batch, *map(int, size.split(","))))
            except (RuntimeError, AssertionError, TypeError) as error:
                print(f"{name}: not traced: {type(error).__name__}: {str(error).splitlines()[0]}", file=sys.stderr)
                continue
            ours = sums_of_ours(graphs.graph(name, arguments.batch))
            lines.append(
                {"family": family, "network": name,
                 "bytes_inductor": theirs.moved_bytes, "bytes_ours": ours.moved_bytes,
                 "kernels_inductor": theirs.kernels, "kernels_ours": ours.kernels,
                 "casts_inductor": theirs.casts, "casts_ours": ours.casts}
            )  # fmt: skip
    table = pd.DataFrame(lines)
    shown = table.assign(ratio=(table.bytes_ours / table.bytes_inductor).round(3)).sort_values("ratio")
    print(shown[["network", "kernels_inductor", "kernels_ours", "ratio"]].to_string(index=False))
    text = text_of(table)
    print(text)
    if arguments.docs is not None:
        docs_table.replace(arguments.docs, MARK, text)


if __name__ == "__main__":
    main()

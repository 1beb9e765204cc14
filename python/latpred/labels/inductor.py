"""How Inductor, behind torch.compile, fuses a module: asked after its scheduler has fused and before any code is
compiled, so that it takes seconds and needs no compiler."""

from __future__ import annotations

import contextlib
import logging
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from latpred.api import load
from latpred.errors import InvalidArgumentError, ProfilerError
from latpred.labels.labelled import Labels, edges_of, from_kernel_times
from latpred.optional import need
from latpred.workloads.fused_groups import close_groups
from latpred.workloads.kernel_times import kernel_times
from latpred.workloads.onnx_files import FileNode, PreparedFile
from latpred.workloads.sources import module_of
from latpred.workloads.workload import DEFAULT_PRECISION, Setting

if TYPE_CHECKING:
    from latpred._core import Graph

RUNTIME = "inductor"
PRECISIONS = (DEFAULT_PRECISION, "fp32")
_LOOP = "Loop"  # generated code; what calls a library says which
NEVER_EXECUTED = "NopKernelSchedulerNode"  # concatenations whose parts are written in place


class HasFused(Exception):
    """No error: it ends the compilation."""


def label_module(setting: Setting) -> Labels:
    """Of a live module or a recipe that PyTorch builds. Kernels have no times."""
    torch = need("torch", "torch", "asking Inductor what it fuses")
    if hasattr(setting.source, "nodes"):
        raise InvalidArgumentError("Inductor fuses a module: give one, or a recipe that PyTorch builds, not a Graph")
    module, sizes = module_of(setting)
    module.eval()
    graph = load(model=module, batch=setting.batch, input=sizes)
    example = [torch.zeros(tuple(tensor.shape), dtype=getattr(torch, tensor.dtype)) for tensor in graph.inputs]
    with torch.no_grad(), _quiet():
        exported = torch.export.export(module, tuple(example))
        kernels = _fused(torch, exported.module(), tuple(example))
    nodes = _nodes(graph)
    known = {node.unique_name for node in nodes}
    direct = _owners(kernels, known)
    if not direct:
        raise ProfilerError(f"Inductor of torch {torch.__version__} names no node of the exported graph")
    report = {
        "kernels": [
            {"name": kernel["name"], "kind": kernel["kind"], "implementation": "", "precision": "f32", "order": place,
             "times_ns": [0]}
            for place, kernel in enumerate(kernels)
        ],
        "calls_s": [0.0],
        "clock": "none",
    }  # fmt: skip
    file = PreparedFile(path=None, nodes=nodes, inputs={}, outputs=())  # type: ignore[arg-type]
    times = kernel_times(report, file, close_groups(nodes, direct))
    return from_kernel_times(times, nodes, graph, RUNTIME, str(torch.__version__).partition("+")[0], is_timed=False)


def _fused(torch: Any, module: Any, example: tuple[Any, ...]) -> list[dict[str, Any]]:
    """Kernels in the order of execution: name, kind, and the exported nodes that end in each with their last pieces."""
    inductor, settings = (
        need("torch._inductor", "torch", "Inductor"),
        need("torch._inductor.config", "torch", "Inductor"),
    )
    found: list[dict[str, Any]] = []

    def look(nodes: Sequence[Any]) -> Sequence[Any]:
        found.extend(_described(node) for node in nodes if type(node).__name__ != NEVER_EXECUTED)
        raise HasFused

    changes = {"_post_fusion_custom_pass": look, "trace.provenance_tracking_level": 1, "force_disable_caches": True}
    with settings.patch(changes):
        try:
            inductor.aot_compile(module, example)
        except Exception as error:
            # Inductor wraps what its passes raise.
            if not found:
                raise ProfilerError(f"Inductor cannot compile the module: {error}") from error
    return found


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """It warns that a compilation was not ended, and of its own deprecated calls."""
    logger = logging.getLogger("torch._inductor")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


def _described(node: Any) -> dict[str, Any]:
    """A scheduler's node: pieces are nodes of the lowered graph, each with the exported node that it came from."""
    pieces: dict[Any, str] = {}
    library = ""
    for part in node.get_nodes():
        if part.node is None:
            continue
        for piece in part.node.get_origins():
            sources = piece.meta.get("from_node") or []
            if piece.op == "call_function" and sources:
                pieces[piece] = sources[0].name
        if "ExternKernel" in type(part).__name__:
            library = getattr(part.node, "python_kernel_name", None) or type(part.node).__name__
    return {"name": node.get_name(), "kind": library or _LOOP, "pieces": pieces, "library": bool(library)}


def _owners(kernels: Sequence[Mapping[str, Any]], known: set[str]) -> dict[str, int]:
    """Exported node -> the kernel that computes its last piece: the library's call whose own last piece it is, else
    the first kernel that holds it. What later kernels compute again stays with the first."""
    all_pieces = [piece for kernel in kernels for piece in kernel["pieces"]]
    if not all_pieces:
        return {}
    order = {piece: place for place, piece in enumerate(all_pieces[0].graph.nodes)}
    last: dict[str, Any] = {}
    holders: dict[Any, int] = {}
    calls: dict[Any, int] = {}
    for place, kernel in enumerate(kernels):
        for piece, name in kernel["pieces"].items():
            holders.setdefault(piece, place)
            if name in known and (name not in last or order[piece] > order[last[name]]):
                last[name] = piece
        if kernel["library"] and kernel["pieces"]:
            calls.setdefault(max(kernel["pieces"], key=order.__getitem__), place)
    return {name: calls.get(piece, holders[piece]) for name, piece in last.items()}


def _nodes(graph: Graph) -> tuple[FileNode, ...]:
    """The graph's own nodes; a tensor is named by the node that makes it."""
    if len({node.name for node in graph.nodes}) != len(graph):
        raise InvalidArgumentError("two nodes of the exported graph have one name")
    reads: dict[int, list[str]] = {}
    for source, target in edges_of(graph).T.tolist():
        reads.setdefault(target, []).append(graph.nodes[source].name)
    return tuple(
        FileNode(place, node.name, node.name, node.operator, tuple(reads.get(place, ())), (node.name,))
        for place, node in enumerate(graph.nodes)
    )


__all__ = ["RUNTIME", "label_module"]

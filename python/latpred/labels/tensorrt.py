"""Reads what trtexec writes of an engine: layers, the nodes of the ONNX file that each computes, and times.

trtexec --onnx=net.onnx --profilingVerbosity=detailed --exportLayerInfo=layers.json --exportProfile=profile.json

Since 8.6 a layer says its nodes in "Metadata"; before, and with --profilingVerbosity=layer_names_only, they are read
from its name. Nothing of TensorRT is needed.
"""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from latpred.errors import ModelFileError
from latpred.tables import Column, Table, text_column

_MS = 1e-3
_ONNX_NODE = re.compile(r"\[ONNX Layer: ([^\]]+)\]")
_COPY = re.compile(r"Reformatting CopyNode for (?:Input|Output) Tensor \d+ to (.+)")
_POINTWISE = re.compile(r"PWN\((.*)\)")
_REGION = re.compile(r"\{ForeignNode\[(.*)\.\.\.(.*)\]\}")
# What TensorRT puts beside nodes of the file to make shapes and layouts fit: it names them after those.
_HELPER = re.compile(
    r"\(Unnamed Layer\*|(un)?squeeze_(node_)?(after|before)_|(reshape|transpose|shuffle)_(after|before)_|copied_"
)
_HELPED = re.compile(r"(?:copied_)?(?:un)?(?:squeeze|reshape|transpose|shuffle)(?:_node)?_(?:after|before)_(.+)")
_STORED = re.compile(r".*(\.(weight|bias|gamma|beta)|/ReadVariableOp(:\d+)?|\[Constant\])")


@dataclasses.dataclass(frozen=True)
class EngineLayer:
    """One executed layer."""

    name: str
    type: str  # "CaskConvolution"; empty: the file says names only
    kernel: str  # its tactic; empty: not said
    nodes: tuple[str, ...]  # of the ONNX file
    stored: tuple[str, ...]  # weights and constants that are part of the name
    helpers: tuple[str, ...]  # what TensorRT added
    unknown: tuple[str, ...]  # parts of the name that the file has no node for; only where the file is at hand
    serves: str  # the layer that a copy or a lone helper is made for; empty: it computes nodes
    inputs: tuple[str, ...]  # tensors
    outputs: tuple[str, ...]
    latency_s: float | None  # median where the profile has it, else mean; None: no profile

    @property
    def is_attributed(self) -> bool:
        """Whether it is known what of the network it does."""
        return bool(self.nodes or self.serves)


@dataclasses.dataclass(frozen=True)
class Engine:
    """The layers in the order of their execution."""

    layers: tuple[EngineLayer, ...]
    inputs_and_outputs: tuple[str, ...]

    @property
    def unattributed(self) -> tuple[str, ...]:
        """Names of layers that no node of the file is known for."""
        return tuple(layer.name for layer in self.layers if not layer.is_attributed)

    @property
    def table(self) -> Table[EngineLayer]:
        """A row for each layer."""
        return Table(self.layers, _COLUMNS, what="layer")

    def to_dict(self) -> dict[str, Any]:
        """As JSON can hold it."""
        return {
            "layers": [dataclasses.asdict(layer) for layer in self.layers],
            "inputs_and_outputs": list(self.inputs_and_outputs),
            "unattributed": list(self.unattributed),
        }

    def __str__(self) -> str:
        nodes = sum(len(layer.nodes) for layer in self.layers)
        missing = len(self.unattributed)
        return f"{len(self.layers)} layers compute {nodes} nodes" + (f"; {missing} unattributed" if missing else "")


_COLUMNS: list[Column[EngineLayer]] = [
    Column("nodes", lambda layer: list(layer.nodes), text=lambda nodes: " + ".join(nodes) or "-", is_left=True),
    text_column("type"),
    text_column("serves"),
    text_column("kernel"),
    Column(
        "latency_us",
        lambda layer: None if layer.latency_s is None else layer.latency_s * 1e6,
        "us",
        lambda value: f"{value:.1f}",
    ),
    text_column("name", is_shown=False),
]


def read_engine(layers: Path, profile: Path | None = None, nodes: Collection[str] = ()) -> Engine:
    """The engine of a file of layers and, if there is one, its profile.

    nodes: names in the ONNX file, where it is at hand: then only those are nodes.
    """
    document = _load(layers)
    listed = document.get("Layers") if isinstance(document, dict) else None
    if not isinstance(listed, list):
        raise ModelFileError(f"'{layers}' is no engine: expected an object with 'Layers' (trtexec --exportLayerInfo)")
    described = [layer if isinstance(layer, dict) else {"Name": layer} for layer in listed]
    for place, layer in enumerate(described):
        if not isinstance(layer.get("Name"), str):
            raise ModelFileError(f"'{layers}': layer {place} has no name")
    names = [layer["Name"] for layer in described]
    times = [None] * len(names) if profile is None else _times(profile, names)
    known = frozenset(nodes)
    found = tuple(_layer(layer, time_s, known) for layer, time_s in zip(described, times, strict=True))
    ends = document.get("Bindings", document.get("I/O Tensors", []))  # since 11 the latter, with objects
    return Engine(found, tuple(end["Name"] if isinstance(end, dict) else str(end) for end in ends))


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ModelFileError(f"'{path}' cannot be read as JSON: {error}") from error


def _times(path: Path, names: Sequence[str]) -> list[float | None]:
    """Of each layer, by its place where the profile has the same layers, else by its name."""
    document = _load(path)
    if not isinstance(document, list):
        raise ModelFileError(f"'{path}' is no profile: expected a list (trtexec --exportProfile)")
    rows = [row for row in document if isinstance(row, dict) and "name" in row]
    if [row["name"] for row in rows] == list(names):
        return [_time_s(row) for row in rows]
    by_name: Mapping[str, float | None] = {row["name"]: _time_s(row) for row in rows}
    if strangers := set(by_name) - set(names):
        raise ModelFileError(
            f"'{path}' times layer '{sorted(strangers)[0]}', which the engine lacks: another engine's?"
        )
    return [by_name.get(name) for name in names]  # layers that cost nothing may be left out


def _time_s(row: Mapping[str, Any]) -> float | None:
    time_ms = row.get("medianMs", row.get("averageMs"))
    return None if time_ms is None else float(time_ms) * _MS


def _layer(layer: Mapping[str, Any], time_s: float | None, known: frozenset[str]) -> EngineLayer:
    name = layer["Name"]
    nodes, stored, helpers, serves, others = _parts(name, known)
    if metadata := _ONNX_NODE.findall(str(layer.get("Metadata") or "")):
        nodes = list(dict.fromkeys(metadata))
    return EngineLayer(
        name=name,
        type=str(layer.get("LayerType", "")),
        kernel=str(layer.get("TacticName", "")),
        nodes=tuple(nodes),
        stored=tuple(stored),
        helpers=tuple(helpers),
        unknown=() if metadata else tuple(others),
        serves="" if nodes else serves,
        inputs=_tensors(layer, "Inputs"),
        outputs=_tensors(layer, "Outputs"),
        latency_s=time_s,
    )


def _tensors(layer: Mapping[str, Any], key: str) -> tuple[str, ...]:
    return tuple(tensor["Name"] if isinstance(tensor, dict) else str(tensor) for tensor in layer.get(key, ()))


def _parts(name: str, known: frozenset[str]) -> tuple[list[str], list[str], list[str], str, list[str]]:
    """Nodes, stored tensors, helpers, what it serves, and what is none of these."""
    if copied := _COPY.fullmatch(name):
        return [], [], [], copied[1], []
    nodes, stored, helpers, others = [], [], [], []
    for word in words_of(name):
        if word in known:
            nodes.append(word)
        elif _HELPER.match(word):
            helpers.append(word)
        elif _STORED.fullmatch(word):
            stored.append(word)
        elif known:
            others.append(word)
        else:
            nodes.append(word)
    serves = ""
    if helpers and not nodes and not others:
        helped = _HELPED.fullmatch(helpers[0])
        serves = helped[1] if helped else helpers[0]
    return nodes, stored, helpers, serves, others


def words_of(name: str) -> list[str]:
    """The names that TensorRT has joined into one: "conv + PWN(PWN(sigmoid), mul)" is three."""
    if region := _REGION.fullmatch(name):
        return [region[1], region[2]]
    words: list[str] = []
    for part in re.split(r" \+ | \|\| ", name):
        inner = _POINTWISE.fullmatch(part)
        words += [part] if inner is None else [word for piece in _arguments(inner[1]) for word in words_of(piece)]
    return words


def _arguments(text: str) -> list[str]:
    """Split at commas outside of brackets."""
    found, depth, start = [], 0, 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == "," and depth == 0:
            found.append(text[start:place].strip())
            start = place + 1
    return [*found, text[start:].strip()]


__all__ = ["Engine", "EngineLayer", "read_engine", "words_of"]

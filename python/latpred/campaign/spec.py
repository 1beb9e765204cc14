"""What a campaign measures: recipes, where and how they run, and in which order. The same text, the same items."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from latpred import _core
from latpred.campaign import health
from latpred.campaign.fields import checked, shown
from latpred.datasets.rows import MEASURED_HERE
from latpred.errors import InvalidArgumentError, MissingDependencyError

LATENCY = "latency_s"
MEMORY = "memory_bytes"
KERNELS = "kernels_s"  # the sum of all kernels' times; each one stands in a table of its own
QUANTITIES = (LATENCY, MEMORY, KERNELS)
FIRST_RUN = ", first run"  # at the end of the protocol of such a row


def _fnn(seed: int) -> Iterator[str]:
    from latpred.datasets import fnn

    return fnn.generate(seed)


def _fnn_out_of_range(seed: int) -> Iterator[str]:
    from latpred.datasets import fnn

    return fnn.generate_out_of_range(seed)


def _cnn(seed: int) -> Iterator[str]:
    from latpred.datasets import cnn

    return cnn.generate(seed)


# Distinct recipes without end from a seed.
GENERATORS: dict[str, Callable[[int], Iterator[str]]] = {
    "fnn": _fnn,
    "fnn_out_of_range": _fnn_out_of_range,
    "cnn": _cnn,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """One network as it is run once."""

    position: int  # in the campaign's order
    recipe: str
    batch: int
    input: str  # sizes of one item; empty where the recipe says all
    runtime: str
    precision: str
    threads: int


@dataclasses.dataclass(frozen=True)
class Campaign:
    """(recipes) x (runtime, precision, threads, batch, input) on one kind of device."""

    recipes: str | tuple[str, ...]  # a row of GENERATORS, or the recipes themselves
    count: int | None = None  # networks; None: all that are listed
    seed: int = 1
    name: str = "campaign"
    device: str = "cpu"
    runtimes: tuple[str, ...] = ("eager",)
    precisions: tuple[str, ...] = ("fp32",)
    threads: tuple[int, ...] = (1,)
    batches: tuple[int, ...] = (1,)
    inputs: tuple[str, ...] = ("",)  # for recipes of imported modules that leave sizes open
    quantities: tuple[str, ...] = (LATENCY,)
    protocol: str = "default"  # a row of the profiler's table
    imports: tuple[str, ...] = ()  # modules that every worker imports first: they may add workloads of their own
    item_timeout_s: float = 600.0  # a worker that needs longer for one item is ended, and the item has failed
    health_threshold: float = health.THRESHOLD  # of the probes around a window, relative
    source: str = MEASURED_HERE  # these two as in every other row
    licence: str = "Apache-2.0"

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            object.__setattr__(self, field.name, checked(field.name, getattr(self, field.name)))
        if isinstance(self.recipes, str):
            if self.recipes not in GENERATORS:
                raise InvalidArgumentError(
                    _core.unknown_name_message("generator of recipes", self.recipes, list(GENERATORS))
                )
            if self.count is None:
                raise InvalidArgumentError(f"generator '{self.recipes}' goes on without end: say count, how many")
        elif self.count is not None and self.count > len(self.recipes):
            raise InvalidArgumentError(f"count is {self.count}, and {len(self.recipes)} recipes are listed")
        for quantity in self.quantities:
            if quantity not in QUANTITIES:
                raise InvalidArgumentError(_core.unknown_name_message("quantity", quantity, list(QUANTITIES)))

    @property
    def num_recipes(self) -> int:
        return len(self.recipes) if self.count is None else self.count

    @property
    def is_timed(self) -> bool:
        """Whether a busy machine makes a difference: memory is the same on one."""
        return set(self.quantities) != {MEMORY}

    @property
    def num_settings(self) -> int:
        return len(list(self._settings()))

    @property
    def num_items(self) -> int:
        return self.num_recipes * self.num_settings

    def _settings(self) -> Iterator[tuple[str, str, int, int, str]]:
        return itertools.product(self.runtimes, self.precisions, self.threads, self.batches, self.inputs)

    def items(self) -> Iterator[Item]:
        """In the order in which they are measured: what a shorter campaign has comes first."""
        recipes = GENERATORS[self.recipes](self.seed) if isinstance(self.recipes, str) else iter(self.recipes)
        position = 0
        for recipe in itertools.islice(recipes, self.num_recipes):
            for runtime, precision, threads, batch, input in self._settings():
                yield Item(position, recipe, batch, input, runtime, precision, threads)
                position += 1

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON; from_dict reads them."""
        return {
            name: list(value) if isinstance(value, tuple) else value for name, value in dataclasses.asdict(self).items()
        }

    def worker_settings(self) -> dict[str, Any]:
        """What a worker needs to know besides its items, for JSON."""
        return {
            "device": self.device,
            "protocol": self.protocol,
            "quantities": list(self.quantities),
            "imports": list(self.imports),
            "runtimes": list(self.runtimes),
            "precisions": list(self.precisions),
        }

    def differences(self, other: Campaign) -> list[str]:
        """Why rows of both cannot stand in one file; more or fewer networks of the same list are no reason."""
        found = []
        for field in dataclasses.fields(self):
            here, there = getattr(self, field.name), getattr(other, field.name)
            if field.name == "recipes" and not isinstance(here, str) and not isinstance(there, str):
                common = min(len(here), len(there))
                here, there = here[:common], there[:common]
            if here != there and field.name != "count":
                found.append(f"{field.name} is {shown(here)}, was {shown(there)}")
        return found


def from_dict(value: Any, where: str = "campaign") -> Campaign:
    """The campaign of a mapping; unknown names are refused."""
    if not isinstance(value, Mapping):
        raise InvalidArgumentError(f"{where}: expected an object, got {type(value).__name__}")
    names = [field.name for field in dataclasses.fields(Campaign)]
    for name in value:
        if name not in names:
            raise InvalidArgumentError(f"{where}: {_core.unknown_name_message('field', str(name), names)}")
    if "recipes" not in value:
        raise InvalidArgumentError(f"{where}: recipes is missing: the name of a generator, or a list of recipes")
    try:
        return Campaign(**value)
    except InvalidArgumentError as error:
        raise InvalidArgumentError(f"{where}: {error}") from error


def _read_json(text: str) -> Any:
    return json.loads(text)


def _read_toml(text: str) -> Any:
    try:
        tomllib = importlib.import_module("tomllib")
    except ImportError as error:  # before Python 3.11
        raise MissingDependencyError("a campaign in TOML needs Python 3.11 or newer; write it as .json") from error
    return tomllib.loads(text)


_READERS: dict[str, Callable[[str], Any]] = {".json": _read_json, ".toml": _read_toml}


def read_campaign_fields(path: Path) -> dict[str, Any]:
    """What a .json or .toml file says of a campaign. recipes may be the path of a list, relative to the file."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise InvalidArgumentError(
            f"'{path}': a campaign is read from {', '.join(_READERS)}, got '{path.suffix}'", valid=list(_READERS)
        )
    try:
        fields = reader(_text_of(path))
    except ValueError as error:
        if isinstance(error, InvalidArgumentError):
            raise
        raise InvalidArgumentError(f"'{path}' is no {path.suffix[1:]} file: {error}", path=str(path)) from error
    if isinstance(fields, dict) and isinstance(fields.get("recipes"), str):
        fields["recipes"] = read_recipes(fields["recipes"], path.parent)
    if not isinstance(fields, dict):
        raise InvalidArgumentError(f"'{path}': expected an object, got {type(fields).__name__}")
    return fields


def read_recipes(words: str, folder: Path | None = None) -> str | list[str]:
    """The name of a generator as it is, else the lines of the file of that name; a line with '#' first is a comment."""
    if words in GENERATORS:
        return words
    path = Path(words) if folder is None else folder / words
    if not path.is_file():
        raise InvalidArgumentError(
            f"{_core.unknown_name_message('generator of recipes', words, list(GENERATORS))}; and '{path}' is no file "
            "with a recipe on each line"
        )
    lines = (line.strip() for line in _text_of(path).splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def _text_of(path: Path) -> str:
    """Without the mark that some editors write first."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise InvalidArgumentError(f"'{path}' cannot be read: {error.strerror}", path=str(path)) from error
    except UnicodeDecodeError as error:
        raise InvalidArgumentError(f"'{path}' is no text in UTF-8: {error}; save it as such", path=str(path)) from error

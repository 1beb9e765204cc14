"""Recipes: short texts from which a measured network is rebuilt, "op:gemm?m=8&n=16&k=32".

Two kinds are for measuring here: "fnn:16-128-1", feed-forward nets by the units of their input and dense layers, and
"cnn:3-64-128?size=32", plain CNNs by the channels of their image and 3 x 3 convolutions (a size is always said, so that
a net has one recipe). fnn.py and cnn.py say the rest.
"""

from __future__ import annotations

import dataclasses
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

from latpred.errors import InvalidArgumentError

Variable: TypeAlias = Any  # what GraphBuilder.apply returns: an id, or a tuple of them


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A kind ("op", "anb"), a name in it, and its parameters."""

    kind: str
    name: str
    parameters: dict[str, str]

    def __str__(self) -> str:
        tail = f"?{urlencode(self.parameters, safe=',')}" if self.parameters else ""
        return f"{self.kind}:{self.name}{tail}"

    def integer(self, name: str, fallback: int | None = None) -> int:
        """The parameter as a whole number; a missing one without a fallback is an error."""
        text = self.parameters.get(name)
        if text is None:
            if fallback is None:
                raise InvalidArgumentError(f"recipe '{self}' lacks '{name}'; it has {', '.join(self.parameters)}")
            return fallback
        return int(text)


def parse(text: str) -> Recipe:
    """Reads "kind:name?key=value&key=value"."""
    kind, colon, rest = text.partition(":")
    name, _, query = rest.partition("?")
    if not colon or not name:
        raise InvalidArgumentError(f"'{text}' is no recipe; expected kind:name?key=value, as op:gemm?m=8&n=16&k=32")
    return Recipe(kind, name, dict(parse_qsl(query, strict_parsing=True)) if query else {})


def is_count(word: str) -> bool:
    """Whether a word of a recipe is an integer >= 1 in the one way to write it."""
    return word.isascii() and word.isdigit() and not word.startswith("0")

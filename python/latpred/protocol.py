"""How something is measured: the named protocols, and changed ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.errors import InvalidArgumentError
from latpred.tables import Column, Table

if TYPE_CHECKING:
    from latpred._core import Protocol


def protocols() -> Table[_core.ProtocolRow]:
    """The named ways to measure; protocols()["khan"].protocol is one."""
    columns: list[Column[Any]] = [
        Column("name", lambda row: row.name, is_left=True),
        Column("description", lambda row: row.description, is_left=True),
    ]
    return Table(_core.protocols(), columns, what="protocol")


def make_protocol(base: str | Protocol = "default", **changes: Any) -> Protocol:
    """A copy of a protocol with some settings changed, under a name that says so."""
    chosen = _core.protocol(base) if isinstance(base, str) else base
    if not isinstance(chosen, _core.Protocol):
        raise InvalidArgumentError(f"protocol must be the name of one in protocols(), or one, got {chosen!r}")
    chosen = _core.Protocol(chosen)
    known = [name for name in dir(chosen) if not name.startswith("_")]
    before = str(chosen)
    for name, value in changes.items():
        if name not in known:
            raise InvalidArgumentError(_core.unknown_name_message("setting of a protocol", name, known), valid=known)
        try:
            setattr(chosen, name, value)
        except TypeError:
            raise InvalidArgumentError(f"protocol: {name} cannot be {value!r}") from None
    if "name" not in changes and str(chosen) != before:
        chosen.name += ", changed"
    return chosen

"""Where a user's own files are kept: settings, data, caches."""

from __future__ import annotations

import os
from pathlib import Path

_NAME = "latpred"


def _folder(variable: str, otherwise: str) -> Path:
    chosen = os.environ.get(variable)
    return (Path(chosen) if chosen else Path.home() / otherwise) / _NAME


def config_folder() -> Path:
    """What the user decided: $XDG_CONFIG_HOME, else ~/.config."""
    return _folder("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    """What grows with use and is kept: $XDG_DATA_HOME, else ~/.local/share."""
    return _folder("XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    """What can be made again: $XDG_CACHE_HOME, else ~/.cache."""
    return _folder("XDG_CACHE_HOME", ".cache")

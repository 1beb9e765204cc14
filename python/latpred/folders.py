"""Where a user's own files are kept: settings, data, caches."""

from __future__ import annotations

import os
from pathlib import Path

from latpred.errors import LatpredError

_NAME = "latpred"


def _folder(variable: str, otherwise: str) -> Path:
    chosen = os.environ.get(variable)
    if chosen:
        return Path(chosen) / _NAME
    try:
        return Path.home() / otherwise / _NAME
    except RuntimeError as error:
        raise LatpredError(
            f"there is no folder for latpred's own files: $HOME is not set, and the system knows no home directory of "
            f"user {os.getuid()}; set ${variable} to a folder that may be written to"
        ) from error


def config_folder() -> Path:
    """What the user decided: $XDG_CONFIG_HOME, else ~/.config."""
    return _folder("XDG_CONFIG_HOME", ".config")


def data_folder() -> Path:
    """What grows with use and is kept: $XDG_DATA_HOME, else ~/.local/share."""
    return _folder("XDG_DATA_HOME", ".local/share")


def cache_folder() -> Path:
    """What can be made again: $XDG_CACHE_HOME, else ~/.cache."""
    return _folder("XDG_CACHE_HOME", ".cache")

"""Packages that an optional feature needs are imported when it is used, and their absence is one sentence."""

from __future__ import annotations

import importlib
from typing import Any

from latpred.errors import MissingDependencyError


def need(package: str, extra: str, feature: str) -> Any:
    """The module `package`, or an error that names the extra of latpred to install."""
    try:
        return importlib.import_module(package)
    except ImportError as error:
        raise MissingDependencyError(
            f"{feature} needs the package {package.split('.')[0]}, which cannot be imported ({error}); "
            f'install it with: pip install "latpred[{extra}]"'
        ) from error

"""The LibTorch part, loaded when it is first needed. Nothing here imports torch itself."""

from __future__ import annotations

import importlib
import importlib.metadata
from functools import cache
from types import ModuleType

from latpred import _core
from latpred.errors import MissingDependencyError


@cache
def predictors_module() -> ModuleType:
    """latpred._predictors, or an error of one sentence that says what to install."""
    built = _core.TORCH_VERSION
    if built is None:
        raise MissingDependencyError(
            "this latpred was built without its LibTorch part: install torch 2.13.0 and build it again, with "
            'pip install ".[torch]" in its source folder and without LATPRED_TORCH=OFF'
        )
    try:
        found = importlib.metadata.version("torch")
    except importlib.metadata.PackageNotFoundError:
        raise MissingDependencyError(
            f"the LibTorch part needs torch {_minor(built)}, which is not installed; "
            'install it with: pip install "latpred[torch]"'
        ) from None
    if _minor(found) != _minor(built):
        raise MissingDependencyError(
            f"the LibTorch part was built with torch {built} and this environment has torch {found}, whose binary "
            f'interface differs; install torch {_minor(built)} with: pip install "latpred[torch]", or build latpred '
            "again with this one"
        )
    try:
        return importlib.import_module("latpred._predictors")
    except ImportError as error:
        raise MissingDependencyError(
            f'the LibTorch part cannot be loaded ({error}); install torch again with: pip install "latpred[torch]"'
        ) from error


def _minor(version: str) -> str:
    """ "2.13" of "2.13.0+cpu": LibTorch's binary interface holds for one minor release."""
    return ".".join(version.partition("+")[0].split(".")[:2])

"""scikit-build-core's backend, which also asks for torch where the LibTorch part is built and no torch is there.

pip hides the environment's own packages from an isolated build, but sysconfig still names their folder: a torch that
lies there is used as it is (cmake/torch.cmake), so that the part is built against the torch it will run with and no
second one is downloaded.
"""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scikit_build_core.build import (
    build_editable,
    build_sdist,
    build_wheel,
    get_requires_for_build_sdist,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)
from scikit_build_core.build import get_requires_for_build_editable as _requires_for_editable
from scikit_build_core.build import get_requires_for_build_wheel as _requires_for_wheel

_TORCH = "torch==2.13.0"
_OFF = {"0", "off", "no", "false", "n"}  # what CMake takes for false

Settings = Mapping[str, Any] | None


def get_requires_for_build_wheel(config_settings: Settings = None) -> list[str]:
    return [*_requires_for_wheel(config_settings), *_torch_if_needed(config_settings)]


def get_requires_for_build_editable(config_settings: Settings = None) -> list[str]:
    return [*_requires_for_editable(config_settings), *_torch_if_needed(config_settings)]


def _torch_if_needed(config_settings: Settings) -> list[str]:
    if _is_torch_part_off(config_settings) or _has_torch():
        return []
    return [_TORCH]


def _is_torch_part_off(config_settings: Settings) -> bool:
    """As pyproject.toml lets it be said: --config-settings=cmake.define.LATPRED_TORCH=OFF, or the environment."""
    given = dict(config_settings or {}).get("cmake.define.LATPRED_TORCH", os.environ.get("LATPRED_TORCH", "ON"))
    return str(given).lower() in _OFF


def _has_torch() -> bool:
    return any(Path(sysconfig.get_path(name), "torch", "version.py").is_file() for name in ("platlib", "purelib"))


__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]

"""The fake NVIDIA driver of the C++ tests, built for Python's."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from pathlib import Path

import pytest
from latpred import _core

FOLDER = Path(__file__).resolve().parents[1] / "cpp" / "fake_driver"
SOURCES = ("fake_cuda.cpp", "fake_nvml.cpp", "fake_state.cpp")


class FakeGpu:
    """The library, its name for latpred, and kernels for its streams."""

    def __init__(self, path: Path) -> None:
        self.libraries = _core.CudaLibraries(str(path), str(path))
        self._library = ctypes.CDLL(str(path))
        self._library.fake_enqueue.argtypes = [ctypes.c_void_p, ctypes.c_double]
        self._library.fake_make_stream.restype = ctypes.c_void_p
        self._library.fake_fail.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_int]

    def reset(self) -> None:
        self._library.fake_reset()

    def make_stream(self) -> int:
        """A stream of GPU 0, as another library would make it."""
        return int(self._library.fake_make_stream(0))

    def enqueue(self, stream: int, seconds: float) -> None:
        """A kernel of so many virtual seconds."""
        assert self._library.fake_enqueue(stream, seconds) == 0

    def fail(self, function: str, code: int) -> None:
        """From now on this function of the driver fails."""
        self._library.fake_fail(function.encode(), code, -1)

    @property
    def misuses(self) -> int:
        """Calls that the driver would have refused."""
        return int(self._library.fake_misuses())


def build(folder: Path) -> FakeGpu:
    """Compiles it, in a few seconds."""
    compiler = shutil.which("c++")
    if compiler is None:
        pytest.skip("needs a C++ compiler for the fake driver")
    path = folder / "libfake_driver.so"
    sources = [str(FOLDER / name) for name in SOURCES]
    subprocess.run([compiler, "-std=c++20", "-shared", "-fPIC", "-w", *sources, "-o", str(path)], check=True)
    return FakeGpu(path)

"""The build asks for torch where it needs one and there is none, and only there."""

import importlib.util
import sysconfig

import pytest
from example_networks import REPOSITORY

pytest.importorskip("scikit_build_core")


@pytest.fixture
def backend(monkeypatch, tmp_path):
    """The backend, in an environment without torch and without settings."""
    spec = importlib.util.spec_from_file_location("latpred_build", REPOSITORY / "build_backend" / "latpred_build.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.delenv("LATPRED_TORCH", raising=False)
    monkeypatch.setattr(sysconfig, "get_path", lambda name: str(tmp_path))
    monkeypatch.chdir(REPOSITORY)
    return module


def wants_torch(requirements):
    return [name for name in requirements if name.startswith("torch")] == ["torch==2.13.0"]


def test_bare_environment_gets_torch(backend):
    assert wants_torch(backend.get_requires_for_build_wheel())
    assert wants_torch(backend.get_requires_for_build_editable())


def test_torch_that_is_there_is_used(backend, tmp_path):
    (tmp_path / "torch").mkdir()
    (tmp_path / "torch" / "version.py").write_text("__version__ = '2.13.0+cpu'\n")
    assert not wants_torch(backend.get_requires_for_build_wheel())


@pytest.mark.parametrize("off", ["OFF", "off", "0", "False"])
def test_part_switched_off_needs_none(backend, monkeypatch, off):
    assert not wants_torch(backend.get_requires_for_build_wheel({"cmake.define.LATPRED_TORCH": off}))
    monkeypatch.setenv("LATPRED_TORCH", off)
    assert not wants_torch(backend.get_requires_for_build_wheel())
    assert wants_torch(backend.get_requires_for_build_wheel({"cmake.define.LATPRED_TORCH": "ON"}))

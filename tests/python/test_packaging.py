"""What is installed: version, metadata, entry point, and what importing costs."""

import importlib.metadata
import subprocess
import sys

import latpred
import pytest
from example_networks import REPOSITORY
from latpred import cli

tomllib = pytest.importorskip("tomllib")  # from Python 3.11 on
PROJECT = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())


def test_one_version():
    version = (REPOSITORY / "VERSION").read_text().strip()
    assert latpred.__version__ == version
    assert importlib.metadata.version("latpred") == version


def test_entry_point():
    (entry,) = importlib.metadata.entry_points(group="console_scripts", name="latpred")
    assert entry.load() is cli.main


def test_run_time_dependencies_are_two():
    names = {requirement.split(">")[0] for requirement in PROJECT["project"]["dependencies"]}
    assert names == {"numpy", "rich"}


@pytest.mark.parametrize("package", ["torch", "onnx", "pandas", "matplotlib", "rich"])
def test_import_is_light(package):
    """Predicting needs none of these; rich is for the command line."""
    code = f"import sys, latpred; sys.exit({package!r} in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_torch_pins_move_together():
    extra = PROJECT["project"]["optional-dependencies"]
    (wide,) = extra["torch"]
    (exact,) = [requirement for requirement in extra["test"] if requirement.startswith("torch")]
    assert exact.startswith(wide.rstrip("*"))
    assert f'_TORCH = "{exact}"' in (REPOSITORY / "build_backend" / "latpred_build.py").read_text()
    assert f"install {exact}" in (REPOSITORY / "cmake" / "torch.cmake").read_text()
    assert f"pip install {exact} " in (REPOSITORY / "README.md").read_text()

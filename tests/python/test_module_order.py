"""Modules of the Python package: imports go one way, those that wait inside functions too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[2] / "python" / "latpred"

# A value that saves itself: what writes its file reads the one that is there.
BACKWARD = {("latpred.calibration", "latpred.calibration.saving")}


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}
COMPILED = {"latpred._core", "latpred._predictors"}


def statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """All imports but those for types alone."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.Import, ast.ImportFrom)):
            yield child
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from statements(child)


def imported(source: str) -> set[str]:
    """Names of modules, "latpred.errors"; of a package where it is asked for a name of its own."""
    found = set()
    for statement in statements(ast.parse(source)):
        if isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
        elif statement.module is not None:
            inner = {alias.name: f"{statement.module}.{alias.name}" for alias in statement.names}
            found |= {name if name in MODULES or name in COMPILED else statement.module for name in inner.values()}
    return found & set(MODULES)


def circle(sources: dict[str, str]) -> list[str]:
    """Modules that import each other in a loop, if there is one."""
    arrows = {module: {name for name in imported(text) if (module, name) not in BACKWARD} - {module}
              for module, text in sources.items()}  # fmt: skip
    try:
        TopologicalSorter(arrows).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other() -> None:
    sources = {module: path.read_text() for module, path in MODULES.items()}
    assert "latpred.errors" in imported(sources["latpred.api"])
    assert circle(sources) == []


@pytest.mark.parametrize("backward", sorted(BACKWARD))
def test_what_may_go_backward_does(backward: tuple[str, str]) -> None:
    first, second = backward
    assert second in imported(MODULES[first].read_text())
    assert first in imported(MODULES[second].read_text())


def test_a_circle_is_found_behind_a_function_and_not_behind_a_type() -> None:
    later = "def ask():\n    from latpred import api\n"
    assert set(circle({"latpred.api": "from latpred.units import KIBIBYTE", "latpred.units": later})) == {
        "latpred.api",
        "latpred.units",
    }
    of_types = "if TYPE_CHECKING:\n    from latpred import api\n"
    assert circle({"latpred.api": "from latpred.units import KIBIBYTE", "latpred.units": of_types}) == []

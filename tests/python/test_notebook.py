"""The notebooks' cells run one after the other, and they are committed with their outputs."""

import json

import pytest
from example_networks import REPOSITORY

FOLDER = REPOSITORY / "notebooks"


WITH_TORCH = ["mendoza", "training"]
PLAIN = ["colocation", "families", "fusion", "quickstart"]
NEEDS = {"families": "pyarrow", "fusion": "onnxruntime"}
NAMES = [*PLAIN, *(pytest.param(name, marks=pytest.mark.torch) for name in WITH_TORCH)]


def code_cells(name):
    notebook = json.loads((FOLDER / f"{name}.ipynb").read_text())
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("name", NAMES)
def test_cells_run(name, monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip(NEEDS.get(name, "pandas"))
    pyplot = pytest.importorskip("matplotlib.pyplot")
    monkeypatch.chdir(FOLDER)
    names: dict[str, object] = {}
    for cell in code_cells(name):
        exec("".join(cell["source"]), names)
    pyplot.close("all")


def test_all_are_run():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {*PLAIN, *WITH_TORCH}


@pytest.mark.parametrize("name", [*PLAIN, *WITH_TORCH])
def test_every_cell_has_run_in_order_and_without_error(name):
    cells = code_cells(name)
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert all(output["output_type"] != "error" for output in cell["outputs"])
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"])

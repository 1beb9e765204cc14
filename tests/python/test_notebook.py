"""The notebook's cells run one after the other, and it is committed with its outputs."""

import json

import pytest
from networks import REPOSITORY

FOLDER = REPOSITORY / "notebooks"


def code_cells():
    notebook = json.loads((FOLDER / "quickstart.ipynb").read_text())
    return [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]


def test_cells_run(monkeypatch):
    pytest.importorskip("pandas")
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(FOLDER)
    names: dict[str, object] = {}
    for cell in code_cells():
        exec("".join(cell["source"]), names)


def test_every_cell_has_run_in_order_and_without_error():
    cells = code_cells()
    assert [cell["execution_count"] for cell in cells] == list(range(1, len(cells) + 1))
    for cell in cells:
        assert all(output["output_type"] != "error" for output in cell["outputs"])
    assert any("image/png" in output.get("data", {}) for cell in cells for output in cell["outputs"])

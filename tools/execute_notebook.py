"""Runs notebooks/quickstart.ipynb and stores its outputs: execute_notebook.py. Needs nbclient and ipykernel."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOK = Path(__file__).resolve().parents[1] / "notebooks" / "quickstart.ipynb"


def main() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(NOTEBOOK.parent)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day: noise in every diff
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()

"""Runs notebooks and stores their outputs: execute_notebook.py [NAME ...]; all, where none is named.

Needs nbclient and ipykernel.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"


def execute(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, resources={"metadata": {"path": str(path.parent)}}).execute()
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)  # times of day: noise in every diff
    notebook.metadata.pop("language_info", None)
    nbformat.write(notebook, path)


def main() -> None:
    names = sys.argv[1:] or sorted(path.stem for path in FOLDER.glob("*.ipynb"))
    for name in names:
        execute(FOLDER / f"{name}.ipynb")


if __name__ == "__main__":
    main()

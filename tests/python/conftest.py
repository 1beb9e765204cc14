"""Fixtures and rules for all tests."""

import os

import pytest
from latpred import MissingDependencyError, _torch, record
from latpred.cli import main

# No test writes into the home of whoever runs it; those of the record choose a folder of their own.
os.environ[record.VARIABLE] = "off"


@pytest.fixture
def run(capsys, monkeypatch):
    """Runs one command of latpred; returns its exit code and what it printed."""
    monkeypatch.setenv("COLUMNS", "160")

    def command(*words):
        code = main([str(word) for word in words])
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return command


def pytest_collection_modifyitems(config, items):
    """Tests of the LibTorch part are skipped where it is not built, but never in CI: there it must be."""
    marked = [item for item in items if item.get_closest_marker("torch")]
    if not marked or os.environ.get("CI"):
        return
    try:
        _torch.predictors_module()
    except MissingDependencyError as error:
        for item in marked:
            item.add_marker(pytest.mark.skip(reason=str(error)))

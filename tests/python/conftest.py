"""Fixtures and rules for all tests."""

import os
import pwd

import pytest
from latpred import MissingDependencyError, _core, _torch, host_device, record
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


@pytest.fixture
def no_home(monkeypatch):
    """A user whom the system does not know, as a container may have, without any variable that names a folder."""

    def unknown(user):
        raise KeyError(user)

    monkeypatch.setattr(pwd, "getpwuid", unknown)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def known_host(monkeypatch):
    """A machine of two cores whose rates are known."""
    fingerprint = _core.host_facts().fingerprint
    reads = ((1 << 15, 400e9, 800e9), (256 << 20, 40e9, 50e9))
    speed = host_device.Speed(fingerprint, 2, "2026-01-31", 512e9, reads)
    monkeypatch.setattr(host_device, "speed", lambda folder: speed)
    return speed


@pytest.fixture
def name_host(known_host, monkeypatch):
    """Gives that machine's processor a name."""

    def forget():
        host_device.host_device.cache_clear()
        host_device._with_speed.cache_clear()

    def name(processor):
        forget()
        monkeypatch.setattr(host_device, "_device", lambda cores: _core.host_device(processor, cores, 64e9, 32e6))

    yield name
    forget()


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

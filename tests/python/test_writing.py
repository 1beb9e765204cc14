"""Files that are there whole or not at all."""

import errno
import os

import pytest
from latpred import InvalidArgumentError
from latpred.writing import replacing, writing


def test_a_file_is_replaced_when_it_is_whole(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")
    path.chmod(0o640)
    with replacing(path) as unfinished:
        assert unfinished.name == path.name
        unfinished.write_text("new")
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_what_is_unfinished_is_removed(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("old")

    def write():
        with replacing(path) as unfinished:
            unfinished.write_text("ne")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_stays_one(tmp_path):
    path, link = tmp_path / "a.csv", tmp_path / "link.csv"
    link.symlink_to(path)
    for text in ("old", "new"):
        with replacing(link) as unfinished:
            unfinished.write_text(text)
        assert link.is_symlink()
        assert path.read_text() == text


def test_devices_are_written_to():
    with replacing(os.devnull) as unfinished:
        unfinished.write_text("text")
    assert not os.path.isfile(os.devnull)


def test_a_protected_file_stays(tmp_path, monkeypatch):
    path = tmp_path / "a.csv"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda *_: False)  # whoever runs this
    with pytest.raises(InvalidArgumentError, match="Permission denied"), writing("it", path), replacing(path):
        pass
    assert path.read_text() == "old"


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (errno.ENOSPC, "No space left on device; make room there, or name a file on another disk"),
        (errno.EROFS, "Read-only file system; name a file in a folder that exists and may be written to"),
        (errno.EIO, "Input/output error; name another file"),
    ],
)
def test_the_advice_is_for_what_the_system_says(number, advice):
    with pytest.raises(InvalidArgumentError, match=f"^it cannot be written to 'a': {advice}$"), writing("it", "a"):
        raise OSError(number, os.strerror(number))

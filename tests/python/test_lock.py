"""One process at a time."""

import pytest
from latpred import LatpredError
from latpred.lock import Lock, is_held


def test_a_second_one_is_refused_until_the_first_is_released(tmp_path):
    path = tmp_path / "x"
    held = Lock(path, "somebody is there")
    assert is_held(path)
    with pytest.raises(LatpredError, match="somebody is there") as caught:
        Lock(path, "somebody is there")
    assert caught.value.path == str(path)
    held.release()
    assert not is_held(path)
    assert list(tmp_path.iterdir()) == []
    Lock(path, "somebody is there").release()


def test_a_file_that_was_left_behind_keeps_nobody_out(tmp_path):
    (tmp_path / "x.lock").touch()
    assert not is_held(tmp_path / "x")
    Lock(tmp_path / "x", "somebody is there").release()

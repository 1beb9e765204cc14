"""The file of arrays and a manifest."""

import numpy as np
import pytest
from latpred import checkpoint_file
from latpred.errors import CheckpointError, InvalidArgumentError

ARRAYS = {
    "b": np.arange(6, dtype=np.float32).reshape(2, 3),
    "a": np.array([7.0]),
    "bytes": np.arange(3, dtype=np.uint8),
    "none": np.zeros((0, 4)),
    "one": np.array(5, dtype=np.int64),
}


def test_types_shapes_and_values_come_back(tmp_path):
    path = tmp_path / "x.safetensors"
    checkpoint_file.write(path, {"x": [1, "é"]}, ARRAYS)
    manifest, arrays = checkpoint_file.read(path)
    assert manifest == {"x": [1, "é"]}
    assert set(arrays) == set(ARRAYS)
    for name, values in ARRAYS.items():
        assert arrays[name].dtype == values.dtype
        np.testing.assert_array_equal(arrays[name], values)
    first = path.read_bytes()
    checkpoint_file.write(path, {"x": [1, "é"]}, dict(reversed(ARRAYS.items())))
    assert path.read_bytes() == first
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("cut", [0, 5, 40, -3])
def test_damaged_files_are_refused(tmp_path, cut):
    path = tmp_path / "x.safetensors"
    checkpoint_file.write(path, {}, ARRAYS)
    path.write_bytes(path.read_bytes()[:cut])
    with pytest.raises(CheckpointError, match="is damaged or another kind of file"):
        checkpoint_file.read(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(CheckpointError, match="cannot be read: No such file"):
        checkpoint_file.read(tmp_path / "x.safetensors")


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path):
    (tmp_path / "folder").mkdir()
    for path in (tmp_path / "folder", tmp_path / "none" / "x.safetensors"):
        with pytest.raises(InvalidArgumentError, match="the checkpoint cannot be written to") as caught:
            checkpoint_file.write(path, {}, ARRAYS)
        assert caught.value.path == str(path)
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]

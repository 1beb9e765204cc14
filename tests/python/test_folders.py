"""Where a user's files are: by the variables, by the home directory, or nowhere."""

import pytest
from latpred import LatpredError, folders


def test_the_variable_comes_before_the_home_directory(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    assert folders.data_folder() == tmp_path / "data" / "latpred"
    assert folders.config_folder() == tmp_path / ".config" / "latpred"


@pytest.mark.parametrize(
    ("folder", "variable"),
    [
        (folders.config_folder, "XDG_CONFIG_HOME"),
        (folders.data_folder, "XDG_DATA_HOME"),
        (folders.cache_folder, "XDG_CACHE_HOME"),
    ],
)
def test_without_a_home_directory_the_variable_is_named(no_home, folder, variable):
    with pytest.raises(LatpredError, match=rf"\$HOME is not set, .* set \${variable} to a folder"):
        folder()

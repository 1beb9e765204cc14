"""The README's Python blocks run; that its outputs are those of this build is checked in test_docs.py."""

import re
import subprocess
import sys

import pytest
from example_networks import REPOSITORY

README = (REPOSITORY / "README.md").read_text()
PYTHON_BLOCKS = re.findall(r"^```python\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def test_there_is_python_to_run():
    assert PYTHON_BLOCKS


@pytest.mark.parametrize("code", PYTHON_BLOCKS)
def test_python_blocks_run(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "resnet50.onnx on A100-SXM4-40GB" in done.stdout


def test_the_command_whose_output_is_shown_is_the_one_to_paste():
    (shown,) = re.findall(r"<!-- latpred (.*) -->", README)
    assert f".venv/bin/latpred {shown}\n" in README

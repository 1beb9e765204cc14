"""docs/pytorch.md: its Python blocks run and print what stands below them."""

import importlib.util
import re
import subprocess
import sys

import pytest
from networks import REPOSITORY

PAGE = (REPOSITORY / "docs" / "pytorch.md").read_text()
EXAMPLES = re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def test_every_python_block_shows_its_output():
    assert len(EXAMPLES) == PAGE.count("```python\n") == 4


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_python_blocks_print_what_they_show(code, output):
    if code.startswith("# needs transformers") and importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == output

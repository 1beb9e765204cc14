"""Pages written by hand: their Python blocks run and print what stands below them, and so do the README's examples."""

import importlib.util
import re
import subprocess
import sys

import pytest
from example_networks import REPOSITORY

PAGES = (
    "calibration.md",
    "campaigns.md",
    "datasets.md",
    "formats.md",
    "mendoza.md",
    "optimized_graphs.md",
    "pytorch.md",
    "training.md",
)
TEXTS = {page: (REPOSITORY / "docs" / page).read_text() for page in PAGES}
EXAMPLES = [
    pytest.param(code, output, id=f"{page}-{index}")
    for page, text in TEXTS.items()
    for index, (code, output) in enumerate(
        re.findall(r"^```python\n(.*?)^```\n\n```text\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    )
]
README = (REPOSITORY / "README.md").read_text()
# The examples in the table of formats that need no file of the reader's own.
LOADS = re.findall(r"^\| .* \| `(latpred\.load\((?:\"tests/|model=).*\))` \| (.*) \|$", README, re.MULTILINE)


def run(code):
    done = subprocess.run([sys.executable, "-c", code], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_python_block_shows_its_output():
    assert len(EXAMPLES) == sum(text.count("```python\n") for text in TEXTS.values()) > 0


@pytest.mark.parametrize(("code", "output"), EXAMPLES)
def test_python_blocks_print_what_they_show(code, output):
    if code.startswith("# needs transformers") and importlib.util.find_spec("transformers") is None:
        pytest.skip("transformers is not installed")
    assert run(code) == output


def test_the_readme_has_an_example_of_each_format():
    assert len(LOADS) == 11


@pytest.mark.parametrize(("expression", "needs"), LOADS)
def test_examples_of_the_readme_load(expression, needs):
    imports = "import latpred, torch" if needs == "torch" else "import latpred"
    assert int(run(f"{imports}\nprint(len({expression}.nodes))")) > 0

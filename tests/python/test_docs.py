"""The pages made from tables are what this build makes, and links inside the documentation lead somewhere."""

import re
import subprocess
import sys

import pytest
from example_networks import REPOSITORY

PAGES = sorted([*REPOSITORY.glob("docs/*.md"), REPOSITORY / "README.md"])


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="argparse words its help differently in each Python")
def test_generated_pages_are_current():
    script = REPOSITORY / "tools" / "generate_docs.py"
    done = subprocess.run([sys.executable, str(script), "--check"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for target in re.findall(r"\]\((?!https?:|#)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target

import subprocess
import sys

import latpred
import pytest
from example_networks import REPOSITORY, RESNET50


def test_the_committed_network_is_what_its_script_makes(tmp_path):
    pytest.importorskip("onnx")
    made = tmp_path / "resnet50.onnx"
    script = REPOSITORY / "examples" / "make_resnet50.py"
    subprocess.run([sys.executable, str(script), str(made)], check=True)
    assert latpred.load(made).hash == latpred.load(RESNET50).hash
    assert [node.name for node in latpred.load(made).nodes] == [node.name for node in latpred.load(RESNET50).nodes]


def test_the_committed_network_is_small():
    assert RESNET50.stat().st_size < 100_000

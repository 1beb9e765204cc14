"""Writes the type stubs of the compiled modules beside the Python sources: generate_stubs.py [--check].

Run it with the interpreter of an environment in which this version of latpred is installed with its LibTorch part.
--check writes nothing and fails where a committed stub differs.
"""

from __future__ import annotations

import argparse
import difflib
import re
import subprocess
import sys
import tempfile
from pathlib import Path

_SOURCES = Path(__file__).resolve().parents[1] / "python" / "latpred"
_MODULES = ("_core", "_predictors")


def generate(module: str) -> str:
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            [sys.executable, "-m", "pybind11_stubgen", f"latpred.{module}", "--output-dir", folder, "--exit-code"],
            check=True,
            cwd=folder,
        )
        text = Path(folder, "latpred", f"{module}.pyi").read_text()
    # Their values would make every stub stale at each release, and in a build without the LibTorch part.
    for name, kind in (("__version__", "str"), ("TORCH_VERSION", "str | None")):
        text = re.sub(rf"^{name}\b[^\n]*$", f"{name}: {kind}", text, flags=re.MULTILINE)
    # latpred/copies.py gives them to every class, not the module.
    return re.sub(r"    @staticmethod\n    def __(deep)?copy__\([^\n]*\n        \.\.\.\n", "", text)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="fail where a committed stub differs")
    is_check = parser.parse_args().check
    stale = []
    for module in _MODULES:
        path = _SOURCES / f"{module}.pyi"
        text = generate(module)
        if not is_check:
            path.write_text(text)
            continue
        committed = path.read_text() if path.exists() else ""
        if text != committed:
            stale.append(path.name)
            old, new = committed.splitlines(), text.splitlines()
            print("\n".join(difflib.unified_diff(old, new, "committed", "generated", lineterm="")))
    if stale:
        print(f"stale: {', '.join(stale)}; write them again with tools/generate_stubs.py", file=sys.stderr)
    return 1 if stale else 0


if __name__ == "__main__":
    sys.exit(main())

"""Prints the folder of the torch package. Run by cmake/torch.cmake, in pip's isolated build too, where the
environment's own packages are hidden from import but their folder is still named by sysconfig."""

import importlib.util
import sys
import sysconfig
from pathlib import Path

spec = importlib.util.find_spec("torch")
candidates = list(spec.submodule_search_locations or []) if spec else []
candidates += [str(Path(sysconfig.get_path(name), "torch")) for name in ("platlib", "purelib")]
found = [path for path in candidates if Path(path, "version.py").is_file()]
if not found:
    sys.exit(f"no torch in {candidates}")
print(found[0])

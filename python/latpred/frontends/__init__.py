"""What only a framework itself can read: live modules, TorchScript, pickles, folders of a config, Keras' own classes.

Nothing here is imported by `import latpred`; each module imports its framework when it is used. Files are read in a
child process (child.py) that holds exactly one framework, live objects in the caller's own process.
"""

from __future__ import annotations

from collections.abc import Mapping

# Kinds of files (as _core.sniff_path names them) that no compiled reader takes -> the row of child.FRONTENDS that does.
FILE_FRONTENDS: Mapping[str, str] = {
    "torchscript": "torchscript",
    "torch_module": "pickled",
    "hf_folder": "huggingface",
}

# Kinds that a compiled reader takes but for layers that it does not know -> the row that loads them with the framework.
FALLBACK_FRONTENDS: Mapping[str, str] = {
    "keras": "keras",
    "hdf5": "keras",
}

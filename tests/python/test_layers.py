"""Layers of cpp/src: what may include what, and that every public header stands alone."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCES = ROOT / "cpp" / "src"
HEADERS = ROOT / "cpp" / "include"
BINDINGS = ROOT / "python" / "bindings"

# Each layer, with the layers directly to its left; what those may include is allowed too.
LEFT_OF = {
    "common": (),
    "profiler": ("common",),
    "itt": (),  # a shared library of its own, which OpenVINO loads
    "graph": ("common",),
    "operators": ("graph",),
    "normalize": ("operators",),
    "shapes": ("normalize",),
    "readers": ("shapes",),
    "kernels": ("operators",),
    "devices": ("kernels",),
    "features": ("kernels", "devices"),
    "memory": ("kernels", "devices"),
    "energy": ("features",),
    "predict": ("shapes", "features", "memory", "energy"),  # shapes: largest_batch asks for other batches
    "colocation": ("features",),
    "batch": ("features",),
    "predictors": ("batch",),
    "training": ("predictors",),
    "workloads": ("profiler", "batch"),  # batch: errors of LibTorch as one sentence
}
TORCH_LAYERS = {"batch", "predictors", "training", "workloads"}
TORCH_BINDINGS = {
    "graph_trainer_module.cpp",
    "kernel_residual_module.cpp",
    "named_arrays_module.cpp",
    "named_arrays_module.h",
    "net_regressors_module.cpp",
    "plain_net_module.cpp",
    "predictors_module.cpp",
    "transformer_module.cpp",
}

# Public headers without the one source of their stem, and the layer that they belong to.
OTHER_STEM = {
    "autocast.h": "graph",  # nothing to define
    "operator_id.h": "graph",  # nothing to define
    "predictor.h": "predict",  # the table of them is predictors.cpp
    "program.h": "graph",  # nothing to define
    "quantile.h": "common",  # nothing to define
    "shapes.h": "shapes",  # resolve.cpp
    "text.h": "common",  # the rules of text operators are a text.cpp too
    "unit_prefixes.h": "common",  # nothing to define
}

MAX_LINES = 450
WISHED_LINES = 400
# Tables and the like, which do not get clearer in two files.
LONG_FILES: dict[str, int] = {}


def files(*suffixes: str) -> list[Path]:
    found = [path for path in SOURCES.rglob("*") if path.suffix in suffixes]
    return sorted(found)


def layer_of_header(name: str) -> str:
    """The layer of latpred/<name>: the folder that holds the source of the same stem."""
    owners = {path.parent.relative_to(SOURCES).parts[0] for path in SOURCES.rglob(Path(name).stem + ".cpp")}
    if name in OTHER_STEM:
        assert owners != {OTHER_STEM[name]}, f"{name} needs no row in OTHER_STEM"
        return OTHER_STEM[name]
    assert len(owners) == 1, f"{name} needs one layer: a source of its stem, or a row in OTHER_STEM; found {owners}"
    return owners.pop()


def reachable(layer: str) -> set[str]:
    found = {layer}
    for left in LEFT_OF[layer]:
        found |= reachable(left)
    return found


def included(path: Path) -> list[str]:
    return re.findall(r'^\s*#\s*include\s*[<"]([^">]+)[">]', path.read_text(), flags=re.MULTILINE)


def layer_of_include(name: str, includer: Path) -> str | None:
    """None: a header of the language, the system or a library."""
    if name.startswith("latpred/"):
        return layer_of_header(name.removeprefix("latpred/"))
    if (SOURCES / name).is_file():
        return name.partition("/")[0]
    if (includer.parent / name).is_file():
        return includer.parent.relative_to(SOURCES).parts[0]
    return None


def public_headers() -> list[Path]:
    return sorted((HEADERS / "latpred").glob("*.h"))


def all_cpp() -> list[Path]:
    return [*files(".h", ".cpp"), *public_headers(), *sorted(BINDINGS.glob("*.cpp")), *sorted(BINDINGS.glob("*.h"))]


def test_every_folder_is_a_layer() -> None:
    with_sources = {path.relative_to(SOURCES).parts[0] for path in files(".h", ".cpp")}
    assert with_sources == set(LEFT_OF)


@pytest.mark.parametrize("layer", LEFT_OF)
def test_includes_go_left(layer: str) -> None:
    allowed = reachable(layer)
    own_headers = [header for header in public_headers() if layer_of_header(header.name) == layer]
    wrong = [
        f"{path.relative_to(ROOT)} includes {name} of {target}"
        for path in [*sorted((SOURCES / layer).rglob("*.[hc]*")), *own_headers]
        if path.suffix in (".h", ".cpp")
        for name in included(path)
        if (target := layer_of_include(name, path)) is not None and target not in allowed
    ]
    assert not wrong, f"{layer} may include {sorted(allowed)} only"


def test_cmake_links_what_may_be_included() -> None:
    """A layer that links more than its LEFT_OF would compile what this file forbids."""
    for layer in LEFT_OF:
        text = (SOURCES / layer / "CMakeLists.txt").read_text()
        depends = re.search(r"DEPENDS((?:\s+[a-z]+)+?)\s+(?:SOURCES|TESTS|LIBRARIES)", text)
        linked = set(depends.group(1).split()) if depends else set()
        assert linked <= reachable(layer) - {layer}, f"{layer}/CMakeLists.txt"


def test_torch_stays_in_its_layers() -> None:
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in all_cpp()
        if not (
            (path.is_relative_to(SOURCES) and path.relative_to(SOURCES).parts[0] in TORCH_LAYERS)
            or path.name in TORCH_BINDINGS
        )
        for name in included(path)
        if name.split("/")[0] in ("torch", "ATen", "c10", *TORCH_LAYERS)
    ]
    assert not wrong


def test_no_cuda_headers() -> None:
    """Drivers are found at run time: a build must not depend on what this machine has."""
    wrong = [
        f"{path.relative_to(ROOT)} includes {name}"
        for path in all_cpp()
        for name in included(path)
        if not name.startswith("latpred/") and not (SOURCES / name).is_file()  # our own may be about CUDA
        if re.match(r"(cuda|cupti|nvml|cublas|cudnn)", name.split("/")[-1]) or "/cuda/" in name
    ]
    assert not wrong


def test_no_iostream_in_headers() -> None:
    """Each includer would pay for its static constructors."""
    headers = [path for path in all_cpp() if path.suffix == ".h"]
    assert not [str(path.relative_to(ROOT)) for path in headers if "iostream" in included(path)]


def test_files_stay_short() -> None:
    sizes = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in all_cpp()}
    too_long = {name: size for name, size in sizes.items() if size > LONG_FILES.get(name, MAX_LINES)}
    assert not too_long, f"split by idea, near 300 lines; past {WISHED_LINES} a file holds two ideas"
    assert set(LONG_FILES) <= set(sizes), "a row of LONG_FILES whose file is gone"


@pytest.mark.skipif(shutil.which("c++") is None, reason="needs a C++ compiler")
def test_every_public_header_compiles_alone(tmp_path: Path) -> None:
    """One by one, as their own translation unit, with warnings as errors."""
    failures = []
    for header in public_headers():
        source = tmp_path / "alone.cpp"
        source.write_text(f"#include <latpred/{header.name}>\n#include <latpred/{header.name}>\n")
        command = ["c++", "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-Werror", f"-I{HEADERS}", str(source)]
        answer = subprocess.run(command, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            failures.append(f"{header.name}:\n{answer.stderr[:1000]}")
    assert not failures, "\n".join(failures)

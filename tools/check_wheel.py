"""Checks a built wheel: check_wheel.py FILE.whl [--without-torch]. Fails with every rule that it breaks."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

# What answers without torch, without data: what predictors are fitted on, what they have learnt, networks to time.
_MAX_BYTES = 2_000_000
# The part that trains: LibTorch modules and their loops for three sets of instructions.
_MAX_TRAINING_BYTES = 500_000
_TRAINING = "latpred/_predictors."
_LEARNT = (
    "latpred/data/predictors/",
    "latpred/data/trained/",
    "latpred/data/measurements/",
    "latpred/data/probes.sqlite",
)
_SUFFIXES = {".py", ".pyi", ".so", ".typed"}
_DATA_SUFFIXES = {".csv", ".json", ".md", ".parquet", ".safetensors", ".sqlite", ".txt"}
_REQUIRED = tuple(f"latpred/{name}" for name in ("py.typed", "_core.pyi", "_predictors.pyi", "__init__.py", "cli.py"))
_TORCH_RPATH = "$ORIGIN/../torch/lib"
# What _predictors may load besides the system's own: LibTorch without its Python half.
_LIBTORCH = {"libtorch.so", "libtorch_cpu.so", "libc10.so"}
# No extension module: OpenVINO loads it and calls the first, Python reads it with the others.
_COLLECTOR = "_itt_collector"
_COLLECTOR_ENTRIES = {
    "__itt_api_init",
    *(f"latpred_itt_{name}" for name in ("clock_overhead_ns", "name", "records", "start", "stop")),
}
_SYSTEM = {"libstdc++.so.6", "libgcc_s.so.1", "libc.so.6", "libm.so.6", "libpthread.so.0", "ld-linux-x86-64.so.2"}


def readelf(option: str, path: Path) -> list[str]:
    answer = subprocess.run(["readelf", "-W", option, str(path)], check=True, capture_output=True, text=True)
    return answer.stdout.splitlines()


def dynamic_entries(path: Path, tag: str) -> list[str]:
    return [line.partition("[")[2].rstrip("]") for line in readelf("-d", path) if f"({tag})" in line]


def exported_symbols(path: Path) -> list[str]:
    rows = [line.split() for line in readelf("--dyn-syms", path)]
    return [row[7] for row in rows if len(row) >= 8 and row[4] in ("GLOBAL", "WEAK") and row[6].isdigit()]


def has_symbol_table(path: Path) -> bool:
    return any(".symtab" in line for line in readelf("-S", path))


def check_contents(wheel: zipfile.ZipFile) -> list[str]:
    names = wheel.namelist()
    problems = [f"{name} is missing" for name in _REQUIRED if name not in names]
    for name in names:
        path = PurePosixPath(name)
        if path.parts[0].endswith(".dist-info"):
            continue
        if path.parts[0] != "latpred":
            problems.append(f"{name} lies outside of the package")
        elif path.suffix not in (_DATA_SUFFIXES if name.startswith("latpred/data/") else _SUFFIXES):
            problems.append(f"{name}: no file of this kind belongs into the wheel")
    if not any(name.endswith("/licenses/LICENSE") for name in names):
        problems.append("the licence is missing")
    entries = [wheel.read(name).decode() for name in names if name.endswith("entry_points.txt")]
    if not any("latpred = latpred.cli:main" in text for text in entries):
        problems.append("the entry point latpred is missing")
    bounded = [info for info in wheel.infolist() if not info.filename.startswith(_LEARNT)]
    training = sum(info.compress_size for info in bounded if info.filename.startswith(_TRAINING))
    size = sum(info.compress_size for info in bounded) - training
    for what, found, most in (("data and training", size, _MAX_BYTES), ("all else", training, _MAX_TRAINING_BYTES)):
        if found > most:
            problems.append(f"{found} bytes without {what}, at most {most} are allowed")
    return problems


def check_module(path: Path, allowed: set[str], rpath: list[str], entries: set[str] | None = None) -> list[str]:
    problems = []
    entries = entries or {"PyInit_" + path.name.partition(".")[0]}
    if set(symbols := exported_symbols(path)) != entries:
        problems.append(f"{path.name} exports {symbols[:5]} ({len(symbols)} symbols), expected {sorted(entries)} alone")
    if unexpected := sorted(set(dynamic_entries(path, "NEEDED")) - allowed):
        problems.append(f"{path.name} needs {unexpected}, allowed are {sorted(allowed)}")
    found = dynamic_entries(path, "RUNPATH") + dynamic_entries(path, "RPATH")
    if found != rpath:
        problems.append(f"{path.name} looks for libraries in {found}, expected {rpath}")
    if has_symbol_table(path):
        problems.append(f"{path.name} is not stripped")
    return problems


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("--without-torch", action="store_true", help="the LibTorch part was switched off")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(options.wheel) as wheel:
        wheel.extractall(folder)
        problems = check_contents(wheel)
        modules = {path.name.partition(".")[0]: path for path in Path(folder, "latpred").glob("*.so")}
        expected = {"_core", _COLLECTOR} if options.without_torch else {"_core", _COLLECTOR, "_predictors"}
        if set(modules) != expected:
            problems.append(f"the modules are {sorted(modules)}, expected {sorted(expected)}")
        if "_core" in modules:
            problems += check_module(modules["_core"], _SYSTEM, [])
        if _COLLECTOR in modules:
            problems += check_module(modules[_COLLECTOR], _SYSTEM, [], _COLLECTOR_ENTRIES)
        if "_predictors" in modules:
            problems += check_module(modules["_predictors"], _SYSTEM | _LIBTORCH, [_TORCH_RPATH])
    print(f"{options.wheel.name}: {options.wheel.stat().st_size} bytes, {len(problems)} problems")
    for problem in problems:
        print(f"  {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())

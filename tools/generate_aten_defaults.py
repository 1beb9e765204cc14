"""Writes the table of aten's default arguments from the schemas of the installed PyTorch.

    python tools/generate_aten_defaults.py

Made with PyTorch 2.13.0. Covers every operator that readers/torch/aten_operators.h has a row for: files of torch.export
leave out what equals a default.
"""

from __future__ import annotations

import pathlib
import re
import sys

import torch

ROOT = pathlib.Path(__file__).resolve().parents[1]
READERS = ROOT / "cpp" / "src" / "readers" / "torch"
TARGET = READERS / "aten_defaults.cpp"

# No size and no cost depends on them.
IGNORED = {
    "out",
    "memory_format",
    "pin_memory",
    "non_blocking",
    "sparse_grad",
    "generator",
    "layout",
    "device",
    "dtype",
    "cudnn_enabled",
    "cudnn_enable",
    "norm",
    "compute_mode",
    "sparse",
    "scale_grad_by_freq",
    "largest",
    "sorted",
    "descending",
    "accumulate",
    "requires_grad",
    "rtol",
    "atol",
    "equal_nan",
    "non_differentiable",
}


def row_names() -> list[str]:
    """Names of the rows of aten's own operators, as the C++ tables have them."""
    names = []
    for path in sorted(READERS.glob("aten_*.cpp")):
        names += re.findall(r'^    \{"([\w.]+)", ', path.read_text(), re.MULTILINE)
    return names


def defaults() -> dict[str, dict[str, object]]:
    """Base name or overload -> argument -> default: of the base where every overload agrees."""
    table: dict[str, dict[str, object]] = {}
    for base in sorted({name.split(".")[0] for name in row_names()}):
        found: dict[str, dict[str, object]] = {}
        for schema in torch._C._jit_get_schemas_for_operator(f"aten::{base}"):
            tensors = any(
                str(argument.type) in ("Tensor", "List[Tensor]", "List[Optional[Tensor]]")
                for argument in [*schema.arguments, *schema.returns]
            )
            if "out" in schema.overload_name or not tensors:
                continue
            for argument in schema.arguments:
                if argument.has_default_value() and argument.default_value is not None and argument.name not in IGNORED:
                    overload = schema.overload_name or "default"
                    found.setdefault(argument.name, {})[overload] = plain(argument.default_value)
        for argument, values in found.items():
            if len({repr(value) for value in values.values()}) == 1:
                table.setdefault(base, {})[argument] = next(iter(values.values()))
            else:
                for overload, value in values.items():
                    table.setdefault(f"{base}.{overload}", {})[argument] = value
    return table


def plain(value: object) -> object:
    """A list that repeats one number is that number."""
    if isinstance(value, list) and value and all(one == value[0] for one in value):
        return value[0]
    return value


def literal(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"std::int64_t{{{value}}}"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, str):
        return f'std::string_view("{value}")'
    if value == []:
        return "AtenEmptyList{}"
    if value == [-2, -1]:
        return "AtenLastTwo{}"
    raise SystemExit(f"no C++ form for the default {value!r}")


def main() -> None:
    text = TARGET.read_text()
    rows = "".join(
        f'    {{"{target}", "{argument}", {literal(value)}}},\n'
        for target, arguments in sorted(defaults().items())
        for argument, value in sorted(arguments.items())
    )
    begin, end = "constexpr AtenDefault kDefaults[] = {\n", "};  // kDefaults\n"
    head, _, rest = text.partition(begin)
    _, _, tail = rest.partition(end)
    TARGET.write_text(head + begin + rows + end + tail)
    sys.stdout.write(f"{TARGET.relative_to(ROOT)}: {rows.count(chr(10))} defaults\n")


if __name__ == "__main__":
    main()

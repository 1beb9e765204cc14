"""The aten table against the installed PyTorch: what files leave out is what its schemas say."""

import importlib.util
import pathlib
import re

import pytest

torch = pytest.importorskip("torch")

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLE = ROOT / "cpp" / "src" / "readers" / "torch" / "aten_defaults.cpp"
ROW = re.compile(r'^    \{"(?P<target>[\w.]+)", "(?P<argument>\w+)", (?P<value>.+)\},$', re.MULTILINE)


def tool():
    specification = importlib.util.spec_from_file_location(
        "generate_aten_defaults", ROOT / "tools" / "generate_aten_defaults.py"
    )
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def generate():
    if not TABLE.exists():
        pytest.skip("the sources are not here")
    return tool()


def test_the_table_of_defaults_is_torchs(generate):
    written = {(row["target"], row["argument"]): row["value"] for row in ROW.finditer(TABLE.read_text())}
    expected = {
        (target, argument): generate.literal(value)
        for target, arguments in generate.defaults().items()
        for argument, value in arguments.items()
    }
    assert written == expected
    assert len(written) > 150
    assert written["conv2d", "groups"] == "std::int64_t{1}"


@pytest.mark.parametrize(
    ("target", "argument", "value"),
    [
        ("conv2d.default", "stride", [1, 1]),
        ("conv_transpose2d.input", "output_padding", [0, 0]),
        ("avg_pool2d.default", "count_include_pad", True),
        ("max_pool2d.default", "stride", []),
        ("layer_norm.default", "eps", 1e-05),
        ("flatten.using_ints", "end_dim", -1),
        ("slice.Tensor", "step", 1),
        ("hardtanh.default", "min_val", -1),
    ],
)
def test_single_defaults(generate, target, argument, value):
    base, overload = target.split(".")
    schemas = {
        schema.overload_name or "default": schema for schema in torch._C._jit_get_schemas_for_operator(f"aten::{base}")
    }
    stored = next(a.default_value for a in schemas[overload].arguments if a.name == argument)
    assert stored == value
    table = generate.defaults()
    assert table[base][argument] == generate.plain(value)


def test_every_row_is_an_operator_of_torch(generate):
    missing = [
        name
        for name in generate.row_names()
        if not torch._C._jit_get_schemas_for_operator(f"aten::{name.split('.')[0]}")
    ]
    assert missing == []

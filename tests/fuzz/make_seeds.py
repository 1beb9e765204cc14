"""Writes the seed corpora of the fuzzers: make_seeds.py FOLDER makes FOLDER/onnx, FOLDER/...

For ONNX small models of every operator from the onnx package's own node tests; for the other readers the small
fixtures of tests/fixtures.
"""

import argparse
import pickle
import warnings
from collections import OrderedDict
from pathlib import Path

import numpy as np
import onnx
from onnx import helper

# libFuzzer's mutations find little in long inputs.
MAX_SEED_BYTES = 4096
MAX_FIXTURE_BYTES = 65536


def node_models():
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # some test inputs overflow on purpose
        for case in collect_testcases(None):
            yield case.name, case.model


def structured_models():
    """What node tests lack: bodies that capture, functions in functions, external weights."""
    value = helper.make_tensor_value_info
    x, y = value("x", onnx.TensorProto.FLOAT, ["batch", 4]), value("y", onnx.TensorProto.FLOAT, None)

    branches = {
        f"{name}_branch": helper.make_graph([helper.make_node(op, ["h"], [name])], name, [], [value(name, 1, None)])
        for name, op in (("then", "Relu"), ("else", "Tanh"))
    }
    nodes = [
        helper.make_node("Identity", ["x"], ["h"]),
        helper.make_node("Constant", [], ["c"], value=helper.make_tensor("c", onnx.TensorProto.BOOL, [], [1])),
        helper.make_node("If", ["c"], ["y"], **branches),
    ]
    yield "if", helper.make_model(helper.make_graph(nodes, "g", [x], [y]))

    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("local", 1)]
    concat = helper.make_node("Concat", ["a", "a"], ["b"])
    concat.attribute.append(onnx.AttributeProto(name="axis", ref_attr_name="where", type=onnx.AttributeProto.INT))
    inner = helper.make_function("local", "Inner", ["a"], ["b"], [concat], opsets, ["where"])
    call = helper.make_node("Inner", ["a"], ["b"], domain="local", where=1)
    outer = helper.make_function("local", "Outer", ["a"], ["b"], [call], opsets)
    nodes = [helper.make_node("Outer", ["x"], ["y"], domain="local")]
    yield (
        "functions",
        helper.make_model(helper.make_graph(nodes, "g", [x], [y]), functions=[inner, outer], opset_imports=opsets),
    )

    weight = onnx.TensorProto(name="w", dims=[4, 8], data_type=1, data_location=onnx.TensorProto.EXTERNAL)
    weight.external_data.add(key="location", value="w.bin")
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Reshape", ["h", "s"], ["y"])]
    shape = helper.make_tensor("s", onnx.TensorProto.INT64, [2], [2, -1])
    yield "external", helper.make_model(helper.make_graph(nodes, "g", [x], [y], [weight, shape]))


def pickle_seeds():
    """Plain containers, arrays and a class, in every protocol."""
    values = {
        "containers": {"a": [1, 2.5, None, True], "b": ({3}, b"x", "text" * 20)},
        "arrays": {f"layer_{i}": np.zeros((2, 3), np.float32) for i in range(3)},
        "class": [Path("x"), OrderedDict(a=Path("y"))],
    }
    for name, value in values.items():
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            yield f"{name}_{protocol}.pkl", pickle.dumps(value, protocol=protocol)


def srepr_seeds():
    """Sizes as sympy writes them, and as the shape engine reads them."""
    size = "FloorDiv(Add(Symbol('s0', positive=True, integer=True), Integer(-1)), Integer(2))"
    texts = (
        size,
        f"Add(Mul(Integer(-8), {size}), PythonMod(Mul(Integer(-1), Symbol('s1')), Integer(4)))",
        f"Max(Integer(1), Min({size}, Pow(Symbol('s1'), Integer(2))), PowByNatural(Symbol('s0'), Integer(3)))",
        "-(s0 - 1) // 2 * 3 + max(s1 % 4, -(s0 / 2), 0)",
    )
    for i, text in enumerate(texts):
        yield f"{i}.txt", text.encode()


def onnx_seeds():
    for source in (structured_models, node_models):
        for name, model in source():
            yield f"{name}.onnx", model.SerializeToString()


# The fixtures that each fuzzer starts from; a fuzzer of a reader without a row here would start from nothing.
FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"
FIXTURE_PATTERNS: dict[str, tuple[str, ...]] = {
    "paddle_pir": ("paddle/*.json",),
    "paddle_program": ("paddle/*.pdmodel",),
    "exported_program": ("torch/*.pt2",),
    "keras": ("keras/*.keras",),
    "hdf5": ("keras/*.h5",),
    "tensorflow": ("tensorflow/*/saved_model.pb", "tensorflow/*.pb"),
    "tflite": ("tflite/*.tflite",),
}


def fixture_seeds(patterns):
    for pattern in patterns:
        for path in sorted(FIXTURES.glob(pattern)):
            yield path.relative_to(FIXTURES).as_posix().replace("/", "_"), path.read_bytes()


def write(folder, seeds, max_bytes):
    folder.mkdir(parents=True, exist_ok=True)
    count = 0
    for name, content in seeds:
        if len(content) <= max_bytes:
            (folder / name).write_bytes(content)
            count += 1
    if count == 0:
        raise SystemExit(f"no seeds for {folder}: no fixture of at most {max_bytes} bytes matches")
    print(f"{count} seeds in {folder}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    write(folder / "onnx", onnx_seeds(), MAX_SEED_BYTES)
    write(folder / "pickle", pickle_seeds(), MAX_SEED_BYTES)
    write(folder / "srepr", srepr_seeds(), MAX_SEED_BYTES)
    for name, patterns in FIXTURE_PATTERNS.items():
        write(folder / name, fixture_seeds(patterns), MAX_FIXTURE_BYTES)


if __name__ == "__main__":
    main()

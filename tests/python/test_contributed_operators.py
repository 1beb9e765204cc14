"""Shapes and types of ONNX Runtime's own operators against what it computes."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
from latpred import _core

onnx = pytest.importorskip("onnx")
onnxruntime = pytest.importorskip("onnxruntime")

RANDOM = np.random.default_rng(0)
SAVED_BATCH = 0  # as the file says


def real(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(np.float32)


def integer(*shape: int, dtype: type = np.uint8) -> np.ndarray:
    return RANDOM.integers(0, 5, shape).astype(dtype)


SCALE = np.float32(0.5)
ZERO = np.uint8(1)


@dataclass
class Case:
    name: str
    operator: str
    inputs: list
    num_outputs: int = 1
    attributes: dict = field(default_factory=dict)
    stored: tuple[int, ...] = ()  # inputs that stand in the file


HEADS = {"num_heads": 4}
GROUPED = {"num_heads": 8, "kv_num_heads": 2}
LENGTHS = [np.array([99], np.int32), np.array(100, np.int32)]
TRANSPOSED_BATCH = {"transBatchA": 1, "transBatchB": 1}
WINDOW = {"kernel_shape": [2, 2]}
IDS = [integer(2, 7, dtype=np.int32), np.zeros((2, 7), np.int32)]
TABLES = [real(100, 8), real(64, 8), real(2, 8), real(8), real(8), np.ones((2, 7), np.int32)]

CASES = [
    Case("attention", "Attention", [real(2, 10, 32), real(32, 96), real(96)], 1, HEADS),
    Case(
        "attention with a cache",
        "Attention",
        [real(2, 1, 32), real(32, 96), real(96), None, real(2, 2, 4, 9, 8)],
        2,
        HEADS,
    ),
    Case(
        "attention, values of another width",
        "Attention",
        [real(2, 10, 32), real(32, 80), real(80)],
        1,
        HEADS | {"qkv_hidden_sizes": [32, 32, 16]},
    ),
    Case(
        "quantised attention",
        "QAttention",
        [integer(2, 10, 32), integer(32, 96, dtype=np.int8), real(96), SCALE, SCALE, None, ZERO, np.int8(0)],
        1,
        HEADS,
        (1, 2, 3, 4, 6, 7),
    ),
    Case("heads", "MultiHeadAttention", [real(2, 10, 32), real(2, 12, 32), real(2, 12, 64)], 1, HEADS),
    Case("heads and their cache", "MultiHeadAttention", [real(2, 10, 32), real(2, 12, 32), real(2, 12, 32)], 3, HEADS),
    Case(
        "heads of another layer",
        "MultiHeadAttention",
        [real(2, 10, 32), real(2, 4, 12, 8), real(2, 4, 12, 8)],
        1,
        HEADS,
    ),
    Case(
        "heads with a past",
        "MultiHeadAttention",
        [real(2, 1, 32), real(2, 1, 32), real(2, 1, 32), None, None, None, real(2, 4, 5, 8), real(2, 4, 5, 8)],
        3,
        HEADS,
    ),
    Case(
        "grouped",
        "GroupQueryAttention",
        [real(1, 1, 512), real(1, 1, 128), real(1, 1, 128), real(1, 2, 99, 64), real(1, 2, 99, 64), *LENGTHS],
        3,
        GROUPED,
        (6,),
    ),
    Case(
        "grouped into a buffer",
        "GroupQueryAttention",
        [real(1, 1, 512), real(1, 1, 128), real(1, 1, 128), real(1, 2, 128, 64), real(1, 2, 128, 64), *LENGTHS],
        3,
        GROUPED,
        (6,),
    ),
    Case(
        "grouped, one tensor",
        "GroupQueryAttention",
        [real(1, 5, 768), None, None, None, None, np.array([4], np.int32), np.array(5, np.int32)],
        3,
        GROUPED,
        (6,),
    ),
    Case("skip", "SkipLayerNormalization", [real(2, 3, 8), real(2, 3, 8), real(8), real(8), real(8)], 4),
    Case("skip without mean", "SkipSimplifiedLayerNormalization", [real(2, 3, 8), real(2, 3, 8), real(8)]),
    Case("embedding", "EmbedLayerNormalization", [*IDS, *TABLES], 3),
    Case(
        "few bits",
        "MatMulNBits",
        [real(1, 9, 64), integer(32, 2, 16), real(64)],
        1,
        {"K": 64, "N": 32, "bits": 4, "block_size": 32},
        (1, 2),
    ),
    Case(
        "rows of few bits",
        "GatherBlockQuantized",
        [integer(100, 16), IDS[0], real(100, 2)],
        1,
        {"bits": 4, "block_size": 16, "gather_axis": 0, "quantize_axis": 1},
        (0, 2),
    ),
    Case("transposed", "FusedMatMul", [real(2, 4, 3), real(2, 5, 4)], 1, {"transA": 1, "transB": 1}),
    Case("batch inside", "FusedMatMul", [real(3, 2, 4), real(4, 2, 5)], 1, TRANSPOSED_BATCH),
    Case(
        "batch inside, transposed",
        "FusedMatMul",
        [real(4, 2, 7, 3), real(2, 7, 4, 5)],
        1,
        {"transBatchA": 1, "transA": 1},
    ),
    Case("dynamic", "DynamicQuantizeMatMul", [real(2, 3, 4), integer(4, 5), SCALE, ZERO], 1, {}, (1, 2, 3)),
    Case("to float", "MatMulIntegerToFloat", [integer(2, 3, 4), integer(4, 5), SCALE, SCALE], 1, {}, (1, 2, 3)),
    Case("gemm to float", "QGemm", [integer(3, 4), SCALE, ZERO, integer(4, 5), SCALE, ZERO], 1, {}, (1, 2, 3, 4, 5)),
    Case(
        "gemm",
        "QGemm",
        [integer(3, 4), SCALE, ZERO, integer(4, 5), SCALE, ZERO, None, SCALE, ZERO],
        1,
        {},
        (1, 2, 3, 4, 5, 7, 8),
    ),
    Case(
        "sum",
        "QLinearAdd",
        [integer(2, 8, 1), SCALE, ZERO, integer(4), SCALE, ZERO, SCALE, ZERO],
        1,
        {},
        (1, 2, 4, 5, 6, 7),
    ),
    Case(
        "join",
        "QLinearConcat",
        [SCALE, ZERO, integer(2, 3, 4), SCALE, ZERO, integer(2, 5, 4), SCALE, ZERO],
        1,
        {"axis": 1},
        (0, 1, 3, 4, 6, 7),
    ),
    Case(
        "global pool, channels last",
        "QLinearGlobalAveragePool",
        [integer(2, 5, 6, 3), SCALE, ZERO, SCALE, ZERO],
        1,
        {"channels_last": 1},
        (1, 2, 3, 4),
    ),
    Case("pool", "QLinearAveragePool", [integer(2, 3, 5, 6), SCALE, ZERO, SCALE, ZERO], 1, WINDOW, (1, 2, 3, 4)),
    Case(
        "pool, channels last",
        "QLinearAveragePool",
        [integer(2, 5, 6, 3), SCALE, ZERO, SCALE, ZERO],
        1,
        WINDOW | {"channels_last": 1},
        (1, 2, 3, 4),
    ),
    Case("convolution", "FusedConv", [real(1, 3, 8, 8), real(4, 3, 3, 3), real(4)], 1, {"activation": "Relu"}),
    Case("product", "FusedGemm", [real(3, 4), real(4, 5), real(5)], 1, {"activation": "Relu"}),
    Case("gelu with a bias", "BiasGelu", [real(2, 3, 8), real(8)]),
    Case("rotary", "RotaryEmbedding", [real(2, 4, 5, 8), np.arange(10).reshape(2, 5) % 5, real(16, 4), real(16, 4)]),
]


def file_of(case: Case, folder: Path) -> tuple[Path, dict[str, np.ndarray]]:
    names, given, stored, feed = [], [], [], {}
    for position, content in enumerate(case.inputs):
        if content is None:
            names.append("")
            continue
        array, name = np.asarray(content), f"input_{position}"
        names.append(name)
        if position in case.stored:
            stored.append(onnx.numpy_helper.from_array(array, name))
        else:
            data_type = onnx.helper.np_dtype_to_tensor_dtype(array.dtype)
            given.append(onnx.helper.make_tensor_value_info(name, data_type, array.shape))
            feed[name] = array
    outputs = [f"output_{position}" for position in range(case.num_outputs)]
    node = onnx.helper.make_node(case.operator, names, outputs, domain="com.microsoft", **case.attributes)
    values = [onnx.ValueInfoProto(name=name) for name in outputs]
    graph = onnx.helper.make_graph([node], "case", given, values, stored)
    versions = [onnx.helper.make_opsetid("", 17), onnx.helper.make_opsetid("com.microsoft", 1)]
    path = folder / "case.onnx"
    path.write_bytes(onnx.helper.make_model(graph, opset_imports=versions, ir_version=8).SerializeToString())
    return path, feed


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.operator}: {case.name}")
def test_shapes_and_types_are_what_onnx_runtime_computes(case: Case, tmp_path: Path) -> None:
    path, feed = file_of(case, tmp_path)
    session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    truth = [(array.shape, str(array.dtype)) for array in session.run(None, feed)]
    graph = _core.resolve(_core.read_program(str(path)), batch=SAVED_BATCH)
    assert [(tuple(output.shape), output.dtype) for output in graph.outputs] == truth


@pytest.mark.parametrize("bits", [2, 4, 8])
def test_weights_of_few_bits_count_each_and_take_their_bytes(bits: int, tmp_path: Path) -> None:
    outputs, inputs, block = 32, 64, 32
    packed = np.zeros((outputs, inputs // block, block * bits // 8), np.uint8)
    scales = real(outputs * inputs // block)
    setting = {"K": inputs, "N": outputs, "bits": bits, "block_size": block}
    case = Case("few bits", "MatMulNBits", [real(1, 9, inputs), packed, scales], 1, setting, (1, 2))
    path, _ = file_of(case, tmp_path)
    graph = _core.resolve(_core.read_program(str(path)))
    weights, _ = (tensor for tensor in graph.tensors if tensor.kind == "parameter")
    assert (weights.dtype, weights.shape) == (f"uint{bits}", (outputs, inputs // block, block))
    assert graph.num_parameters == outputs * inputs + scales.size
    assert graph.weight_bytes == packed.nbytes + scales.nbytes
    written = tmp_path / "written.onnx"
    graph.to_onnx(written)
    assert _core.resolve(_core.read_program(str(written))).num_parameters == graph.num_parameters


def test_zero_points_of_few_bits_count_each(tmp_path: Path) -> None:
    packed, zero_points = integer(32, 2, 16), integer(32)  # of two blocks a byte
    setting = {"K": 64, "N": 32, "bits": 4, "block_size": 32}
    inputs = [real(1, 9, 64), packed, real(64), zero_points]
    path, _ = file_of(Case("few bits", "MatMulNBits", inputs, 1, setting, (1, 2, 3)), tmp_path)
    graph = _core.resolve(_core.read_program(str(path)))
    assert graph.num_parameters == 32 * 64 + 64 + 64
    assert graph.weight_bytes == packed.nbytes + 64 * 4 + zero_points.nbytes


def test_rows_of_few_bits_are_read_where_they_are_picked(tmp_path: Path) -> None:
    rows, width, block, picked = 1000, 64, 16, 14
    table, scales, zero_points = (
        integer(rows, width // 2),
        real(rows, width // block),
        integer(rows, width // block // 2),
    )
    inputs = [table, integer(2, 7, dtype=np.int32), scales, zero_points]
    setting = {"bits": 4, "block_size": block, "gather_axis": 0, "quantize_axis": 1}
    path, _ = file_of(Case("rows", "GatherBlockQuantized", inputs, 1, setting, (0, 2, 3)), tmp_path)
    graph = _core.resolve(_core.read_program(str(path)), batch=SAVED_BATCH)
    (node,) = graph.nodes
    share = picked / rows
    assert graph.num_parameters == rows * width + 2 * scales.size
    assert node.weight_bytes == pytest.approx(share * (table.nbytes + scales.nbytes + zero_points.nbytes), abs=3)

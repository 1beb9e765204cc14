"""Shapes and types against the truth of ONNX's own node tests, whose declared output sizes are taken out first."""

from __future__ import annotations

import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from latpred import _core
from latpred._core import Graph
from latpred.errors import LatpredError

onnx = pytest.importorskip("onnx")

# Of the cases whose sizes ONNX's own inference derives under the same conditions.
REQUIRED_SHARE = 0.97
SAVED_BATCH = 0  # as the file says

Truth = list[tuple[tuple[int, ...], str]]


@dataclass
class Case:
    name: str
    operator: str
    model: onnx.ModelProto
    inputs: list[object]
    truth: Truth | None  # None: an output that is no tensor


def expected(output: object) -> tuple[tuple[int, ...], str] | None:
    if isinstance(output, onnx.TensorProto):
        return tuple(output.dims), type_name(output.data_type)
    if isinstance(output, np.ndarray | np.generic):
        data_type = onnx.helper.np_dtype_to_tensor_dtype(output.dtype)
        return tuple(output.shape), type_name(data_type)
    return None


def type_name(data_type: int) -> str:
    """The spelling that latpred shares with NumPy and ml_dtypes."""
    special = {onnx.TensorProto.STRING: "string", onnx.TensorProto.BOOL: "bool"}
    return special.get(data_type) or str(onnx.helper.tensor_dtype_to_np_dtype(data_type))


def stripped(model: onnx.ModelProto) -> onnx.ModelProto:
    """`model` without the sizes of its outputs and of what lies between."""
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    del copy.graph.value_info[:]
    for output in copy.graph.output:
        if output.type.HasField("tensor_type"):
            output.type.tensor_type.ClearField("shape")
            output.type.tensor_type.ClearField("elem_type")
    return copy


def derived_by_onnx(model: onnx.ModelProto) -> Truth | None:
    """What ONNX's inference says of each output; None where it leaves something open."""
    try:
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    except (onnx.shape_inference.InferenceError, RuntimeError, ValueError):
        return None
    result = []
    for output in model.graph.output:
        tensor = output.type.tensor_type
        if not tensor.HasField("shape") or not tensor.elem_type:
            return None
        if not all(dimension.HasField("dim_value") for dimension in tensor.shape.dim):
            return None
        result.append((tuple(dimension.dim_value for dimension in tensor.shape.dim), type_name(tensor.elem_type)))
    return result


def resolved(model: onnx.ModelProto, folder: Path) -> Graph:
    path = folder / "case.onnx"
    path.write_bytes(model.SerializeToString())
    return _core.resolve(_core.read_program(str(path)), batch=SAVED_BATCH)


def derived_by_latpred(graph: Graph) -> Truth:
    return [(tuple(output.shape), output.dtype) for output in graph.outputs]


def with_stored_inputs(case: Case, first: int) -> onnx.ModelProto:
    """The case's model with its own data stored in it for the inputs from `first` on."""
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    for value, data in list(zip(model.graph.input, case.inputs, strict=True))[first:]:
        if isinstance(data, onnx.TensorProto):
            tensor = onnx.TensorProto()
            tensor.CopyFrom(data)
        elif isinstance(data, np.ndarray | np.generic):
            tensor = onnx.numpy_helper.from_array(np.asarray(data))
        else:
            continue
        tensor.name = value.name
        model.graph.initializer.append(tensor)
        model.graph.input.remove(value)
    return model


def node_cases() -> list[Case]:
    from onnx.backend.test.case.node import collect_testcases

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cases overflow on purpose
        found = collect_testcases(None)
    cases = []
    for case in found:
        truth = [expected(output) for output in case.data_sets[0][1]]
        operators = [node.op_type for node in case.model.graph.node]
        complete = [one for one in truth if one is not None]
        cases.append(
            Case(
                name=case.name,
                operator=operators[0] if len(operators) == 1 else "several operators",
                model=stripped(case.model),
                inputs=list(case.data_sets[0][0]),
                truth=complete if len(complete) == len(truth) else None,
            )
        )
    return cases


def reason(error: Exception) -> str:
    text = str(error)
    for known in (
        "is computed from data",
        "depends on the data",
        "stands in the data",
        "networks of tensors are read",
        "unsupported operator",
        "cannot be known",
    ):
        if known in text:
            return known
    return f"{type(error).__name__}: {text}"[:160]


def print_misses(misses: dict[str, list[str]]) -> None:
    for why, names in sorted(misses.items(), key=lambda item: -len(item[1])):
        print(f"  {len(names):4} {why}: {', '.join(names[:4])}{', ...' if len(names) > 4 else ''}")


@pytest.fixture(scope="module")
def cases() -> list[Case]:
    found = node_cases()
    assert len(found) > 1500
    return found


def test_share_of_node_cases(cases: list[Case], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    count: Counter[str] = Counter()
    misses: dict[str, list[str]] = defaultdict(list)
    silently_wrong = []
    for case in cases:
        if case.truth is None:
            misses["the result is a sequence or an optional, not a tensor"].append(case.name)
            continue
        by_onnx = derived_by_onnx(case.model) == case.truth
        count["derived by onnx"] += by_onnx
        who = "ONNX derives it; " if by_onnx else "ONNX leaves it open too; "
        try:
            graph = resolved(case.model, tmp_path)
        except LatpredError as error:
            misses[who + reason(error)].append(case.name)
            continue
        ours = derived_by_latpred(graph)
        if ours == case.truth:
            count["right"] += 1
            count["right of those"] += by_onnx
            count["right beyond"] += not by_onnx
        elif any("upper bound" in warning or "one iteration" in warning for warning in graph.warnings):
            misses[who + "sizes depend on the data: a bound, with a warning"].append(case.name)
        else:
            misses[who + f"{case.operator}: got {ours}, truth {case.truth}"[:200]].append(case.name)
            silently_wrong.append(case.name)
    share = count["right of those"] / count["derived by onnx"]
    with capsys.disabled():
        print(f"\n{len(cases)} cases; ONNX derives {count['derived by onnx']}, of these latpred {share:.2%}")
        print(
            f"latpred derives {count['right']} = {count['right'] / len(cases):.2%} of all cases, "
            f"{count['right beyond']} that ONNX leaves open; misses:"
        )
        print_misses(misses)
    assert share >= REQUIRED_SHARE
    assert not silently_wrong


# What the cases above leave open stands in inputs (a reshape's target): with the case's own data stored in the file
# the sizes follow.
def test_node_cases_with_stored_inputs(cases: list[Case], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    misses: dict[str, list[str]] = defaultdict(list)
    num_tried = num_right = 0
    for case in cases:
        if case.truth is None or len(case.inputs) != len(case.model.graph.input):
            continue
        for first in (1, 0):
            if first == 1 and len(case.inputs) < 2:
                continue
            num_tried += 1
            try:
                graph = resolved(with_stored_inputs(case, first), tmp_path)
            except LatpredError as error:
                misses[reason(error)].append(case.name)
                continue
            ours = derived_by_latpred(graph)
            if ours == case.truth:
                num_right += 1
            elif any("upper bound" in warning or "one iteration" in warning for warning in graph.warnings):
                misses["sizes depend on the data: a bound, with a warning"].append(case.name)
            else:
                misses[f"{case.operator}: got {ours}, truth {case.truth}"[:200]].append(case.name)
    with capsys.disabled():
        print(f"\n{num_right} of {num_tried} = {num_right / num_tried:.2%} with stored inputs; misses:")
        print_misses(misses)
    assert num_right / num_tried >= REQUIRED_SHARE

import pickle

import latpred
import pytest
from example_networks import small_network
from latpred import errors

BUILTINS = {
    "InvalidArgumentError": ValueError,
    "ModelFileError": ValueError,
    "ShapeError": ValueError,
    "UnsupportedOperatorError": NotImplementedError,
    "CheckpointError": RuntimeError,
    "ProfilerError": RuntimeError,
    "MissingDependencyError": ImportError,
}


@pytest.mark.parametrize(("name", "builtin"), BUILTINS.items())
def test_each_class_is_the_builtin_that_python_users_expect(name, builtin):
    error_class = getattr(latpred, name)
    assert issubclass(error_class, errors.LatpredError)
    assert issubclass(error_class, builtin)
    assert error_class.__module__ == "latpred.errors"


def test_every_class_is_listed():
    assert set(errors.__all__) == {*BUILTINS, "LatpredError"}


def test_fields_are_there_and_survive_pickling():
    error = errors.ShapeError("sizes differ", path="m.onnx", offset=7, node="n", operator="conv", valid=["a"])
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "sizes differ"
    assert (again.path, again.offset, again.node, again.operator, again.valid) == ("m.onnx", 7, "n", "conv", ("a",))
    bare = errors.LatpredError("no fields")
    assert (bare.path, bare.offset, bare.node, bare.operator, bare.valid) == (None, None, None, None, ())


def test_a_missing_file_is_named(tmp_path):
    missing = tmp_path / "m.onnx"
    with pytest.raises(latpred.ModelFileError, match=r"m\.onnx") as caught:
        latpred.load(missing)
    assert caught.value.path == str(missing)


def test_a_damaged_file_gives_path_and_offset(tmp_path):
    damaged = tmp_path / "m.onnx"
    damaged.write_bytes(b"\x08\x08\x3a\xff\x7f")
    with pytest.raises(latpred.ModelFileError) as caught:
        latpred.load(damaged, framework="onnx")
    assert caught.value.path == str(damaged)
    assert caught.value.offset is not None


def test_bytes_that_are_no_text_do_not_hide_the_error(tmp_path):
    with pytest.raises(latpred.LatpredError):
        latpred.load(str(tmp_path / "\udcff.onnx"))


def test_a_failed_look_up_lists_what_is_valid():
    with pytest.raises(latpred.InvalidArgumentError, match="did you mean 'A100'") as caught:
        latpred.devices()["A1000"]
    assert "A100-SXM4-40GB" in caught.value.valid


@pytest.mark.parametrize(
    "call",
    [
        lambda: latpred.load(__file__),
        lambda: latpred.GraphBuilder().apply("conv", 3),
        lambda: latpred.predict(graph=small_network(), device="nothing"),
        lambda: small_network().with_batch(0),
    ],
)
def test_no_compiled_name_leaks(call):
    with pytest.raises(latpred.LatpredError) as caught:
        call()
    for word in ("std::", "latpred::", "terminate", "_core", "c10"):
        assert word not in str(caught.value)

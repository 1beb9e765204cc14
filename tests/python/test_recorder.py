"""The recorder writes down what torch.export writes down: operators, arguments, sizes, data flow, weights."""

import importlib.util
import json

import architectures
import latpred
import pytest
import torch
from latpred import _core
from latpred.frontends import aten_document, recorder, torch_export
from latpred.frontends.aten_document import AtenDocument, CannotRecordError
from torch import nn
from torch_networks import CAPTURED, Choosing

# Checks that export adds to a graph; nothing runs for them.
NO_OPERATORS = ("_assert", "sym_size")


class Canonical:
    """A document without names: every tensor is where it comes from."""

    def __init__(self, document):
        module = json.loads(document)["graph_module"]
        graph = module["graph"]
        self.metas = graph["tensor_values"]
        self.origins = {}
        self.num_nodes = 0
        for spec in module["signature"]["input_specs"]:
            ((kind, fields),) = spec.items()
            argument = fields["arg"].get("as_tensor", fields["arg"])
            if "name" in argument:
                # Where a constant comes from has no name that both sides know.
                name = None if kind == "tensor_constant" else fields.get(f"{kind}_name", argument["name"])
                self.origins[argument["name"]] = (kind, name)
        self.nodes = [
            self.node(node) for node in graph["nodes"] if not any(word in node["target"] for word in NO_OPERATORS)
        ]
        self.outputs = [self.argument(output) for output in graph["outputs"]]

    def node(self, node):
        inputs = [(one["name"], self.argument(one["arg"]), one["kind"]) for one in node["inputs"]]
        made = [one for output in node["outputs"] for one in output.get("as_tensors", [output.get("as_tensor")]) if one]
        self.num_nodes += 1
        for i, one in enumerate(made):
            self.origins[one["name"]] = ("node", self.num_nodes, i)
        return node["target"], inputs, [self.meta(one["name"]) for one in made]

    def meta(self, name):
        return self.metas[name]["dtype"], [size["as_int"] for size in self.metas[name]["sizes"]]

    def tensor(self, name):
        return self.origins[name], self.meta(name)

    def argument(self, argument):
        ((kind, value),) = argument.items()
        if kind == "as_tensor":
            return self.tensor(value["name"])
        if kind == "as_tensors":
            return [self.tensor(one["name"]) for one in value]
        if kind == "as_optional_tensors":
            return [self.argument(one) for one in value]
        return kind, value


@pytest.mark.parametrize("name", CAPTURED)
def test_documents_equal_those_of_export(name):
    make, sizes = CAPTURED[name]
    module = make()
    arguments = torch_export.call_arguments(module, sizes, batch=3)
    exported = Canonical(torch_export.export(module, arguments).document)
    captured = recorder.record(module, arguments)
    recorded = Canonical(captured.document)
    assert captured.warnings == ()
    assert recorded.nodes == exported.nodes
    assert recorded.outputs == exported.outputs


PACKAGES = {"timm": "timm", "torchvision": "torchvision", "hf": "transformers"}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", architectures.NAMES)
def test_architectures_equal_those_of_export(name):
    if importlib.util.find_spec(PACKAGES[name.partition(":")[0]]) is None:
        pytest.skip("its package is not installed: pip install latpred[architectures]")
    architectures.prepare()
    module, inputs = architectures.build(name)
    sizes = {
        key: ",".join(map(str, shape)) + (":int64" if dtype == torch.int64 else "")
        for key, (shape, dtype) in inputs.items()
    }
    if not name.startswith("hf:"):
        (sizes,) = sizes.values()
    arguments = torch_export.call_arguments(module, sizes, batch=2)
    document = torch_export.export(module, arguments).document
    captured = recorder.record(module, arguments)
    if captured.warnings:  # it went to export
        assert captured.document == document
        return
    exported, recorded = Canonical(document), Canonical(captured.document)
    assert recorded.nodes == exported.nodes
    assert recorded.outputs == exported.outputs


@pytest.mark.parametrize("name", CAPTURED)
def test_sweep_gives_the_graph_of_load(name):
    make, sizes = CAPTURED[name]
    module = make()
    table = latpred.predict_many([module], batches=[4], input=sizes)
    for prediction in table:
        graph = latpred.load(model=module, input=sizes, batch=prediction.batch)
        assert prediction.graph.hash == graph.hash
        assert prediction.graph.num_parameters == graph.num_parameters
        assert prediction.graph.num_statistics == graph.num_statistics
        assert prediction.graph.warnings == graph.warnings


def test_networks_whose_content_decides_are_refused_as_by_export():
    with pytest.raises(latpred.ModelFileError, match="depends on the content of its tensors"):
        latpred.predict_many([Choosing()], input="3")


class Mixed(nn.Module):
    """Autocast inside forward: the casts happen below the place where the recorder stands."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)

    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            return self.linear(x)


def test_what_cannot_be_recorded_goes_to_export_with_a_warning():
    arguments = torch_export.call_arguments(Mixed(), "4", 2)
    captured = recorder.record(Mixed(), arguments)
    assert captured.document == torch_export.export(Mixed(), arguments).document
    (warning,) = captured.warnings
    assert "autocast inside forward" in warning


class FastNorm(nn.LayerNorm):
    """As timm's: the flag stays with the module that was made under set_fast_norm."""

    _fast_norm = True


def test_fast_norms_of_timm_stay_in_half_precision_under_autocast():
    def casts(norm):
        module = nn.Sequential(nn.Linear(8, 8), norm(8), nn.ReLU())
        captured = recorder.record(module, torch_export.call_arguments(module, "8", 64))
        graph = _core.resolve(_core.read_exported_program(captured.document, {}, "m"), 64)
        kernels = latpred.predict(graph=graph, device="A100", precision="amp").kernels
        return [kernel.name for kernel in kernels if kernel.kind == "cast"]

    assert "cast(linear)" in casts(nn.LayerNorm)
    assert "cast(linear)" not in casts(FastNorm)


class Deviation(nn.Module):
    """As timm's EvoNorm divides: statistics in float32, the rest in the activations' type."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(16, 16)
        self.gamma = nn.Parameter(torch.ones(16))

    def forward(self, x):
        x = self.layer(x)
        deviation = x.float().var(dim=-1, keepdim=True).add(1e-5).sqrt()
        return x * self.gamma.to(x.dtype) / deviation.to(x.dtype)


@pytest.mark.parametrize("capture", [None, torch.export.export], ids=["recorded", "exported"])
def test_conversions_in_forward_hold_under_autocast(capture):
    example = torch.zeros(8, 16)
    module = Deviation().eval()
    given = {"model": capture(module, (example,))} if capture else {"model": module, "input": "16"}
    graph = latpred.load(**given, batch=8)
    converting = {node.operator: node.attributes["converts"] for node in graph.nodes if "converts" in node.attributes}
    assert converting == {"reduce_variance": [0], "mul": [0, 1], "div": [1]}  # x and x.float() are one
    kinds = [(row.kind, row.arithmetic, row.bytes_out) for row in _core.fuse(graph, "eager", "amp").rows]
    whole, one = 8 * 16, 8
    assert kinds[-8:] == [
        ("cast", "fp32", 4 * whole),
        ("reduce", "fp32", 4 * one),
        ("binary", "fp32", 4 * one),
        ("unary", "fp32", 4 * one),
        ("cast", "fp32", 2 * 16),
        ("binary", "fp16", 2 * whole),
        ("cast", "fp32", 2 * one),
        ("binary", "fp16", 2 * whole),
    ]
    assert "cast" not in {row.kind for row in _core.fuse(graph, "eager", "fp32").rows}


def test_fast_norms_that_export_had_to_record_are_said():
    module = nn.Sequential(Mixed(), FastNorm(4))
    captured = recorder.record(module, torch_export.call_arguments(module, "4", 2))
    assert captured.warnings[0] == "1 fast norms of timm's count as float32 under autocast"


def test_arguments_without_a_word_are_refused():
    document = AtenDocument()
    with pytest.raises(CannotRecordError, match="Generator"):
        document.add_call(torch.ops.aten.dropout.default, (torch.zeros(2), torch.Generator()), {}, torch.zeros(2))
    with pytest.raises(CannotRecordError, match="layout"):
        document.add_user_input("x", torch.eye(2).to_sparse())


def test_codes_are_those_of_torch():
    from torch._export.serde import serialize

    def codes(table):
        return {name: code.value for name, code in table.items()}

    assert aten_document.SCHEMA_VERSION == serialize.SCHEMA_VERSION
    assert codes(serialize._TORCH_TO_SERIALIZE_DTYPE) == aten_document.DTYPE_CODES
    assert codes(serialize._TORCH_TO_SERIALIZE_MEMORY_FORMAT) == aten_document.MEMORY_FORMAT_CODES
    assert codes(serialize._TORCH_TO_SERIALIZE_LAYOUT).items() >= aten_document.LAYOUT_CODES.items()


def test_infinite_numbers_are_written_as_pt2_writes_them():
    class Filling(nn.Module):
        def forward(self, x):
            return x.masked_fill(x > 1, float("-inf")).clamp(max=float("inf"))

    arguments = torch_export.call_arguments(Filling(), "4", 2)
    exported = Canonical(torch_export.export(Filling(), arguments).document)
    recorded = Canonical(recorder.record(Filling(), arguments).document)
    assert recorded.nodes == exported.nodes
    assert '"-Infinity"' in recorder.record(Filling(), arguments).document.decode()

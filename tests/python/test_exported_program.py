"""Archives of torch.export, against numbers that other readers found and against graphs traced at other batches."""

import json
import zipfile
from pathlib import Path

import latpred
import pytest
from latpred import _core

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures" / "torch"
CONVOLUTIONS = ("conv", "conv_transpose")
PRODUCTS = ("conv", "linear", "matmul")


def load(name, batch=1, **options):
    return latpred.load(FIXTURES / f"{name}.pt2", batch=batch, **options)


def shapes_of(node):
    return [tensor and tensor.shape for tensor in node.outputs]


def same_network(one, other):
    """The same operators on the same sizes, in the same order."""
    assert len(one.nodes) == len(other.nodes)
    for a, b in zip(one.nodes, other.nodes, strict=True):
        assert (a.operator, a.macs, a.flops) == (b.operator, b.macs, b.flops), a.name
        assert shapes_of(a) == shapes_of(b), a.name
    assert (one.num_parameters, one.num_statistics) == (other.num_parameters, other.num_statistics)


# Batch 1 at 224 x 224, each found by several independent readers of several formats.
NETWORKS = {
    # name: convolutions, MACs, parameters, statistics
    "mobilenet_v2": (52, 300_774_272, 3_504_872, 34_112),
    "resnet50": (53, 4_089_184_256, 25_557_032, 53_120),
    "vgg16": (13, 15_470_264_320, 138_357_544, 0),
    "vgg19": (16, 19_632_062_464, 143_667_240, 0),
    "densenet121": (120, 2_834_161_664, 7_978_856, 83_648),
    "squeezenet1_1": (26, 349_151_936, 1_235_496, 0),
    "vgg16_flat": (13, 15_470_264_320, 138_357_544, 0),
}


@pytest.mark.parametrize("name", NETWORKS)
def test_known_networks_have_their_known_numbers(name):
    convolutions, macs, parameters, statistics = NETWORKS[name]
    graph = load(name)
    assert sum(graph.operators.get(operator, 0) for operator in CONVOLUTIONS) == convolutions
    assert graph.macs == macs
    assert (graph.num_parameters, graph.num_statistics) == (parameters, statistics)
    assert graph.weight_bytes == 4 * (parameters + statistics)
    assert not graph.warnings
    assert "unknown" not in graph.operators


@pytest.mark.parametrize("name", NETWORKS)
def test_eight_items_cost_eight_times_one(name):
    one, eight = load(name), load(name, batch=8)
    assert eight.macs == 8 * one.macs
    assert eight.operators == one.operators
    assert eight.num_parameters == one.num_parameters


@pytest.mark.parametrize("name", ["mobilenet_v2", "bert", "recurrent"])
def test_a_static_file_at_another_batch_equals_the_network_traced_there(name):
    same_network(load(name, batch=8), load(f"{name}_batch8", batch=8))


def test_a_symbolic_file_equals_static_ones_at_every_batch():
    for batch, static in ((2, "bert"), (8, "bert_batch8")):
        symbolic = load("bert_symbolic", batch=batch)
        assert not symbolic.warnings
        same_network(symbolic, load(static, batch=batch))
    assert load("bert_symbolic", batch=5).macs == 5 * load("bert_symbolic").macs


def test_a_batch_outside_the_range_of_the_file_is_refused():
    with pytest.raises(latpred.InvalidArgumentError, match=r"made for sizes 's[0-9]+' of .* to 512, asked is 513"):
        load("bert_symbolic", batch=513)


def test_tied_weights_count_once():
    assert load("gpt2").num_parameters == 124_439_808  # 163,037,184 with lm_head on its own
    assert load("tied").num_parameters == 20 * 8


def test_arithmetic_on_sizes_is_done_at_the_asked_sizes():
    for batch, length in ((4, 30), (6, 33), (3, 7)):
        graph = load("sizes", batch=batch, input={"x": (4, length)})
        shapes = [tensor.shape for tensor in graph.outputs]
        pooled = -(-((length - 1) // 2 + 1) // 4)
        assert shapes == [(8 * batch, pooled), (2 * batch + 1, max(length // 3, 2))]
        assert graph.macs == batch * 8 * ((length - 1) // 2 + 1) * 4 * 3


def test_recurrent_layers_stay_whole():
    graph = load("recurrent", batch=2)
    assert (graph.operators["lstm"], graph.operators["gru"]) == (2, 1)  # one for each layer
    assert graph.num_parameters == sum(
        (
            1000 * 64,
            2 * (4 * 128 * (64 + 128) + 8 * 128),
            2 * (4 * 128 * (256 + 128) + 8 * 128),
            3 * 32 * (256 + 32) + 6 * 32,
            32 * 10 + 10,
        )
    )


def test_branches_on_data_take_the_costlier_one_and_say_so():
    graph = load("cond", batch=2)
    assert graph.macs == 2 * (64 * 256 + 256 * 32)
    assert any("its condition depends on the data" in warning for warning in graph.warnings)


def test_bodies_of_scan_and_map_count_once_for_each_step():
    graph = latpred._core.resolve(latpred._core.read_program(str(FIXTURES / "steps.pt2")), 5)
    assert graph.macs == 5 * (2 * 16 * 16 + 2 * 16 * 8)


def test_settings_of_a_part_leave_its_operators_in_place():
    graph = load("settings", batch=2)
    assert graph.macs == 2 * 16 * 16
    assert graph.operators["linear"] == 1
    assert "unknown" not in graph.operators


def document_of(name):
    with zipfile.ZipFile(FIXTURES / f"{name}.pt2") as archive:
        return archive.read(f"{name}/models/model.json")


def test_a_document_alone_says_what_its_archive_says():
    program = _core.read_exported_program(document_of("resnet50"), name="resnet")
    assert program.source.framework == "pytorch"
    assert program.source.path == "resnet"
    assert program.source.producer.startswith("torch 2.13")
    same_network(_core.resolve(program), load("resnet50"))


def test_identities_tie_the_weights_of_a_document():
    document = json.loads(document_of("tied"))
    graph = document["graph_module"]["graph"]
    linear = next(node for node in graph["nodes"] if node["target"] == "torch.ops.aten.linear.default")
    linear["inputs"][1]["arg"]["as_tensor"]["name"] = "p_table_weight"  # torch itself writes one name for both
    content = json.dumps(document).encode()
    names = ["table.weight", "head.weight"]

    def count(weights):
        return _core.resolve(_core.read_exported_program(content, weights)).num_parameters

    assert count({}) == count(dict.fromkeys(names)) == 2 * 20 * 8
    assert count(dict.fromkeys(names, 7)) == count(dict.fromkeys(names, "7")) == 20 * 8
    assert count({"table.weight": 7, "head.weight": "7"}) == 2 * 20 * 8


def rewritten(path, source, change):
    """A copy of the archive `source` at `path` whose document is changed."""
    with zipfile.ZipFile(FIXTURES / f"{source}.pt2") as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("models/model.json"):
                document = json.loads(content)
                change(document)
                content = json.dumps(document).encode()
            new.writestr(name, content)
    return path


def test_another_schema_is_refused_with_both_versions(tmp_path):
    path = rewritten(tmp_path / "m.pt2", "cond", lambda document: document["schema_version"].update(major=9))
    with pytest.raises(latpred.ModelFileError, match=r"in version 9 of torch's export schema.* reads version 8"):
        latpred.load(path)


def test_members_of_later_versions_are_ignored(tmp_path):
    def change(document):
        document["schema_version"]["minor"] = 99
        document["later"] = {"anything": [1]}
        for node in document["graph_module"]["graph"]["nodes"]:
            node["later"] = None

    path = rewritten(tmp_path / "m.pt2", "vgg16", change)
    same_network(latpred.load(path), load("vgg16"))


def test_an_operator_that_nobody_knows_keeps_the_sizes_of_the_file(tmp_path):
    def change(document):
        node = next(n for n in document["graph_module"]["graph"]["nodes"] if "relu" in n["target"])
        node["target"] = "torch.ops.acme.thing.default"

    path = rewritten(tmp_path / "m.pt2", "squeezenet1_1", change)
    graph = latpred.load(path)
    assert graph.operators["unknown"] == 1
    assert graph.macs == NETWORKS["squeezenet1_1"][1]


def test_a_packed_archive_is_refused_with_the_way_out(tmp_path):
    path = tmp_path / "m.pt2"
    with zipfile.ZipFile(FIXTURES / "cond.pt2") as old, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(latpred.ModelFileError, match=r"is packed \(zip method 8\)"):
        latpred.load(path)


def test_every_truncation_is_an_error_of_ours(tmp_path):
    content = (FIXTURES / "settings.pt2").read_bytes()
    path = tmp_path / "m.pt2"
    for size in range(1, len(content), 97):
        path.write_bytes(content[:size])
        with pytest.raises(latpred.ModelFileError):
            latpred.load(path)


torch = pytest.importorskip("torch")


class Attention(torch.nn.Module):
    """Bakes its batch into views when exported at fixed sizes."""

    def __init__(self):
        super().__init__()
        self.projection = torch.nn.Linear(32, 96)
        self.out = torch.nn.Linear(32, 32)
        self.norm = torch.nn.LayerNorm(32)

    def forward(self, x):
        batch, tokens, width = x.shape
        q, k, v = self.projection(self.norm(x)).view(batch, tokens, 3, 4, width // 4).permute(2, 0, 3, 1, 4).unbind(0)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v)
        y = y.transpose(1, 2).reshape(batch, tokens, width)
        mask = torch.ones(batch, tokens, 1, dtype=torch.bool).expand(batch, tokens, width)
        return x + self.out(y).masked_fill(mask, 0.0), y.reshape(batch * tokens, width).mean(1)


def exported(tmp_path, module, batch, dynamic=None):
    program = torch.export.export(module.eval(), (torch.randn(batch, 10, 32),), dynamic_shapes=dynamic, strict=False)
    path = tmp_path / f"{batch}.pt2"
    torch.export.save(program, path)
    return path


@pytest.mark.parametrize("saved", [1, 2])
def test_files_of_this_torch_at_another_batch(tmp_path, saved):
    module = Attention()
    native = latpred.load(exported(tmp_path, module, 8), batch=8)
    assert not native.warnings
    rebatched = latpred.load(exported(tmp_path, module, saved), batch=8)
    assert rebatched.macs == native.macs
    same_network(rebatched, native)
    if saved == 1:  # nothing in the file tells whether ones(1, 10, 1) was the batch
        assert any("its first size 1 is taken for the batch; re-export" in warning for warning in rebatched.warnings)
    if saved == 2:
        assert not rebatched.warnings
        dynamic = exported(tmp_path, module, 3, ({0: torch.export.Dim.AUTO},))
        same_network(latpred.load(dynamic, batch=8), native)
        warnings = latpred.load(dynamic, batch=1).warnings
        assert len(warnings) == 1
        assert "of 2 to any number; predicted for 1" in warnings[0]

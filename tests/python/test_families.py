"""The data set "families", what whole-graph networks read of it, and the call of DIPPM's Figure 5."""

from __future__ import annotations

import math
import sys
import types
from pathlib import Path

import latpred
import numpy as np
import pytest
from latpred import datasets
from latpred.datasets import families, families_modelled
from latpred.fusion import whole_graph

pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FIXTURES = Path(__file__).resolve().parents[1] / "fixtures"


@pytest.fixture(scope="module")
def whole() -> families.Families:
    return datasets.load("families")


def small_of(whole: families.Families, count: int) -> families.Families:
    """Networks that need no framework's record, and one that does."""
    return whole.select(np.flatnonzero(whole.rows.recipe.str.startswith(("nb201", "timm:resnet18@224")))[:count])


def test_every_row_says_where_and_how_it_was_measured(whole):
    rows = whole.rows
    assert len(rows) > 40_000
    assert rows.id.is_unique
    targets = rows[list(whole_graph.TARGETS)]
    assert (targets.isna() | (targets > 0)).all(axis=None), "unknown is NaN, not 0"
    assert targets.notna().any(axis=1).all()
    assert (rows.label == families.MEASURED).all()
    is_ours = rows.source == "measured here"
    assert rows.memory_bytes[~is_ours].isna().all(), "nobody published it"
    assert rows.energy_j.isna().all(), "nobody measured it"
    for column in ("device", "runtime", "precision", "protocol", "source", "licence"):
        assert (rows[column] != "").all(), column
    missing = set(families.FAMILIES) - set(rows.family)
    assert not missing, "every family of DIPPM's Table 2, and ConvNeXt"


def test_modelled_labels_stand_apart(whole):
    taught = datasets.load("families", labels="modelled")
    assert (taught.rows.label == "modelled").all()
    assert taught.rows.input.str.fullmatch(r"3,\d+,\d+").all()
    assert not set(taught.rows.id) & set(whole.rows.id)
    assert (taught.rows[list(whole_graph.TARGETS)] > 0).all(axis=None)
    assert set(taught.rows.batch) == set(families_modelled.BATCHES)
    assert set(families.COLUMNS) <= set(taught.rows.columns)


@pytest.mark.parametrize("split", families.SPLITS)
def test_a_split_has_all_parts_and_is_the_same_for_fewer_rows(whole, split):
    parts = whole.parts(split)
    assert set(parts) == set(families.PARTS)
    fewer = np.arange(0, len(whole), 7)
    assert (whole.select(fewer).parts(split) == parts[fewer]).all()
    if split != "family":
        shares = [float((parts == part).mean()) for part in families.PARTS]
        assert shares == pytest.approx([0.7, 0.15, 0.15], abs=0.02)


def test_no_sibling_is_on_both_sides_but_of_the_random_split(whole):
    def sides(split: str, column: str) -> int:
        return int(whole.rows.assign(part=whole.parts(split)).groupby(column).part.nunique().max())

    assert sides("architecture", "network") == 1
    assert sides("family", "module") == 1
    assert sides("random", "network") == 3  # as DIPPM splits


def test_convnext_is_left_out_with_its_family(whole):
    assert len(whole.part("family", "test").rows.query("family == 'ConvNeXt'")) > 0
    for part in ("train", "validation"):
        assert "ConvNeXt" not in set(whole.part("family", part).rows.family)


@pytest.mark.parametrize(
    ("network", "module", "family"),
    [
        ("tf_efficientnet_b0", "timm-efficientnet", "EfficientNet"),
        ("mnasnet_100", "timm-efficientnet", "MNASNet"),
        ("mobilenetv2_100", "timm-efficientnet", "MobileNet"),
        ("resnet50", "timm-resnet", "ResNet"),
        ("vit_base_patch16_224", "timm-vision_transformer", "ViT"),
        ("poolformer_s12", "timm-metaformer", "PoolFormer"),
        ("regnety_002", "timm-regnet", "timm-regnet"),
        ("anb:mbconv?e=1", "anb", "anb"),
    ],
)
def test_families_go_by_name(network, module, family):
    assert families.family_of(network, module) == family


@pytest.mark.parametrize(
    ("recipe", "network"),
    [
        ("timm:resnet50@288", "resnet50"),
        ("ofa:mbv3?ks=3,5&size=144&width=1.2", "ofa:mbv3?ks=3,5&width=1.2"),
        ("anb:mbconv?e=1&size=256", "anb:mbconv?e=1"),
    ],
)
def test_sizes_of_a_network_are_siblings(recipe, network):
    assert families.network_of(recipe) == network


def test_a_row_is_arrays(whole):
    one = whole.select(np.flatnonzero(whole.rows.recipe == "timm:resnet18@224")[:1])
    row = one[0]
    assert row["nodes"].shape[1] == 32
    assert row["edges"].shape[0] == 2
    assert row["edges"].max() < len(row["nodes"])
    assert row["graph"][1] == one.rows.batch.iloc[0]
    assert row["targets"][0] == one.rows.latency_s.iloc[0]
    assert np.isnan(row["targets"][1:]).all()
    assert [len(found["nodes"]) for found in one] == [len(row["nodes"])]
    with pytest.raises(IndexError):
        one[1]


def chain_with_a_shortcut() -> latpred.Graph:
    """conv, relu, conv, add of both, relu: a relu is none of DIPPM's operators."""
    net = latpred.GraphBuilder()
    x = net.input("x", (4, 8, 8))

    def conv(value):
        return net.apply("conv", [value, net.parameter((4, 4, 1, 1))], kernel_shape=[1, 1])

    first = net.apply("relu", conv(x))
    net.output(net.apply("relu", net.apply("add", [conv(first), first])))
    return net.build(2)


def test_data_flows_through_nodes_that_are_left_out():
    arrays = whole_graph.of_graph(chain_with_a_shortcut())
    assert len(arrays["nodes"]) == 3
    assert arrays["edges"].T.tolist() == [[0, 1], [0, 2], [1, 2]]


def test_a_network_without_any_of_the_operators_keeps_its_nodes():
    net = latpred.GraphBuilder()
    net.output(net.apply("relu", net.apply("sigmoid", net.input("x", (4,)))))
    assert len(whole_graph.of_graph(net.build(1))["nodes"]) == 2


def test_graphs_stand_behind_each_other_with_totals():
    one = whole_graph.of_graph(chain_with_a_shortcut())
    arrays = whole_graph.with_totals(whole_graph.joined([one, one]))
    assert arrays["first_node"].tolist() == [0, 3, 6]
    assert arrays["edges"].T.tolist()[3:] == [[3, 4], [3, 5], [4, 5]]
    assert arrays["columns"][:, -3:].tolist() == [[3 * 2 * 4 * 8 * 8, 2 * 4 * 8 * 8, 3]] * 2
    device = latpred._core.device("RTX 4090")
    seconds = 2 * one["graph"][0] / device.fp16_flops_per_s + 8 * 1536 / device.bandwidth_bytes_per_s
    assert whole_graph.latency_base_s(arrays, "RTX 4090") == pytest.approx([seconds] * 2)


def test_arrays_are_what_a_trainer_takes(whole):
    few = small_of(whole, 3)
    arrays = few.arrays()
    assert arrays["targets"].shape == (3, 3)
    assert arrays["columns"].shape == (3, 5)
    assert arrays["first_node"][-1] == len(arrays["nodes"])


def test_rows_become_data_of_pytorch_geometric(whole, monkeypatch):
    """Its place is taken by a module that keeps what it is given: PyTorch Geometric itself is not needed here."""
    pytest.importorskip("torch")
    made = types.ModuleType("torch_geometric")
    made.data = types.SimpleNamespace(Data=lambda **fields: types.SimpleNamespace(**fields))
    monkeypatch.setitem(sys.modules, "torch_geometric", made)
    few = small_of(whole, 2)
    found = few.to_pyg()
    assert [tuple(data.y.shape) for data in found] == [(1, 3)] * 2
    assert found[0].x.shape[1] == 32
    assert found[0].edge_index.shape[0] == 2
    assert found[0].static[0, 1] == few.rows.batch.iloc[0]


def test_without_pytorch_geometric_it_says_what_to_install(whole, monkeypatch):
    pytest.importorskip("torch")
    monkeypatch.setitem(sys.modules, "torch_geometric", None)
    with pytest.raises(latpred.MissingDependencyError, match="pip install torch_geometric"):
        small_of(whole, 1).to_pyg()


def test_unknown_names_are_errors_that_name_the_others(whole, tmp_path):
    with pytest.raises(latpred.InvalidArgumentError, match="families"):
        datasets.load("family")
    with pytest.raises(latpred.InvalidArgumentError, match="modelled"):
        datasets.load("families", labels="guessed")
    with pytest.raises(latpred.InvalidArgumentError, match="architecture"):
        whole.parts("recipe")


# The call of DIPPM's Figure 5; a channels-last file says so itself.
SAME_NETWORK = [
    ("pytorch", "torch/vgg16.pt2", "3,224,224"),
    ("onnx", "onnx/vgg16.onnx", "3,224,224"),
    ("paddle", "paddle/vgg16.json", "3,224,224"),
    ("paddle", "paddle/vgg16.pdmodel", "3,224,224"),
    ("keras", "keras/vgg16.keras", "224,224,3"),
    ("tensorflow", "tensorflow/vgg16", "224,224,3"),
]


def answer_of(framework: str, path: Path, sizes: str, **settings: object) -> tuple[float, float, float, str]:
    out = latpred.predict(framework=framework, path=path, batch=32, input=sizes, device="A100", **settings)
    text = "Predicted Memory {0} MB, Energy {1} J, Latency {2} ms, MIG {3}".format(*out)  # noqa: UP030 - theirs
    assert text == (
        f"Predicted Memory {out.memory_mb} MB, Energy {out.energy_j} J, Latency {out.latency_ms} ms, "
        f"MIG {out.mig_profile}"
    )
    return tuple(out)


def torchscript_vgg16(path: Path) -> Path:
    """Each weight is one number shown at its shape: the file stays small."""
    torch = pytest.importorskip("torch")
    layers = [3, 64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0]
    modules, channels = [], layers[0]
    with torch.device("meta"):
        for width in layers[1:]:
            modules += (
                [torch.nn.Conv2d(channels, width, 3, padding=1), torch.nn.ReLU(inplace=True)]
                if width
                else [torch.nn.MaxPool2d(2)]
            )
            channels = width or channels
        modules += [torch.nn.AdaptiveAvgPool2d(7), torch.nn.Flatten()]
        for inputs in (512 * 49, 4096):
            modules += [torch.nn.Linear(inputs, 4096), torch.nn.ReLU(inplace=True), torch.nn.Dropout()]
        module = torch.nn.Sequential(*modules, torch.nn.Linear(4096, 1000)).eval()
    for layer in module:
        for name, weight in list(layer.named_parameters()):
            setattr(layer, name, torch.nn.Parameter(torch.zeros(1).expand(weight.shape), requires_grad=False))
    torch.jit.script(module).save(str(path))
    return path


@pytest.mark.parametrize(("framework", "file", "sizes"), SAME_NETWORK[1:])
def test_the_call_of_dippm_gives_one_answer_for_every_file(framework, file, sizes):
    reference = answer_of("pytorch", FIXTURES / SAME_NETWORK[0][1], "3,224,224")
    found = answer_of(framework, FIXTURES / file, sizes)
    assert found[:3] == pytest.approx(reference[:3], rel=0.01)
    assert found[3] == reference[3]


@pytest.mark.filterwarnings("ignore:.*(torch.jit|TorchScript).*")
def test_the_call_of_dippm_takes_torchscript(tmp_path):
    reference = answer_of("pytorch", FIXTURES / "torch" / "vgg16.pt2", "3,224,224")
    found = answer_of("pytorch", torchscript_vgg16(tmp_path / "vgg16.pt"), "3,224,224")
    assert found[:3] == pytest.approx(reference[:3], rel=0.01)
    assert math.isfinite(found[1])

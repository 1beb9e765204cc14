"""Networks of others through torch.export: no operator unknown, multiply-accumulates as torch counts them."""

import importlib.util

import latpred
import pytest

torch = pytest.importorskip("torch")

import architectures  # noqa: E402
from torch import nn  # noqa: E402

PACKAGES = {"timm": "timm", "torchvision": "torchvision", "hf": "transformers"}

# torch's counter has no rule for grouped products, and their CPU kernel refuses float32 fakes: counted by hand, on the
# shapes that torch.export writes.
GROUPED = {"hf:mixtral", "hf:qwen3-moe"}


def read(program, folder, batch=1):
    path = folder / "network.pt2"
    torch.export.save(program, path)
    return latpred.load(path, batch=batch)


def by_hand(program):
    """Multiply-accumulates of linear layers, attention and grouped products, from the sizes in the exported graph."""
    total = 0
    for node in program.graph.nodes:
        target = str(node.target)
        values = [argument.meta["val"] for argument in node.args if isinstance(argument, torch.fx.Node)]
        shapes = [value.shape for value in values if isinstance(value, torch.Tensor)]
        if target == "aten.linear.default":
            total += shapes[0].numel() * shapes[1][0]
        elif target in ("aten.matmul.default", "transformers.grouped_mm_fallback.default"):
            total += shapes[0].numel() * shapes[1][-1]
        elif target == "aten.scaled_dot_product_attention.default":
            query, key, value = shapes[:3]
            total += query[:-1].numel() * key[-2] * (query[-1] + value[-1])
    return total


def check(name, program, arguments, mode, folder):
    graph = read(program, folder)
    unknown = sorted({node.source_operator for node in graph.nodes if node.operator == "unknown"})
    assert unknown == []
    assert list(graph.warnings) == []
    expected = by_hand(program) if name in GROUPED else architectures.counted_macs(program, arguments, mode)
    assert graph.macs == expected
    return graph


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", architectures.NAMES)
def test_architecture(name, tmp_path):
    package = PACKAGES[name.partition(":")[0]]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install latpred[architectures]")
    architectures.prepare()
    program, arguments, mode = architectures.export(name)
    check(name, program, arguments, mode, tmp_path)


# Static files at another batch: what torch.export merges into one size with the batch cannot be told from it.
REFUSED = {("hf:deberta-v2", 1), ("hf:siglip", 1), ("torchvision:vit_b_16", 1)}
REFUSED |= {("hf:deberta-v2", 8), ("torchvision:vit_b_16", 8)}

# Equal in every operator that multiplies and accumulates, not in views and masks, for the networks are others at a
# batch of 1: transformers expands the positions of a decoder's mask where the batch is more than 1,
POSITIONS = ("gemma", "gemma3", "gpt-neox", "gpt2", "llama", "mistral", "mixtral", "phi", "qwen2", "qwen3", "qwen3-moe")
OTHERS_AT_1 = {(f"hf:{name}", 1) for name in POSITIONS}
# it writes expand(1, -1) where 1 is no batch,
OTHERS_AT_1 |= {("hf:albert", 1), ("hf:bert", 1), ("hf:electra", 1)}
# and zeros(1, heads, ...) likewise, which is warned of;
OTHERS_AT_1 |= {("hf:t5", 1)}
# torch.export writes copies of tensors whose strides are those of a batch of 1.
OTHERS_AT_1 |= {("torchvision:video.mvit_v2_s", 1), ("torchvision:video.mvit_v2_s", 8)}


def operators(graph, is_counted=False):
    """Every operator and its sizes; with `is_counted` of products alone."""

    def shapes(tensors):
        return [None if tensor is None else tuple(tensor.shape) for tensor in tensors]

    return [
        (node.operator, shapes(node.inputs), shapes(node.outputs))
        for node in graph.nodes
        if not is_counted or node.operator in PRODUCTS
    ]


PRODUCTS = ("conv", "conv_transpose", "linear", "gemm", "matmul", "grouped_matmul", "scaled_dot_product_attention")


def check_at_another_batch(name, graph, natively):
    """Either refused or equal to the graph that was traced at that batch."""
    saved = graph.batch
    if (name, saved) in REFUSED:
        with pytest.raises(latpred.ShapeError, match="re-export with a dynamic batch dimension"):
            graph.with_batch(natively.batch)
        return
    again = graph.with_batch(natively.batch)
    is_counted = (name, saved) in OTHERS_AT_1
    assert (again.macs, again.num_parameters) == (natively.macs, natively.num_parameters)
    assert operators(again, is_counted) == operators(natively, is_counted)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", architectures.NAMES)
def test_static_file_at_another_batch(name, tmp_path):
    package = PACKAGES[name.partition(":")[0]]
    if importlib.util.find_spec(package) is None:
        pytest.skip(f"{package} is not installed: pip install latpred[architectures]")
    architectures.prepare()
    one, eight = (read(architectures.export(name, batch)[0], tmp_path, batch) for batch in (1, 8))
    check_at_another_batch(name, one, eight)
    check_at_another_batch(name, eight, one)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention = nn.MultiheadAttention(64, 4, batch_first=True)
        self.norm = nn.LayerNorm(64)

    def forward(self, x):
        return self.norm(x + self.attention(x, x, x, need_weights=False)[0])


class Calls(nn.Module):
    """A module out of a function of its input, with weights for the functions that take some."""

    def __init__(self, function, *shapes):
        super().__init__()
        self.function = function
        self.weights = nn.ParameterList([nn.Parameter(torch.empty(shape)) for shape in shapes])

    def forward(self, x):
        return self.function(x, *self.weights)


F = nn.functional
IMAGE = (3, 32, 32)
STEPS = (10, 64)

# Built of torch alone: what the networks above have, small enough for every run.
PLAIN = {
    "convolutions": (
        lambda: nn.Sequential(
            nn.Conv2d(3, 16, 3, padding="same"),
            nn.BatchNorm2d(16),
            nn.ReLU(inplace=True),
            nn.MaxPool2d(3, 2, 1),
            nn.Conv2d(16, 32, 3, groups=4, dilation=2),
            nn.Hardswish(),
            nn.AvgPool2d(2, ceil_mode=True),
            nn.AdaptiveAvgPool2d(1),
            nn.Flatten(),
            nn.Linear(32, 10),
            nn.LogSoftmax(dim=1),
        ),
        IMAGE,
    ),
    "upsampling": (
        lambda: nn.Sequential(
            nn.ConvTranspose2d(3, 8, 4, stride=2, padding=1),
            nn.PixelShuffle(2),
            nn.InstanceNorm2d(2),
            nn.LeakyReLU(0.2),
            nn.Upsample(scale_factor=1.5, mode="bilinear"),
            nn.ReflectionPad2d(2),
            nn.Conv2d(2, 3, 5),
            nn.Tanh(),
        ),
        IMAGE,
    ),
    "volume": (
        lambda: nn.Sequential(nn.Conv3d(3, 8, 3), nn.GroupNorm(2, 8), nn.MaxPool3d(2), nn.ELU()),
        (3, 8, 16, 16),
    ),
    "sound": (lambda: nn.Sequential(nn.Conv1d(3, 8, 5, stride=2), nn.GELU("tanh"), nn.AdaptiveMaxPool1d(4)), (3, 100)),
    "encoder": (lambda: nn.TransformerEncoderLayer(64, 4, 128, batch_first=True), STEPS),
    "attention": (Attention, STEPS),
    "gate": (lambda: nn.Sequential(nn.Linear(64, 64), nn.GLU(), nn.RMSNorm(32), nn.PReLU()), STEPS),
    "products": (
        lambda: Calls(
            lambda x, w, b: torch.einsum("bij,kj->bik", torch.baddbmm(x @ x.mT, x, x.mT), w) + b, (6, 10), (6,)
        ),
        STEPS,
    ),
    "views": (
        lambda: Calls(
            lambda x, w: torch.cat([part.roll(1, 1).flip(-1) for part in x.chunk(3, -1)], -1).unfold(1, 4, 2).mT @ w,
            (64, 5),
        ),
        STEPS,
    ),
    "reductions": (
        lambda: Calls(
            lambda x, w: F.linear(
                x.std(1) + x.amax(1) + x.topk(3, 1).values.sum(1) + x.logsumexp(1) + x.norm(dim=1), w
            ),
            (7, 64),
        ),
        STEPS,
    ),
    "columns": (
        lambda: nn.Sequential(nn.Unfold(4, stride=4), nn.Fold((32, 32), 4, stride=4), nn.Conv2d(3, 4, 1)),
        IMAGE,
    ),
    "written in place": (
        lambda: Calls(lambda x, w: (lambda y: (y[:, 1:].add_(F.linear(x[:, 1:], w)), y.relu_())[1])(x * 2), (64, 64)),
        STEPS,
    ),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", PLAIN)
def test_plain(name, tmp_path):
    make, sizes = PLAIN[name]
    inputs = {"x": (sizes, torch.float32)}
    with torch.device("meta"):
        module = make()
    graph = check(name, *architectures.exported(module, inputs), tmp_path)
    natively = read(architectures.exported(module, inputs, batch=8)[0], tmp_path, batch=8)
    assert natively.macs == 8 * graph.macs
    check_at_another_batch(name, graph, natively)
    check_at_another_batch(name, natively, graph)


# torch's counter leaves recurrent layers out: four (three) gates on the input and on the state, both directions.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("kind", "gates"), [(nn.LSTM, 4), (nn.GRU, 3), (nn.RNN, 1)])
def test_recurrent(kind, gates, tmp_path):
    with torch.device("meta"):
        module = kind(64, 32, num_layers=2, bidirectional=True, batch_first=True)
    program, _, _ = architectures.exported(module, {"x": (STEPS, torch.float32)})
    graph = read(program, tmp_path)
    assert graph.macs == 10 * 2 * gates * 32 * ((64 + 32) + (64 + 32))
    assert graph.num_parameters == sum(parameter.numel() for parameter in module.parameters())
    assert list(graph.warnings) == []

"""The rules of `runtime="compiled"` against the schedule that Inductor itself makes for a GPU."""

import latpred
import pytest
from benchmark_modules import benchmark_module

torch = pytest.importorskip("torch")
nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore")  # PyTorch's, of its own deprecated calls
BATCH, SIZE = 256, 32
IMAGE = (BATCH, 16, SIZE, SIZE)


class Squeezed(nn.Module):
    """A mobile block: what stands behind the depth-wise convolution's norm is computed again from float32."""

    def __init__(self, activation):
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(16, 64, 1, bias=False), nn.BatchNorm2d(64), activation())
        self.depthwise = nn.Sequential(nn.Conv2d(64, 64, 3, padding=1, groups=64, bias=False), nn.BatchNorm2d(64))
        self.activation = activation()
        self.gate = nn.Sequential(nn.Conv2d(64, 8, 1), nn.ReLU(), nn.Conv2d(8, 64, 1), nn.Sigmoid())
        self.project = nn.Sequential(nn.Conv2d(64, 16, 1, bias=False), nn.BatchNorm2d(16))

    def forward(self, x):
        y = self.activation(self.depthwise(self.expand(x)))
        return x + self.project(y * self.gate(y.mean((2, 3), keepdim=True)))


class Dense(nn.Module):
    """Layers that read all that came before."""

    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(
            nn.Sequential(nn.BatchNorm2d(16 + 32 * i), nn.ReLU(), nn.Conv2d(16 + 32 * i, 32, 3, padding=1, bias=False))
            for i in range(4)
        )

    def forward(self, x):
        parts = [x]
        for layer in self.layers:
            parts.append(layer(torch.cat(parts, 1)))
        return parts[-1]


class Patches(nn.Module):
    """A stem with a bias, and residual blocks of tokens."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(16, 64, 4, 4)
        self.norms = nn.ModuleList(nn.LayerNorm(64) for _ in range(6))
        self.layers = nn.ModuleList(nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64)) for _ in range(6))

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        for norm, layer in zip(self.norms, self.layers, strict=True):
            x = x + layer(norm(x))
        return x


def behind_a_stem(block):
    """Nothing else reads the image, which is cast first."""
    return nn.Sequential(nn.Conv2d(16, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), block).eval()


@pytest.fixture(scope="module")
def inductor():
    module = benchmark_module("inductor")
    with module.pretended_gpu():
        yield module


@pytest.mark.parametrize(
    "make",
    [lambda: Squeezed(nn.SiLU), lambda: Squeezed(nn.ReLU), Dense, Patches],
    ids=["silu", "relu", "dense", "patches"],
)
def test_kernels_are_those_of_inductor(inductor, make):
    module = behind_a_stem(make())
    theirs = inductor.sums_of_inductor(module, IMAGE)
    ours = inductor.sums_of_ours(latpred.load(model=module, batch=BATCH, input="16,32,32"))
    assert abs(ours.casts - theirs.casts) <= 1
    assert abs(ours.kernels - theirs.kernels) <= 1
    assert ours.moved_bytes == pytest.approx(theirs.moved_bytes, rel=0.03)

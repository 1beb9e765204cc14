"""Activation peaks against PyTorch's own allocator events, byte for byte."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch")

import latpred  # noqa: E402
from latpred import _core  # noqa: E402

from allocator_events import record  # noqa: E402  isort: skip
from described_network import Network, TorchNetwork  # noqa: E402  isort: skip
from memory_networks import DESCRIPTIONS, describe  # noqa: E402  isort: skip


def estimate(graph, *, runtime: str = "eager", precision: str = "fp32", device: str = "A100", autograd: bool = False):
    return _core.estimate_memory(graph, _core.fuse(graph, runtime, precision), device, autograd)


@pytest.fixture(scope="module")
def built() -> dict[str, tuple[Network, TorchNetwork]]:
    torch.set_num_threads(1)
    networks = {name: describe(name) for name in DESCRIPTIONS}
    return {name: (network, network.torch_module()) for name, network in networks.items()}


def test_there_are_at_least_twenty_networks():
    assert len(DESCRIPTIONS) >= 20


@pytest.mark.parametrize("gradients", [False, True], ids=["inference", "autograd"])
@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_activation_peak_is_pytorchs(built, name: str, gradients: bool):
    network, module = built[name]
    truth = record(module, network.torch_inputs(), gradients=gradients)
    assert estimate(network.graph(), autograd=gradients).activations_peak_bytes == truth.activation_peak
    # Scratch is all that stands between the two peaks.
    scratch = sum(truth.scratch_peaks.values())
    assert truth.activation_peak <= truth.total_peak <= truth.activation_peak + scratch


@pytest.mark.parametrize("batch", [1, 5])
@pytest.mark.parametrize("name", ["resnet50", "densenet", "windows", "convnext", "gpt", "shufflenet"])
def test_other_batches(name: str, batch: int):
    network = describe(name, batch)
    module = network.torch_module()
    for gradients in (False, True):
        truth = record(module, network.torch_inputs(), gradients=gradients)
        assert estimate(network.graph(), autograd=gradients).activations_peak_bytes == truth.activation_peak


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_both_sides_have_the_same_shapes(built, name: str):
    network, _ = built[name]
    shapes = [tuple(output.shape) for output in network.graph().outputs]
    assert shapes == [tuple(network.shape(i)) for i in network.outputs]


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_weights_and_inputs_are_pytorchs(built, name: str):
    network, module = built[name]
    memory = estimate(network.graph())
    # A single stored number is a constant, not a weight.
    stored = [tensor for tensor in (*module.parameters(), *module.buffers()) if tensor.dim() > 0]
    assert memory.weights_bytes == sum(tensor.nbytes for tensor in stored)
    assert memory.inputs_bytes == sum(t.nbytes for t in network.torch_inputs())


def test_convolution_scratch_is_what_the_cpu_adds(built):
    """The component beside activations: present with convolutions, absent without."""
    network, module = built["vgg"]
    assert record(module, network.torch_inputs(), gradients=False).scratch_peaks["aten::conv2d"] > 0
    network, module = built["encoder"]
    assert not record(module, network.torch_inputs(), gradients=False).scratch_peaks


def test_a_module_that_holds_its_argument_needs_more():
    """Explained difference: a Python function keeps its arguments until it returns, a Graph does not know functions."""

    class Head(torch.nn.Module):
        def forward(self, x):
            y = torch.relu(x)
            y = torch.exp(y)  # x, of no more use, is still the caller's local
            return torch.exp(y)

    class Whole(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.head = Head()

        def forward(self, x):
            x = torch.exp(x)
            return self.head(x)

    net = Network()
    x = net.input(64)
    for op in ("exp", "relu", "exp", "exp"):
        x = net.apply(op, x)
    net.output(x)
    size = 2 * 64 * 4
    ours = estimate(net.graph()).activations_peak_bytes
    assert ours == record(net.torch_module(), net.torch_inputs(), gradients=False).activation_peak == 2 * size
    assert record(Whole(), net.torch_inputs(), gradients=False).activation_peak == 3 * size
    # torch.fx's code drops each value after its last use.
    assert record(torch.fx.symbolic_trace(Whole()), net.torch_inputs(), gradients=False).activation_peak == ours


def test_rms_norm_is_fused_on_cuda_and_taken_apart_on_a_cpu():
    """Explained difference: ours is the fused kernel, which keeps one number for each row."""
    graph_builder = latpred.GraphBuilder()
    x = graph_builder.input("x", [16, 32])
    graph_builder.output(graph_builder.apply("rms_norm", [x, graph_builder.parameter([32])], axis=-1))
    ours = estimate(graph_builder.build(batch=2)).activations_peak_bytes
    assert ours == 2 * 16 * 32 * 4 + 2 * 16 * 4
    truth = record(torch.nn.RMSNorm(32), [torch.rand(2, 16, 32)], gradients=False)
    assert truth.activation_peak > ours


@pytest.mark.parametrize("name", ["resnet18", "vit", "unet"])
def test_fusing_runtimes_store_no_more_than_eager(built, name: str):
    graph = built[name][0].graph()
    eager = estimate(graph).activations_peak_bytes
    for runtime in ("compiled", "tensorrt", "onnxruntime"):
        assert 0 < estimate(graph, runtime=runtime).activations_peak_bytes <= eager


@pytest.mark.parametrize("name", ["resnet18", "gpt", "densenet"])
def test_activations_grow_with_the_batch(name: str):
    peaks = [estimate(describe(name, batch).graph()).activations_peak_bytes for batch in (1, 2, 4, 8)]
    assert peaks == sorted(peaks)
    assert len(set(peaks)) == 4


def test_autograd_is_refused_where_nothing_trains(built):
    with pytest.raises(latpred.InvalidArgumentError, match="only infers and keeps nothing for backward"):
        estimate(built["mlp"][0].graph(), runtime="tensorrt", autograd=True)

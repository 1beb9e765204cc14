"""Small networks that several tests need."""

from pathlib import Path

import latpred

REPOSITORY = Path(__file__).resolve().parents[2]
MEASUREMENTS = REPOSITORY / "data" / "measurements"
RESNET50 = REPOSITORY / "examples" / "resnet50.onnx"


def views() -> latpred.Graph:
    """A network that runs nothing."""
    net = latpred.GraphBuilder()
    net.output(net.apply("flatten", net.input("x", (4, 4)), axis=1))
    return net.build()


def small_network(batch: int = 1, channels: int = 16) -> latpred.Graph:
    """A convolution, a relu and a linear layer."""
    net = latpred.GraphBuilder()
    x = net.input("image", (3, 32, 32))
    x = net.apply("conv", [x, net.parameter((channels, 3, 3, 3))], name="conv", pads=[1, 1, 1, 1])
    x = net.apply("relu", x, name="relu")
    x = net.apply("global_average_pool", x, name="pool")
    x = net.apply("flatten", x, name="flatten", axis=1)
    x = net.apply("gemm", [x, net.parameter((10, channels)), net.parameter((10,))], name="linear", transB=1)
    net.output(x)
    return net.build(batch=batch)

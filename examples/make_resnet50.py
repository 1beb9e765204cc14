"""Builds ResNet-50 by hand and writes it as resnet50.onnx, weights left out: the file that the README predicts.

python examples/make_resnet50.py [FILE]

The network is the one of He et al. (arXiv 1512.03385) with the stride in the 3 x 3 convolution, as torchvision has it:
25 557 032 parameters, 4.09 G multiply-accumulates for a 224 x 224 image.
"""

import sys

import latpred

BLOCKS_OF_STAGES = (3, 4, 6, 3)
FIRST_WIDTH = 64
EXPANSION = 4
NUM_CLASSES = 1000


class ResNet50:
    def __init__(self) -> None:
        self.net = latpred.GraphBuilder()

    def build(self, batch: int = 1) -> latpred.Graph:
        x = self.net.input("image", (3, 224, 224))
        x = self.convolution(x, 3, FIRST_WIDTH, window=7, stride=2, name="stem")
        x = self.net.apply("relu", x, name="stem/relu")
        x = self.net.apply("max_pool", x, name="stem/pool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])
        channels = FIRST_WIDTH
        for stage, num_blocks in enumerate(BLOCKS_OF_STAGES, start=1):
            width = FIRST_WIDTH * 2 ** (stage - 1)
            for block in range(num_blocks):
                stride = 2 if stage > 1 and block == 0 else 1
                x = self.bottleneck(x, channels, width, stride, f"stage{stage}/block{block}")
                channels = width * EXPANSION
        x = self.net.apply("global_average_pool", x, name="head/pool")
        x = self.net.apply("flatten", x, name="head/flatten", axis=1)
        weight = self.net.parameter((NUM_CLASSES, channels), name="head/linear/weight")
        bias = self.net.parameter((NUM_CLASSES,), name="head/linear/bias")
        self.net.output(self.net.apply("gemm", [x, weight, bias], name="head/linear", transB=1))
        return self.net.build(batch=batch)

    def bottleneck(self, x: int, channels: int, width: int, stride: int, name: str) -> int:
        shortcut = x
        y = self.convolution(x, channels, width, window=1, stride=1, name=f"{name}/conv1")
        y = self.net.apply("relu", y, name=f"{name}/relu1")
        y = self.convolution(y, width, width, window=3, stride=stride, name=f"{name}/conv2")
        y = self.net.apply("relu", y, name=f"{name}/relu2")
        y = self.convolution(y, width, width * EXPANSION, window=1, stride=1, name=f"{name}/conv3")
        if channels != width * EXPANSION:
            shortcut = self.convolution(
                x, channels, width * EXPANSION, window=1, stride=stride, name=f"{name}/shortcut"
            )
        y = self.net.apply("add", [y, shortcut], name=f"{name}/add")
        return self.net.apply("relu", y, name=f"{name}/relu3")

    def convolution(self, x: int, channels_in: int, channels_out: int, *, window: int, stride: int, name: str) -> int:
        """A convolution and its batch norm."""
        weight = self.net.parameter((channels_out, channels_in, window, window), name=f"{name}/weight")
        x = self.net.apply(
            "conv",
            [x, weight],
            name=name,
            kernel_shape=[window, window],
            strides=[stride, stride],
            pads=[window // 2] * 4,
        )
        norm = [
            self.net.parameter((channels_out,), name=f"{name}/norm/{part}")
            for part in ("scale", "shift", "mean", "variance")
        ]
        return self.net.apply("batch_norm", [x, *norm], name=f"{name}/norm")


if __name__ == "__main__":
    ResNet50().build().to_onnx(sys.argv[1] if len(sys.argv) > 1 else "examples/resnet50.onnx")

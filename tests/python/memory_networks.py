"""The networks whose memory is compared with PyTorch's: one description each."""

from __future__ import annotations

from collections.abc import Callable

import torch
from described_network import Network


def _mlp(net: Network) -> None:
    x = net.input(64)
    for width in (256, 512, 128):
        x = net.apply("relu", net.linear(x, width))
    net.output(net.linear(x, 10))


def _mlp_without_bias(net: Network) -> None:
    x = net.input(17)
    for width in (33, 129, 5):
        x = net.apply("tanh", net.linear(x, width, bias=False))
    net.output(x)


def _plain_cnn(net: Network) -> None:
    x = net.input(3, 32, 32)
    for channels in (16, 32, 64):
        x = net.apply("relu", net.conv(x, channels, 3, padding=1))
        x = net.max_pool(x, 2, 2)
    net.classify(x)


def _cnn_batch_norm(net: Network) -> None:
    x = net.input(3, 33, 33)
    for channels in (12, 24, 36):
        x = net.conv_bn(x, channels, 3, stride=2)
    net.classify(x)


def _resnet18(net: Network) -> None:
    x = net.conv_bn(net.input(3, 64, 64), 16, 7, stride=2)
    x = net.max_pool(x, 3, 2, 1)
    for channels, stride in ((16, 1), (16, 1), (32, 2), (32, 1), (64, 2), (64, 1)):
        y = net.conv_bn(x, channels, 3, stride)
        y = net.conv_bn(y, channels, 3, activation=None)
        if stride != 1:
            x = net.conv_bn(x, channels, 1, stride, activation=None)
        x = net.apply("relu", net.apply("add", y, x))
    net.classify(x)


def _resnet50(net: Network) -> None:
    x = net.conv_bn(net.input(3, 64, 64), 8, 7, stride=2)
    x = net.max_pool(x, 3, 2, 1)
    for width, stride in ((8, 1), (8, 1), (16, 2), (16, 1)):
        y = net.conv_bn(x, width, 1)
        y = net.conv_bn(y, width, 3, stride)
        y = net.conv_bn(y, 4 * width, 1, activation=None)
        if stride != 1 or net.shape(x)[1] != 4 * width:
            x = net.conv_bn(x, 4 * width, 1, stride, activation=None)
        x = net.apply("relu", net.apply("add", y, x))
    net.classify(x)


def _vgg(net: Network) -> None:
    x = net.input(3, 64, 64)
    for channels, count in ((8, 1), (16, 1), (32, 2), (64, 2)):
        for _ in range(count):
            x = net.apply("relu", net.conv(x, channels, 3, padding=1))
        x = net.max_pool(x, 2, 2)
    x = net.apply("flatten", x, axis=1)
    for width in (128, 128):
        x = net.apply("dropout", net.apply("relu", net.linear(x, width)))
    net.output(net.linear(x, 10))


def _densenet(net: Network) -> None:
    x = net.conv_bn(net.input(3, 32, 32), 16, 3)
    for transition in (True, False):
        features = [x]
        for _ in range(4):
            y = net.apply("concat", *features, axis=1) if len(features) > 1 else features[0]
            y = net.conv(net.apply("relu", net.batch_norm(y)), 32, 1, bias=False)
            y = net.conv(net.apply("relu", net.batch_norm(y)), 8, 3, padding=1, bias=False)
            features.append(y)
        x = net.apply("concat", *features, axis=1)
        if transition:
            x = net.conv(net.apply("relu", net.batch_norm(x)), net.shape(x)[1] // 2, 1, bias=False)
            x = net.average_pool(x, 2, 2)
    net.classify(net.apply("relu", net.batch_norm(x)))


def _inception(net: Network) -> None:
    x = net.conv_bn(net.input(3, 32, 32), 16, 3)
    for _ in range(2):
        branches = [net.conv_bn(x, 8, 1)]
        branches.append(net.conv_bn(net.conv_bn(x, 6, 1), 12, 3))
        branches.append(net.conv_bn(net.conv_bn(x, 4, 1), 8, 5))
        branches.append(net.conv_bn(net.max_pool(x, 3, 1, 1), 6, 1))
        x = net.apply("concat", *branches, axis=1)
    net.classify(x)


def _squeezenet(net: Network) -> None:
    x = net.apply("relu", net.conv(net.input(3, 48, 48), 16, 3, 2))
    x = net.max_pool(x, 3, 2)
    for squeeze, expand in ((4, 16), (8, 24)):
        x = net.apply("relu", net.conv(x, squeeze, 1))
        wide = [net.apply("relu", net.conv(x, expand, k, padding=k // 2)) for k in (1, 3)]
        x = net.apply("concat", *wide, axis=1)
    x = net.apply("relu", net.conv(net.apply("dropout", x), 10, 1))
    net.output(net.apply("flatten", net.apply("global_average_pool", x), axis=1))


def _mobilenet(net: Network, activation: str) -> None:
    x = net.conv_bn(net.input(3, 32, 32), 16, 3, 2, activation=activation)
    for channels, stride, expansion in ((16, 1, 1), (24, 2, 6), (24, 1, 6)):
        wide = net.shape(x)[1] * expansion
        y = net.conv_bn(x, wide, 1, activation=activation) if expansion > 1 else x
        y = net.conv_bn(y, wide, 3, stride, group=wide, activation=activation)
        y = net.conv_bn(y, channels, 1, activation=None)
        x = net.apply("add", x, y) if stride == 1 and channels == net.shape(x)[1] else y
    net.classify(x)


def _squeeze_excite(net: Network) -> None:
    x = net.conv_bn(net.input(3, 32, 32), 24, 3, activation="silu")
    for _ in range(2):
        y = net.conv_bn(x, 24, 3, activation="silu")
        gate = net.apply("reduce_mean", y, axes=[2, 3], keepdims=1)
        gate = net.conv(net.apply("silu", net.conv(gate, 6, 1)), 24, 1)
        x = net.apply("add", net.apply("mul", y, net.apply("sigmoid", gate)), x)
    net.classify(x)


def _shufflenet(net: Network) -> None:
    x = net.conv_bn(net.input(3, 32, 32), 16, 3)
    for _ in range(2):
        left, right = net.apply("split", x, axis=1, sizes=[8, 8])
        right = net.conv_bn(right, 8, 1)
        right = net.conv_bn(right, 8, 3, group=8, activation=None)
        right = net.conv_bn(right, 8, 1)
        x = net.apply("concat", left, right, axis=1)
        x = net.apply("reshape", x, target=[0, 2, 8, 32, 32])
        x = net.apply("transpose", x, perm=[0, 2, 1, 3, 4])
        x = net.apply("reshape", x, target=[0, 16, 32, 32])
    net.classify(x)


def _unet(net: Network) -> None:
    x = net.input(3, 32, 32)
    skips = []
    for channels in (8, 16):
        x = net.conv_bn(net.conv_bn(x, channels, 3), channels, 3)
        skips.append(x)
        x = net.max_pool(x, 2, 2)
    x = net.conv_bn(x, 32, 3)
    for skip, mode in zip(reversed(skips), ("nearest", "bilinear"), strict=True):
        x = net.apply("upsample", x, scales=[1.0, 1.0, 2.0, 2.0], mode=mode)
        x = net.apply("concat", x, skip, axis=1)
        x = net.conv_bn(net.conv_bn(x, net.shape(skip)[1], 3), net.shape(skip)[1], 3)
    net.output(net.conv(x, 1, 1))


def _decoder(net: Network) -> None:
    x = net.linear(net.input(32), 64 * 4 * 4)
    x = net.apply("reshape", x, target=[0, 64, 4, 4])
    for channels in (32, 16):
        weight, bias = net.parameter(net.shape(x)[1], channels, 2, 2), net.parameter(channels)
        x = net.apply("conv_transpose", x, weight, bias, kernel_shape=[2, 2], strides=[2, 2])
        x = net.apply("leaky_relu", net.batch_norm(x))
    x = net.apply("depth_to_space", x, blocksize=2, mode="CRD")
    net.output(net.apply("tanh", net.conv(x, 3, 3, padding=1)))


def _attention_by_products(net: Network, x: int, heads: int) -> int:
    q, k, v = (net.heads(net.linear(x, net.shape(x)[-1]), heads) for _ in range(3))
    scores = net.apply("matmul", q, net.apply("transpose", k, perm=[0, 1, 3, 2]))
    scores = net.apply("div", scores, net.parameter(trained=False))  # one stored number: a constant
    return net.joined_heads(net.apply("matmul", net.apply("softmax", scores, axis=-1), v))


def _fused_attention(net: Network, x: int, heads: int) -> int:
    """One product for query, key and value, split afterwards, as GPT-2 has it."""
    width = net.shape(x)[-1]
    parts = net.apply("split", net.linear(x, 3 * width), axis=2, sizes=[width] * 3)
    return net.joined_heads(net.apply("scaled_dot_product_attention", *(net.heads(part, heads) for part in parts)))


def _encoder(net: Network) -> None:
    """Norm behind the residual, attention by products: BERT."""
    x = net.input(24, 32)
    for _ in range(2):
        x = net.layer_norm(net.apply("add", x, net.linear(_attention_by_products(net, x, 4), 32)))
        y = net.linear(net.apply("gelu", net.linear(x, 128)), 32)
        x = net.layer_norm(net.apply("add", x, y))
    net.output(x)


def _encoder_scaled_dot_product(net: Network) -> None:
    x = net.input(24, 32)
    for _ in range(2):
        q, k, v = (net.heads(net.linear(x, 32), 4) for _ in range(3))
        y = net.joined_heads(net.apply("scaled_dot_product_attention", q, k, v))
        x = net.layer_norm(net.apply("add", x, net.linear(y, 32)))
        x = net.layer_norm(net.apply("add", x, net.linear(net.apply("relu", net.linear(x, 64)), 32)))
    net.output(x)


def _gpt(net: Network) -> None:
    ids = net.input(16, dtype=torch.int64)
    x = net.apply("gather", net.parameter(50, 48), ids, axis=0)
    x = net.apply("add", x, net.parameter(16, 48))
    for _ in range(2):
        x = net.apply("add", x, net.linear(_fused_attention(net, net.layer_norm(x), 6), 48))
        x = net.apply("add", x, net.linear(net.apply("gelu", net.linear(net.layer_norm(x), 192)), 48))
    net.output(net.linear(net.layer_norm(x), 50, bias=False))


def _vit(net: Network) -> None:
    x = net.conv(net.input(3, 32, 32), 40, 8, stride=8)
    x = net.apply("reshape", x, target=[0, 40, 16])
    x = net.apply("transpose", x, perm=[0, 2, 1])
    x = net.apply("add", x, net.parameter(1, 16, 40))
    for _ in range(2):
        x = net.apply("add", x, net.linear(_fused_attention(net, net.layer_norm(x), 5), 40))
        x = net.apply("add", x, net.linear(net.apply("gelu", net.linear(net.layer_norm(x), 160)), 40))
    x = net.apply("reduce_mean", net.layer_norm(x), axes=[1], keepdims=0)
    net.output(net.linear(x, 10))


def _convnext(net: Network) -> None:
    x = net.conv(net.input(3, 32, 32), 16, 4, stride=4)
    for _ in range(2):
        y = net.conv(x, 16, 7, padding=3, group=16)
        y = net.layer_norm(net.apply("transpose", y, perm=[0, 2, 3, 1]))
        y = net.linear(net.apply("gelu", net.linear(y, 64)), 16)
        y = net.apply("mul", y, net.parameter(16))
        x = net.apply("add", x, net.apply("transpose", y, perm=[0, 3, 1, 2]))
    net.classify(x)


def _text_classifier(net: Network) -> None:
    ids = net.input(20, dtype=torch.int64)
    x = net.apply("gather", net.parameter(100, 32), ids, axis=0)
    x = net.apply("reduce_mean", x, axes=[1], keepdims=0)
    net.output(net.apply("softmax", net.linear(net.apply("relu", net.linear(x, 64)), 4), axis=-1))


def _poolings(net: Network) -> None:
    x = net.apply("elu", net.conv(net.input(3, 40, 40), 8, 5, padding=2))
    x = net.apply("concat", net.max_pool(x, 3, 2, 1), net.average_pool(x, 2, 2), axis=1)
    x = net.apply("mish", net.conv(x, 16, 3))
    largest = net.apply("global_max_pool", x)
    mean = net.apply("global_average_pool", x)
    x = net.apply("flatten", net.apply("concat", mean, largest, axis=1), axis=1)
    net.output(net.linear(x, 5))


def _group_norm(net: Network) -> None:
    x = net.conv(net.input(3, 32, 32), 16, 3, padding=1)
    for op in ("silu", "hard_sigmoid"):
        y = net.apply("group_norm", x, net.parameter(16), net.parameter(16), num_groups=4)
        x = net.apply("add", x, net.conv(net.apply(op, y), 16, 3, padding=1))
    x = net.apply("instance_norm", x, net.parameter(16), net.parameter(16))
    net.classify(net.apply("prelu", x, net.parameter(1)))


def _several_outputs(net: Network) -> None:
    x = net.conv_bn(net.input(3, 32, 32), 8, 3, stride=2)
    outputs = []
    for channels in (12, 16, 20):
        x = net.conv_bn(x, channels, 3, stride=2)
        outputs.append(net.conv(x, 6, 1))
    net.output(*outputs, x)


def _several_inputs(net: Network) -> None:
    image, text = net.input(3, 24, 24), net.input(12)
    x = net.apply("flatten", net.max_pool(net.conv_bn(image, 8, 3), 4, 4), axis=1)
    y = net.apply("sigmoid", net.linear(text, 32))
    x = net.apply("concat", net.linear(x, 32), y, axis=1)
    net.output(net.linear(x, 3), net.apply("sub", net.apply("exp", y), net.apply("softplus", y)))


def _alexnet(net: Network) -> None:
    x = net.apply("relu", net.conv(net.input(3, 64, 64), 16, 11, stride=4, padding=2))
    x = net.max_pool(net.apply("lrn", x, size=5), 3, 2)
    x = net.apply("relu", net.conv(x, 24, 5, padding=2, group=2))
    x = net.apply("softsign", net.apply("lrn", x, size=3))
    x = net.linear(net.apply("flatten", x, axis=1), 20)
    net.output(net.apply("log_softmax", x, axis=1))


def _temporal(net: Network) -> None:
    x = net.input(4, 128)
    for dilation in (1, 2, 4):
        x = net.apply("relu", net.conv(x, 12, 3, padding=dilation, dilation=dilation))
    x = net.max_pool(x, 2, 2)
    x = net.apply("slice", x, starts=[0], ends=[50], axes=[2])
    net.output(net.linear(net.apply("transpose", x, perm=[0, 2, 1]), 6))


def _mixer(net: Network) -> None:
    """Products along both axes: strided inputs of linear layers."""
    x = net.input(16, 24)
    for _ in range(2):
        y = net.apply("transpose", net.layer_norm(x), perm=[0, 2, 1])
        y = net.linear(net.apply("gelu", net.linear(y, 32)), 16)
        x = net.apply("add", x, net.apply("transpose", y, perm=[0, 2, 1]))
        y = net.apply("matmul", net.layer_norm(x), net.parameter(24, 48))
        x = net.apply("add", x, net.apply("matmul", net.apply("gelu", y), net.parameter(48, 24)))
    net.output(net.apply("reduce_max", x, axes=[1], keepdims=0))


def _windows(net: Network) -> None:
    """Windowed attention on strided data, normed in place of the copy: Swin."""
    x = net.input(8, 8, 16)
    y = net.apply("reshape", net.layer_norm(x), target=[0, 2, 4, 2, 4, 16])
    y = net.apply("transpose", y, perm=[0, 1, 3, 2, 4, 5])
    y = net.apply("reshape", y, target=[-1, 16, 16])
    y = net.linear(_attention_by_products(net, y, 2), 16)
    y = net.apply("reshape", y, target=[-1, 2, 2, 4, 4, 16])
    y = net.apply("transpose", y, perm=[0, 1, 3, 2, 4, 5])
    y = net.apply("reshape", y, target=[-1, 8, 8, 16])
    x = net.apply("add", x, y)
    x = net.apply("transpose", x, perm=[0, 3, 1, 2])
    x = net.apply("relu", net.conv(x, 8, 3, padding=1))
    x = net.apply("softmax", net.apply("transpose", x, perm=[0, 2, 3, 1]), axis=-1)
    net.output(net.apply("reduce_sum", x, axes=[1, 2], keepdims=0))


DESCRIPTIONS: dict[str, Callable[[Network], None]] = {
    "mlp": _mlp,
    "mlp_without_bias": _mlp_without_bias,
    "plain_cnn": _plain_cnn,
    "cnn_batch_norm": _cnn_batch_norm,
    "resnet18": _resnet18,
    "resnet50": _resnet50,
    "vgg": _vgg,
    "densenet": _densenet,
    "inception": _inception,
    "squeezenet": _squeezenet,
    "mobilenet_relu6": lambda net: _mobilenet(net, "relu6"),
    "mobilenet_hard_swish": lambda net: _mobilenet(net, "hard_swish"),
    "squeeze_excite": _squeeze_excite,
    "shufflenet": _shufflenet,
    "unet": _unet,
    "decoder": _decoder,
    "encoder": _encoder,
    "encoder_scaled_dot_product": _encoder_scaled_dot_product,
    "gpt": _gpt,
    "vit": _vit,
    "convnext": _convnext,
    "text_classifier": _text_classifier,
    "poolings": _poolings,
    "group_norm": _group_norm,
    "several_outputs": _several_outputs,
    "several_inputs": _several_inputs,
    "alexnet": _alexnet,
    "temporal": _temporal,
    "mixer": _mixer,
    "windows": _windows,
}


def describe(name: str, batch: int = 2) -> Network:
    network = Network(batch=batch)
    DESCRIPTIONS[name](network)
    return network

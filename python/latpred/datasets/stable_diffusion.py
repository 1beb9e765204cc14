"""Stable Diffusion 1.x, built without a framework: its parts, and a whole call of the pipeline as one network."""

from __future__ import annotations

import dataclasses
from typing import Any

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, Variable
from latpred.errors import InvalidArgumentError

# The published configuration of CompVis/stable-diffusion-v1-4.
LATENT_CHANNELS = 4
SHRINK = 8  # of the image to its latents, each way
HEADS = 8
GROUPS = 32
UNET_WIDTHS = (320, 640, 1280, 1280)  # attention in all stages but the last
UNET_LAYERS = 2  # in each stage down; one more on the way up
TIME_WIDTH = 4 * UNET_WIDTHS[0]
FREQUENCIES = UNET_WIDTHS[0] // 2  # of the sines and cosines that stand for a step
FEED_FORWARD = 4  # times the width
TOKENS = 77
VOCABULARY = 49408
TEXT_WIDTH = 768
TEXT_LAYERS = 12
TEXT_HEADS = 12
VAE_WIDTHS = (512, 512, 256, 128)
VAE_LAYERS = 3

# What "attention=" chooses from: one kernel that never writes the scores, or two products with a softmax.
ATTENTIONS = ("fused", "products")


@dataclasses.dataclass(frozen=True)
class _Layers:
    """Layers with names: a name that comes again means the same weights."""

    net: GraphBuilder
    attention: str
    weights: dict[str, Variable] = dataclasses.field(default_factory=dict)

    def weight(self, name: str, *shape: int) -> Variable:
        if name not in self.weights:
            self.weights[name] = self.net.parameter(shape, name=name)
        return self.weights[name]

    def linear(self, name: str, x: Variable, cin: int, cout: int, bias: bool = True) -> Variable:
        biases = [self.weight(f"{name}.bias", cout)] if bias else []
        return self.net.apply("linear", [x, self.weight(f"{name}.weight", cout, cin), *biases])

    def conv(self, name: str, x: Variable, cin: int, cout: int, kernel: int = 3, stride: int = 1) -> Variable:
        weights = [self.weight(f"{name}.weight", cout, cin, kernel, kernel), self.weight(f"{name}.bias", cout)]
        window: dict[str, Any] = {"kernel_shape": [kernel] * 2, "strides": [stride] * 2, "pads": [kernel // 2] * 4}
        return self.net.apply("conv", [x, *weights], **window)

    def norm(self, name: str, x: Variable, width: int, operator: str = "group_norm") -> Variable:
        attributes: dict[str, Any] = {"group_norm": {"num_groups": GROUPS}, "layer_norm": {"axis": -1}}[operator]
        weights = [self.weight(f"{name}.{part}", width) for part in ("weight", "bias")]
        return self.net.apply(operator, [x, *weights], **attributes)

    def reshape(self, x: Variable, *sizes: int) -> Variable:
        return self.net.apply("reshape", [x, self.net.constant(list(sizes))])

    def attend(self, operands: list[Variable], lengths: tuple[int, int], heads: int, width: int) -> Variable:
        """Attention of query, key and value with as many tokens in queries and in keys. Heads are moved into the batch,
        which copies; scaling is inside the first product, as torch.baddbmm has it."""
        size = width // heads
        shapes = [(length, size) for length in (lengths[0], lengths[1], lengths[1])]
        split = []
        for x, (length, _) in zip(operands, shapes, strict=True):
            x = self.net.apply("transpose", self.reshape(x, 0, length, heads, size), perm=[0, 2, 1, 3])
            split.append(self.reshape(x, -1, length, size))
        if self.attention == "fused":
            # One kernel that writes no scores: torch's needs the heads apart for it.
            apart = [self.reshape(x, -1, heads, *sizes) for x, sizes in zip(split, shapes, strict=True)]
            y = self.net.apply("scaled_dot_product_attention", apart)
        else:
            scores = self.net.apply("matmul", [split[0], self.net.apply("transpose", split[1], perm=[0, 2, 1])])
            y = self.net.apply("matmul", [self.net.apply("softmax", scores, axis=-1), split[2]])
        y = self.net.apply("transpose", self.reshape(y, -1, heads, lengths[0], size), perm=[0, 2, 1, 3])
        return self.reshape(y, 0, lengths[0], width)

    def upsampled(self, name: str, x: Variable, width: int) -> Variable:
        x = self.net.apply("resize", [x], scales=[1.0, 1.0, 2.0, 2.0], mode="nearest")
        return self.conv(name, x, width, width)

    def residual(self, name: str, x: Variable, cin: int, cout: int, time: Variable | None = None) -> Variable:
        y = self.net.apply("silu", self.norm(f"{name}.norm1", x, cin))
        y = self.conv(f"{name}.conv1", y, cin, cout)
        if time is not None:
            shift = self.linear(f"{name}.time_emb_proj", self.net.apply("silu", time), TIME_WIDTH, cout)
            y = self.net.apply("add", [y, self.reshape(shift, 0, cout, 1, 1)])
        y = self.net.apply("silu", self.norm(f"{name}.norm2", y, cout))
        y = self.conv(f"{name}.conv2", y, cout, cout)
        shortcut = x if cin == cout else self.conv(f"{name}.conv_shortcut", x, cin, cout, 1)
        return self.net.apply("add", [shortcut, y])

    def tokens(self, x: Variable, width: int) -> Variable:
        """An image as a sequence: [batch, width, rows, columns] -> [batch, rows * columns, width]"""
        return self.reshape(self.net.apply("transpose", x, perm=[0, 2, 3, 1]), 0, -1, width)

    def image(self, x: Variable, size: int, width: int) -> Variable:
        return self.net.apply("transpose", self.reshape(x, 0, size, size, width), perm=[0, 3, 1, 2])


def _cross_attention(
    layers: _Layers, name: str, x: Variable, context: Variable, lengths: tuple[int, int], width: int, cin: int
) -> Variable:
    query = layers.linear(f"{name}.to_q", x, width, width, bias=False)
    key, value = (layers.linear(f"{name}.to_{part}", context, cin, width, bias=False) for part in "kv")
    return layers.linear(f"{name}.to_out", layers.attend([query, key, value], lengths, HEADS, width), width, width)


def _gated(layers: _Layers, name: str, x: Variable, width: int) -> Variable:
    wide = FEED_FORWARD * width
    both = layers.linear(f"{name}.proj", x, width, 2 * wide)
    sizes = layers.net.constant([wide, wide])
    hidden, gate = layers.net.apply("split", [both, sizes], num_outputs=2, axis=-1)
    hidden = layers.net.apply("mul", [hidden, layers.net.apply("gelu", gate)])
    return layers.linear(f"{name}.out", hidden, wide, width)


def _transformer(layers: _Layers, name: str, x: Variable, text: Variable, size: int, width: int) -> Variable:
    apply = layers.net.apply
    y = layers.conv(f"{name}.proj_in", layers.norm(f"{name}.norm", x, width), width, width, 1)
    y = layers.tokens(y, width)
    z = layers.norm(f"{name}.norm1", y, width, "layer_norm")
    y = apply("add", [_cross_attention(layers, f"{name}.attn1", z, z, (size**2, size**2), width, width), y])
    z = layers.norm(f"{name}.norm2", y, width, "layer_norm")
    y = apply("add", [_cross_attention(layers, f"{name}.attn2", z, text, (size**2, TOKENS), width, TEXT_WIDTH), y])
    z = layers.norm(f"{name}.norm3", y, width, "layer_norm")
    y = apply("add", [_gated(layers, f"{name}.ff", z, width), y])
    y = layers.conv(f"{name}.proj_out", layers.image(y, size, width), width, width, 1)
    return apply("add", [y, x])


def _time_embedding(layers: _Layers, angles: Variable) -> Variable:
    apply = layers.net.apply
    x = apply("concat", [apply("cos", angles), apply("sin", angles)], axis=-1)
    x = apply("silu", layers.linear("time_embedding.1", x, 2 * FREQUENCIES, TIME_WIDTH))
    return layers.linear("time_embedding.2", x, TIME_WIDTH, TIME_WIDTH)


def _unet(layers: _Layers, latents: Variable, angles: Variable, text: Variable, size: int) -> Variable:
    """What predicts the noise in latents of size x size."""
    time = _time_embedding(layers, angles)
    cin = UNET_WIDTHS[0]
    x = layers.conv("unet.conv_in", latents, LATENT_CHANNELS, cin)
    skips = [(x, cin)]
    last = len(UNET_WIDTHS) - 1
    for stage, width in enumerate(UNET_WIDTHS):
        for layer in range(UNET_LAYERS):
            name = f"unet.down{stage}.{layer}"
            x = layers.residual(name, x, cin, width, time)
            cin = width
            if stage < last:
                x = _transformer(layers, f"{name}.attention", x, text, size, width)
            skips.append((x, width))
        if stage < last:
            x = layers.conv(f"unet.down{stage}.downsample", x, width, width, stride=2)
            size //= 2
            skips.append((x, width))
    x = layers.residual("unet.mid0", x, cin, cin, time)
    x = _transformer(layers, "unet.mid.attention", x, text, size, cin)
    x = layers.residual("unet.mid1", x, cin, cin, time)
    for stage, width in enumerate(reversed(UNET_WIDTHS)):
        for layer in range(UNET_LAYERS + 1):
            name = f"unet.up{stage}.{layer}"
            skip, skip_width = skips.pop()
            x = layers.residual(name, layers.net.apply("concat", [x, skip], axis=1), cin + skip_width, width, time)
            cin = width
            if stage > 0:
                x = _transformer(layers, f"{name}.attention", x, text, size, width)
        if stage < last:
            x = layers.upsampled(f"unet.up{stage}.upsample", x, width)
            size *= 2
    x = layers.net.apply("silu", layers.norm("unet.norm_out", x, cin))
    return layers.conv("unet.conv_out", x, cin, LATENT_CHANNELS)


def _vae_decoder(layers: _Layers, latents: Variable, size: int) -> Variable:
    """Latents of size x size to an image SHRINK times as large."""
    cin = VAE_WIDTHS[0]
    x = layers.conv("vae.post_quant", latents, LATENT_CHANNELS, LATENT_CHANNELS, 1)
    x = layers.conv("vae.conv_in", x, LATENT_CHANNELS, cin)
    x = layers.residual("vae.mid0", x, cin, cin)
    y = layers.tokens(layers.norm("vae.mid.norm", x, cin), cin)
    operands = [layers.linear(f"vae.mid.{part}", y, cin, cin) for part in ("query", "key", "value")]
    y = layers.linear("vae.mid.out", layers.attend(operands, (size**2, size**2), 1, cin), cin, cin)
    x = layers.net.apply("add", [layers.image(y, size, cin), x])
    x = layers.residual("vae.mid1", x, cin, cin)
    for stage, width in enumerate(VAE_WIDTHS):
        for layer in range(VAE_LAYERS):
            x = layers.residual(f"vae.up{stage}.{layer}", x, cin, width)
            cin = width
        if stage < len(VAE_WIDTHS) - 1:
            x = layers.upsampled(f"vae.up{stage}.upsample", x, width)
    x = layers.net.apply("silu", layers.norm("vae.norm_out", x, cin))
    return layers.conv("vae.conv_out", x, cin, 3)


def _text_encoder(layers: _Layers, tokens: Variable) -> Variable:
    """CLIP's, without its causal mask: it masks by an addition that counts nothing beside the rest."""
    apply = layers.net.apply
    products = dataclasses.replace(layers, attention="products")
    x = apply("embedding", [layers.weight("text.words", VOCABULARY, TEXT_WIDTH), tokens])
    x = apply("add", [x, layers.weight("text.positions", TOKENS, TEXT_WIDTH)])
    for layer in range(TEXT_LAYERS):
        name = f"text.{layer}"
        y = layers.norm(f"{name}.norm1", x, TEXT_WIDTH, "layer_norm")
        operands = [layers.linear(f"{name}.{part}", y, TEXT_WIDTH, TEXT_WIDTH) for part in "qkv"]
        y = products.attend(operands, (TOKENS, TOKENS), TEXT_HEADS, TEXT_WIDTH)
        x = apply("add", [x, layers.linear(f"{name}.out", y, TEXT_WIDTH, TEXT_WIDTH)])
        y = layers.norm(f"{name}.norm2", x, TEXT_WIDTH, "layer_norm")
        y = apply("quick_gelu", layers.linear(f"{name}.fc1", y, TEXT_WIDTH, FEED_FORWARD * TEXT_WIDTH))
        x = apply("add", [x, layers.linear(f"{name}.fc2", y, FEED_FORWARD * TEXT_WIDTH, TEXT_WIDTH)])
    return layers.norm("text.norm", x, TEXT_WIDTH, "layer_norm")


def _build_unet(layers: _Layers, recipe: Recipe) -> Variable:
    size = recipe.integer("size", 512) // SHRINK
    latents = layers.net.input("latents", (LATENT_CHANNELS, size, size))
    angles = layers.net.input("angles", (FREQUENCIES,))
    return _unet(layers, latents, angles, layers.net.input("text", (TOKENS, TEXT_WIDTH)), size)


def _build_vae_decoder(layers: _Layers, recipe: Recipe) -> Variable:
    size = recipe.integer("size", 512) // SHRINK
    return _vae_decoder(layers, layers.net.input("latents", (LATENT_CHANNELS, size, size)), size)


def _build_text_encoder(layers: _Layers, _: Recipe) -> Variable:
    return _text_encoder(layers, layers.net.input("tokens", (TOKENS,), "int64"))


def _build_pipeline(layers: _Layers, recipe: Recipe) -> Variable:
    """Text with and without the prompt, "calls" of the UNet on both at once, the decoder: on all images, or with
    "slices" one by one (as many as the batch). A scheduler's step is taken as one scaled addition."""
    apply = layers.net.apply
    size = recipe.integer("size", 512) // SHRINK
    latents = layers.net.input("latents", (LATENT_CHANNELS, size, size))
    angles = layers.net.input("angles", (FREQUENCIES,))
    angles = apply("concat", [angles, angles], axis=0)
    prompts = (layers.net.input(name, (TOKENS,), "int64") for name in ("nothing", "prompt"))
    text = apply("concat", [_text_encoder(layers, tokens) for tokens in prompts], axis=0)
    for _ in range(recipe.integer("calls")):
        both = _unet(layers, apply("concat", [latents, latents], axis=0), angles, text, size)
        free, guided = apply("split", [both], num_outputs=2, axis=0)
        noise = apply("add", [free, apply("sub", [guided, free])])
        latents = apply("sub", [latents, noise])
    slices = recipe.integer("slices", 1)
    if slices == 1:
        return _vae_decoder(layers, latents, size)
    parts = (
        apply("slice", [latents, *(layers.net.constant([number]) for number in (image, image + 1, 0))])
        for image in range(slices)
    )
    return apply("concat", [_vae_decoder(layers, part, size) for part in parts], axis=0)


_PARTS = {
    "unet": _build_unet,
    "vae_decoder": _build_vae_decoder,
    "text_encoder": _build_text_encoder,
    "pipeline": _build_pipeline,
}


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of an "sd:" recipe into `net`: sd:unet?size=512&attention=fused"""
    part = _PARTS.get(recipe.name)
    if part is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown part; valid: {', '.join(_PARTS)}")
    attention = recipe.parameters.get("attention", ATTENTIONS[0])
    if attention not in ATTENTIONS:
        raise InvalidArgumentError(f"recipe '{recipe}': attention is '{attention}'; valid: {', '.join(ATTENTIONS)}")
    net.output(part(_Layers(net, attention), recipe))

"""Recipes: short texts from which a measured network is rebuilt, "op:gemm?m=8&n=16&k=32".

Two kinds are for measuring here: "fnn:16-128-1", feed-forward nets by the units of their input and dense layers, and
"cnn:3-64-128?size=32", plain CNNs by the channels of their image and 3 x 3 convolutions (a size is always said, so that
a net has one recipe). fnn.py and cnn.py say the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode

from latpred._core import GraphBuilder
from latpred.errors import InvalidArgumentError

Variable: TypeAlias = Any  # what GraphBuilder.apply returns: an id, or a tuple of them


@dataclasses.dataclass(frozen=True)
class Recipe:
    """A kind ("op", "anb"), a name in it, and its parameters."""

    kind: str
    name: str
    parameters: dict[str, str]

    def __str__(self) -> str:
        tail = f"?{urlencode(self.parameters, safe=',')}" if self.parameters else ""
        return f"{self.kind}:{self.name}{tail}"

    def integer(self, name: str, fallback: int | None = None) -> int:
        """The parameter as a whole number; a missing one without a fallback is an error."""
        text = self.parameters.get(name)
        if text is None:
            if fallback is None:
                raise InvalidArgumentError(f"recipe '{self}' lacks '{name}'; it has {', '.join(self.parameters)}")
            return fallback
        return int(text)


def parse(text: str) -> Recipe:
    """Reads "kind:name?key=value&key=value"."""
    kind, colon, rest = text.partition(":")
    name, _, query = rest.partition("?")
    if not colon or not name:
        raise InvalidArgumentError(f"'{text}' is no recipe; expected kind:name?key=value, as op:gemm?m=8&n=16&k=32")
    return Recipe(kind, name, dict(parse_qsl(query, strict_parsing=True)) if query else {})


def is_count(word: str) -> bool:
    """Whether a word of a recipe is an integer >= 1 in the one way to write it."""
    return word.isascii() and word.isdigit() and not word.startswith("0")


def _gemm(net: GraphBuilder, recipe: Recipe, dtype: str) -> Variable:
    """[batch, k] x [k, n], the batch being m."""
    x = net.input("x", (recipe.integer("k"),), dtype)
    inputs = [x, net.parameter((recipe.integer("n"), recipe.integer("k")), dtype)]
    if recipe.integer("bias", 0):
        inputs.append(net.parameter((recipe.integer("n"),), dtype))
    return net.apply("gemm", inputs, transB=1)


def _int8_gemm(net: GraphBuilder, recipe: Recipe, _dtype: str) -> Variable:
    """[batch, k] x [k, n] of 8-bit integers into halves, scaled by row and column: SmoothQuant's product."""
    k, n = recipe.integer("k"), recipe.integer("n")
    operands = [net.input("x", (k,), "int8"), net.parameter((k, n), "int8")]
    scales = [net.parameter((1,), "float16"), net.parameter((n,), "float16")]
    return net.apply("matmul_integer_to_float", operands + scales)


def _bmm(net: GraphBuilder, recipe: Recipe, dtype: str) -> Variable:
    a = net.input("a", (recipe.integer("m"), recipe.integer("k")), dtype)
    b = net.input("b", (recipe.integer("k"), recipe.integer("n")), dtype)
    return net.apply("matmul", [a, b])


def _conv(net: GraphBuilder, recipe: Recipe, dtype: str) -> Variable:
    kernel, size, groups = recipe.integer("kernel"), recipe.integer("size"), recipe.integer("groups", 1)
    channels = recipe.integer("cin")
    x = net.input("x", (channels, size, size), dtype)
    inputs = [x, net.parameter((recipe.integer("cout"), channels // groups, kernel, kernel), dtype)]
    if recipe.integer("bias", 0):
        inputs.append(net.parameter((recipe.integer("cout"),), dtype))
    stride, pad = recipe.integer("stride", 1), recipe.integer("pad", 0)
    return net.apply("conv", inputs, strides=[stride] * 2, pads=[pad] * 4, group=groups, kernel_shape=[kernel] * 2)


def _unary(net: GraphBuilder, recipe: Recipe, dtype: str) -> Variable:
    x = net.input("x", (recipe.integer("h"),), dtype)
    return net.apply(recipe.name, [x])


def _binary(net: GraphBuilder, recipe: Recipe, dtype: str) -> Variable:
    x = net.input("x", (recipe.integer("h"),), dtype)
    scalar = recipe.integer("scalar", 0)
    y = net.parameter((1,), dtype) if scalar else net.input("y", (recipe.integer("h"),), dtype)
    return net.apply(recipe.name, [x, y])


def _softmax(net: GraphBuilder, recipe: Recipe, dtype: str) -> Variable:
    return net.apply("softmax", [net.input("x", (recipe.integer("h"),), dtype)], axis=-1)


def _layer_norm(net: GraphBuilder, recipe: Recipe, dtype: str) -> Variable:
    h = recipe.integer("h")
    x = net.input("x", (h,), dtype)
    return net.apply("layer_norm", [x, net.parameter((h,), dtype), net.parameter((h,), dtype)], axis=-1)


def _attention(net: GraphBuilder, recipe: Recipe, dtype: str) -> Variable:
    """Queries of `heads` heads against keys and values of `kv_heads`, each [batch, heads, seq, head_size]."""
    heads, seq, size = recipe.integer("heads"), recipe.integer("seq"), recipe.integer("head_size")
    kv_heads = recipe.integer("kv_heads", heads)
    inputs = [net.input("query", (heads, seq, size), dtype)]
    inputs += [net.input(name, (kv_heads, seq, size), dtype) for name in ("key", "value")]
    return net.apply("scaled_dot_product_attention", inputs, is_causal=recipe.integer("causal", 0))


_OPERATORS: dict[str, Callable[[GraphBuilder, Recipe, str], Variable]] = {
    "gemm": _gemm,
    "int8_gemm": _int8_gemm,
    "bmm": _bmm,
    "conv": _conv,
    "relu": _unary,
    "gelu": _unary,
    "tanh": _unary,
    "add": _binary,
    "mul": _binary,
    "div": _binary,
    "pow": _binary,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "attention": _attention,
}


def build_operator(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the single operator of an "op:" recipe into `net`; the batch is its first dimension."""
    rule = _OPERATORS.get(recipe.name)
    if rule is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown operator; valid: {', '.join(_OPERATORS)}")
    net.output(rule(net, recipe, recipe.parameters.get("dtype", "float32")))


def builders() -> dict[str, Callable[[GraphBuilder, Recipe], None]]:
    """What builds each kind of recipe; those that only a framework builds are in recorded.BUILDERS."""
    from latpred.datasets import (
        accel_nasbench,
        cnn,
        family_networks,
        fbnet,
        fnn,
        googlenet,
        language_model,
        nasbench201,
        ofa,
        paddle_networks,
        stable_diffusion,
        transformer,
    )

    return {
        "op": build_operator,
        "anb": accel_nasbench.build,
        "nb201": nasbench201.build,
        "fbnet": fbnet.build,
        family_networks.KIND: family_networks.build,
        "fnn": fnn.build,
        "cnn": cnn.build,
        googlenet.KIND: googlenet.build,
        "ofa": ofa.build,
        "paddle": paddle_networks.build,
        "bert": transformer.build,
        "vit": transformer.build_vision,
        "llm": language_model.build,
        "sd": stable_diffusion.build,
    }


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of `recipe` into `net`."""
    kinds = builders()
    rule = kinds.get(recipe.kind)
    if rule is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown kind '{recipe.kind}'; valid: {', '.join(kinds)}")
    rule(net, recipe)

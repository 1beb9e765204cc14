"""Recipes of kind "op:": single operators, "op:gemm?m=8&n=16&k=32"."""

from __future__ import annotations

from collections.abc import Callable

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, Variable
from latpred.errors import InvalidArgumentError


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


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the single operator of an "op:" recipe into `net`; the batch is its first dimension."""
    rule = _OPERATORS.get(recipe.name)
    if rule is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown operator; valid: {', '.join(_OPERATORS)}")
    net.output(rule(net, recipe, recipe.parameters.get("dtype", "float32")))

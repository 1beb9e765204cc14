"""Language models that decode, built without a framework: a whole prompt, or the step of one token behind it."""

from __future__ import annotations

import dataclasses

from latpred._core import GraphBuilder
from latpred.datasets.recipe import Recipe, Variable
from latpred.errors import InvalidArgumentError


@dataclasses.dataclass(frozen=True)
class Sizes:
    """A published configuration."""

    layers: int
    width: int
    heads: int
    feed_forward: int
    vocabulary: int
    kv_heads: int
    is_llama: bool = True  # gated, root-mean-square norms, no biases; otherwise as GPT-3 and BLOOM
    ties_words: bool = False  # the table of words is the last layer's weight
    norms_words: bool = False
    positions: int = 0  # that have a learnt row each, added to the words


SIZES = {
    "llama2-7b": Sizes(32, 4096, 32, 11008, 32000, 32),
    "llama2-13b": Sizes(40, 5120, 40, 13824, 32000, 40),
    "llama2-70b": Sizes(80, 8192, 64, 28672, 32000, 8),
    "llama3-8b": Sizes(32, 4096, 32, 14336, 128256, 8),
    "llama3-70b": Sizes(80, 8192, 64, 28672, 128256, 8),
    "mistral-7b": Sizes(32, 4096, 32, 14336, 32000, 8),
    "bloom-176b": Sizes(70, 14336, 112, 57344, 250880, 112, is_llama=False, ties_words=True, norms_words=True),
    "distilgpt2": Sizes(6, 768, 12, 3072, 50257, 12, is_llama=False, ties_words=True, positions=1024),
    "gpt2": Sizes(12, 768, 12, 3072, 50257, 12, is_llama=False, ties_words=True, positions=1024),
    "gpt2-medium": Sizes(24, 1024, 16, 4096, 50257, 16, is_llama=False, ties_words=True, positions=1024),
}


@dataclasses.dataclass(frozen=True)
class _Model:
    """One of `workers` equal shares of a network: heads, hidden widths and words are dealt out, norms are not. What the
    workers tell each other is no part of it."""

    net: GraphBuilder
    sizes: Sizes
    workers: int

    @property
    def head(self) -> int:
        return self.sizes.width // self.sizes.heads

    def norm(self, x: Variable) -> Variable:
        if self.sizes.is_llama:
            return self.net.apply("rms_norm", [x, self.net.parameter((self.sizes.width,))], axis=-1)
        weights = [self.net.parameter((self.sizes.width,)) for _ in range(2)]
        return self.net.apply("layer_norm", [x, *weights], axis=-1)

    def linear(self, x: Variable, cin: int, cout: int) -> Variable:
        biases = [] if self.sizes.is_llama else [self.net.parameter((cout,))]
        return self.net.apply("linear", [x, self.net.parameter((cout, cin)), *biases])

    def split(self, x: Variable, sizes: list[int]) -> list[Variable]:
        return list(self.net.apply("split", [x, self.net.constant(sizes)], num_outputs=len(sizes), axis=-1))

    def reshape(self, x: Variable, sizes: list[int]) -> Variable:
        return self.net.apply("reshape", [x, self.net.constant(sizes)])

    def attention(self, x: Variable, seq: int, past: int, turn: list[Variable]) -> Variable:
        width = self.sizes.width // self.workers
        kv_width = self.sizes.kv_heads * self.head // self.workers
        query, key, value = (
            self.net.apply("transpose", self.reshape(part, [0, seq, -1, self.head]), perm=[0, 2, 1, 3])
            for part in self.split(self.linear(x, self.sizes.width, width + 2 * kv_width), [width, kv_width, kv_width])
        )
        if self.sizes.is_llama:
            query, key = (self.net.apply("rotary_embedding", [part, *turn]) for part in (query, key))
        if past > 0:
            cache = (kv_width // self.head, past, self.head)
            key, value = (
                self.net.apply("concat", [self.net.input(f"past_{what}", cache), part], axis=2)
                for what, part in (("keys", key), ("values", value))
            )
        y = self.net.apply("scaled_dot_product_attention", [query, key, value], is_causal=int(past == 0))
        y = self.reshape(self.net.apply("transpose", y, perm=[0, 2, 1, 3]), [0, seq, width])
        return self.linear(y, width, self.sizes.width)

    def feed_forward(self, x: Variable) -> Variable:
        wide = self.sizes.feed_forward // self.workers
        if self.sizes.is_llama:
            gate, up = self.split(self.linear(x, self.sizes.width, 2 * wide), [wide, wide])
            y = self.net.apply("mul", [self.net.apply("silu", gate), up])
        else:
            y = self.net.apply("gelu", self.linear(x, self.sizes.width, wide))
        return self.linear(y, wide, self.sizes.width)


def build(net: GraphBuilder, recipe: Recipe) -> None:
    """Puts the network of an "llm:" recipe into `net`: llm:llama2-70b?seq=1&past=512&workers=4. `seq` tokens in behind
    `past` ones, numbers for the word after the last of them out."""
    sizes = SIZES.get(recipe.name)
    if sizes is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown language model; valid: {', '.join(SIZES)}")
    seq, past = recipe.integer("seq"), recipe.integer("past", 0)
    model = _Model(net, sizes, recipe.integer("workers", 1))
    words = net.parameter((sizes.vocabulary // model.workers, sizes.width))
    x = net.apply("embedding", [words, net.input("input_ids", (seq,), "int64")])
    if sizes.positions:
        x = net.apply("add", [x, net.parameter((seq, sizes.width))])
    x = model.norm(x) if sizes.norms_words else x
    turn = [net.input(name, (seq, model.head // 2)) for name in ("cosines", "sines")] if sizes.is_llama else []
    for _ in range(sizes.layers):
        x = net.apply("add", [x, model.attention(model.norm(x), seq, past, turn)])
        x = net.apply("add", [x, model.feed_forward(model.norm(x))])
    last = net.apply("slice", [model.norm(x), *(net.constant([number]) for number in (seq - 1, seq, 1))])
    head = words if sizes.ties_words else net.parameter((sizes.vocabulary // model.workers, sizes.width))
    net.output(net.apply("linear", [last, head]))

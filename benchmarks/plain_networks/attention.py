"""Networks of tokens: ViT, Swin, MLP-Mixer, PoolFormer, BERT, GPT-2, T5's encoder, Llama; and recurrent ones."""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .convolutional import CLASSES


class Attention(nn.Module):
    """Heads of queries, keys and values from one product, or from three; fewer heads of keys where asked."""

    def __init__(
        self,
        width: int,
        heads: int,
        is_causal: bool = False,
        has_bias: bool = True,
        is_joined: bool = True,
        head_size: int | None = None,
        has_position_bias: bool = False,
        scale: float | None = None,
    ) -> None:
        super().__init__()
        self.heads, self.is_causal, self.scale = heads, is_causal, scale
        inner = heads * (head_size or width // heads)
        self.joined = nn.Linear(width, 3 * inner, bias=has_bias) if is_joined else None
        if not is_joined:
            self.parts = nn.ModuleList(nn.Linear(width, inner, bias=has_bias) for _ in range(3))
        self.output = nn.Linear(inner, width, bias=has_bias)
        self.position_bias = nn.Embedding(32, heads) if has_position_bias else None

    def forward(self, x: Tensor) -> Tensor:
        parts = self.joined(x).chunk(3, -1) if self.joined is not None else [part(x) for part in self.parts]
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in parts)
        mask = None
        if self.position_bias is not None:
            # As T5: the distance between two tokens, in 32 buckets.
            positions = torch.arange(x.shape[1], device=x.device)
            buckets = (positions[:, None] - positions[None, :]).clamp(-16, 15) + 16
            mask = self.position_bias(buckets).permute(2, 0, 1)[None].to(q.dtype)
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=self.is_causal, scale=self.scale)
        return self.output(y.transpose(1, 2).flatten(2))


def _feed_forward(width: int, hidden: int, activation: nn.Module, has_bias: bool = True) -> nn.Sequential:
    return nn.Sequential(nn.Linear(width, hidden, has_bias), activation, nn.Linear(hidden, width, has_bias))


class Block(nn.Module):
    """Mixing of tokens, then of channels, each added to its input; norms before (GPT, ViT) or after (BERT)."""

    def __init__(
        self, mix: nn.Module, feed: nn.Module, norms: tuple[nn.Module, nn.Module], is_norm_first: bool
    ) -> None:
        super().__init__()
        self.mix, self.feed, self.is_norm_first = mix, feed, is_norm_first
        self.norms = nn.ModuleList(norms)

    def forward(self, x: Tensor) -> Tensor:
        if self.is_norm_first:
            x = x + self.mix(self.norms[0](x))
            return x + self.feed(self.norms[1](x))
        x = self.norms[0](x + self.mix(x))
        return self.norms[1](x + self.feed(x))


def _pre_norm(width: int, heads: int, hidden: int, is_causal: bool = False, eps: float = 1e-6) -> Block:
    activation = nn.GELU("tanh") if is_causal else nn.GELU()
    norms = (nn.LayerNorm(width, eps), nn.LayerNorm(width, eps))
    return Block(Attention(width, heads, is_causal), _feed_forward(width, hidden, activation), norms, True)


class VisionTransformer(nn.Module):
    def __init__(self, width: int, depth: int, heads: int, patch: int, size: int = 224) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, patch, patch)
        self.first = nn.Parameter(torch.zeros(1, 1, width))
        self.positions = nn.Parameter(torch.zeros(1, (size // patch) ** 2 + 1, width))
        self.blocks = nn.Sequential(*(_pre_norm(width, heads, 4 * width) for _ in range(depth)))
        self.norm = nn.LayerNorm(width, 1e-6)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.first.expand(x.shape[0], -1, -1), x], 1) + self.positions
        return self.head(self.norm(self.blocks(x))[:, 0])


class _WindowAttention(nn.Module):
    """Attention inside windows of 7 x 7, shifted in every second block."""

    def __init__(self, width: int, heads: int, shift: int, window: int = 7) -> None:
        super().__init__()
        self.heads, self.shift, self.window = heads, shift, window
        self.joined, self.output = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.table = nn.Parameter(torch.zeros((2 * window - 1) ** 2, heads))
        places = torch.stack(torch.meshgrid(torch.arange(window), torch.arange(window), indexing="ij")).flatten(1)
        offsets = places[:, :, None] - places[:, None, :] + window - 1
        self.register_buffer("index", (offsets[0] * (2 * window - 1) + offsets[1]).flatten(), persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        batch, rows, columns, width = x.shape
        window = self.window
        shift = self.shift if rows > window else 0
        if shift:
            x = x.roll((-shift, -shift), (1, 2))
        x = x.view(batch, rows // window, window, columns // window, window, width).transpose(2, 3)
        x = x.reshape(-1, window * window, width)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.joined(x).chunk(3, -1))
        area = window * window
        bias = self.table[self.index].view(area, area, -1).permute(2, 0, 1)[None]
        if shift:
            bias = bias + self._mask(rows, columns, shift, x).repeat(batch, 1, 1, 1)
        y = F.scaled_dot_product_attention(q, k, v, bias.to(q.dtype))
        y = self.output(y.transpose(1, 2).flatten(2))
        y = y.view(batch, rows // window, columns // window, window, window, width).transpose(2, 3)
        y = y.reshape(batch, rows, columns, width)
        return y.roll((shift, shift), (1, 2)) if shift else y

    def _mask(self, rows: int, columns: int, shift: int, like: Tensor) -> Tensor:
        """[windows, 1, area, area]: what was brought together from two sides of the image does not attend."""
        window = self.window
        regions = [
            (torch.arange(length, device=like.device) >= length - window).int()
            + (torch.arange(length, device=like.device) >= length - shift).int()
            for length in (rows, columns)
        ]
        region = regions[0][:, None] * 3 + regions[1][None, :]
        region = region.view(rows // window, window, columns // window, window).transpose(1, 2).reshape(-1, window**2)
        differs = region[:, None, :] != region[:, :, None]
        return differs[:, None].to(like.dtype) * -100.0


class _Merge(nn.Module):
    """Four neighbours become one token of twice the channels."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        parts = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.reduce(self.norm(torch.cat(parts, -1)))


class Swin(nn.Module):
    def __init__(self, width: int, depths: Sequence[int], heads: Sequence[int]) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        layers: list[nn.Module] = [nn.LayerNorm(width)]
        for stage, (count, own_heads) in enumerate(zip(depths, heads, strict=True)):
            for i in range(count):
                mix = _WindowAttention(width, own_heads, 3 if i % 2 else 0)
                norms = (nn.LayerNorm(width), nn.LayerNorm(width))
                layers.append(Block(mix, _feed_forward(width, 4 * width, nn.GELU()), norms, True))
            if stage + 1 < len(depths):
                layers.append(_Merge(width))
                width *= 2
        self.body = nn.Sequential(*layers, nn.LayerNorm(width))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(self.patches(x).permute(0, 2, 3, 1)).mean((1, 2)))


class _Transposed(nn.Module):
    def __init__(self, body: nn.Module) -> None:
        super().__init__()
        self.body = body

    def forward(self, x: Tensor) -> Tensor:
        return self.body(x.transpose(1, 2)).transpose(1, 2)


class Mixer(nn.Module):
    def __init__(self, width: int, depth: int, patch: int = 16, size: int = 224) -> None:
        super().__init__()
        tokens = (size // patch) ** 2
        self.patches = nn.Conv2d(3, width, patch, patch)
        blocks = []
        for _ in range(depth):
            mix = _Transposed(_feed_forward(tokens, width // 2, nn.GELU()))
            norms = (nn.LayerNorm(width, 1e-6), nn.LayerNorm(width, 1e-6))
            blocks.append(Block(mix, _feed_forward(width, 4 * width, nn.GELU()), norms, True))
        self.blocks = nn.Sequential(*blocks, nn.LayerNorm(width, 1e-6))
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.patches(x).flatten(2).transpose(1, 2)).mean(1))


class _PoolBlock(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.GroupNorm(1, width) for _ in range(2))
        self.feed = nn.Sequential(nn.Conv2d(width, 4 * width, 1), nn.GELU(), nn.Conv2d(4 * width, width, 1))
        self.scales = nn.ParameterList(nn.Parameter(torch.full((width, 1, 1), 1e-5)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        y = self.norms[0](x)
        x = x + self.scales[0] * (F.avg_pool2d(y, 3, 1, 1, count_include_pad=False) - y)
        return x + self.scales[1] * self.feed(self.norms[1](x))


def poolformer(depths: Sequence[int], widths: Sequence[int] = (64, 128, 320, 512)) -> nn.Sequential:
    layers: list[nn.Module] = []
    channels = 3
    for stage, (count, width) in enumerate(zip(depths, widths, strict=True)):
        layers.append(nn.Conv2d(channels, width, 7, 4, 2) if stage == 0 else nn.Conv2d(channels, width, 3, 2, 1))
        layers += [_PoolBlock(width) for _ in range(count)]
        channels = width
    last = [nn.GroupNorm(1, channels), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, CLASSES)]
    return nn.Sequential(*layers, *last)


class Bert(nn.Module):
    """Also DistilBERT, which has no segments and no pooled output."""

    def __init__(self, width: int, depth: int, heads: int, is_distilled: bool = False, vocabulary: int = 30522) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(512, width)
        self.segments = None if is_distilled else nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        blocks = []
        for _ in range(depth):
            norms = (nn.LayerNorm(width, 1e-12), nn.LayerNorm(width, 1e-12))
            mix = Attention(width, heads, is_joined=False)
            blocks.append(Block(mix, _feed_forward(width, 4 * width, nn.GELU()), norms, False))
        self.blocks = nn.Sequential(*blocks)
        self.pooled = None if is_distilled else nn.Linear(width, width)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        if self.segments is not None:
            x = x + self.segments(torch.zeros_like(ids))
        x = self.blocks(self.norm(x))
        return x if self.pooled is None else torch.tanh(self.pooled(x[:, 0]))


class Gpt(nn.Module):
    """GPT-2 without its last product: the hidden states."""

    def __init__(self, width: int, depth: int, heads: int, vocabulary: int = 50257, length: int = 1024) -> None:
        super().__init__()
        self.words, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(_pre_norm(width, heads, 4 * width, True, 1e-5) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids: Tensor) -> Tensor:
        x = self.words(ids) + self.positions(torch.arange(ids.shape[1], device=ids.device))
        return self.norm(self.blocks(x))


class RootMeanSquareNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        scale = torch.rsqrt(x.float().square().mean(-1, keepdim=True) + 1e-6)
        return self.weight * (x * scale).to(x.dtype)


class T5Encoder(nn.Module):
    def __init__(self, width: int, depth: int, heads: int, hidden: int, vocabulary: int = 32128) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        blocks = []
        for i in range(depth):
            mix = Attention(
                width, heads, has_bias=False, is_joined=False, head_size=64, has_position_bias=i == 0, scale=1.0
            )
            norms = (RootMeanSquareNorm(width), RootMeanSquareNorm(width))
            blocks.append(Block(mix, _feed_forward(width, hidden, nn.ReLU(), False), norms, True))
        self.blocks = nn.Sequential(*blocks, RootMeanSquareNorm(width))

    def forward(self, ids: Tensor) -> Tensor:
        return self.blocks(self.words(ids))


class _Gated(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.gate, self.up = (nn.Linear(width, hidden, bias=False) for _ in range(2))
        self.down = nn.Linear(hidden, width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(F.silu(self.gate(x)) * self.up(x))


class _RotaryAttention(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.parts = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(3))
        self.output = nn.Linear(width, width, bias=False)
        size = width // heads
        frequencies = 10000.0 ** (-torch.arange(0, size, 2).float() / size)
        self.register_buffer("frequencies", frequencies, persistent=False)

    def _turned(self, x: Tensor) -> Tensor:
        angles = torch.arange(x.shape[2], device=x.device).float()[:, None] * self.frequencies.float()[None]
        angles = torch.cat([angles, angles], -1)
        left, right = x.chunk(2, -1)
        return x * angles.cos().to(x.dtype) + torch.cat([-right, left], -1) * angles.sin().to(x.dtype)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (part(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.parts)
        y = F.scaled_dot_product_attention(self._turned(q), self._turned(k), v, is_causal=True)
        return self.output(y.transpose(1, 2).flatten(2))


class Llama(nn.Module):
    """Its layers without the last product."""

    def __init__(self, width: int, depth: int, heads: int, hidden: int, vocabulary: int = 32000) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        blocks = []
        for _ in range(depth):
            norms = (RootMeanSquareNorm(width), RootMeanSquareNorm(width))
            blocks.append(Block(_RotaryAttention(width, heads), _Gated(width, hidden), norms, True))
        self.blocks = nn.Sequential(*blocks, RootMeanSquareNorm(width))

    def forward(self, ids: Tensor) -> Tensor:
        return self.blocks(self.words(ids))


class Recurrent(nn.Module):
    """Words through an LSTM or GRU in both directions, and a class."""

    def __init__(self, cell: type[nn.LSTM] | type[nn.GRU], width: int, layers: int, vocabulary: int = 20000) -> None:
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.cells = cell(width, width, layers, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 2)

    def forward(self, ids: Tensor) -> Tensor:
        return self.head(self.cells(self.words(ids))[0][:, -1])

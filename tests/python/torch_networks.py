"""Small PyTorch modules, each with something that a capture must get right: name -> (module, input=)."""

import torch
import torch.nn.functional as F
from torch import nn


class Residual(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv = nn.Conv2d(channels, channels, 3, padding=1, groups=2, bias=False)
        self.norm = nn.BatchNorm2d(channels)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)) + x, inplace=True)


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2)
        self.blocks = nn.Sequential(Residual(8), Residual(8))
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.dropout = nn.Dropout(0.5)
        self.head = nn.Linear(4, 10)

    def forward(self, x):
        x = F.max_pool2d(self.blocks(self.stem(x)), 2)
        x = F.interpolate(self.up(x), scale_factor=2.0, mode="bilinear")
        return self.head(self.dropout(F.adaptive_avg_pool2d(x, 1).flatten(1)))


class Decoder(nn.Module):
    """A table tied to the last layer, attention, a layer norm, a buffer, two inputs of which one is optional."""

    def __init__(self, vocabulary=50, width=16):
        super().__init__()
        self.table = nn.Embedding(vocabulary, width)
        self.norm = nn.LayerNorm(width)
        self.attention = nn.Linear(width, 3 * width)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.table.weight
        self.register_buffer("positions", torch.zeros(1, 32, width), persistent=False)

    def forward(self, input_ids, attention_mask=None):
        x = self.norm(self.table(input_ids) + self.positions[:, : input_ids.shape[1]])
        q, k, v = (part.unflatten(-1, (2, -1)).transpose(1, 2) for part in self.attention(x).chunk(3, -1))
        mask = None if attention_mask is None else attention_mask[:, None, None, :].bool()
        x = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return {"logits": self.head(x.transpose(1, 2).flatten(2))}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(6, 8, num_layers=2, bidirectional=True, batch_first=True)
        self.gru = nn.GRU(16, 8, batch_first=True)

    def forward(self, x):
        return self.gru(self.lstm(x)[0])[0].mean(1)


class SplitAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.attention = nn.MultiheadAttention(16, 4, batch_first=True)

    def forward(self, x):
        x = self.layer(x)
        return self.attention(x, x, x)[0]


class Lists(nn.Module):
    """Results in lists, a literal, writing into a slice, a result that nothing uses."""

    def forward(self, x):
        first, second = x.split(2, 1)
        scale = torch.tensor([1.0, 2.0])
        scale.sum()
        first = first.clone()
        first[:, 0] = 1.0
        return torch.cat([first.mul_(2), second * scale[1]], 1), torch.stack([first, second]).softmax(-1)


class Choosing(nn.Module):
    """Control flow on content: no capture can know."""

    def forward(self, x):
        return x * 2 if x.sum() > 0 else x + 1


class Masking(nn.Module):
    """A size that depends on content."""

    def forward(self, x):
        return x[x > 0].exp()


class Remembering(nn.Module):
    """Keeps what it computed, as modules with caches do."""

    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.seen = {}
        self.last = None

    def forward(self, x):
        self.last = self.linear(x)
        self.seen["last"] = self.last
        return self.last


CAPTURED = {
    "convolutional": (Convolutional, "3,32,32"),
    "decoder": (Decoder, "12:int64"),
    "decoder with mask": (Decoder, {"input_ids": "12", "attention_mask": "12:bool"}),
    "recurrent": (Recurrent, "5,6"),
    "split attention": (SplitAttention, "7,16"),
    "lists": (Lists, "4,5"),
    "remembering": (Remembering, "4"),
}

"""Networks of transformers from their configs, without weights: what "hf:bert?layers=24&hidden=1024&seq=512" means."""

from __future__ import annotations

import dataclasses
from typing import Any

from latpred.datasets.recipe import Recipe
from latpred.errors import InvalidArgumentError

HEAD_WIDTH = 64  # of all sizes that were published of BERT, GPT-2 and ViT: the heads where a recipe names none
FEED_FORWARD = 4  # times the width, likewise
# What "attention=" chooses from, and transformers' names for it.
ATTENTIONS = {"fused": "sdpa", "products": "eager"}
CLASSES = 1000


@dataclasses.dataclass(frozen=True)
class _Architecture:
    """A config and the module that it makes; parameters of a recipe and the fields of the config that they set."""

    config: str
    module: str
    fields: dict[str, str]
    scales: bool = False  # heads and feed_forward follow hidden
    is_vision: bool = False
    fixed: dict[str, Any] = dataclasses.field(default_factory=dict)


_TEXT = {
    "layers": "num_hidden_layers",
    "hidden": "hidden_size",
    "heads": "num_attention_heads",
    "feed_forward": "intermediate_size",
    "vocabulary": "vocab_size",
    "positions": "max_position_embeddings",
}
_WINDOWS = {
    "hidden": "embed_dim",
    "layers": "depths",
    "heads": "num_heads",
    "window": "window_size",
    "size": "image_size",
    "patch": "patch_size",
}
# Without parameters each is the size that its config stands for: BERT base, GPT-2 small, T5 small, ViT-B/16, Swin-T,
# Llama 7B.
ARCHITECTURES = {
    "bert": _Architecture("BertConfig", "BertModel", _TEXT, scales=True),
    "gpt2": _Architecture(
        "GPT2Config",
        "GPT2LMHeadModel",
        {
            "layers": "n_layer",
            "hidden": "n_embd",
            "heads": "n_head",
            "feed_forward": "n_inner",
            "vocabulary": "vocab_size",
            "positions": "n_positions",
        },
        scales=True,
        fixed={"use_cache": False},
    ),
    "t5_encoder": _Architecture(
        "T5Config",
        "T5EncoderModel",
        {
            "layers": "num_layers",
            "hidden": "d_model",
            "heads": "num_heads",
            "head_width": "d_kv",
            "feed_forward": "d_ff",
            "vocabulary": "vocab_size",
        },
    ),
    "vit": _Architecture(
        "ViTConfig",
        "ViTForImageClassification",
        {
            "layers": "num_hidden_layers",
            "hidden": "hidden_size",
            "heads": "num_attention_heads",
            "feed_forward": "intermediate_size",
            "size": "image_size",
            "patch": "patch_size",
        },
        scales=True,
        is_vision=True,
    ),
    "swin": _Architecture("SwinConfig", "SwinForImageClassification", _WINDOWS, is_vision=True),
    "swinv2": _Architecture("Swinv2Config", "Swinv2ForImageClassification", _WINDOWS, is_vision=True),
    "llama": _Architecture(
        "LlamaConfig",
        "LlamaForCausalLM",
        _TEXT | {"kv_heads": "num_key_value_heads"},
        fixed={"use_cache": False},
    ),
}


def _value(recipe: Recipe, name: str) -> int | list[int]:
    """A number, or one for each stage: "2,2,6,2"."""
    words = recipe.parameters[name].split(",")
    try:
        numbers = [int(word) for word in words]
    except ValueError as error:
        raise InvalidArgumentError(f"recipe '{recipe}': {name} must be a number, or numbers apart by commas") from error
    return numbers if len(numbers) > 1 else numbers[0]


def _config_fields(recipe: Recipe, architecture: _Architecture) -> dict[str, Any]:
    known = {*architecture.fields, "attention", *(() if architecture.is_vision else ("seq",))}
    unknown = sorted(set(recipe.parameters) - known)
    if unknown:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown '{unknown[0]}'; valid: {', '.join(sorted(known))}")
    given: dict[str, int | list[int]] = {
        name: _value(recipe, name) for name in architecture.fields if name in recipe.parameters
    }
    if architecture.scales and "hidden" in given:
        hidden = recipe.integer("hidden")
        given = {"heads": hidden // HEAD_WIDTH, "feed_forward": FEED_FORWARD * hidden, **given}
    fields = {architecture.fields[name]: value for name, value in given.items()}
    return fields | architecture.fixed | ({"num_labels": CLASSES} if architecture.is_vision else {})


def build(recipe: Recipe, device: str = "meta") -> tuple[Any, Any]:
    """The module of an "hf:" recipe on `device`, with random weights where that has memory, and its input="""
    import torch
    import transformers

    architecture = ARCHITECTURES.get(recipe.name)
    if architecture is None:
        raise InvalidArgumentError(f"recipe '{recipe}': unknown architecture; valid: {', '.join(ARCHITECTURES)}")
    kind = recipe.parameters.get("attention", "fused")
    if kind not in ATTENTIONS:
        raise InvalidArgumentError(f"recipe '{recipe}': attention is '{kind}'; valid: {', '.join(ATTENTIONS)}")
    make_config = getattr(transformers, architecture.config)
    config = make_config(**_config_fields(recipe, architecture), attn_implementation=ATTENTIONS[kind])
    positions = getattr(config, "max_position_embeddings", None)
    if architecture.is_vision:
        sizes = f"{config.num_channels},{config.image_size},{config.image_size}"
    elif positions is not None and recipe.integer("seq") > positions:
        raise InvalidArgumentError(
            f"recipe '{recipe}': {positions} positions for seq={recipe.integer('seq')}; say positions="
        )
    else:
        sizes = str(recipe.integer("seq"))
    with torch.device(device):
        return getattr(transformers, architecture.module)(config), sizes

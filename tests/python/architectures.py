"""Networks of timm, torchvision and transformers, built without weights: name -> (module, inputs) on fake tensors."""

from __future__ import annotations

import contextlib
import inspect

import torch
from torch._subclasses import FakeTensorMode
from torch.utils.flop_counter import FlopCounterMode, sdpa_flop_count

IMAGE = 224

# The default input is [batch, 3, 224, 224]; a number says another height and width.
TIMM = {
    "resnet18": {},
    "resnet50": {},
    "resnext50_32x4d": {},
    "vgg16": {},
    "densenet121": {},
    "efficientnet_b0": {},
    "mobilenetv2_100": {},
    "mobilenetv3_large_100": {},
    "mnasnet_100": {},
    "regnety_008": {},
    "inception_v3": {"image": 299},
    "inception_resnet_v2": {"image": 299},
    "xception41": {"image": 299},
    "hrnet_w18": {},
    "dpn68": {},
    "ghostnet_100": {},
    "res2net50_26w_4s": {},
    "resnest14d": {},
    "convnext_tiny": {},
    "convmixer_768_32": {},
    "poolformer_s12": {},
    "mixer_b16_224": {},
    "resmlp_12_224": {},
    "vit_base_patch16_224": {},
    "deit_small_patch16_224": {},
    "vit_base_patch16_siglip_224": {},
    "eva02_tiny_patch14_224": {},
    "beit_base_patch16_224": {},
    "swin_tiny_patch4_window7_224": {},
    "swinv2_tiny_window8_256": {"image": 256},
    "twins_svt_small": {},
    "pvt_v2_b0": {},
    "xcit_tiny_12_p16_224": {},
    "cait_xxs24_224": {},
    "crossvit_tiny_240": {"image": 240},
    "volo_d1_224": {},
    "tnt_s_patch16_224": {},
    "pit_s_224": {},
    "visformer_small": {},
    "levit_128": {},
    "efficientformer_l1": {},
    "mobilevit_s": {"image": 256},
    "maxvit_tiny_tf_224": {},
    "coatnet_0_rw_224": {},
    "davit_tiny": {},
    "focalnet_tiny_srf": {},
    "edgenext_small": {},
    "fastvit_t8": {"image": 256},
    "tiny_vit_5m_224": {},
    "halonet26t": {"image": 256},
    "lambda_resnet26t": {"image": 256},
    "botnet26t_256": {"image": 256},
    "nf_resnet50": {},
}

TORCHVISION = {
    "alexnet": {},
    "googlenet": {},
    "squeezenet1_1": {},
    "shufflenet_v2_x1_0": {},
    "vit_b_16": {},
    "efficientnet_v2_s": {},
    "swin_t": {},
    "maxvit_t": {},
    "segmentation.deeplabv3_resnet50": {},
    "video.r3d_18": {"inputs": {"x": ((3, 8, 112, 112), torch.float32)}},
    "video.mvit_v2_s": {"inputs": {"x": ((3, 16, 224, 224), torch.float32)}},
}

TOKENS = {"input_ids": ((128,), torch.int64)}
MASKED = {**TOKENS, "attention_mask": ((128,), torch.int64)}
PIXELS = {"pixel_values": ((3, IMAGE, IMAGE), torch.float32)}
SEQ2SEQ = {"input_ids": ((128,), torch.int64), "decoder_input_ids": ((32,), torch.int64)}
# Networks of billions of parameters repeat one layer: a few of them have every operator.
FEW = {"num_hidden_layers": 2}

HF = {
    "bert": ("BertConfig", {}, MASKED),
    "roberta": ("RobertaConfig", {}, TOKENS),
    "distilbert": ("DistilBertConfig", {}, MASKED),
    "albert": ("AlbertConfig", {}, TOKENS),
    "electra": ("ElectraConfig", {}, TOKENS),
    "deberta-v2": ("DebertaV2Config", {"relative_attention": True, "pos_att_type": ["p2c", "c2p"]}, MASKED),
    "mpnet": ("MPNetConfig", {}, TOKENS),
    "gpt2": ("GPT2Config", {}, TOKENS),
    "gpt-neox": ("GPTNeoXConfig", FEW, TOKENS),
    "opt": ("OPTConfig", {}, TOKENS),
    "bloom": ("BloomConfig", FEW, TOKENS),
    "falcon": ("FalconConfig", FEW, TOKENS),
    "phi": ("PhiConfig", FEW, TOKENS),
    "llama": ("LlamaConfig", FEW, TOKENS),
    "mistral": ("MistralConfig", FEW, TOKENS),
    "qwen2": ("Qwen2Config", FEW, TOKENS),
    "qwen3": ("Qwen3Config", FEW, TOKENS),
    "gemma": ("GemmaConfig", FEW, TOKENS),
    "gemma3": ("Gemma3TextConfig", FEW, TOKENS),
    "qwen3-moe": ("Qwen3MoeConfig", FEW, TOKENS),
    "mixtral": ("MixtralConfig", FEW, TOKENS),
    "mamba": ("MambaConfig", {"num_hidden_layers": 1}, {"input_ids": ((32,), torch.int64)}),
    "t5": ("T5Config", {}, SEQ2SEQ),
    "bart": ("BartConfig", {}, SEQ2SEQ),
    "whisper": (
        "WhisperConfig",
        {},
        {"input_features": ((80, 3000), torch.float32), "decoder_input_ids": ((32,), torch.int64)},
    ),
    "wav2vec2": ("Wav2Vec2Config", {}, {"input_values": ((16000,), torch.float32)}),
    "hubert": ("HubertConfig", {}, {"input_values": ((16000,), torch.float32)}),
    "ast": ("ASTConfig", {}, {"input_values": ((1024, 128), torch.float32)}),
    "clip": ("CLIPConfig", {}, {"input_ids": ((77,), torch.int64), **PIXELS}),
    "siglip": ("SiglipVisionConfig", {}, PIXELS),
    "vit": ("ViTConfig", {}, PIXELS),
    "deit": ("DeiTConfig", {}, PIXELS),
    "swin": ("SwinConfig", {}, PIXELS),
    "swinv2": ("Swinv2Config", {}, PIXELS),
    "dinov2": ("Dinov2Config", {}, PIXELS),
    "segformer": ("SegformerConfig", {}, PIXELS),
    "detr": ("DetrConfig", {"use_timm_backbone": False, "backbone": None, "backbone_config": None}, PIXELS),
    "resnet": ("ResNetConfig", {}, PIXELS),
    "regnet": ("RegNetConfig", {}, PIXELS),
    "convnextv2": ("ConvNextV2Config", {}, PIXELS),
    "levit": ("LevitConfig", {}, PIXELS),
    "poolformer": ("PoolFormerConfig", {}, PIXELS),
}

NAMES = (
    [f"timm:{name}" for name in TIMM] + [f"torchvision:{name}" for name in TORCHVISION] + [f"hf:{name}" for name in HF]
)


def prepare() -> None:
    """Lets torchvision, and so timm, be imported where its compiled operators do not load."""
    global _library
    with contextlib.suppress(RuntimeError):
        _library = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            _library.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")


def build(name: str) -> tuple[torch.nn.Module, dict[str, tuple[tuple[int, ...], torch.dtype]]]:
    """The module on the meta device, and the sizes of one sample and the type of each input."""
    source, _, network = name.partition(":")
    with torch.device("meta"):
        if source == "timm":
            import timm

            options = TIMM[network]
            image = options.get("image", IMAGE)
            return timm.create_model(network), {"x": ((3, image, image), torch.float32)}
        if source == "torchvision":
            import torchvision

            *path, last = network.split(".")
            package = torchvision.models
            for part in path:
                package = getattr(package, part)
            arguments = {"weights": None}
            function = getattr(package, last)
            if "init_weights" in inspect.signature(function).parameters or last == "googlenet":
                arguments["init_weights"] = False
            if path[:1] == ["segmentation"]:
                arguments["weights_backbone"] = None
            inputs = TORCHVISION[network].get("inputs", {"x": ((3, IMAGE, IMAGE), torch.float32)})
            return function(**arguments), inputs
        import transformers

        configuration, settings, inputs = HF[network]
        config = getattr(transformers, configuration)(**settings)
        if hasattr(config, "use_cache"):
            config.use_cache = False
        module = transformers.AutoModel.from_config(config)
    return module, inputs


def on_fakes(module: torch.nn.Module, mode: FakeTensorMode) -> torch.nn.Module:
    """Every parameter and buffer a fake one; what is tied stays tied."""
    made: dict[int, torch.Tensor] = {}

    def fake(tensor: torch.Tensor) -> torch.Tensor:
        if id(tensor) not in made:
            with mode:
                empty = torch.empty(tensor.shape, dtype=tensor.dtype, device="cpu")
            made[id(tensor)] = torch.nn.Parameter(empty, False) if isinstance(tensor, torch.nn.Parameter) else empty
        return made[id(tensor)]

    for part in module.modules():
        for table in (part._parameters, part._buffers):
            for key, tensor in table.items():
                if tensor is not None:
                    table[key] = fake(tensor)
        for key, value in vars(part).items():
            if isinstance(value, torch.Tensor) and value.device.type == "meta":
                setattr(part, key, fake(value))
    return module.eval()


def samples(inputs, batch: int, mode: FakeTensorMode) -> dict[str, torch.Tensor]:
    with mode:
        return {name: torch.zeros((batch, *sizes), dtype=dtype) for name, (sizes, dtype) in inputs.items()}


def exported(module: torch.nn.Module, inputs, batch: int = 1, by_name: bool = False):
    """The ExportedProgram of a module on the meta device, and the fakes that it was made with."""
    mode = FakeTensorMode(allow_non_fake_inputs=True)
    module = on_fakes(module, mode)
    given = samples(inputs, batch, mode)
    arguments = ((), given) if by_name else (tuple(given.values()), {})
    with torch.no_grad():
        program = torch.export.export(module, *arguments, strict=False)
    return program, arguments, mode


def export(name: str, batch: int = 1):
    module, inputs = build(name)
    return exported(module, inputs, batch, by_name=name.startswith("hf:"))


def flash_attention_flops(query, key, value, *_, **__) -> int:
    """Of the kernel that torch takes on a CPU, which its counter leaves out: the formula is its own."""
    return sdpa_flop_count(query, key, value)


def counted_macs(program, arguments, mode: FakeTensorMode) -> int:
    """What torch.utils.flop_counter counts on the operators of the exported program."""
    counter = FlopCounterMode(
        display=False,
        custom_mapping={torch.ops.aten._scaled_dot_product_flash_attention_for_cpu: flash_attention_flops},
    )
    positional, named = arguments
    with mode, torch.no_grad(), counter:
        program.module(check_guards=False)(*positional, **named)
    return counter.get_total_flops() // 2

"""What the public tables measure and no row here holds, and why."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class NotRebuilt:
    """Measurements of a source that are left out."""

    source: str  # folder, as in unified.SOURCES
    what: str
    reason: str


NOT_REBUILT = (
    NotRebuilt(
        "PaddleClas",
        "AlexNet, GoogLeNet, SqueezeNet, ShuffleNet, HarDNet, RedNet, ESNet, PP-LCNetV2, PeleeNet, VAN, UniFormer, "
        "DSNet, CSWin, MobileViTv3, EfficientNetB0_small, ResNeXt50_64x4d, ResNeXt152, SE_ResNet*_vd, Res2Net200, "
        "DenseNet264",
        "no builder has these networks",
    ),
    NotRebuilt(
        "PaddleClas",
        "SENet154_vd, Xception41/65/71, ResNeSt50_fast, ResNet200_vd, RegNetX_4GF, ViT_small, DLA46_c, DLA60x_c, "
        "LeViT, MixNet_M, MobileNetV2 and V3 of other widths, SwinTransformerV2",
        "timm's networks of these names have other numbers of parameters or multiply-adds than the pages state",
    ),
    NotRebuilt("PaddleClas", "RepVGG", "measured with its branches merged; timm builds the branches"),
    NotRebuilt(
        "PaddleClas", "PP-HGNetV2, and 'Latency(ms)' columns", "the pages do not say on what they were measured"
    ),
    NotRebuilt("PaddleClas", "English pages, V100", "the pages do not say with what engine they were measured"),
    NotRebuilt("PaddleClas", "Snapdragon 855, Xeon Gold 6148", "no such device in the table of devices"),
    NotRebuilt(
        "aiconfigurator",
        "products of 8-bit floats, and with 8- and 4-bit weights only",
        "the table of precisions has no such arithmetic",
    ),
    NotRebuilt("aiconfigurator", "attention with 8-bit floats or a window", "no operator says these"),
    NotRebuilt(
        "aiconfigurator",
        "decode attention, MLA, MoE, linear attention, collectives",
        "other kernels than those of whole-network inference, or several devices",
    ),
)

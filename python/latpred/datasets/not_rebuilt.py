"""What the public tables measure and no row here holds, and why."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True)
class NotRebuilt:
    """Measurements of a source that are left out."""

    source: str  # folder, as in unified.SOURCES or CHECKS
    what: str
    reason: str


NOT_REBUILT = (
    NotRebuilt(
        "PaddleClas",
        "AlexNet, GoogLeNet, HarDNet, RedNet, ESNet, PP-LCNetV2, PeleeNet, VAN, UniFormer, DSNet, CSWin, MobileViTv3, "
        "EfficientNetB0_small, ResNeXt50_64x4d, ResNeXt152, SE_ResNet*_vd, Res2Net200, DenseNet264",
        "no builder has these networks",
    ),
    NotRebuilt(
        "PaddleClas",
        "SENet154_vd, Xception41/65/71, ResNeSt50_fast, ResNet200_vd, RegNetX_4GF, ViT_small, DLA46_c, DLA60x_c, "
        "LeViT, MixNet_M, SwinTransformerV2",
        "timm's networks of these names have other numbers of parameters or multiply-adds than the pages state",
    ),
    NotRebuilt("PaddleClas", "RepVGG", "measured with its branches merged; timm builds the branches"),
    NotRebuilt(
        "PaddleClas", "PP-HGNetV2, and 'Latency(ms)' columns", "the pages do not say on what they were measured"
    ),
    NotRebuilt("PaddleClas", "English pages, V100", "the pages do not say with what engine they were measured"),
    NotRebuilt(
        "PaddleClas",
        "T4: EfficientNet, MobileNetV2, MobileNetV3",
        "half precision takes as long as single: what ran was no engine of TensorRT as a whole",
    ),
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
    NotRebuilt(
        "HELP", "phones, Raspberry Pi 4, FPGA, Eyeriss, Xeon Gold 6226", "no such device in the table of devices"
    ),
    NotRebuilt(
        "DeepLearningExamples",
        "TensorFlow, with XLA or without",
        "another runtime, which the table of runtimes does not have",
    ),
    NotRebuilt(
        "DeepLearningExamples",
        "Triton, but for BERT with one client",
        "the time of the device cannot be told from queues, servers and clients",
    ),
    NotRebuilt(
        "DeepLearningExamples",
        "BERT of 4 layers and 312, EfficientNet widese, GPUNet, EfficientDet, SSD, Mask R-CNN, nnU-Net, U-Net, NCF, "
        "DLRM, TFT, SE(3)-Transformer",
        "no builder has these networks",
    ),
    NotRebuilt(
        "DeepLearningExamples",
        "BART, Transformer, GNMT, Transformer-XL, Jasper, QuartzNet, wav2vec 2.0, Tacotron 2, FastPitch, HiFi-GAN",
        "lengths differ from call to call, or one call runs the network many times",
    ),
    NotRebuilt(
        "mlperf_inference",
        "BERT",
        "questions of many lengths, packed without padding: at 384 tokens each they would take more than the peak",
    ),
    NotRebuilt("mlperf_inference", "RetinaNet, SSD, 3D-UNet, RNN-T, DLRM", "no builder has these networks"),
    NotRebuilt("mlperf_inference", "Server, MultiStream, Triton", "waiting in queues is inside"),
    NotRebuilt("mlperf_inference", "MaxQ", "power capped, the clocks are not stated"),
    NotRebuilt("mlperf_inference", "Offline of others than NVIDIA", "the batch is not stated"),
    NotRebuilt("mlperf_inference", "several accelerators", "they repeat what one of them measured"),
    NotRebuilt("mlperf_inference", "slices with busy neighbours (HeteroMultiUse)", "a row has no place for neighbours"),
    NotRebuilt(
        "mlperf_inference",
        "A2, L40, Quadro RTX 8000, K80, Jetson Xavier, virtual GPUs, A100 of unnamed memory, and what is no GPU",
        "no such device in the table of devices",
    ),
    NotRebuilt("mlperf_inference", "Jetson AGX Orin and Orin NX", "their deep-learning accelerators share the work"),
    NotRebuilt(
        "TensorRT",
        "engine explorer: ResNet-50 on RTX 3090",
        "Keras's network has its strides in other layers than timm's of the same parameters",
    ),
    NotRebuilt(
        "TensorRT",
        "engine explorer: engines with some layers in 8 bits",
        "a row has one precision",
    ),
    NotRebuilt(
        "FasterTransformer",
        "TensorFlow, with XLA or without",
        "another runtime, which the table of runtimes does not have",
    ),
    NotRebuilt(
        "FasterTransformer",
        "its kernels at fp32, in 8 bits of the first kind, or sparse; ViT at 384 and Swin by its kernels",
        "no runtime here leaves attention unfused, or fuses windows, and fuses the rest by hand",
    ),
    NotRebuilt(
        "FasterTransformer",
        "BERT by its kernels below 1,024 tokens",
        "they wait for the framework that calls them",
    ),
    NotRebuilt(
        "FasterTransformer",
        "Swin in batches below 16",
        "the rebuilt network makes the masks of its windows in each call, the measured one has them stored",
    ),
    NotRebuilt(
        "FasterTransformer",
        "decoders, T5, GPT-350M to 530B",
        "one call runs the network many times; several devices",
    ),
    NotRebuilt(
        "FasterTransformer",
        "Longformer, XLNet, BERT of 6 billion parameters",
        "no builder has these networks, or their attention is neither one operator nor two products",
    ),
    NotRebuilt("LLM-Inference-Bench", "whole requests", "one call runs a network of another size for each word"),
    NotRebuilt(
        "LLM-Inference-Bench",
        "MI250, MI300X, Gaudi 2, Max 1550, SN40L; several devices",
        "no such device in the table of devices, or several",
    ),
    NotRebuilt("LLM-Inference-Bench", "DeepSpeed-MII, llama.cpp", "no runtime runs their kernels"),
    NotRebuilt("LLMCompass", "MI210, a layer on four A100", "no such device in the table of devices, or several"),
    NotRebuilt("LLMCompass", "calls within twice the shortest of a sweep", "they time the launch and the wait"),
    NotRebuilt("lambda-diffusers", "all", "kept to check latency and memory: one network, never trained on"),
    NotRebuilt("splitwise-sim", "all", "kept to check energy: several devices, whose talk is inside"),
    NotRebuilt(
        "vidur",
        "norms, rotary embedding, activation, embedding, collectives",
        "kernels fused with what the tables do not say, or several devices",
    ),
)

"""Image networks under TensorRT on T4 and V100, from PaddleClas's pages (Apache-2.0)."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from latpred.datasets import timm
from latpred.datasets.recipe import Recipe
from latpred.datasets.rows import Row
from latpred.units import MILLISECOND

SOURCE = "PaddleClas d178931f"
LICENCE = "Apache-2.0"
PROTOCOL = "mean of 2,000 calls after 100 to warm up, Paddle Inference with TensorRT"

# Some of the calls copied their images from the host, which no page says. Of the 74 networks that stand in both lists
# the earlier one has a median of 0.12 ms more for each further image, from SqueezeNet (0.11) to ResNet-50 (0.12) and
# DenseNet-121 (0.11): its 602 KB at 5 to 5.5 GB/s. In the later one SqueezeNet 1.1 takes 0.10 ms for an image and
# ReXNet 0.06, which leaves no room for a copy. These, which the earlier one does not have, take 0.12 and more, and so
# do T4's, where the kernels of the smallest take 0.02 (tests/python/test_dataset_tables.py has the lists side by side):
COPIED = ("MobileNetV1", "MobileNetV2", "MobileNetV3", "PPLCNet", "ShuffleNetV2")
# The T4's columns of half precision repeat those of single precision for these: 0.92 to 0.98 of it at batches 4 and 8
# of EfficientNet-B0 to B5, whose calls are 6 to 62 ms of work, 0.93 to 1.01 at batch 8 of MobileNetV2, 0.88 to 1.05 of
# V3. MobileNetV1 takes 0.63, ResNet-50 0.51. Nor was it an engine of single precision: one image takes MobileNetV2 2.6
# to 2.9 ms at all widths from 0.25 to 1.5, 3.4 to 2.1 times the V100's time, where MobileNetV1's is 1.4 times each. A
# likely cause: the converter to TensorRT did not know their activations, so that the network was cut there and Paddle
# ran what is between (its pull request 23672 of April 2020 adds V3's, which takes V3 from 2.5 to 1.2 ms on a V100).
NOT_ONE_ENGINE = ("EfficientNet", "MobileNetV2", "MobileNetV3")
IMAGE_SIZE = "224"  # where neither the row nor the name of the network says another

# Paddle's networks that are timm's. Checked against read_stated: parameters agree to the digits stated or 0.15 %, once
# positions and bias tables are taken off, which Paddle does not count; multiply-adds, with two for each number out of a
# norm and without attention's, to 0.7 %.
NETWORKS = {
    "CSPDarkNet53": "cspdarknet53", "DLA34": "dla34", "DLA60": "dla60", "DLA60x": "dla60x", "DLA102": "dla102",
    "DLA102x": "dla102x", "DLA102x2": "dla102x2", "DLA169": "dla169", "DPN68": "dpn68", "DPN92": "dpn92",
    "DPN98": "dpn98", "DPN107": "dpn107", "DPN131": "dpn131", "DarkNet53": "darknet53",
    "DeiT_base_distilled_patch16_224": "deit_base_distilled_patch16_224",
    "DeiT_base_distilled_patch16_384": "deit_base_distilled_patch16_384",
    "DeiT_base_patch16_224": "deit_base_patch16_224", "DeiT_base_patch16_384": "deit_base_patch16_384",
    "DeiT_small_distilled_patch16_224": "deit_small_distilled_patch16_224",
    "DeiT_small_patch16_224": "deit_small_patch16_224",
    "DeiT_tiny_distilled_patch16_224": "deit_tiny_distilled_patch16_224",
    "DeiT_tiny_patch16_224": "deit_tiny_patch16_224", "DenseNet121": "densenet121", "DenseNet161": "densenet161",
    "DenseNet169": "densenet169", "DenseNet201": "densenet201", "EfficientNetB0": "efficientnet_b0",
    "EfficientNetB1": "efficientnet_b1", "EfficientNetB2": "efficientnet_b2", "EfficientNetB3": "efficientnet_b3",
    "EfficientNetB4": "efficientnet_b4", "EfficientNetB5": "efficientnet_b5", "EfficientNetB6": "efficientnet_b6",
    "EfficientNetB7": "efficientnet_b7", "GhostNet_x0_5": "ghostnet_050", "GhostNet_x1_0": "ghostnet_100",
    "GhostNet_x1_3": "ghostnet_130", "HRNet_W18_C": "hrnet_w18", "HRNet_W30_C": "hrnet_w30",
    "HRNet_W32_C": "hrnet_w32", "HRNet_W40_C": "hrnet_w40", "HRNet_W44_C": "hrnet_w44", "HRNet_W48_C": "hrnet_w48",
    "HRNet_W64_C": "hrnet_w64", "InceptionV3": "inception_v3", "InceptionV4": "inception_v4", "MixNet_L": "mixnet_l",
    "MixNet_S": "mixnet_s", "NextViT_base_224": "nextvit_base",
    "NextViT_large_224": "nextvit_large", "NextViT_small_224": "nextvit_small", "PPHGNet_base": "hgnet_base",
    "PPHGNet_small": "hgnet_small", "PPHGNet_tiny": "hgnet_tiny", "PPLCNet_x0_5": "lcnet_050",
    "PPLCNet_x0_75": "lcnet_075", "PPLCNet_x1_0": "lcnet_100", "PPLCNet_x1_5": "lcnet_150",
    "ReXNet_1_0": "rexnet_100", "ReXNet_1_3": "rexnet_130", "ReXNet_1_5": "rexnet_150", "ReXNet_2_0": "rexnet_200",
    "ReXNet_3_0": "rexnet_300", "Res2Net101_vd_26w_4s": "res2net101d",
    "Res2Net50_14w_8s": "res2net50_14w_8s", "Res2Net50_26w_4s": "res2net50_26w_4s",
    "Res2Net50_vd_26w_4s": "res2net50d", "ResNeSt50": "resnest50d", "ResNeSt101": "resnest101e",
    "ResNeXt101_32x16d_wsl": "resnext101_32x16d", "ResNeXt101_32x32d_wsl": "resnext101_32x32d",
    "ResNeXt101_32x4d": "resnext101_32x4d", "ResNeXt101_32x8d_wsl": "resnext101_32x8d",
    "ResNeXt101_64x4d": "resnext101_64x4d", "ResNeXt50_32x4d": "resnext50_32x4d",
    "ResNeXt50_vd_32x4d": "resnext50d_32x4d", "ResNet101": "resnet101", "ResNet101_vd": "resnet101d",
    "ResNet152": "resnet152", "ResNet152_vd": "resnet152d", "ResNet18": "resnet18", "ResNet18_vd": "resnet18d",
    "ResNet34": "resnet34", "ResNet34_vd": "resnet34d", "ResNet50": "resnet50",
    "ResNet50_vc": "resnet50c", "ResNet50_vd": "resnet50d", "SE_ResNeXt101_32x4d": "seresnext101_32x4d",
    "SE_ResNeXt50_32x4d": "seresnext50_32x4d", "SwinTransformer_base_patch4_window12_384":
    "swin_base_patch4_window12_384", "SwinTransformer_base_patch4_window7_224": "swin_base_patch4_window7_224",
    "SwinTransformer_large_patch4_window12_384": "swin_large_patch4_window12_384",
    "SwinTransformer_large_patch4_window7_224": "swin_large_patch4_window7_224",
    "SwinTransformer_small_patch4_window7_224": "swin_small_patch4_window7_224",
    "SwinTransformer_tiny_patch4_window7_224": "swin_tiny_patch4_window7_224", "VGG11": "vgg11", "VGG13": "vgg13",
    "VGG16": "vgg16", "VGG19": "vgg19", "ViT_base_patch16_224": "vit_base_patch16_224",
    "ViT_base_patch16_384": "vit_base_patch16_384", "ViT_base_patch32_384": "vit_base_patch32_384",
    "ViT_large_patch16_224": "vit_large_patch16_224", "ViT_large_patch16_384": "vit_large_patch16_384",
    "ViT_large_patch32_384": "vit_large_patch32_384", "Xception41_deeplab": "xception41",
    "Xception65_deeplab": "xception65", "alt_gvt_base": "twins_svt_base", "alt_gvt_large": "twins_svt_large",
    "alt_gvt_small": "twins_svt_small", "pcpvt_base": "twins_pcpvt_base", "pcpvt_large": "twins_pcpvt_large",
    "pcpvt_small": "twins_pcpvt_small",
}  # fmt: skip

# Paddle's own networks, which paddle_networks builds: recipe and family. Checked in the same way.
_SCALES = {
    "mobilenetv1": ("MobileNetV1", ("x0_25", "x0_5", "x0_75", "x1_0")),
    "mobilenetv2": ("MobileNetV2", ("x0_25", "x0_5", "x0_75", "x1_0", "x1_5", "x2_0")),
    "mobilenetv3_large": ("MobileNetV3_large", ("x0_35", "x0_5", "x0_75", "x1_0", "x1_25")),
    "mobilenetv3_small": ("MobileNetV3_small", ("x0_35", "x0_5", "x0_75", "x1_0", "x1_25")),
    "shufflenetv2": ("ShuffleNetV2", ("x0_25", "x0_33", "x0_5", "x1_0", "x1_5", "x2_0")),
}
_FAMILIES = {"mobilenetv": "timm-efficientnet", "shufflenetv": "shufflenet"}  # timm's MobileNets are of that module
BUILT = {
    f"{written}_{scale}": (
        f"paddle:{name}?scale={scale[1:].replace('_', '.')}",
        _FAMILIES[name.partition("v")[0] + "v"],
    )
    for name, (written, scales) in _SCALES.items()
    for scale in scales
} | {
    "MobileNetV1": ("paddle:mobilenetv1?scale=1.0", "timm-efficientnet"),
    "MobileNetV2": ("paddle:mobilenetv2?scale=1.0", "timm-efficientnet"),
    "ShuffleNetV2": ("paddle:shufflenetv2?scale=1.0", "shufflenet"),
    "ShuffleNetV2_swish": ("paddle:shufflenetv2_swish?scale=1.0", "shufflenet"),
    "SqueezeNet1_0": ("paddle:squeezenet1_0", "squeezenet"),
    "SqueezeNet1_1": ("paddle:squeezenet1_1", "squeezenet"),
}

# Weights, not another network: distilled, trained at another time, or a footnote.
OTHER_WEIGHTS = re.compile(r"_ssld|_v2$|\[1\]$")
TAG = re.compile(r"<[^>]*>")
NAME_COLUMNS = ("Models", "Model", "模型")
SIZE_COLUMNS = ("Size", "Crop Size")
# A column of milliseconds: "time(ms) bs=4", "Latency(ms) FP16 bs=4", "FP32 Batch Size=4 (ms)"; one heading slipped:
# "Batch Size=1\4". With "thread=" it is a processor's, with a star a Xeon's.
COLUMN = re.compile(
    r"(?:(?:time|Latency)\(ms\) )?(?:(?P<precision>FP16|FP32) )?(?:bs|Batch Size)=(?:1\\)?(?P<batch>\d+)(?: \(ms\))?"
)
SIZE_IN_NAME = re.compile(r"_(224|256|384)$")

# Two lists of all networks: that of an earlier release names its version of TensorRT, the later one and T4's pages
# none. What runs the engines is named first: its time between kernels is not that of TensorRT's own tools.
EARLIER_LIST, LATER_LIST = "model_list.md", "README.md"
LATER_VERSION = "paddle inference"
EARLIER_VERSION = f"{LATER_VERSION}, tensorrt 8.0.3.4"


def _order(entry: dict[str, Any]) -> int:
    """The earlier list, the pages of the networks, the later list: it repeats the pages, with slips."""
    return {EARLIER_LIST: 0, LATER_LIST: 2}.get(Path(entry["file"]).name, 1)


def _device(entry: dict[str, Any]) -> str | None:
    """The lists are V100's. English pages do not say with what their V100 ran; of T4 they repeat the Chinese ones."""
    heading = entry["heading"][-1]
    if "T4" in heading:
        return "T4"
    is_v100 = _order(entry) != 1 or ("V100" in heading and "zh_CN" in entry["file"])
    return "V100-SXM2-16GB" if is_v100 else None


def _input_on(entry: dict[str, Any], device: str, name: str) -> str:
    """Where the images lay: T4's pages are older than both lists."""
    is_copied = device == "T4" or _order(entry) == 0 or name.startswith(COPIED)
    return "pageable" if is_copied else "device"


def _name(cells: dict[str, str]) -> str | None:
    """The network that a row measures, one of NETWORKS or BUILT, without what names its weights only."""
    written = next((cells[column] for column in NAME_COLUMNS if column in cells), "")
    name = OTHER_WEIGHTS.sub("", TAG.sub("", written).replace(" ", "")).replace("V3_Large", "V3_large")
    return name if name in NETWORKS or name in BUILT else None


def _network(name: str, size: str, families: dict[str, str]) -> tuple[str, str]:
    """The recipe and the family of the network `name`."""
    if name in BUILT:
        return BUILT[name]
    return str(Recipe("timm", f"{NETWORKS[name]}@{size}", {})), f"timm-{families[NETWORKS[name]]}"


def _size(cells: dict[str, str]) -> str | None:
    return next((cells[column] for column in SIZE_COLUMNS if column in cells), None)


def _size_in_name(name: str) -> str:
    match = SIZE_IN_NAME.search(name)
    return match[1] if match else IMAGE_SIZE


def _entries(data: Path) -> list[tuple[dict[str, Any], dict[str, str], str]]:
    """Each line about a network with a recipe: the line, its cells with clean headings, the network's name."""
    with gzip.open(data / "PaddleClas" / "inference_tables.jsonl.gz", "rt", encoding="utf-8") as lines:
        entries = sorted((json.loads(line) for line in lines), key=_order)
    found = []
    for entry in entries:
        cells = {TAG.sub("", column): value.strip() for column, value in entry["row"].items()}
        name = _name(cells)
        if name is not None:
            found.append((entry, cells, name))
    return found


def _stated(cells: dict[str, str]) -> tuple[float, float] | None:
    """The millions of parameters and the billions of multiply-adds that a line of a list states."""
    if "Params(M)" not in cells:
        return None
    if "FLOPs(G)" in cells:
        return float(cells["Params(M)"]), float(cells["FLOPs(G)"])
    return float(cells["Params(M)"]), float(cells["FLOPs(M)"]) / 1e3


def read_stated(data: Path) -> Iterator[tuple[Row, float, float | None]]:
    """Each row of `read`, and what the lists state of its network: millions of parameters, statistics of norms among
    them, and billions of multiply-adds, norms among them and attention not, where they are those of the row's size."""
    families = timm.families()
    entries = _entries(data)
    # What comes first stays.
    sizes = {name: size for _, cells, name in reversed(entries) if (size := _size(cells))}
    stated = {
        NETWORKS.get(name) or BUILT[name]: counts for _, cells, name in reversed(entries) if (counts := _stated(cells))
    }
    ids, measurements = set(), set()
    for entry, cells, name in entries:
        device = _device(entry)
        if device is None or (device == "T4" and name.startswith(NOT_ONE_ENGINE)):
            continue
        size = _size(cells) or sizes.get(name) or _size_in_name(name)
        recipe, family = _network(name, size, families)
        for column, value in cells.items():
            match = COLUMN.fullmatch(column)
            if match is None or not value.replace(".", "", 1).isdigit():  # empty or "-": not measured
                continue
            precision = (match["precision"] or "FP32").lower()
            row = Row(
                recipe=recipe,
                family=family,
                batch=int(match["batch"]),
                input=f"3,{size},{size}",
                device=device,
                runtime="tensorrt",
                runtime_version=EARLIER_VERSION if _order(entry) == 0 else LATER_VERSION,
                precision=precision,
                value=float(value) * MILLISECOND,
                source=SOURCE,
                licence=LICENCE,
                protocol=PROTOCOL,
                input_on=_input_on(entry, device, name),
            )
            measurement = (row.recipe, row.batch, row.device, row.precision, row.value)
            if row.id in ids or measurement in measurements:
                continue
            ids.add(row.id)
            measurements.add(measurement)
            parameters_m, multiply_adds_g = stated[NETWORKS.get(name) or BUILT[name]]
            # The lists count at the size that the name says, or at 224.
            yield row, parameters_m, multiply_adds_g if size == _size_in_name(name) else None


def read(data: Path) -> Iterator[Row]:
    """The rows under `data`/PaddleClas of networks with a recipe. A number that stands in several places is one
    measurement."""
    for row, _, _ in read_stated(data):
        yield row

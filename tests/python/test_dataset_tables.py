"""Tables of measurements as they stand in their sources, read into rows: each trap of a source has a test."""

import gzip
import json
import math

import pytest
from example_networks import MEASUREMENTS
from latpred import _core
from latpred.datasets import (
    aiconfigurator,
    deep_learning_examples,
    fbnet,
    help_tables,
    mlperf,
    ofa,
    paddleclas,
    recipe,
    tensorrt_engines,
    timm,
    unified,
)
from latpred.datasets.not_rebuilt import NOT_REBUILT
from latpred.errors import InvalidArgumentError
from recipe_graphs import built

pd = pytest.importorskip("pandas")


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def test_attention_multiplies_queries_with_keys_and_scores_with_values():
    text = "op:attention?heads=8&kv_heads=2&seq=16&head_size=4&causal=1&dtype=bfloat16"
    graph = built(text, batch=3)
    assert graph.macs == 2 * 3 * 8 * 16 * 16 * 4
    assert [tensor.shape for tensor in graph.inputs] == [(3, 8, 16, 4), (3, 2, 16, 4), (3, 2, 16, 4)]


GEMM = """framework,version,device,op_name,kernel_source,gemm_dtype,m,n,k,latency
TRTLLM,1.0.0,NVIDIA A100-SXM4-80GB,gemm,torch_flow,bfloat16,1,128,64,0.5
TRTLLM,1.0.0,NVIDIA A100-SXM4-80GB,gemm,smooth,sq,2,128,64,0.25
TRTLLM,1.0.0,NVIDIA A100-SXM4-80GB,gemm,weight_only,int8_wo,4,128,64,0.25
TRTLLM,1.0.0,NVIDIA A100-SXM4-80GB,gemm,torch_flow,fp8,8,128,64,0.25
"""
PREFILL = """framework,version,device,op_name,kernel_source,batch_size,isl,num_heads,num_key_value_heads,head_dim,\
window_size,beam_width,attn_dtype,kv_cache_dtype,step,latency
VLLM,0.22.0,NVIDIA H200,context_attention,flash,4,16,8,2,64,0,1,bfloat16,bfloat16,0,2.0
VLLM,0.22.0,NVIDIA H200,context_attention,flash,4,16,8,2,64,128,1,bfloat16,bfloat16,0,1.0
VLLM,0.22.0,NVIDIA H200,context_attention,flash,4,16,8,2,64,0,1,bfloat16,fp8,0,1.0
"""


def test_products_and_prefill_of_serving_stacks_leave_out_what_is_another_kernel(tmp_path):
    folder = tmp_path / "aiconfigurator"
    write(folder / "a100_sxm/gemm/trtllm/1.0.0/gemm_perf.csv.gz", GEMM)
    write(folder / "h200_sxm/attention/vllm/0.22.0/context_attention_perf.csv.gz", PREFILL)
    rows = list(aiconfigurator.read(tmp_path))
    assert [row.executed for row in rows] == ["", "op:int8_gemm?n=128&k=64", ""]
    assert [(row.recipe, row.batch, row.device, row.precision, row.value) for row in rows] == [
        ("op:gemm?n=128&k=64&dtype=bfloat16", 1, "A100-SXM4-80GB", "bf16", 0.0005),
        ("op:gemm?n=128&k=64&dtype=float16", 2, "A100-SXM4-80GB", "int8", 0.00025),
        (
            "op:attention?heads=8&kv_heads=2&seq=16&head_size=64&causal=1&dtype=bfloat16",
            4,
            "H200-SXM-141GB",
            "bf16",
            0.002,
        ),
    ]


# FBNet-C, whose parameters and multiply-adds timm's fbnetc_100 has too.
FBNET_C = "fbnet:imagenet?ops=0,3,8,0,0,7,6,7,3,7,6,7,7,7,7,7,6,7,7,7,7,3"
# HELP's first two networks; the parameters and multiply-adds are those that Once-for-all's own code counts.
FIRST_FBNET = "7 8 1 8 4 8 8 8 7 4 1 4 7 3 2 7 3 2 4 2 4 5"
FIRST_OFA = (
    '"{""ks"": [7, 5, 5, 5, 7, 7, 5, 7, 5, 7, 3, 7, 5, 3, 7, 3, 5, 3, 5, 3], '
    '""e"": [6, 4, 4, 6, 6, 3, 4, 3, 3, 6, 3, 3, 3, 6, 3, 4, 6, 4, 3, 6], ""d"": [2, 2, 2, 2, 3], ""r"": 204}"'
)
FIRST_OFA_RECIPE = (
    "ofa:mbv3?ks=7,5,5,5,7,7,5,7,5,7,3,7,5,3,7,3,5,3,5,3&e=6,4,4,6,6,3,4,3,3,6,3,3,3,6,3,4,6,4,3,6"
    "&d=2,2,2,2,3&size=204&width=1.2"
)


def test_fbnet_c_is_the_published_network():
    graph = built(FBNET_C)
    assert graph.num_parameters == 5_572_200
    assert graph.macs == 384_960_160


def test_grouped_blocks_of_fbnet_shuffle_their_channels():
    plain, grouped = (built(f"fbnet:cifar100?ops={','.join([block] + ['8'] * 21)}") for block in "01")
    assert grouped.operators["transpose"] == 1
    assert "transpose" not in plain.operators
    assert plain.num_parameters - grouped.num_parameters == 2 * (16 * 16) // 2  # two 1x1 convolutions, halved


def test_what_is_no_network_of_fbnets_space_is_refused():
    with pytest.raises(InvalidArgumentError, match="names 1 blocks; expected 22"):
        built("fbnet:cifar100?ops=1")
    with pytest.raises(InvalidArgumentError, match="unknown form 'cifar'; valid: cifar100, imagenet"):
        built("fbnet:cifar?ops=1")


def test_networks_of_once_for_all_are_those_of_its_own_code():
    graph = built(FIRST_OFA_RECIPE)
    assert graph.macs == 305_047_776
    # Hard swishes and sigmoids hold a three and a six here, each a stored number.
    assert graph.num_parameters - 2 * graph.operators["clip"] == 6_132_040


def test_columns_of_help_name_device_and_batch(tmp_path):
    write(
        tmp_path / "HELP" / fbnet.TABLE,
        f"idx,arch,titanx_64,pixel3,gold_6240\n0,{FIRST_FBNET},8.0,3.0,20.0\n1,{FIRST_FBNET},0.01,3.0,\n",
    )
    assert [(row.recipe, row.family, row.device, row.batch, row.value) for row in fbnet.read(tmp_path)] == [
        (f"fbnet:cifar100?ops={FIRST_FBNET.replace(' ', ',')}", "fbnet", "TITAN X (Pascal)", 64, 0.008),
        (f"fbnet:cifar100?ops={FIRST_FBNET.replace(' ', ',')}", "fbnet", "Xeon Gold 6240", 1, 0.02),
    ]
    write(tmp_path / "HELP" / ofa.TABLE, f"idx,arch,titan_xp_32,v100_1\n0,{FIRST_OFA},8.0,4.0\n")
    assert [(row.recipe, row.input, row.device, row.batch, row.value) for row in ofa.read(tmp_path)] == [
        (FIRST_OFA_RECIPE, "3,204,204", "TITAN Xp", 32, 0.008),
        (FIRST_OFA_RECIPE, "3,204,204", "V100-SXM2-16GB", 1, 0.004),
    ]


def page(file, heading, **cells):
    return json.dumps({"file": f"docs/{file}", "heading": [heading], "context": [], "row": cells})


ZH, EN = "zh_CN/models/ImageNet1k", "en/models"
PADDLE = [
    # Both languages say the same of T4; the later list repeats the page, with a slip.
    page(f"{EN}/ResNet_en.md", "T4 GPU", **{"Models": "ResNet50", "Crop Size": "224", "FP16 Batch Size=1 (ms)": "2.5"}),
    page(f"{ZH}/ResNet.md", "T4 GPU", **{"Models": "ResNet50", "Size": "224", "Latency(ms) FP16 bs=1": "2.5"}),
    page(f"{ZH}/README.md", "ResNet", **{"模型": "ResNet50", "time(ms)<br>bs=8": "11.24", "FLOPs(G)": "4.11",
                                         "Params(M)": "25.61"}),
    page(f"{ZH}/ResNet.md", "V100 GPU", **{"Models": "ResNet50", "Size": "224", "Latency(ms)<br>bs=8": "6.0"}),
    # Distilled weights are the same network, measured once; a dash is no time.
    page(f"{ZH}/ResNet.md", "V100 GPU", **{"Models": "ResNet50_<br>ssld", "Size": "224", "Latency(ms) bs=8": "6.0"}),
    page(f"{ZH}/README.md", "HGNet", **{"模型": "PPHGNet_tiny", "time(ms) bs=1": "1.77", "time(ms) bs=4": "-",
                                        "FLOPs(G)": "4.54", "Params(M)": "14.75"}),
    # The earlier list has no sizes: the network's page knows that it is 240.
    page(f"{ZH}/model_list.md", "EfficientNet", **{"模型": "EfficientNetB1", "time(ms) bs=1": "3.0",
                                                      "FLOPs(G)": "0.71", "Params(M)": "7.86"}),
    page(f"{ZH}/EfficientNet.md", "V100 GPU", **{"Models": "EfficientNetB1", "Size": "240",
                                                 "FP32 Batch Size=1\\4 (ms)": "4.0"}),
    # No size; one name has a capital too many.
    page(f"{ZH}/MobileNetV3.md", "V100 GPU", **{"Models": "MobileNetV3_Large_x1_25", "FP32 Batch Size=8 (ms)": "3.0"}),
    # On the T4 half precision took as long as single: no engine as a whole.
    page(f"{ZH}/MobileNetV3.md", "T4 GPU", **{"Models": "MobileNetV3_large_x1_25", "FP32 Batch Size=8 (ms)": "8.0",
                                              "FP16 Batch Size=8 (ms)": "7.9"}),
    page(f"{ZH}/README.md", "Mobile", **{"模型": "MobileNetV3_ <br>large_x1_25", "FLOPs(M)": "362.70",
                                         "Params(M)": "7.47"}),
    # Another size than its network's, another network, another device, an unknown engine, processors.
    page(f"{ZH}/ResNet.md", "T4 GPU", **{"Models": "Fix_ResNet50_vd_ssld", "Latency(ms) FP16 bs=1": "3.4"}),
    page(f"{ZH}/RepVGG.md", "V100 GPU", **{"Models": "RepVGG_A0", "Size": "224", "Latency(ms) bs=1": "1.0"}),
    page(f"{ZH}/VGG.md", "SD855", **{"Models": "VGG16", "Latency(ms) bs=1": "1.0"}),
    page(f"{EN}/VGG_en.md", "V100 GPU", **{"Models": "VGG16", "FP32 Batch Size=1 (ms)": "1.0"}),
    page(f"{ZH}/README.md", "LCNet", **{"模型": "PPLCNet_x1_0", "time(ms)* bs=1": "0.47"}),
]  # fmt: skip


# Millions of parameters, the statistics of norms among them, and of multiply-adds, two for each number out of a norm
# among them, as the pages state them.
@pytest.mark.parametrize(
    ("text", "parameters_m", "multiply_adds_m"),
    [
        ("paddle:mobilenetv1?scale=0.5", 1.34, 154.57),
        ("paddle:mobilenetv2?scale=1.0", 3.54, 327.84),
        ("paddle:mobilenetv2?scale=2.0", 11.33, 1217.25),
        ("paddle:mobilenetv3_large?scale=1.25", 7.47, 362.70),
        ("paddle:mobilenetv3_small?scale=0.35", 1.67, 14.56),
        ("paddle:shufflenetv2?scale=1.5", 3.53, 301.35),
        ("paddle:shufflenetv2?scale=2.0", 7.40, 571.70),
        ("paddle:shufflenetv2_swish?scale=1.0", 2.29, 148.86),
        ("paddle:squeezenet1_0", 1.25, 780),
        ("paddle:squeezenet1_1", 1.24, 350),
    ],
)
def test_paddles_own_networks_have_the_sizes_that_its_pages_state(text, parameters_m, multiply_adds_m):
    graph = built(text)
    of_norms = sum(math.prod(node.outputs[0].shape) for node in graph.nodes if node.operator == "batch_norm")
    assert (graph.num_parameters + graph.num_statistics) / 1e6 == pytest.approx(parameters_m, abs=0.006)
    assert (graph.macs + 2 * of_norms) / 1e6 == pytest.approx(multiply_adds_m, rel=0.009)


def test_unknown_networks_of_paddle_are_refused():
    with pytest.raises(InvalidArgumentError, match="unknown network; valid: mobilenetv1, mobilenetv2"):
        built("paddle:alexnet")


def test_paddles_pages_repeat_one_another(tmp_path):
    write(tmp_path / "PaddleClas" / "inference_tables.jsonl.gz", "\n".join(PADDLE))
    found = {
        (row.device, row.recipe, row.batch, row.precision, row.runtime_version, row.input_on, round(row.value * 1e3, 3))
        for row in paddleclas.read(tmp_path)
    }
    v100 = "V100-SXM2-16GB"
    assert found == {
        ("T4", "timm:resnet50@224", 1, "fp16", "paddle inference", "pageable", 2.5),
        (v100, "paddle:mobilenetv3_large?scale=1.25", 8, "fp32", "paddle inference", "pageable", 3.0),
        (v100, "timm:resnet50@224", 8, "fp32", "paddle inference", "device", 6.0),
        (v100, "timm:hgnet_tiny@224", 1, "fp32", "paddle inference", "device", 1.77),
        (v100, "timm:efficientnet_b1@240", 1, "fp32", "paddle inference, tensorrt 8.0.3.4", "pageable", 3.0),
        (v100, "timm:efficientnet_b1@240", 4, "fp32", "paddle inference", "device", 4.0),
    }
    stated = {row.recipe: sizes for row, *sizes in paddleclas.read_stated(tmp_path)}
    assert stated["timm:resnet50@224"] == [25.61, 4.11]
    assert stated["timm:efficientnet_b1@240"] == [7.86, None]  # counted at another size


def test_paddles_earlier_list_copied_an_image_more_for_each_item():
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    is_asked = (rows.source == paddleclas.SOURCE) & (rows.device == "V100-SXM2-16GB") & (rows.input == "3,224,224")
    seconds = rows[is_asked].pivot_table(index="recipe", columns=["runtime_version", "batch"], values="value")
    of_an_image = {name: (seconds[name][8] - seconds[name][1]) / 7 for name in seconds.columns.levels[0]}
    more_ms = 1e3 * (of_an_image[paddleclas.EARLIER_VERSION] - of_an_image[paddleclas.LATER_VERSION]).dropna()
    assert len(more_ms) == 74
    assert more_ms.median() == pytest.approx(0.117, abs=5e-4)
    copied = {"paddle:squeezenet1_1": 0.110, "timm:resnet50@224": 0.119, "timm:densenet121@224": 0.113}
    for recipe_text, expected in copied.items():
        assert more_ms[recipe_text] == pytest.approx(expected, abs=1e-3)


def test_paddles_lists_contradict_one_another_where_single_images_meet_grouped_convolutions():
    rows = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    is_asked = (rows.source == paddleclas.SOURCE) & (rows.device == "V100-SXM2-16GB")
    seconds = rows[is_asked].pivot_table(index="recipe", columns=["runtime_version", "batch"], values="value")
    later_over_earlier = seconds[paddleclas.LATER_VERSION] / seconds[paddleclas.EARLIER_VERSION]
    apart = later_over_earlier[later_over_earlier[1] < 0.5]
    assert len(apart) == 14
    assert apart.index.str.contains(r"dpn|dla\d+x|resnext").all()
    assert (round(apart[1].min(), 2), round(apart[1].max(), 2)) == (0.33, 0.48)
    assert (round(apart[8].min(), 2), round(apart[8].max(), 2)) == (0.80, 1.07)


def example(file, headings, **cells):
    return json.dumps({"file": file, "heading": ["Performance", *headings], "context": [], "row": cells})


CONVNETS = "PyTorch/Classification/ConvNets"
V100 = "Inference performance: NVIDIA DGX-1 (1x V100 16GB)"
TRITON = "PyTorch/LanguageModeling/BERT/triton"


def requests(runtime, concurrency, infer, output):
    return {"heading": f"Offline: NVIDIA T4, {runtime}", "cells": {
        "Batch": "8", "Concurrency": concurrency, "Server Compute Input (ms)": "0.1",
        "Server Compute Infer (ms)": infer, "Server Compute Output (ms)": output, "avg latency (ms)": "148.4",
    }}  # fmt: skip


def test_examples_give_throughput_and_what_the_device_computed(tmp_path):
    image = {"Batch Size": "256", "Throughput Avg": "1280 img/s", "Latency Avg": "214.48 ms", "Latency 99%": "202 ms"}
    lines = [
        example(f"{CONVNETS}/resnet50v1.5/README.md", [V100, "FP32 Inference Latency"], **image),
        example(f"{CONVNETS}/efficientnet/README.md", ["Inference performance: NVIDIA T4",
                "Mixed Precision Inference Latency"], Model="efficientnet-b4", **image),
        example(f"{CONVNETS}/efficientnet/README.md", ["Inference performance: NVIDIA T4",
                "Mixed Precision Inference Latency"], Model="efficientnet-widese-b4", **image),
        example("PyTorch/LanguageModeling/BERT/README.md", ["A100"], **{
            "GPUs": "1", "Batch Size \\(TF32/FP16\\)": "32/32", "Sequence Length": "384",
            "Throughput \\- TF32\\(sequences/sec\\)": "128", "Throughput \\- Mixed Precision(sequences/sec)": "256"}),
        example("TensorFlow2/LanguageModeling/BERT/README.md", ["T4"], **{"Batch Size": "1"}),
    ]  # fmt: skip
    for folder, made in [
        ("large", requests("PyTorch with FP16", "1", "7.5", "140.5")),  # the call returns, output waits
        ("large", requests("PyTorch with FP16", "2", "7.5", "140.5")),
        ("dist6l", requests("ONNX Runtime with FP16, Backend accelerator TensorRT", "1", "16.0", "0.0")),
        ("dist4l", requests("NVIDIA TensorRT with FP16", "1", "16.0", "0.0")),
    ]:
        lines.append(example(f"{TRITON}/{folder}/README.md", [made["heading"]], **made["cells"]))
    write(tmp_path / "DeepLearningExamples" / "inference_tables.jsonl.gz", "\n".join(lines))
    found = [
        (row.recipe, row.device, row.runtime, row.precision, row.layout, row.batch, row.value)
        for row in deep_learning_examples.read(tmp_path)
    ]
    large, distilled = "bert:large?seq=384&attention=products", "bert:distilled?layers=6&width=768&seq=384"
    assert found == [
        ("timm:resnet50@224", "V100-SXM2-16GB", "eager", "fp32", "nchw", 256, 0.2),
        ("timm:efficientnet_b4@380", "T4", "eager", "amp", "nhwc", 256, 0.2),
        (large, "A100-SXM4-80GB", "eager", "tf32", "nchw", 32, 0.25),
        (large, "A100-SXM4-80GB", "eager", "fp16", "nchw", 32, 0.125),
        (large, "T4", "eager", "fp16", "nchw", 8, 0.148),
        (distilled, "T4", "tensorrt", "fp16", "nchw", 8, 0.016),
    ]
    assert built(distilled).num_parameters < built("bert:base?seq=384").num_parameters


MLPERF = """version,division,submitter,system,benchmark,scenario,accelerator,n_accel,framework,result,samples_per_s,\
p50_ns
v1.0,closed,NVIDIA,DGX-A100_A100-SXM-80GB-MIG_1x1g.10gb_TRT,resnet50,Offline,NVIDIA A100-SXM-80GB (1x1g.10gb MIG),1,\
"TensorRT 7.2.3, CUDA 11.1",VALID,5120,1
v1.0,closed,NVIDIA,DGX-A100_A100-SXM-80GB-MIG_1x1g.10gb_TRT_HeteroMultiUse,resnet50,Offline,\
NVIDIA A100-SXM-80GB (1x1g.10gb MIG),1,"TensorRT 7.2.3, CUDA 11.1",VALID,5000,1
v1.0,closed,NVIDIA,A30-MIG_1x1g.3gb_TRT,resnet50,SingleStream,NVIDIA A30 (1x1g.3gb MIG),1,"TensorRT 7.2.3",VALID,,800000
v3.0,closed,NVIDIA,DGX-H100_H100-SXM-80GBx1_TRT,resnet50,Offline,NVIDIA H100-SXM-80GB,1,TensorRT 8.6.0,VALID,81920,1
v3.0,closed,NVIDIA,DGX-H100_H100-SXM-80GBx8_TRT,resnet50,Offline,NVIDIA H100-SXM-80GB,8,TensorRT 8.6.0,VALID,81920,1
v3.0,closed,Dell,R750_A30x1_TRT,resnet50,Offline,NVIDIA A30,1,TensorRT 8.6.0,VALID,20000,1
v3.0,closed,Dell,R750_A30x1_TRT,resnet50,singlestream,NVIDIA A30,1,TensorRT 8.6.0,VALID,,500000
v3.0,closed,Dell,R750_A30x1_TRT_Triton,resnet50,SingleStream,NVIDIA A30,1,TensorRT 8.6.0,VALID,,600000
v3.0,closed,Dell,R750_A30x1_TRT,bert-99,SingleStream,NVIDIA A30,1,TensorRT 8.6.0,VALID,,600000
v3.0,open,Deci,A30x1_TRT,resnet50,SingleStream,NVIDIA A30,1,TensorRT 8.6.0,VALID,,400000
v3.0,closed,Who,L4x1_TRT_MaxQ,resnet50,SingleStream,NVIDIA L4,1,TensorRT 8.6.0,VALID,,400000
v3.0,closed,Who,T4,resnet50,SingleStream,Tesla T4,1,TensorFlow,VALID,,400000
"""
SIZES = """version,benchmark,scenario,config,gpu_batch_size
v1.0,resnet50,Offline,A100-SXM-80GB-MIG_1x1g.10gb,256
v3.0,resnet50,Offline,H100_SXM_80GBx1,2048
v3.0,resnet50,Server,H100_SXM_80GBx1,512
"""


def test_runs_of_mlperf_have_a_batch_and_one_accelerator(tmp_path):
    write(tmp_path / "mlperf_inference" / "mlperf_runs.csv.gz", MLPERF)
    (tmp_path / "mlperf_inference" / "nvidia_batch_sizes.csv").write_text(SIZES)
    found = [(row.device, row.partition, row.batch, row.runtime_version, row.value) for row in mlperf.read(tmp_path)]
    assert found == [
        ("A100-SXM4-80GB", "1g.10gb", 256, "tensorrt 7.2.3", 0.05),
        ("A30", "1g.6gb", 1, "tensorrt 7.2.3", pytest.approx(0.0008)),
        ("H100-SXM5-80GB", "", 2048, "tensorrt 8.6.0", 0.025),
        ("A30", "", 1, "tensorrt 8.6.0", pytest.approx(0.0005)),
    ]


def test_devices_and_slices_of_all_readers_are_in_the_table():
    for device, partition in mlperf.DEVICES.values():
        if partition:
            assert partition in {profile.name for profile in _core.mig_profiles(device)}
    readers = (aiconfigurator, deep_learning_examples, help_tables, tensorrt_engines)
    for name in {name for reader in readers for name in reader.DEVICES.values()}:
        assert _core.device(name).name == name


def profile(shapes, median_ms, card):
    return json.dumps({
        "performance_summary": {"GPU Compute Time": [0.1, 9.0, 5.0, median_ms, 8.0]},
        "inference_options": shapes,
        "device_information": {"Selected Device": card},
    })  # fmt: skip


def test_engines_are_one_row_each(tmp_path):
    for engine in tensorrt_engines.ENGINES:
        path = tmp_path / tensorrt_engines.FOLDER / engine.profile
        path.parent.mkdir(parents=True, exist_ok=True)
        if "resnet" in engine.profile:
            path.write_text(profile({"Batch": "Explicit", "Input inference shape": "input.1=32x3x224x224"}, 2.0,
                                    "NVIDIA A100 80GB PCIe"))  # fmt: skip
        else:
            path.write_text(profile({"Batch": "1", "Input inference shapes": "model"}, 0.25, "NVIDIA TITAN RTX"))
    found = [(row.recipe, row.batch, row.device, row.precision, row.value) for row in tensorrt_engines.read(tmp_path)]
    assert found == [
        ("timm:resnet18@224", 32, "A100-PCIe-80GB", "tf32", 0.002),
        ("timm:resnet18@224", 32, "A100-PCIe-80GB", "fp16", 0.002),
        ("timm:resnet18@224", 32, "A100-PCIe-80GB", "int8", 0.002),
        ("timm:mobilenetv2_100@224", 1, "TITAN RTX", "int8", 0.00025),
    ]


def test_what_is_left_out_names_its_source_and_reason():
    folders = {name.partition("/")[0] for name in (*unified.SOURCES, *unified.CHECKS)}
    for entry in NOT_REBUILT:
        assert entry.source in folders
        assert entry.what
        assert entry.reason
    assert len({(entry.source, entry.what) for entry in NOT_REBUILT}) == len(NOT_REBUILT)


def test_networks_of_the_tables_have_a_family():
    families = timm.families()
    assert set(paddleclas.NETWORKS.values()) <= set(families)
    named = [(engine.recipe, engine.family) for engine in tensorrt_engines.ENGINES]
    for text, family in [*deep_learning_examples.NETWORKS.values(), (mlperf.RECIPE, mlperf.FAMILY), *named]:
        assert families[recipe.parse(text).name.partition("@")[0]] == family.removeprefix("timm-")

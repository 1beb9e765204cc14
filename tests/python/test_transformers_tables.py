"""Tables that time transformers, and the rows that they become."""

import gzip
import json

import pytest
from latpred.datasets import faster_transformer, llm_compass, llm_inference_bench, unified

pytest.importorskip("pandas")


def write_guide(tmp_path, entries):
    path = tmp_path / "FasterTransformer" / "inference_tables.jsonl.gz"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress("\n".join(json.dumps(entry) for entry in entries).encode()))


def entry(guide, heading, **row):
    return {"file": f"docs/{guide}.md", "heading": ["Performance", *heading], "row": row}


def test_bert_in_pytorch_is_eager_and_its_fused_kernels_are_tensorrt(tmp_path):
    cells = {"Batch_size": "32", "Seq_len": "128"}
    heading = ["BERT performance on V100 and PyTorch"]
    write_guide(
        tmp_path,
        [
            entry(
                "bert_guide", heading, **cells, Precision="FP16",
                **{"TorchScript Latency (ms)": "20", "FT Latency (ms)": "12", "EFF-FT Latency (ms)": "7",
                   "FT Speedup": "1.7"},
            ),
            entry(
                "bert_guide", heading, **cells, Precision="FP32",
                **{"TorchScript Latency (ms)": "60", "FT Latency (ms)": "50"},
            ),
            entry(
                "bert_guide", heading, **cells,
                **{"TorchScript-FP16 Latency (ms)": "21", "EFF-FT-INT8-v1 Latency (ms)": "9",
                   "FT-INT8-v2 Latency (ms)": "10", "EFF-FT-INT8-v2 Latency (ms)": "x"},
            ),
            entry("bert_guide", ["BERT performance on V100 and TensorFlow"], **cells, Precision="FP16",
                  **{"TF Latency (ms)": "15"}),
            entry("gpt_guide", heading, **cells, Precision="FP16", **{"FT Latency (ms)": "15"}),
        ],
    )  # fmt: skip
    products, fused = "bert:base?seq=128&embedded=1&attention=products", "bert:base?seq={}&embedded=1"
    found = [(row.recipe, row.runtime, row.precision, row.value) for row in faster_transformer.read(tmp_path)]
    assert found == [
        (products, "eager", "fp16", 0.020),
        (fused.format(128), "tensorrt", "fp16", 0.012),
        (fused.format(64), "tensorrt", "fp16", 0.007),  # half of the table's length is padding, and removed
        (products, "eager", "fp32", 0.060),
        (products, "eager", "fp16", 0.021),
        (fused.format(128), "tensorrt", "int8", 0.010),
    ]
    assert {(row.device, row.batch) for row in faster_transformer.read(tmp_path)} == {("V100-SXM2-16GB", 32)}


def test_calls_that_wait_for_their_framework_are_left_out(tmp_path):
    cells = {"Batch_size": "1", "Seq_len": "384", "Precision": "FP16"}
    write_guide(
        tmp_path,
        [
            entry(
                "bert_guide",
                ["BERT performance on T4 and PyTorch"],
                **cells,
                **{"TorchScript Latency (ms)": "11", "FT Latency (ms)": "4"},
            )
        ],
    )
    assert [row.runtime for row in faster_transformer.read(tmp_path)] == ["eager"]


def test_slices_have_their_partition(tmp_path):
    heading = ["BERT performance comparison between T4, V100, A100 and A100 with MIG mode on TensorFlow"]
    row = {"Batch Size": "8", 'Sequence Length"': "128", "Precision": "FP16", "T4 Latency": "5", "V100 Latency": "x",
           "A100 Latency": "1.4", "A100 Throughput": "5600", "A100 MIG Latency": "5.2"}  # fmt: skip
    write_guide(tmp_path, [entry("bert_guide", heading, **row)])
    # 512 tokens are few for a device and many for a seventh of one.
    assert [(row.recipe, row.device, row.partition, row.value) for row in faster_transformer.read(tmp_path)] == [
        ("bert:base?seq=64&embedded=1", "A100-SXM4-80GB", "1g.10gb", pytest.approx(0.0052))
    ]


def test_images_say_which_network_they_went_through(tmp_path):
    write_guide(
        tmp_path,
        [
            entry("vit_guide", ["ViT Performance on A100", "FP16"], Batch_size="8",
                  **{"torch latency(ms)": "30", "cpp latency(ms)": "11"}),
            entry("vit_guide", ["ViT Performance on T4", "INT8"], Batch_size="8",
                  **{"B_16 (FP16) latency(ms)": "61", "L_16-224 (INT8) latency(ms)": "24"}),
            entry("swin_guide", ["Swin Performance on A10", "Swin-V1 TF32"], Batch_size="16",
                  **{"torch.jit.trace": "25", "cpp": "2"}),
            entry("swin_guide", ["Swin Performance on A10", "Swin-V1 TF32"], Batch_size="8",
                  **{"torch.jit.trace": "13", "cpp": "2"}),
            entry("swin_guide", ["Swin Performance on T4", "Swin-V2 FP16"], Batch_size="32",
                  **{"torch.jit.trace": "98", "cpp": "35"}),
            entry("swin_guide", ["Swin Performance on T4", "Swin-V2 INT8"], Batch_size="32",
                  **{"torch.jit.trace": "", "cpp": "24"}),
        ],
    )  # fmt: skip
    found = [(row.recipe, row.device, row.batch, row.precision, row.value) for row in faster_transformer.read(tmp_path)]
    assert found == [
        ("vit:base16?size=384&attention=products", "A100-PCIe-40GB", 8, "fp16", 0.030),
        ("vit:large16?size=224", "T4", 8, "int8", 0.024),
        ("hf:swin?attention=products", "A10", 16, "tf32", 0.025),
        ("hf:swinv2?window=8&size=256&attention=products", "T4", 32, "fp16", 0.098),
    ]


def test_sweeps_of_operators_are_rates(tmp_path):
    root = tmp_path / llm_compass.FOLDER
    files = {
        "ab/real_hardware/matmul_A100.csv": "8192, 64, 64, 0.0296ms, 2.2Tflops\n8192, 4096, 4096, 1.0210ms, 269Tflops",
        "cf/real_hardware/softmax_A100.csv": "32, 4096, 8.0\n4096, 4096, 200.0",
        "de/real_hardware/layernorm_A100.csv": "32, 4096, 2.5\n4096, 4096, 200.0",
        "g/real_hardware/gelu_A100.csv": "1024, 0.02\n1048576, 20.0\n536870912, 390.0",
    }
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True)
        (root / name).write_text(text)
    # The shortest of each table is one of launch and wait: 32 x 4096 / 8e9 = 16 us, 1024 / 0.02e9 = 51 us.
    assert [(row.recipe, row.batch, row.runtime, row.value) for row in llm_compass.read(tmp_path)] == [
        ("op:gemm?n=4096&k=4096&dtype=float16", 8192, "eager", pytest.approx(1.021e-3)),
        ("op:softmax?h=4096&dtype=float16", 4096, "eager", pytest.approx(4096 * 4096 / 200e9)),
        ("op:gelu?h=1&dtype=float16", 536870912, "compiled", pytest.approx(536870912 / 390e9)),
    ]


def test_prompts_are_rows_and_power_is_for_checks(tmp_path):
    root = tmp_path / llm_inference_bench.FOLDER
    start = "Hardware,Num of Hardware,Framework,Model,"
    (root / "Fig_21").mkdir(parents=True)
    (root / "Fig_21" / "all_results_TTFT.csv").write_text(
        f"{start}Input Length,Output Length,Batch Size,Latency\n\n"
        "Nvidia A100 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,1024,1,16,1.03\n\n"
        "Nvidia H100 GPU,1,TensorRT-LLM,meta-llama/Meta-Llama-3-8B,1024,1,16,0.4\n"
        "Nvidia A100 GPU,1,Deepspeed-MII,meta-llama/Llama-2-7b-hf,1024,1,16,1.6\n"
        "AMD MI250 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,1024,1,16,2.1\n"
    )
    assert [
        (row.recipe, row.device, row.runtime, row.batch, row.value) for row in llm_inference_bench.read(tmp_path)
    ] == [
        ("llm:llama2-7b?seq=1024", "A100-SXM4-40GB", "kernel", 16, 1.03),
        ("llm:llama3-8b?seq=1024", "H100-SXM5-80GB", "tensorrt", 16, 0.4),
    ]
    (root / "Fig_16_a_b").mkdir()
    (root / "Fig_16_a_b" / "power_results.csv").write_text(
        f"{start}Input Output Length,Batch Size,Latency,Throughput,avg_power\n"
        "Nvidia A100 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,1024,32,46.06,1422.8,320684.8\n"
    )
    (row,) = llm_inference_bench.read_power(tmp_path)
    assert (row.recipe, row.quantity) == ("llm:llama2-7b?seq=1&past=1536", "mean_power_w")
    assert row.value == pytest.approx(320.6848)
    assert unified.SOURCES["LLM-Inference-Bench"] is llm_inference_bench.read

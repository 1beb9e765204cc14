"""Tables of measurements as they stand in their sources, read into rows: each trap of a source has a test."""

import gzip

import pytest
from latpred import GraphBuilder
from latpred.datasets import aiconfigurator, recipe

pytest.importorskip("pandas")


def graph_of(text, batch=1):
    net = GraphBuilder()
    recipe.build(net, recipe.parse(text))
    return net.build(batch)


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def test_attention_multiplies_queries_with_keys_and_scores_with_values():
    text = "op:attention?heads=8&kv_heads=2&seq=16&head_size=4&causal=1&dtype=bfloat16"
    graph = graph_of(text, batch=3)
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
    found = [(row.recipe, row.batch, row.device, row.precision, row.value) for row in aiconfigurator.read(tmp_path)]
    assert found == [
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

"""Language models from their published sizes, and the table of their time and power."""

import pytest
from latpred.datasets import splitwise, unified
from latpred.errors import InvalidArgumentError
from recipe_graphs import built


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("llama2-7b", 6_738_415_616),
        ("llama2-13b", 13_015_864_320),
        ("llama2-70b", 68_976_648_192),
        ("llama3-8b", 8_030_261_248),
        ("llama3-70b", 70_553_706_496),
        ("mistral-7b", 7_241_732_096),
        ("bloom-176b", 176_247_271_424),
    ],
)
def test_networks_have_the_published_parameters(name, parameters):
    graph = built(f"llm:{name}?seq=16")
    assert graph.num_parameters == parameters
    assert built(f"llm:{name}?seq=16", 8).macs == 8 * graph.macs


def test_a_token_reads_what_is_past():
    short, long = (built(f"llm:llama2-7b?seq=1&past={past}") for past in (100, 1100))
    layers, width = 32, 4096
    assert long.macs - short.macs == layers * 2 * 1000 * width  # scores, and the sum of the values
    assert built("llm:llama2-7b?seq=1").macs < short.macs


def test_workers_share_the_products_and_not_the_norms():
    whole, shared = (built(f"llm:llama2-70b?seq=8&workers={workers}") for workers in (1, 4))
    assert whole.macs == 4 * shared.macs
    norms = (2 * 80 + 1) * 8192
    assert whole.num_parameters - norms == 4 * (shared.num_parameters - norms)


def test_unknown_language_models_are_refused():
    with pytest.raises(InvalidArgumentError, match="unknown language model; valid: llama2-7b"):
        built("llm:llama?seq=8")


HEADING = [
    *splitwise.SETTINGS[:5],
    "peak_power",
    "average_power",
    "prompt_time",
    "token_time",
    "e2e_time",
    "tensor_parallel",
]
LINES = """
llama2-70b,a100-80gb,512,1,128,1.0,0.75,196,55,7168,2
llama2-70b,a100-80gb,512,1,128,1.0,0.75,200,56,7165,2
llama2-70b,a100-80gb,512,1,128,1.0,0.75,198,57,7165,2
llama2-70b,a100-80gb,8192,1,128,1.0,0.18,3000,57,10000,2
bloom-176b,h100-80gb,512,4,256,0.0,0.0,100,36,9000,8
bloom-176b,h100-80gb-pcap,512,4,256,0.0,0.0,100,36,9000,8
"""


def test_requests_become_rows_of_prompts_and_tokens(tmp_path):
    pytest.importorskip("pandas")
    folder = tmp_path / "splitwise-sim" / "data"
    folder.mkdir(parents=True)
    (folder / "perf_model.csv").write_text(",".join(HEADING) + LINES)
    rows = list(splitwise.read(tmp_path))
    assert [(row.recipe, row.device, row.quantity, row.value, row.samples) for row in rows] == [
        ("llm:bloom-176b?seq=512&workers=8", "H100-SXM5-80GB", "latency_s", pytest.approx(0.1), 1),
        ("llm:bloom-176b?seq=1&past=640&workers=8", "H100-SXM5-80GB", "latency_s", pytest.approx(0.036), 1),
        ("llm:llama2-70b?seq=512&workers=2", "A100-SXM4-80GB", "latency_s", pytest.approx(0.198), 3),
        ("llm:llama2-70b?seq=1&past=576&workers=2", "A100-SXM4-80GB", "latency_s", pytest.approx(0.056), 3),
        ("llm:llama2-70b?seq=512&workers=2", "A100-SXM4-80GB", "peak_power_w", 400, 3),
        ("llm:llama2-70b?seq=1&past=576&workers=2", "A100-SXM4-80GB", "mean_power_w", pytest.approx(300), 3),
        ("llm:llama2-70b?seq=8192&workers=2", "A100-SXM4-80GB", "latency_s", pytest.approx(3), 1),
        ("llm:llama2-70b?seq=1&past=8256&workers=2", "A100-SXM4-80GB", "latency_s", pytest.approx(0.057), 1),
        ("llm:llama2-70b?seq=8192&workers=2", "A100-SXM4-80GB", "peak_power_w", 400, 1),
    ]
    # For checks only.
    assert "splitwise-sim" not in unified.SOURCES

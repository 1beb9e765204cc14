"""Rows, recipes and the networks that they rebuild."""

import dataclasses
import json

import numpy as np
import pytest
from example_networks import MEASUREMENTS
from latpred import _core
from latpred.datasets import (
    accel_nasbench,
    help_tables,
    nasbench201,
    recipe,
    rows,
    tensorrt_bert,
    timm,
    unified,
    vidur,
)
from latpred.errors import InvalidArgumentError
from latpred.fitting import measurements, split
from recipe_graphs import built

pd = pytest.importorskip("pandas")

ROW = rows.Row(
    recipe="op:gemm?n=8&k=4",
    family="gemm",
    batch=2,
    input="",
    device="A100-SXM4-40GB",
    runtime="eager",
    runtime_version="1",
    precision="fp32",
    value=1e-3,
    source="here",
    licence="none",
    protocol="stopwatch",
)


def test_recipe_text_round_trip():
    text = "anb:mbconv?e=6,1&size=256"
    assert str(recipe.parse(text)) == text
    assert recipe.parse("op:relu").parameters == {}


@pytest.mark.parametrize("text", ["relu", "op:", "nothing"])
def test_what_is_no_recipe_is_refused(text):
    with pytest.raises(InvalidArgumentError, match="is no recipe"):
        recipe.parse(text)


def test_unknown_names_in_recipes_are_refused():
    with pytest.raises(InvalidArgumentError, match="unknown operator; valid: gemm, int8_gemm, bmm"):
        built("op:gemn?n=8&k=4")
    with pytest.raises(InvalidArgumentError, match="unknown kind 'timm'; valid: op, anb, nb201, fbnet"):
        built("timm:resnet50")
    with pytest.raises(InvalidArgumentError, match="lacks 'k'; it has n"):
        built("op:gemm?n=8")


@pytest.mark.parametrize(
    ("text", "batch", "macs"),
    [
        ("op:gemm?n=16&k=32&bias=1", 8, 8 * 16 * 32),
        ("op:int8_gemm?n=16&k=32", 8, 8 * 16 * 32),
        ("op:bmm?m=3&n=5&k=7", 4, 4 * 3 * 5 * 7),
        ("op:conv?cin=6&cout=8&kernel=3&size=10&stride=1&pad=1", 2, 2 * 8 * 10 * 10 * 6 * 9),
        ("op:conv?cin=6&cout=6&kernel=3&size=10&stride=2&pad=1&groups=6", 2, 2 * 6 * 5 * 5 * 9),
        ("op:relu?h=100", 3, 0),
        ("op:add?h=100&scalar=1", 3, 0),
        ("op:layer_norm?h=100", 3, 0),
        ("op:softmax?h=100", 3, 0),
    ],
)
def test_operators_have_the_macs_that_their_sizes_say(text, batch, macs):
    assert built(text, batch).macs == macs


def test_a_product_of_8_bit_integers_reads_bytes_and_writes_halves():
    (kernel,) = _core.fuse(built("op:int8_gemm?n=16&k=32", 8), "kernel", "int8").rows
    assert kernel.arithmetic == "int8"
    scales_bytes = 2 * (1 + 16)
    assert (kernel.bytes_in, kernel.weight_bytes, kernel.bytes_out) == (8 * 32, 16 * 32 + scales_bytes, 2 * 8 * 16)


def test_a_scalar_operand_is_not_read_as_a_tensor():
    two = built("op:add?h=4096", 64).nodes[0]
    one = built("op:add?h=4096&scalar=1", 64).nodes[0]
    assert two.bytes_in == 2 * one.bytes_in


# The first network of the table, and the millions of parameters that it states.
FIRST = "anb:mbconv?e=6,4,6,6,6,1,1&k=3,5,3,5,5,3,3&l=1,2,3,3,2,2,2&se=0,0,0,0,0,0,0&size=256"
FIRST_MILLIONS = 2.50116


def test_networks_have_the_parameters_that_the_table_states():
    assert built(FIRST).num_parameters == round(FIRST_MILLIONS * 1e6)


def test_squeeze_and_excitation_adds_its_two_convolutions():
    without = built(FIRST.replace("l=1,2,3,3,2,2,2", "l=1,2,3,3,2,2,1"))
    with_one = built(
        FIRST.replace("l=1,2,3,3,2,2,2", "l=1,2,3,3,2,2,1").replace("se=0,0,0,0,0,0,0", "se=0,0,0,0,0,0,1")
    )
    width, squeezed = 192, 192 // accel_nasbench.SQUEEZE  # the last block: expansion 1, one layer
    assert with_one.num_parameters - without.num_parameters == 2 * width * squeezed + width + squeezed


def test_images_of_accel_nasbench_came_in_half_precision():
    as_run = built(f"{FIRST}&image=float16", 2)
    stated = built(FIRST, 2)
    assert [value.dtype for value in as_run.inputs + stated.inputs] == ["float16", "float32"]
    launches = [_core.fuse(graph.with_channels_last(), "eager", "amp").num_launches for graph in (as_run, stated)]
    assert launches[1] - launches[0] == 1  # the cast of the image
    table = pd.read_parquet(MEASUREMENTS / "rows.parquet")
    of_space = table[table.family == "anb"]
    assert (of_space.executed == of_space.recipe + "&image=float16").all()
    assert set(of_space.runtime_version) == {accel_nasbench.VERSION}


def test_the_id_is_of_the_measurement_not_of_its_value():
    assert dataclasses.replace(ROW, value=2.0).id == ROW.id
    assert dataclasses.replace(ROW, batch=3).id != ROW.id
    assert dataclasses.replace(ROW, runtime_version="2").id != ROW.id


def test_a_table_has_each_id_once():
    table = rows.to_table([ROW, dataclasses.replace(ROW, value=2.0), dataclasses.replace(ROW, batch=3)])
    assert sorted(table.batch) == [2, 3]
    assert list(table.columns) == list(rows.COLUMNS)


def test_shipped_table_has_sources_licences_and_plausible_times():
    table = measurements.load()
    assert len(table) > 10_000
    assert table.id.is_unique
    assert set(table.licence) == {"MIT", "Apache-2.0"}
    assert table.value.between(1e-6, 100).all()
    assert np.mean(table.block.isin(split.left_out_blocks())) == pytest.approx(0.25, abs=0.02)


def test_blocks_keep_near_twins_together():
    assert split.block_of("op:gemm?n=64&k=64", 64) == split.block_of("op:gemm?n=65&k=64", 64)
    assert split.block_of("op:gemm?n=64&k=64", 64) != split.block_of("op:gemm?n=640&k=64", 64)
    assert split.block_of(FIRST, 512) == "anb:layers=15"


def test_chosen_blocks_follow_the_rule():
    blocks = [f"add:work={band}" for band in range(10)] + ["mul:work=3"]
    assert split.choose(blocks) == ["add:work=2", "add:work=7"]


# Cells of NAS-Bench-201 with the millions of multiply-accumulates and the parameters that the benchmark states.
LARGEST_CELL = "|nor_conv_3x3~0|+|nor_conv_3x3~0|nor_conv_3x3~1|+|nor_conv_3x3~0|nor_conv_3x3~1|nor_conv_3x3~2|"


def test_the_largest_cell_is_that_of_the_benchmark():
    graph = built(str(nasbench201.recipe_of(LARGEST_CELL)))
    assert round(graph.macs / 1e6, 2) == 220.12
    # Sums start from a stored zero here: one for each of three nodes in fifteen cells.
    assert graph.num_parameters - 45 == 1_531_546


def test_every_operator_of_a_cell_is_built():
    cell = "|none~0|+|skip_connect~0|nor_conv_1x1~1|+|avg_pool_3x3~0|none~1|nor_conv_3x3~2|"
    operators = built(str(nasbench201.recipe_of(cell)), batch=4).operators
    assert operators["average_pool"] == 15 + 2
    assert operators["conv"] == 1 + 2 * 15 + 2 * 3


def test_bert_has_the_published_sizes():
    # 12 layers of 768: 85,054,464 in the layers; words, segments, 128 positions and a norm; two outputs.
    assert built("bert:base?seq=128").num_parameters == 85_054_464 + (30522 + 2 + 128 + 2) * 768 + 2 * 769
    assert built("bert:large?seq=8", batch=2).macs == 2 * built("bert:large?seq=8").macs


def write(path, text):
    import gzip

    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text.encode()))


def test_tables_become_rows(tmp_path):
    heading = "model,infer_img_size,infer_samples_per_sec,infer_batch_size,param_count,infer_gmacs"
    folder = tmp_path / timm.FOLDER
    for results in timm.RESULTS:
        write(
            folder / f"{results.file}.csv.gz",
            f"{heading}\nresnet50.a1_in1k,224,2000.0,1000,25.6,4.1\nno_such,8,,,,\n",
        )
    found = list(timm.read(tmp_path))
    assert len({row.id for row in found}) == len(timm.RESULTS)
    assert {(row.recipe, row.family, row.batch, row.value) for row in found} == {
        ("timm:resnet50@224", "timm-resnet", 1000, 0.5)
    }

    write(
        tmp_path / "HELP" / "nasbench201_latency_ms.csv.gz",
        f"idx,arch,titanx_32,silver_4114,pixel2\n0,{LARGEST_CELL},8.0,20.0,3\n",
    )
    assert [(row.device, row.batch, row.value) for row in nasbench201.read(tmp_path)] == [
        ("TITAN X (Pascal)", 32, 0.008),
        ("Xeon Silver 4114", 1, 0.02),
    ]

    columns = [
        "n_head",
        "n_kv_head",
        "n_embd",
        "n_expanded_embd",
        "use_gated_mlp",
        "num_tokens",
        "num_tensor_parallel_workers",
    ]
    values = ["64", "8", "8192", "28672", "True", "16", "2"]
    for name in ("attn_pre_proj", "attn_post_proj", "mlp_up_proj", "mlp_down_proj", "add"):
        columns += [f"time_stats.{name}.{part}" for part in ("median", "mean", "std")]
        values += ["0.1", "0.1", "0.01"]
    write(
        tmp_path / "vidur/data/profiling/compute/a100/meta/net/mlp.csv.gz",
        ",".join(columns) + "\n" + ",".join(values) + "\n",
    )
    assert [row.recipe for row in vidur.read(tmp_path)] == [
        "op:gemm?n=5120&k=8192&dtype=float16",
        "op:gemm?n=8192&k=4096&dtype=float16",
        "op:gemm?n=28672&k=8192&dtype=float16",
        "op:gemm?n=8192&k=14336&dtype=float16",
        "op:add?h=8192&dtype=float16",
    ]

    table = unified.read(tmp_path)
    assert sorted(table.source.unique()) == sorted([help_tables.SOURCE, timm.SOURCE, vidur.SOURCE])
    assert table.id.is_unique


def bert_line(device, size, refs, **cells):
    row = {"Sequence Length": "128", "Batch Size": "8", "#2": "1.0", "#4": "2.0"} | cells
    heading = [f"Inference performance: NVIDIA {device}", f"BERT {size}"]
    return json.dumps({"heading": heading, "row": row, "refs": refs})


def test_bert_tables_give_the_mean_once_and_leave_out_the_wrong_ones(tmp_path):
    lines = [
        bert_line("A30", "Base", ["22.12", "8.5.1", "v8.6.1"]),
        bert_line("A30", "large", ["v10.9.0", "v10.16"]),  # the L4's numbers
        bert_line("L4", "Large", ["v10.8.0"], **{"#4": ""}),  # not measured at fp16
        bert_line("T4 (16GB)", "base", ["21.02"], **{"Sequence Length": ""}),  # the second line of the heading
    ]
    write(tmp_path / "TensorRT" / "demo_bert_tables.jsonl.gz", "\n".join(lines))
    assert [
        (row.device, row.recipe, row.precision, row.value, row.runtime_version) for row in tensorrt_bert.read(tmp_path)
    ] == [
        ("A30", "bert:base?seq=128", "int8", 0.001, "tensorrt v8.6.1"),
        ("A30", "bert:base?seq=128", "fp16", 0.002, "tensorrt v8.6.1"),
        ("L4", "bert:large?seq=128", "int8", 0.001, "tensorrt v10.8.0"),
    ]

"""Stable Diffusion from its published configuration, and the table that times it."""

import pytest
from latpred.datasets import lambda_diffusers, stable_diffusion, unified
from latpred.errors import InvalidArgumentError
from recipe_graphs import built

# Published: of the UNet alone; of the text encoder; of the autoencoder 83,653,863 with its encoder.
PARAMETERS = {
    "unet": 859_520_964,
    "text_encoder": 123_060_480,
    "vae_decoder": 83_653_863 - lambda_diffusers.UNUSED_PARAMETERS,
}


@pytest.mark.parametrize("part", PARAMETERS)
@pytest.mark.parametrize("attention", stable_diffusion.ATTENTIONS)
def test_parts_have_the_published_parameters(part, attention):
    graph = built(f"sd:{part}?attention={attention}")
    assert graph.num_parameters == PARAMETERS[part]
    assert built(f"sd:{part}?attention={attention}", 8).macs == 8 * graph.macs


def test_both_kinds_of_attention_multiply_alike():
    fused, products = (built(f"sd:unet?attention={name}") for name in stable_diffusion.ATTENTIONS)
    assert fused.macs == products.macs
    # Sixteen blocks of two attentions each.
    assert fused.operators["scaled_dot_product_attention"] == products.operators["softmax"] == 32


def test_the_output_has_the_sizes_of_an_image():
    assert built("sd:unet", 2).outputs[0].shape == (2, 4, 64, 64)
    assert built("sd:vae_decoder?size=256", 2).outputs[0].shape == (2, 3, 256, 256)


def test_a_pipeline_is_its_parts():
    unet, decoder, text = (built(f"sd:{part}").macs for part in ("unet", "vae_decoder", "text_encoder"))
    pipeline = built("sd:pipeline?calls=3", 4)
    assert pipeline.macs == 4 * (2 * text + 3 * 2 * unet + decoder)
    assert pipeline.num_parameters == sum(PARAMETERS.values())
    sliced = built("sd:pipeline?calls=3&slices=4", 4)
    assert (sliced.macs, sliced.num_parameters) == (pipeline.macs, pipeline.num_parameters)
    assert sliced.outputs[0].shape == pipeline.outputs[0].shape == (4, 3, 512, 512)


def test_unknown_parts_and_attentions_are_refused():
    with pytest.raises(InvalidArgumentError, match="unknown part; valid: unet, vae_decoder"):
        built("sd:encoder")
    with pytest.raises(InvalidArgumentError, match="attention is 'flash'; valid: fused, products"):
        built("sd:unet?attention=flash")


LINES = """device,precision,autocast,xformers,runtime,n_samples,latency,memory,
NVIDIA A100-SXM4-40GB,half,FALSE,TRUE,pytorch,1,1.18,3.18
NVIDIA H100 PCIe MIG 2g.20gb,single,FALSE,FALSE,pytorch,2,7.61,11.09
Tesla V100-SXM2-16GB,single,FALSE,TRUE,pytorch,32,110.17,15.72
Tesla V100-SXM2-16GB,single,FALSE,TRUE,pytorch,64,-1,-1
"""


def test_table_gives_latency_and_memory_and_what_did_not_fit(tmp_path):
    pytest.importorskip("pandas")
    folder = tmp_path / "lambda-diffusers" / "benchmarks"
    folder.mkdir(parents=True)
    for name in lambda_diffusers.FILES:
        (folder / name).write_text(LINES if name == lambda_diffusers.FILES[0] else LINES.partition("\n")[0] + "\n")
    rows = list(lambda_diffusers.read(tmp_path))
    assert [(row.device, row.partition, row.precision, row.batch, row.quantity, row.value) for row in rows] == [
        ("A100-SXM4-40GB", "", "fp16", 1, "latency_s", 1.18),
        ("A100-SXM4-40GB", "", "fp16", 1, "memory_bytes", 3.18e9),
        ("H100-PCIe-80GB", "2g.20gb", "tf32", 2, "latency_s", 7.61),
        ("H100-PCIe-80GB", "2g.20gb", "tf32", 2, "memory_bytes", 11.09e9),
        ("V100-SXM2-16GB", "", "fp32", 32, "latency_s", 110.17),
        ("V100-SXM2-16GB", "", "fp32", 32, "memory_bytes", 15.72e9),
    ]
    assert [row.recipe for row in rows[::2]] == [
        "sd:pipeline?calls=31&attention=fused",
        "sd:pipeline?calls=31&attention=products",
        "sd:pipeline?calls=31&attention=fused&slices=32",
    ]
    assert [(row.batch, row.quantity) for row in lambda_diffusers.read_out_of_memory(tmp_path)] == [
        (64, "out_of_memory")
    ]
    # For checks only.
    assert "lambda-diffusers" not in unified.SOURCES

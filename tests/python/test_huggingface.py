"""Configs and folders of transformers. The package is no part of the test extra: these run where it is installed."""

import latpred
import pytest

transformers = pytest.importorskip("transformers")

SMALL = {"num_hidden_layers": 2, "hidden_size": 64, "num_attention_heads": 4, "intermediate_size": 128}


def bert():
    return transformers.BertConfig(**SMALL, vocab_size=100)


def llama(**more):
    return transformers.LlamaConfig(**SMALL, num_key_value_heads=2, vocab_size=100, **more)


def test_configs_are_built_without_weights():
    config = bert()
    graph = latpred.load(model=config, input="16", batch=2)
    assert graph.inputs[0].dtype == "int64"
    assert graph.num_parameters == transformers.AutoModel.from_config(config).num_parameters()


def test_caches_are_switched_off_and_on_again():
    module = transformers.AutoModelForCausalLM.from_config(llama(architectures=["LlamaForCausalLM"]))
    assert module.config.use_cache
    graph = latpred.load(model=module, input="16", batch=2)
    assert module.config.use_cache
    assert graph.outputs[0].shape == (2, 16, 100)


@pytest.mark.parametrize("is_tied", [False, True])
def test_tied_tables_count_once(is_tied):
    config = llama(architectures=["LlamaForCausalLM"], tie_word_embeddings=is_tied)
    graph = latpred.load(model=config, input="16")
    assert graph.num_parameters == transformers.LlamaForCausalLM(config).num_parameters()


def test_images_have_the_size_of_the_config():
    config = transformers.ViTConfig(**SMALL, image_size=32, patch_size=8)
    assert latpred.load(model=config, batch=2).inputs[0].shape == (2, 3, 32, 32)


def test_texts_have_no_default_length():
    with pytest.raises(latpred.InvalidArgumentError, match=r"BertModel needs input=: it has forward\(input_ids"):
        latpred.load(model=bert())


def test_several_inputs_go_by_name():
    config = transformers.T5Config(
        d_model=32, d_kv=8, d_ff=64, num_layers=1, num_heads=4, vocab_size=100, architectures=["T5Model"]
    )
    sizes = {"input_ids": "16", "decoder_input_ids": "8"}
    graph = latpred.load(model=config, input=sizes, batch=2)
    assert [tensor.shape for tensor in graph.inputs] == [(2, 16), (2, 8)]
    assert graph.hash == latpred.predict_many([config], input=sizes, batches=[2])[0].graph.hash


def test_folders_are_read_offline(tmp_path):
    config = llama(architectures=["LlamaForCausalLM"])
    config.save_pretrained(tmp_path)
    graph = latpred.load(tmp_path, input="16", batch=2)
    assert graph.hash == latpred.load(model=config, input="16", batch=2).hash


def test_folders_of_unknown_kinds_are_refused(tmp_path):
    (tmp_path / "config.json").write_text('{"model_type": "no_such_type", "architectures": ["NoSuchModel"]}')
    with pytest.raises(latpred.ModelFileError, match="no_such_type") as caught:
        latpred.load(tmp_path, input="16")
    assert "\n" not in str(caught.value)


def test_code_in_a_folder_is_never_run(tmp_path):
    (tmp_path / "config.json").write_text(
        '{"model_type": "evil", "auto_map": {"AutoConfig": "evil.EvilConfig", "AutoModel": "evil.Evil"}}'
    )
    (tmp_path / "evil.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(latpred.ModelFileError):
        latpred.load(tmp_path, input="16")
    assert not (tmp_path / "ran").exists()

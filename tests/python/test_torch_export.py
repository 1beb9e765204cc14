"""model=: live PyTorch modules and ExportedPrograms."""

import subprocess
import sys

import latpred
import pytest
import torch
from latpred import _core
from latpred.frontends import torch_export
from latpred.loading import load_model
from torch import nn
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.nn.attention.flex_attention import flex_attention
from torch.utils.flop_counter import FlopCounterMode
from torch_networks import CAPTURED, Choosing, Convolutional, Decoder, Masking, Recurrent, Remembering


def counted_macs(module, arguments):
    """torch's own count, with recurrent layers and attention in parts that it counts."""
    fastpath = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        with (
            torch.no_grad(),
            torch.backends.mkldnn.flags(enabled=False),
            sdpa_kernel(SDPBackend.MATH),
            FlopCounterMode(display=False) as counter,
        ):
            module.eval()(*arguments)
    finally:
        torch.backends.mha.set_fastpath_enabled(fastpath)
    return counter.get_total_flops() / 2


@pytest.mark.filterwarnings("ignore:TF32 acceleration on top of oneDNN")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("convolutional", [torch.zeros(2, 3, 32, 32)]),
        ("decoder", [torch.zeros(2, 12, dtype=torch.int64)]),
        ("recurrent", [torch.zeros(2, 5, 6)]),
        ("split attention", [torch.zeros(2, 7, 16)]),
        ("remembering", [torch.zeros(2, 4)]),
    ],
)
def test_macs_are_those_of_torchs_counter(name, arguments):
    make, sizes = CAPTURED[name]
    module = make()
    assert latpred.load(model=module, input=sizes, batch=2).macs == counted_macs(module, arguments)


def test_graph_has_the_operators_sizes_and_weights_of_the_module():
    module = Convolutional()
    graph = latpred.load(model=module, input="3,32,32", batch=8)
    assert graph.batch == 8
    assert graph.inputs[0].name == "x"
    assert graph.inputs[0].shape == (8, 3, 32, 32)
    assert graph.outputs[0].shape == (8, 10)
    assert graph.operators["conv"] == 3
    assert graph.operators["batch_norm"] == 2
    assert graph.operators["conv_transpose"] == 1
    assert graph.num_parameters == sum(parameter.numel() for parameter in module.parameters())
    assert graph.num_statistics == 2 * 2 * 8
    assert graph.source.framework == "pytorch"
    assert latpred.load(model=module, input="3,32,32").macs * 8 == graph.macs


def test_another_batch_of_a_graph_equals_the_module_traced_at_it():
    module = Convolutional()
    once = latpred.load(model=module, input="3,32,32", batch=2)
    assert once.with_batch(8).hash == latpred.load(model=module, input="3,32,32", batch=8).hash


class Queries(nn.Module):
    """Learnt ones for every image of the batch, as DETR's: repeated in the middle, then turned to the front."""

    def __init__(self):
        super().__init__()
        self.queries = nn.Embedding(6, 16)

    def forward(self, x):
        repeated = self.queries.weight.unsqueeze(1).repeat(1, x.shape[0], 1)
        return torch.bmm(repeated.transpose(0, 1), x.transpose(1, 2))


@pytest.mark.parametrize(
    ("module", "sizes"),
    [
        (nn.TransformerEncoder(nn.TransformerEncoderLayer(16, 4, 32, batch_first=True), 1), "10,16"),
        (Queries(), "9,16"),
    ],
    ids=["encoder", "queries"],
)
@pytest.mark.parametrize("saved", [1, 2, 4])  # 4: as many as heads
def test_another_batch_is_found_behind_steps(module, sizes, saved):
    graph = latpred.load(model=module, input=sizes, batch=saved).with_batch(8)
    directly = latpred.load(model=module, input=sizes, batch=8)
    assert [tensor.shape for tensor in graph.outputs] == [tensor.shape for tensor in directly.outputs]
    assert graph.macs == directly.macs


@pytest.mark.filterwarnings("ignore:The tensor attributes")  # torch's own, of nn.LSTM
def test_a_recurrent_layers_batch_stands_second_in_its_archive(tmp_path):
    program = torch.export.export(nn.LSTM(8, 16), (torch.randn(20, 1, 8),))
    torch.export.save(program, tmp_path / "lstm.pt2")
    assert latpred.load(tmp_path / "lstm.pt2").inputs[0].shape == (20, 1, 8)
    assert latpred.load(tmp_path / "lstm.pt2", batch=4).inputs[0].shape == (20, 4, 8)


class ReadsStepsFirst(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.LSTM(8, 16)

    def forward(self, x):
        return self.layer(x)[0][-1]


STEPS_FIRST = {
    "lstm": (lambda: nn.LSTM(8, 16), "20,8", 20 * 4 * 4 * 16 * (8 + 16)),
    "inside": (ReadsStepsFirst, "20,8", 20 * 4 * 4 * 16 * (8 + 16)),
    "state": (lambda: nn.GRU(8, 16), {"input": "20,8", "hx": "1,16"}, 20 * 4 * 3 * 16 * (8 + 16)),
    "attention": (lambda: nn.MultiheadAttention(8, 2), dict.fromkeys(("query", "key", "value"), "20,8"), None),
    "encoder": (lambda: nn.TransformerEncoder(nn.TransformerEncoderLayer(8, 2, 32), 1), "20,8", None),
    "transformer": (lambda: nn.Transformer(8, 2, 1, 1, 32), {"src": "20,8", "tgt": "12,8"}, None),
}


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch's own
@pytest.mark.parametrize("name", STEPS_FIRST)
def test_live_modules_that_take_their_steps_first_have_the_batch_second(name):
    make, sizes, macs = STEPS_FIRST[name]
    graph = latpred.load(model=make(), input=sizes, batch=4)
    assert graph.inputs[0].shape == (20, 4, 8)
    assert graph.batch == 4
    assert macs is None or graph.macs == macs
    other, directly = graph.with_batch(3), latpred.load(model=make(), input=sizes, batch=3)
    assert other.inputs[0].shape == directly.inputs[0].shape == (20, 3, 8)
    assert [tensor.shape for tensor in other.outputs] == [tensor.shape for tensor in directly.outputs]
    assert other.macs == directly.macs


def test_words_that_a_recurrent_layer_reads_with_its_steps_first_have_the_batch_second():
    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.table, self.drop, self.layer = nn.Embedding(100, 8), nn.Dropout(), nn.LSTM(8, 16)

        def forward(self, words):
            return self.layer(self.drop(self.table(words)))[0]

    graph = latpred.load(model=Language(), input="35:int64", batch=20)
    assert (graph.inputs[0].shape, graph.outputs[0].shape) == ((35, 20), (35, 20, 16))
    assert latpred.load(model=Language(), input={"words": "35:int64"}, batch=20).hash == graph.hash
    assert latpred.load(model=Language(), input="batch,35:int64", batch=20).inputs[0].shape == (20, 35)


def test_masks_of_attention_that_takes_its_steps_first_have_the_batch_first():
    layer = nn.TransformerEncoderLayer(8, 2, 32)
    graph = latpred.load(model=layer, input={"src": "20,8", "src_key_padding_mask": "20:bool"}, batch=4)
    assert [tensor.shape for tensor in graph.inputs] == [(20, 4, 8), (4, 20)]


def test_a_batch_stands_where_it_is_named():
    class Turning(nn.Module):
        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(*[x.transpose(0, 1)] * 3)

    named, first = latpred.load(model=Turning(), input="20,batch,8", batch=4), (20, 4, 8)
    assert (named.inputs[0].shape, named.outputs[0].shape) == (first, (4, 20, 8))
    assert named.with_batch(5).inputs[0].shape == (20, 5, 8)
    assert latpred.load(model=Turning(), input=(20, "batch", 8), batch=4).hash == named.hash
    assert latpred.load(model=Turning(), input="batch,20,8", batch=4).inputs[0].shape == (4, 20, 8)
    with pytest.raises(latpred.InvalidArgumentError, match="names the batch twice in 'batch,20,batch'"):
        latpred.load(model=Turning(), input="batch,20,batch")


def test_an_input_may_have_no_batch():
    class Masked(nn.Module):
        def forward(self, x, mask):
            return nn.functional.scaled_dot_product_attention(x, x, x, attn_mask=mask)

    sizes = {"x": "2,20,8", "mask": "unbatched,20,20"}
    for batch in (4, 20):  # 20: the mask's first size is the batch by chance
        graph = latpred.load(model=Masked(), input=sizes, batch=batch)
        assert [tensor.shape for tensor in graph.inputs] == [(batch, 2, 20, 8), (20, 20)]
        assert [tensor.shape for tensor in graph.with_batch(5).inputs] == [(5, 2, 20, 8), (20, 20)]
    as_tuple = sizes | {"mask": ("unbatched", 20, 20)}
    assert latpred.load(model=Masked(), input=as_tuple, batch=20).hash == graph.hash
    with pytest.raises(latpred.ShapeError, match=r'or there is none: "unbatched,20,20"'):
        latpred.load(model=Masked(), input=sizes | {"mask": "20,20"}, batch=4)
    for wrong in ("unbatched,20,batch", "20,unbatched", "unbatched,unbatched,20"):
        with pytest.raises(latpred.InvalidArgumentError, match="'unbatched' stands before sizes"):
            latpred.load(model=Masked(), input=sizes | {"mask": wrong})


@pytest.mark.filterwarnings("ignore:enable_nested_tensor")  # torch's own, of nn.Transformer
@pytest.mark.parametrize("is_batch_first", [False, True])
def test_masks_of_torchs_own_attention_have_no_batch(is_batch_first):
    layer = nn.Transformer(8, 2, 1, 1, 32, batch_first=is_batch_first)
    sizes = {"src": "20,8", "tgt": "9,8", "tgt_mask": "9,9", "memory_mask": "9,20:bool", "tgt_is_causal": False}
    graph = latpred.load(model=layer, input=sizes, batch=3)
    for batch, made in ((3, graph), (4, graph.with_batch(4)), (9, latpred.load(model=layer, input=sizes, batch=9))):
        source, _, *masks = [tensor.shape for tensor in made.inputs]
        assert source == ((batch, 20, 8) if is_batch_first else (20, batch, 8))
        assert masks == [(9, 9), (9, 20)]


def test_what_torch_cannot_write_is_one_sentence():
    class Flexible(nn.Module):
        def forward(self, x):
            return flex_attention(x, x, x)

    with pytest.raises(latpred.UnsupportedOperatorError, match=r"node flex_attention in graph.*use another one there"):
        latpred.load(model=Flexible(), input="4,32,16", batch=2)


def test_tied_weights_count_once():
    module = Decoder()
    graph = latpred.load(model=module, input="12:int64")
    assert graph.num_parameters == sum(parameter.numel() for parameter in module.parameters())
    with torch.device("meta"):
        on_meta = Decoder()
    assert latpred.load(model=on_meta, input="12:int64").num_parameters == graph.num_parameters


@pytest.mark.filterwarnings("ignore:No complete tensor found")  # torch's own, of filters that lie so
def test_filters_with_the_channels_innermost_are_seen(tmp_path):
    plain = latpred.load(model=Convolutional(), input="3,32,32")
    module = Convolutional().eval().to(memory_format=torch.channels_last)
    program = torch.export.export(module, (torch.randn(1, 3, 32, 32),))
    torch.export.save(program, tmp_path / "last.pt2")
    graphs = {
        "live": latpred.load(model=module, input="3,32,32"),
        "recorded": load_model(module, 1, "3,32,32", is_swept=True),
        "exported": latpred.load(model=program),
        "archive": latpred.load(tmp_path / "last.pt2"),
        "larger": latpred.load(model=module, input="3,32,32", batch=1).with_batch(4),
        "told": plain.with_channels_last(),
    }
    assert not plain.channels_last
    assert {name: graph.channels_last for name, graph in graphs.items()} == dict.fromkeys(graphs, True)
    assert graphs["live"].hash == graphs["archive"].hash == graphs["told"].hash != plain.hash
    assert graphs["told"].with_batch(4).hash == graphs["larger"].hash
    assert "channels last" in str(latpred.predict(graph=graphs["live"], device="A100", precision="amp"))
    assert "channels last" not in str(latpred.predict(graph=graphs["live"], device="A100", runtime="tensorrt"))
    assert "channels last" in repr(graphs["live"]) + graphs["live"]._repr_html_()
    one, other = (latpred.predict(graph=g, device="A100", precision="amp").latency_ms for g in (plain, graphs["live"]))
    assert one != other


def test_predict_answers_for_a_live_module():
    module = Convolutional()
    by_model = latpred.predict(model=module, input="3,32,32", batch=4, device="A100")
    by_graph = latpred.predict(graph=latpred.load(model=module, input="3,32,32", batch=4), device="A100")
    assert by_model.latency_ms == by_graph.latency_ms
    assert by_model.name == "Convolutional"


def state(module):
    return [
        (name, type(part), dict(vars(part)), dict(part._parameters), dict(part._buffers))
        for name, part in module.named_modules()
    ]


@pytest.mark.parametrize("make", [Convolutional, Recurrent, Remembering, Choosing])
def test_module_is_afterwards_as_before(make):
    module = make().train()
    for i, part in enumerate(module.modules()):
        part.training = i % 2 == 0
    module.last_seen = seen = {}
    before, grads = state(module), torch.is_grad_enabled()
    sizes = {Convolutional: "3,32,32", Recurrent: "5,6"}.get(make, "4")
    try:
        latpred.load(model=module, input=sizes)
    except latpred.ModelFileError:
        assert make is Choosing
    assert [[id(value) for value in part[2].values()] for part in state(module)] == [
        [id(value) for value in part[2].values()] for part in before
    ]
    assert state(module)[0][2].keys() == before[0][2].keys()
    assert module.last_seen is seen
    assert not seen
    assert getattr(module, "seen", {}) == {}
    assert torch.is_grad_enabled() == grads
    assert [part.training for part in module.modules()] == [i % 2 == 0 for i, _ in enumerate(module.modules())]
    assert all(type(parameter) is nn.Parameter for parameter in module.parameters())


def test_training_mode_is_not_captured():
    module = Convolutional().train()
    assert latpred.load(model=module, input="3,32,32").hash == latpred.load(model=module.eval(), input="3,32,32").hash


def test_types_of_weights_decide_those_of_inputs():
    graph = latpred.load(model=Convolutional().half(), input="3,32,32")
    assert graph.inputs[0].dtype == graph.outputs[0].dtype == "float16"
    assert graph.weight_bytes == latpred.load(model=Convolutional(), input="3,32,32").weight_bytes / 2


def test_module_on_meta_gives_the_graph_of_the_real_one():
    with torch.device("meta"):
        on_meta = Recurrent()
    assert latpred.load(model=on_meta, input="5,6").hash == latpred.load(model=Recurrent(), input="5,6").hash


@pytest.mark.filterwarnings("ignore:.*torch.jit.script_method.*:DeprecationWarning")  # torch.compile's own imports
def test_wrappers_are_taken_off():
    module = Convolutional()
    graph = latpred.load(model=module, input="3,32,32")
    assert latpred.load(model=nn.DataParallel(module), input="3,32,32").hash == graph.hash
    assert latpred.load(model=torch.compile(module), input="3,32,32").hash == graph.hash


def test_hooks_run():
    module = nn.Linear(4, 4)
    module.register_forward_hook(lambda module, arguments, result: result.relu())
    module.register_forward_pre_hook(lambda module, arguments: (arguments[0] * 2,))
    assert list(latpred.load(model=module, input="4").operators) == ["linear", "mul", "relu"]


class Lightning(nn.Module):
    """What a LightningModule is for us: methods and an object with a way back, besides forward."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 4), nn.ReLU())
        self.trainer = {"module": self}

    def forward(self, batch, *, scale: float = 1.0):
        return self.net(batch) * scale

    def training_step(self, batch, index):
        raise AssertionError("never called")


def test_lightning_like_module_with_a_keyword():
    graph = latpred.load(model=Lightning(), input={"batch": "8", "scale": 2.0}, batch=3)
    assert graph.outputs[0].shape == (3, 4)
    assert graph.operators["mul"] == 1


def test_weights_are_not_copied():
    # 32 GB, were it copied.
    module = nn.Linear(8, 1_000_000_000, bias=False, device="meta")
    assert latpred.load(model=module, input="8").num_parameters == 8_000_000_000


@pytest.mark.parametrize("make", [Choosing, Masking])
def test_what_content_decides_is_refused(make, capfd):
    with pytest.raises(latpred.ModelFileError) as caught:
        latpred.load(model=make(), input="3")
    assert "depends on the content of its tensors" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert capfd.readouterr() == ("", "")


def test_errors_in_forward_are_one_sentence():
    with pytest.raises(
        latpred.ShapeError, match=r"forward of Convolutional fails on x tensor \[2, 3, 2, 2\]: "
    ) as caught:
        latpred.load(model=Convolutional(), input="3,2,2", batch=2)
    assert "\n" not in str(caught.value)


class Failing(nn.Module):
    """Whatever is given as `act` is called in forward."""

    def __init__(self, act):
        super().__init__()
        self.act = act

    def forward(self, x):
        return self.act(x)


def boom(x):
    raise RuntimeError("boom")


def checked(x):
    assert x.shape[1] == 7, "wrong image"
    return x


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (boom, latpred.ModelFileError, "RuntimeError: boom"),
        (lambda x: torch.from_numpy(x.numpy()), latpred.ModelFileError, r"RuntimeError: .*numpy\(\) is not supported"),
        (lambda x: x.no_such_name, latpred.ModelFileError, "AttributeError: .*no_such_name"),
        (checked, latpred.ShapeError, "AssertionError: wrong image"),
        (lambda x: x.view(7, 7), latpred.ShapeError, r"RuntimeError: shape '\[7, 7\]' is invalid"),
        (lambda x: x[:, 5], latpred.ShapeError, "IndexError: index 5 is out of bounds"),
    ],
)
def test_only_errors_about_sizes_advise_on_sizes(act, error, words):
    place = rf" \(.*test_torch_export\.py, line {act.__code__.co_firstlineno + (act in (boom, checked))}\); "
    with pytest.raises(error, match=rf"forward of Failing fails on x tensor \[1, 4\]: {words}.*{place}") as caught:
        latpred.load(model=Failing(act), input="4")
    assert type(caught.value) is error
    assert ("input=" in str(caught.value)) == (error is latpred.ShapeError)


@pytest.mark.filterwarnings("ignore:.*torch.ao.quantization is deprecated.*", "ignore:torch.quantize_per_tensor.*")
def test_quantised_modules_are_refused_with_what_to_hand_over():
    module = torch.ao.quantization.quantize_dynamic(nn.Sequential(nn.Linear(4, 4)), {nn.Linear})
    with pytest.raises(latpred.ModelFileError, match="quantised modules are not read: hand over the module as it was"):
        latpred.load(model=module, input="4")


@pytest.mark.parametrize(
    ("module", "sizes", "words"),
    [
        (Convolutional(), None, r"Convolutional needs input=: it has forward\(x\); give"),
        (Decoder(), {"ids": "3"}, r"names 'ids', which it does not take: Decoder has forward\(input_ids, "),
        (Decoder(), {"attention_mask": "3"}, "leaves out 'input_ids'"),
        (nn.Bilinear(2, 3, 4), "2", r"Bilinear needs 2: it has forward\(input1, input2\); give a mapping"),
        (nn.Bilinear(2, 3, 4), None, "or a mapping {'input1': ..., 'input2': ...}"),
        (nn.Linear(2, 2), "2:float31", "known types: float32, float16"),
        (nn.Linear(2, 2), "2,,", "sizes without the batch"),
        (nn.LazyLinear(2), "2", "lazy parameters"),
    ],
)
def test_input_is_checked_against_forward(module, sizes, words):
    with pytest.raises(latpred.InvalidArgumentError, match=words):
        latpred.load(model=module, input=sizes)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"model": "net.onnx"}, "the name of a file goes to path="),
        ({"model": nn.ReLU}, r"make one: model=ReLU\(\.\.\.\)"),
        (
            {"model": nn.ReLU().state_dict()},
            "holds weights only, no graph: pass the module that they are of, as model=",
        ),
        ({"model": 3}, "takes a TorchScript module, a torch.nn.Module"),
        ({"model": nn.ReLU(), "framework": "pytorch"}, "a live model"),
        ({"model": nn.ReLU(), "path": "net.onnx"}, "exactly one of path="),
        ({"model": nn.ReLU(), "input": "3", "batch": 0}, "batch must be an integer >= 1"),
        ({}, "exactly one of path="),
    ],
)
def test_arguments_are_checked(arguments, words):
    with pytest.raises(latpred.InvalidArgumentError, match=words):
        latpred.load(**arguments)


def test_several_inputs_keep_their_names_and_types():
    graph = latpred.load(model=Decoder(), input={"attention_mask": "12:bool", "input_ids": "12:int32"}, batch=2)
    assert [(tensor.name, tensor.dtype, tensor.shape) for tensor in graph.inputs] == [
        ("input_ids", "int32", (2, 12)),
        ("attention_mask", "bool", (2, 12)),
    ]


def test_exported_programs_are_read_at_the_asked_batch():
    module = Convolutional().eval()
    batch = torch.export.Dim("batch", min=1)
    program = torch.export.export(module, (torch.zeros(2, 3, 32, 32),), dynamic_shapes=[{0: batch}], strict=False)
    for size in (1, 5):
        graph = latpred.load(model=program, batch=size)
        assert graph.hash == latpred.load(model=module, input="3,32,32", batch=size).hash
        assert graph.num_parameters == sum(parameter.numel() for parameter in module.parameters())


def test_tied_weights_of_an_exported_program_count_once():
    program = torch.export.export(Decoder().eval(), (torch.zeros(1, 12, dtype=torch.int64),), strict=False)
    assert latpred.load(model=program).num_parameters == latpred.load(model=Decoder(), input="12").num_parameters


def test_a_module_and_its_archive_give_one_graph(tmp_path):
    module = Convolutional().eval()
    path = tmp_path / "net.pt2"
    torch.export.save(torch.export.export(module, (torch.zeros(4, 3, 32, 32),), strict=False), path)
    from_file, from_module = latpred.load(path, batch=4), latpred.load(model=module, input="3,32,32", batch=4)
    assert from_file.hash == from_module.hash
    assert from_file.num_parameters == from_module.num_parameters


def test_documents_are_checked():
    arguments = torch_export.call_arguments(nn.ReLU(), "3", 1)
    document = torch_export.export(nn.ReLU(), arguments).document
    with pytest.raises(latpred.ModelFileError, match="9"):
        _core.read_exported_program(document.replace(b'"major": 8', b'"major": 9'))


def test_nothing_of_torch_is_imported_before_it_is_needed():
    code = (
        "import sys, latpred\n"
        "try: latpred.load(model=object())\n"
        "except latpred.InvalidArgumentError: pass\n"
        "print(sorted({'torch', 'transformers', 'subprocess', 'keras'} & set(sys.modules)))"
    )
    before = subprocess.run(
        [sys.executable, "-c", code.replace("latpred.load(model=object())", "pass")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert before.stdout == "[]\n"
    after = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "torch" not in after.stdout

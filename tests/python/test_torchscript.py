"""TorchScript archives, pickled modules, and the child process that reads them."""

import latpred
import pytest
import torch
from latpred.frontends import child, torchscript
from torch import nn
from torch_networks import Convolutional, Recurrent

# torch warns at every use that TorchScript is deprecated; here it is what is read.
# And at every size that a trace computes with.
pytestmark = pytest.mark.filterwarnings("ignore:.*(torch.jit|TorchScript).*", "ignore::torch.jit.TracerWarning")


class Branching(nn.Module):
    """Python that only scripting keeps: the branch is taken by an argument's value."""

    def __init__(self):
        super().__init__()
        self.wide = nn.Linear(8, 32)
        self.narrow = nn.Linear(8, 2)

    def forward(self, x, rate: int):
        if rate > 8000:
            return self.wide(x)
        return self.narrow(x)


class Attending(nn.Module):
    """Sizes taken from the input: a trace computes with them as tensors."""

    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(8, 24)
        self.out = nn.Linear(8, 8)

    def forward(self, x):
        batch, tokens, width = x.shape
        heads = [part.view(batch, tokens, 2, width // 2).transpose(1, 2) for part in self.qkv(x).split(width, dim=2)]
        attended = nn.functional.scaled_dot_product_attention(*heads, is_causal=True)
        return self.out(attended.transpose(1, 2).reshape(batch, tokens, width))


class Adding(nn.Module):
    def forward(self, x):
        return x + torch.ones(4)


class Nameless(nn.Module):
    """No name of the first argument is prescribed."""

    def forward(this, x):
        return x.relu()


class Failing(nn.Module):
    def forward(self, x):
        if x.shape[0] > 0:
            raise RuntimeError("boom")
        return x


class Asking(nn.Module):
    def forward(self, x):
        if bool((x.sum() > 0).item()):
            return x * 2
        return x


@pytest.fixture(scope="module")
def archives(tmp_path_factory):
    folder = tmp_path_factory.mktemp("archives")
    module = Convolutional().eval()
    torch.jit.save(torch.jit.trace(module, torch.zeros(1, 3, 32, 32)), folder / "traced.pt")
    torch.jit.save(torch.jit.script(module), folder / "scripted.pt")
    torch.jit.save(torch.jit.script(Branching()), folder / "branching.pt")
    torch.jit.save(torch.jit.script(Recurrent()), folder / "recurrent.pt")
    torch.save(module, folder / "pickled.pt")
    torch.save({"epoch": 3, "model": module}, folder / "checkpoint.pt")
    torch.save({"epoch": 3}, folder / "numbers.pt")
    return folder


@pytest.mark.parametrize("name", ["traced.pt", "scripted.pt"])
def test_archive_equals_its_module(archives, name):
    graph = latpred.load(archives / name, input="3,32,32", batch=4)
    live = latpred.load(model=Convolutional(), input="3,32,32", batch=4)
    assert graph.operators == live.operators
    assert (graph.macs, graph.num_parameters, graph.num_statistics) == (
        live.macs,
        live.num_parameters,
        live.num_statistics,
    )
    (warning,) = graph.warnings
    assert "TorchScript is deprecated" in warning
    assert latpred.predict(archives / name, input="3,32,32", batch=4).latency_ms > 0


def test_recurrent_layers_stay_whole(archives):
    graph = latpred.load(archives / "recurrent.pt", input="5,6", batch=2)
    assert graph.macs == latpred.load(model=Recurrent(), input="5,6", batch=2).macs


def test_branches_are_taken_by_plain_arguments(archives):
    macs = [latpred.load(archives / "branching.pt", input={"x": "8", "rate": rate}).macs for rate in (16000, 8000)]
    assert macs == [8 * 32, 8 * 2]


def test_live_scripts_are_read_in_this_process():
    graph = latpred.load(model=torch.jit.script(Convolutional()), input="3,32,32")
    assert graph.macs == latpred.load(model=Convolutional(), input="3,32,32").macs


@pytest.mark.parametrize(
    ("make", "sizes"),
    [(Attending, (5, 8)), (Recurrent, (5, 6)), (Adding, (3, 4))],
)
def test_a_trace_equals_its_module(make, sizes, tmp_path):
    module = make().eval()
    path = tmp_path / "traced.pt"
    torch.jit.save(torch.jit.trace(module, torch.zeros(2, *sizes)), path)
    graph, live = latpred.load(path, input=sizes, batch=2), latpred.load(model=module, input=sizes, batch=2)
    assert (graph.macs, graph.num_parameters) == (live.macs, live.num_parameters)
    assert graph.outputs[0].shape == live.outputs[0].shape
    products = ("linear", "scaled_dot_product_attention", "lstm", "gru", "add")
    found, expected = ({name: g.operators.get(name) for name in products} for g in (graph, live))
    assert found == expected
    assert "div" not in graph.operators  # of sizes
    assert "unknown" not in graph.operators


def test_weights_take_memory_only_where_constants_need_it(tmp_path):
    traced = torch.jit.trace(Attending().eval(), torch.zeros(2, 5, 8))
    torch.jit.save(traced, tmp_path / "traced.pt")
    torch.jit.save(torch.jit.script(Convolutional()), tmp_path / "scripted.pt")
    are_meta = [
        {parameter.is_meta for parameter in torchscript.read_archive(str(tmp_path / name)).parameters()}
        for name in ("traced.pt", "scripted.pt")
    ]
    assert are_meta == [{False}, {True}]


def test_the_first_argument_may_have_any_name():
    assert latpred.load(model=torch.jit.script(Nameless()), input="4").operators == {"relu": 1}


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (
            Failing,
            latpred.ModelFileError,
            r"forward of Failing fails on x tensor \[1, 9\]: RuntimeError: boom \(.*py, ",
        ),
        (Asking, latpred.ModelFileError, "Asking cannot be captured: .* depends on the content of its tensors"),
        (
            Adding,
            latpred.ShapeError,
            r"tensor \[1, 9\]: RuntimeError: .*broadcast.* \(.*test_torchscript.py, line \d+\);",
        ),
    ],
)
def test_what_failed_in_the_interpreter_is_said(make, error, words):
    with pytest.raises(error, match=words) as caught:
        latpred.load(model=torch.jit.script(make()), input="9")
    assert ("check the sizes" in str(caught.value)) == (error is latpred.ShapeError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "error", "words"),
    [
        (None, latpred.InvalidArgumentError, r"needs input=: it has forward\(x, rate\)"),
        ("8", latpred.InvalidArgumentError, "needs 2"),
        ({"x": "7", "rate": 1}, latpred.ShapeError, r"fails on x tensor \[1, 7\], rate 1"),
    ],
)
def test_archives_say_what_they_take(archives, sizes, error, words):
    with pytest.raises(error, match=words) as caught:
        latpred.load(archives / "branching.pt", input=sizes)
    assert "\n" not in str(caught.value)


def test_pickles_are_refused_unless_allowed(archives):
    with pytest.raises(latpred.ModelFileError, match=r"torch_networks\.Convolutional") as caught:
        latpred.load(archives / "pickled.pt", input="3,32,32")
    assert "allow_pickle=True" in str(caught.value)
    live = latpred.load(model=Convolutional(), input="3,32,32")
    for name in ("pickled.pt", "checkpoint.pt"):
        assert latpred.load(archives / name, input="3,32,32", allow_pickle=True).hash == live.hash


def test_pickles_without_their_class_are_one_sentence(archives, monkeypatch):
    monkeypatch.setattr("sys.path", [entry for entry in __import__("sys").path if not entry.endswith("tests/python")])
    with pytest.raises(latpred.ModelFileError, match="No module named 'torch_networks'") as caught:
        latpred.load(archives / "pickled.pt", input="3,32,32", allow_pickle=True)
    assert caught.value.path == str(archives / "pickled.pt")


def test_cut_off_archives_are_one_sentence(archives, tmp_path):
    cut = tmp_path / "cut.pt"
    cut.write_bytes((archives / "scripted.pt").read_bytes()[:-2000])
    with pytest.raises(latpred.ModelFileError) as caught:
        latpred.load(cut, input="3,32,32")
    assert "cut.pt" in str(caught.value)
    assert "\n" not in str(caught.value)


def hang(request):
    while True:
        pass


def die(request):
    import os
    import sys

    print("the last words", file=sys.stderr, flush=True)
    os._exit(3)


def shout(request):
    print("x" * 1_000_000)
    return child.Reply(b"\0\n\xff" * 1_000_000, {"package": request["package"]})


@pytest.fixture
def frontend(monkeypatch):
    def row(function, package="json"):
        made = child.Frontend(f"test_torchscript:{function}", package, "torch", "a test")
        monkeypatch.setattr(child, "FRONTENDS", {**child.FRONTENDS, "test": made})
        # The child has its own table: it gets the function by the name of a row that it knows.
        monkeypatch.setattr(
            child,
            "_START",
            child._START.replace(
                "from latpred.frontends.child import main;",
                "from latpred.frontends import child; from latpred.frontends.child import main; "
                f"child.FRONTENDS = {{'test': child.Frontend('test_torchscript:{function}', 'json', 'x', 'a test')}};",
            ),
        )

    return row


def test_replies_are_whole_whatever_the_framework_prints(frontend):
    frontend("shout")
    reply = child.run("test", {"package": "torch"})
    assert reply.document == b"\0\n\xff" * 1_000_000
    assert reply.facts == {"package": "torch"}


def test_children_that_hang_are_stopped(frontend):
    frontend("hang")
    with pytest.raises(latpred.ModelFileError, match=r"'m\.pt' with json took more than 8 s and was stopped"):
        child.run("test", {"path": "m.pt"}, timeout_s=8)


def test_children_that_die_are_told_with_their_last_words(frontend):
    frontend("die")
    with pytest.raises(latpred.ModelFileError, match=r"ended its process with status 3 \(the last words\)"):
        child.run("test", {"path": "m.pt"})


def test_missing_packages_name_the_extra(frontend):
    frontend("shout", package="no_such_package")
    with pytest.raises(latpred.MissingDependencyError, match=r'pip install "latpred\[torch\]"'):
        child.run("test", {})

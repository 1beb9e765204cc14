"""Networks that run: the table of runtimes, LibTorch's plain nets and PyTorch modules."""

import dataclasses
import sys

import pytest
from example_networks import RESNET50
from latpred import _core, workloads
from latpred.errors import InvalidArgumentError, MissingDependencyError, ProfilerError
from latpred.workloads import RUNTIMES, open_workload

SMALL, LARGE = "fnn:16-16", "fnn:1024-1024-1024"  # 256 and 2 million weights


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"runtime": "egaer"}, "unknown runtime 'egaer'; did you mean 'eager'"),
        ({"device": "tpu"}, "unknown device for runtime 'libtorch' 'tpu'"),
        ({"runtime": 5}, "runtime must be text, got 5"),
        ({"device": 5}, "device must be text, got 5"),
        ({"precision": 5}, "precision for runtime 'libtorch' must be text, got 5"),
        ({"precision": "int8"}, "unknown precision for runtime 'libtorch' 'int8'"),
        ({"batch": 0}, "batch must be an integer >= 1, got 0"),
        ({"threads": True}, "threads must be an integer >= 1, got True"),
        ({"source": 3}, "a workload is opened from a recipe"),
        ({"source": "nothing.onnx"}, "there is no file 'nothing.onnx'"),
        ({"source": "anb:mbconv"}, "recipe 'anb:mbconv'"),
        ({"source": "anb:mbconv", "runtime": "eager"}, "no PyTorch module is built from kind 'anb'; valid: fnn, cnn"),
    ],
)
@pytest.mark.torch
def test_wrong_arguments_are_refused(changed, message):
    arguments = {"source": SMALL, "runtime": "libtorch", **changed}
    if arguments["source"] == "nothing.onnx":
        pytest.importorskip("onnxruntime")
        arguments["runtime"] = "onnxruntime"
    with pytest.raises(InvalidArgumentError, match=message.replace("(", r"\(")):
        open_workload(arguments.pop("source"), **arguments)


@pytest.mark.torch
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_files_that_no_runtime_runs_are_no_bad_recipes(runtime, tmp_path):
    missing, exported = tmp_path / "net.onnx", tmp_path / "net.pt2"
    exported.touch()
    for path, words in ((missing, "there is no file"), (exported, "only .onnx files are run")):
        for source in (path, str(path)):
            with pytest.raises(InvalidArgumentError, match=words) as caught:
                open_workload(source, runtime=runtime)
            assert str(path) in str(caught.value)
            assert caught.value.path == str(path)


@pytest.mark.torch
@pytest.mark.parametrize("runtime", ["eager", "compiled", "libtorch"])
def test_runtimes_without_files_name_those_that_run_them(runtime):
    with pytest.raises(InvalidArgumentError, match=r"is an ONNX file: .* name runtime 'openvino' or 'onnxruntime'"):
        open_workload(str(RESNET50), runtime=runtime)


@pytest.mark.torch
@pytest.mark.parametrize("runtime", RUNTIMES)
def test_a_recipe_says_its_sizes_to_every_runtime(runtime):
    if runtime in ("openvino", "onnxruntime"):
        pytest.importorskip(runtime)
        pytest.importorskip("onnx")
    for recipe, sizes in ((SMALL, "32"), ("cnn:3-8?size=8", "3,16,16"), ("cnn:3-8?size=8", (3, 8, 8))):
        with pytest.raises(InvalidArgumentError) as caught:
            open_workload(recipe, runtime=runtime, input=sizes)
        assert str(caught.value) == f"recipe '{recipe}' says all sizes; leave input= out"


def test_every_kind_of_recipe_is_known():
    assert {"fnn", "cnn", "timm", "hf", "op", "vit"} <= set(workloads.sources.kinds())
    assert len(set(workloads.sources.kinds())) == len(workloads.sources.kinds())


def test_rows_may_be_added(monkeypatch):
    row = dataclasses.replace(workloads.RUNTIMES["eager"], opens="test_workloads:Loop", devices=("cpu",))
    monkeypatch.setitem(workloads.RUNTIMES, "loop", row)
    with open_workload(1000, runtime="loop") as workload:
        measured = workload.measure("khan")
        assert measured.latency_s > 0
        assert measured.versions == [("loop", "1")]
        assert workload.kernels() is None
        assert workload.memory() is None


class Loop(workloads.Workload):
    versions = [("loop", "1")]  # noqa: RUF012

    def run_once(self):
        sum(range(self.setting.source))

    def graph(self):
        raise NotImplementedError


def test_missing_packages_name_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "openvino", None)
    with pytest.raises(MissingDependencyError, match=r'pip install "latpred\[openvino\]"'):
        open_workload(SMALL, runtime="openvino")


@pytest.fixture(scope="module")
def meter():
    from latpred._torch import predictors_module

    return predictors_module().PlainNetMeter(64 << 20)


@pytest.mark.torch
class TestPlainNets:
    def test_a_list_is_measured_in_one_call(self, meter):
        from latpred.workloads.plain_nets import measure_plain_nets

        found = measure_plain_nets([SMALL, LARGE, "cnn:3-32-32?size=16"], protocol="khan", meter=meter)
        assert [len(measurement.samples) for measurement in found] == [5, 5, 5]
        assert found[1].latency_s > 3 * found[0].latency_s
        assert all(measurement.first_run.wall_s > 0 for measurement in found)
        assert "khan" in found[0].protocol
        assert [library for library, _ in found[0].versions] == ["torch"]

    def test_a_net_is_a_workload(self, meter, monkeypatch):
        from latpred.workloads import plain_nets

        monkeypatch.setattr(plain_nets, "shared_meter", lambda: meter)
        with open_workload(SMALL, runtime="libtorch", batch=2) as workload:
            assert workload.measure("khan").latency_s > 0
            workload.run_many(3)
            assert workload.graph().macs == 2 * 256
            assert workload.kernels() is None

    def test_other_recipes_and_sizes_are_refused(self, meter):
        from latpred.workloads.plain_nets import measure_plain_nets

        with pytest.raises(InvalidArgumentError, match="runtime 'libtorch' runs feed-forward nets"):
            measure_plain_nets(["op:relu?h=1"], meter=meter)
        with pytest.raises(InvalidArgumentError, match="says all sizes; leave input= out"):
            open_workload(SMALL, runtime="libtorch", input="3")
        with pytest.raises(InvalidArgumentError, match="ask for a larger pool"):
            measure_plain_nets(["fnn:16384-16384"], meter=meter)


@pytest.mark.torch
class TestModules:
    def test_a_recipe_runs_as_a_module_of_the_same_work(self):
        with open_workload("cnn:3-8-8?size=8", runtime="eager", batch=2) as workload:
            measured = workload.measure("khan")
            assert measured.latency_s > 0
            assert measured.versions[0][0] == "torch"
            assert workload.graph().macs == 2 * 64 * 9 * (24 + 64)

    def test_a_module_is_as_it_was_before(self):
        import torch

        module = torch.nn.Sequential(torch.nn.Linear(8, 4), torch.nn.Dropout(), torch.nn.BatchNorm1d(4))
        module[2].eval()
        threads = torch.get_num_threads()
        seen = []
        module.register_forward_hook(
            lambda *_: seen.append((module.training, torch.is_inference_mode_enabled(), torch.get_num_threads()))
        )
        with open_workload(module, runtime="eager", batch=3, input=(8,)) as workload:
            workload.run_many(2)
        assert seen == [(False, True, 1)] * 2
        assert [part.training for part in module] == [True, True, False]
        assert torch.get_num_threads() == threads

    def test_precisions_are_those_of_the_tensors(self):
        import torch

        seen = []
        module = torch.nn.Linear(8, 4)

        class Looking(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = module

            def forward(self, x):
                y = self.inner(x)
                seen.append((x.dtype, y.dtype))
                return y

        for precision, expected in (("fp32", (torch.float32, torch.float32)),
                                    ("bf16", (torch.bfloat16, torch.bfloat16)),
                                    ("amp", (torch.float32, torch.bfloat16))):  # fmt: skip
            with open_workload(Looking(), runtime="eager", input=(8,), precision=precision) as workload:
                workload.run_many(1)
            assert seen.pop() == expected
        assert module.weight.dtype == torch.float32

    def test_integer_inputs_are_tokens_that_every_table_has(self):
        import torch

        seen = []
        module = torch.nn.Sequential(torch.nn.Embedding(2, 4))
        module.register_forward_pre_hook(lambda _, arguments: seen.extend(arguments))
        with open_workload(module, runtime="eager", batch=3, input="16:int64") as workload:
            workload.run_many(1)
        (tokens,) = seen
        assert tokens.dtype == torch.int64
        assert tokens.tolist() == [[1] * 16] * 3

    def test_memory_of_a_fresh_process_holds_the_weights(self):
        with open_workload("fnn:2048-2048-2048", runtime="eager") as workload:
            found = workload.memory()
        weights = 4 * 2 * 2048 * 2048
        assert weights < found.built_bytes < 3 * weights + (32 << 20)
        assert found.build_peak_bytes >= found.built_bytes
        assert found.run_peak_bytes >= found.built_bytes - (1 << 20)
        assert float(found) == found.run_peak_bytes

    def test_a_live_module_has_no_fresh_process(self):
        import torch

        with (
            open_workload(torch.nn.Linear(2, 2), runtime="eager", input=(2,)) as workload,
            pytest.raises(ProfilerError, match="cannot be handed a live module"),
        ):
            workload.memory()

    def test_a_gpu_that_is_not_there_is_said(self):
        import torch

        if torch.cuda.is_available():
            pytest.skip("there is one")
        with pytest.raises(ProfilerError, match="torch finds no GPU"):
            open_workload(SMALL, runtime="eager", device="cuda")

    @pytest.mark.slow
    @pytest.mark.filterwarnings("ignore::DeprecationWarning")  # inside of torch's compiler
    def test_compiled_runs_are_measured_after_compilation(self):
        with open_workload("fnn:64-64-64", runtime="compiled") as workload:
            measured = workload.measure("khan")
        assert measured.first_run.wall_s < 1  # compiling takes seconds


def test_the_protocol_learns_the_threads():
    protocol = _core.protocol("khan")
    assert workloads.workload.protocol_of(protocol, workloads.workload.Setting(None, threads=3)).threads == 3
    assert protocol.threads == 1, "the caller's own is not changed"


def test_a_gpu_is_timed_by_the_wall_clock():
    chosen = workloads.workload.protocol_of("khan", workloads.workload.Setting(None, device="cuda:1"))
    assert chosen.label == "wall"


@pytest.mark.parametrize("batch", [1, 4])
def test_a_module_that_takes_its_steps_first_runs_as_it_is_predicted(batch):
    nn = pytest.importorskip("torch").nn
    module, seen = nn.Sequential(nn.GRU(8, 16)), []
    module.register_forward_pre_hook(lambda _module, arguments: seen.append(tuple(arguments[0].shape)))
    with open_workload(module, runtime="eager", input="20,8", batch=batch) as opened:
        opened.run_once()
        assert seen[-1] == opened.graph().inputs[0].shape == (20, batch, 8)

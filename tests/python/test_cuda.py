"""GPUs as measuring instruments: against a fake driver everywhere, against the real one where there is a GPU."""

from __future__ import annotations

import gc
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from fake_gpu import build
from latpred import _core, gpu
from latpred.errors import InvalidArgumentError, ProfilerError
from latpred.profiling import make_protocol

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fake_gpu import FakeGpu

NOTHING = _core.CudaLibraries("libnothing-of-this-name.so.1", "libnothing-of-this-name.so.1")
KERNELS = 10
KERNEL_S = 1e-6


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> FakeGpu:
    return build(tmp_path_factory.mktemp("fake_driver"))


@pytest.fixture
def fake(library: FakeGpu) -> Iterator[FakeGpu]:
    gc.collect()  # a caught error keeps the handles of its test alive
    library.reset()
    yield library
    gc.collect()
    assert library.misuses == 0


def test_no_driver_is_known_in_under_a_millisecond() -> None:
    """The first question of a process, which nothing has warmed up. CPU time: somebody else may take the core away."""
    program = (
        "import time; from latpred import _core; nothing = _core.CudaLibraries('libnothing-of-this-name.so.1'); "
        "start = time.thread_time(); _core.cuda_unavailable_reason(nothing); print(time.thread_time() - start)"
    )
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert float(answer.stdout) < 1e-3


def test_no_driver_is_one_sentence() -> None:
    reason = _core.cuda_unavailable_reason(NOTHING)
    assert reason.startswith("NVIDIA's CUDA driver was not found (libnothing-of-this-name.so.1: ")
    assert reason.endswith("without one latpred predicts GPUs but measures the CPU only")
    assert "\n" not in reason
    with pytest.raises(ProfilerError, match="CUDA driver was not found"):
        _core.Gpu(0, NOTHING)
    with pytest.raises(ProfilerError, match="CUDA driver was not found"):
        _core.gpu_facts(NOTHING)


def test_facts_and_state(fake: FakeGpu) -> None:
    assert _core.cuda_unavailable_reason(fake.libraries) == ""
    [facts] = _core.gpu_facts(fake.libraries)
    assert (facts.name, facts.compute_capability, facts.sms) == ("NVIDIA Fake H200", 90, 132)
    assert facts.uuid == "GPU-00102030-4050-6070-8090-a0b0c0d0e0f0"
    assert (facts.l2_bytes, facts.power_limit_w, facts.driver_version) == (60 << 20, 700.0, "580.95.05")
    gpu = _core.Gpu(0, fake.libraries)
    assert gpu.facts.fingerprint == facts.fingerprint
    assert (gpu.state().power_w, gpu.state().is_throttled, gpu.state().nvml_missing) == (300.0, False, "")
    assert gpu.memory().context_bytes == 500 << 20
    assert gpu.memory().process_bytes is None


def test_errors_are_latpreds(fake: FakeGpu) -> None:
    with pytest.raises(InvalidArgumentError, match="there is no GPU 7") as caught:
        _core.Gpu(7, fake.libraries)
    assert caught.value.valid == ("0",)
    gpu = _core.Gpu(0, fake.libraries)
    fake.fail("cuEventRecord", 700)
    with pytest.raises(ProfilerError, match=r"cuEventRecord failed with CUDA_ERROR_ILLEGAL_ADDRESS \(700\)"):
        _core.measure(lambda: None, _core.Protocol(), _core.CudaClock(gpu))


def test_clock_measures_what_runs_on_a_stream(fake: FakeGpu) -> None:
    gpu = _core.Gpu(0, fake.libraries)
    stream = fake.make_stream()

    def run() -> None:
        for _ in range(KERNELS):
            fake.enqueue(stream, KERNEL_S)

    gaps = _core.measure(run, make_protocol(), _core.CudaClock(gpu, stream))
    clock = _core.CudaClock(gpu, stream, block_stream=True, flush_l2=True)
    blocked = _core.measure(run, make_protocol(), clock)
    assert blocked.latency_s == pytest.approx(KERNELS * KERNEL_S, rel=1e-3)
    assert gaps.latency_s > 3 * blocked.latency_s
    assert blocked.device_fingerprint == gpu.facts.fingerprint
    assert blocked.clock == "CUDA events, stream blocked until all was queued, L2 flushed"
    assert (clock.block_timeouts, clock.throttle_reasons) == (0, [])


def test_measure_on_gpu_takes_a_stream_and_says_what_it_did(fake: FakeGpu) -> None:
    opened = gpu.Gpu(0, fake.libraries)
    stream = fake.make_stream()
    measured = gpu.measure_on_gpu(
        lambda: fake.enqueue(stream, 5 * KERNEL_S), opened, stream=stream, protocol="dippm", flush_l2=True
    )
    assert measured.latency_s == pytest.approx(5 * KERNEL_S, rel=1e-3)
    assert measured.protocol.startswith("dippm: 5 warm-up, 30 samples")
    assert measured.clock.endswith("L2 flushed")
    assert gpu.measure_on_gpu(lambda: None, opened).latency_s >= 0


def test_error_of_the_workload_passes_through(fake: FakeGpu) -> None:
    def fail() -> None:
        raise ZeroDivisionError("of the workload")

    gpu = _core.Gpu(0, fake.libraries)
    stream = fake.make_stream()
    with pytest.raises(ZeroDivisionError, match="of the workload"):
        _core.measure(fail, make_protocol(), _core.CudaClock(gpu, stream, block_stream=True))
    with pytest.raises(ZeroDivisionError, match="of the workload"):
        _core.CudaGraph(gpu, stream, fail)
    with pytest.raises(ZeroDivisionError, match="of the workload"):
        gpu.measure_energy(fail, stream)


def test_graph_and_partitions(fake: FakeGpu) -> None:
    gpu = _core.Gpu(0, fake.libraries)
    [part] = gpu.partitions(24)
    assert (part.sms, gpu.partition_sizes()[:3], gpu.partition_sizes()[-1]) == (24, [8, 16, 24], 132)
    graph = _core.CudaGraph(gpu, part.stream, lambda: fake.enqueue(part.stream, 3 * KERNEL_S))
    assert graph.nodes == 1
    clock = _core.CudaClock(gpu, part.stream, block_stream=True)
    measured = _core.measure(lambda: graph.launch(part.stream), make_protocol(), clock)
    assert measured.latency_s == pytest.approx(3 * KERNEL_S, rel=1e-3)
    with pytest.raises(InvalidArgumentError, match="a partition of 20 of 132 SMs cannot be made"):
        gpu.partitions(20)


def test_energy_refuses_short_windows_and_missing_sensors(fake: FakeGpu) -> None:
    gpu = _core.Gpu(0, fake.libraries)
    with pytest.raises(InvalidArgumentError, match="must be >= 2, got 1"):
        gpu.measure_energy(lambda: None, min_s=1)
    fake.fail("nvmlDeviceGetTotalEnergyConsumption", 3)
    fake.fail("nvmlDeviceGetPowerUsage", 3)
    with pytest.raises(ProfilerError, match="the board has no energy counter, and its power sensor"):
        gpu.measure_energy(lambda: None, warm_up_s=0)


# From here on: a real GPU, and PyTorch's work on it.


@pytest.fixture(scope="module")
def real() -> tuple[Any, Any]:
    """An open GPU, and torch with CUDA."""
    reason = _core.cuda_unavailable_reason()
    if reason:
        pytest.skip(reason)
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch is built without CUDA")
    return _core.Gpu(0), torch


def products(torch: Any, size: int = 2048) -> Any:
    left, right = (torch.randn(size, size, device="cuda") for _ in range(2))
    return lambda: left @ right


def test_real_clock_agrees_with_torchs_events(real: tuple[Any, Any]) -> None:
    gpu, torch = real
    run = products(torch)
    measured = _core.measure(run, make_protocol(warm_up=20), _core.CudaClock(gpu))
    times = []
    for _ in range(50):
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end) * 1e-3)
    assert measured.latency_s == pytest.approx(sorted(times)[len(times) // 2], rel=0.1)


def test_real_stream_blocking_takes_the_gaps_away(real: tuple[Any, Any]) -> None:
    gpu, torch = real
    small = torch.randn(64, 64, device="cuda")

    def run() -> None:
        for _ in range(50):
            small.add_(1)

    gaps = _core.measure(run, make_protocol(warm_up=20), _core.CudaClock(gpu))
    clock = _core.CudaClock(gpu, block_stream=True)
    blocked = _core.measure(run, make_protocol(warm_up=20), clock)
    assert clock.block_timeouts == 0
    assert blocked.latency_s <= gaps.latency_s


def test_real_workload_that_synchronises_is_not_stuck(real: tuple[Any, Any]) -> None:
    gpu, torch = real
    clock = _core.CudaClock(gpu, block_stream=True, block_timeout_s=0.05)
    _core.measure(torch.cuda.synchronize, make_protocol(), clock)
    assert clock.block_timeouts == 2


def test_real_partition_is_slower_and_torch_runs_on_it(real: tuple[Any, Any]) -> None:
    gpu, torch = real
    sizes = gpu.partition_sizes()
    assert sizes[-1] == torch.cuda.get_device_properties(0).multi_processor_count
    run = products(torch, 4096)
    whole = _core.measure(run, make_protocol(warm_up=5), _core.CudaClock(gpu)).latency_s
    [part] = gpu.partitions(sizes[0])
    with torch.cuda.stream(torch.cuda.ExternalStream(part.stream)):
        run()
        few = _core.measure(run, make_protocol(warm_up=5), _core.CudaClock(gpu, part.stream)).latency_s
    torch.cuda.synchronize()
    # A product of matrices is bound by arithmetic: an eighth of the multiprocessors takes some eight times as long.
    assert few > whole * sizes[-1] / sizes[0] / 3


def test_real_energy_is_between_idle_and_limit(real: tuple[Any, Any]) -> None:
    gpu, torch = real
    window = gpu.measure_energy(products(torch, 8192))
    assert window.window_s >= 2
    assert 20 < window.mean_power_w <= 1.1 * gpu.facts.power_limit_w


def test_real_flush_makes_a_cached_copy_slower(real: tuple[Any, Any]) -> None:
    gpu, torch = real
    values = torch.randn(gpu.facts.l2_bytes // 16, device="cuda")
    protocol = make_protocol(warm_up=20)
    warm = _core.measure(values.sum, protocol, _core.CudaClock(gpu, block_stream=True)).latency_s
    cold = _core.measure(values.sum, protocol, _core.CudaClock(gpu, block_stream=True, flush_l2=True)).latency_s
    assert cold > warm

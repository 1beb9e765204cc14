"""Measures one setting: latency by the host's clock and by the GPU's, memory, energy, kernels."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import torch
from latpred import _core
from latpred.datasets.rows import Row
from latpred.errors import LatpredError, ProfilerError
from latpred.profiling import make_protocol
from latpred.workloads import sources
from latpred.workloads.workload import Setting as WorkloadSetting

from gpu_campaign.journal import Result
from gpu_campaign.settings import Part, Setting, network_of

if TYPE_CHECKING:
    from latpred._core import Gpu, Measurement

SOURCE = "gpu_campaign"
LICENCE = "Apache-2.0"
CPU = "cpu"
_SEED = 0
# Clocks of an idle GPU are low: some calls and a fifth of a second bring them up.
_WARM_UP = {"warm_up": 5, "warm_up_s": 0.2, "min_samples": 10, "max_samples": 200, "timeout_s": 3.0, "label": "wall"}
_SMOKE = {"warm_up": 1, "min_samples": 2, "max_samples": 3, "timeout_s": 1.0, "label": "wall", "max_repetitions": 1}
_AUTOCAST = {"cuda": torch.float16, CPU: torch.bfloat16}


def one_line(error: BaseException) -> str:
    """Kind and first line."""
    first, _, _ = str(error).partition("\n")
    return f"{type(error).__name__}: {first}"


class Bench:
    """The device, its instruments and what rows say of them."""

    def __init__(self, device: str, is_smoke: bool) -> None:
        self.device, self.is_smoke = device, is_smoke
        self.gpu: Gpu | None = None if device == CPU else _core.Gpu(0)
        if self.gpu is not None and not torch.cuda.is_available():
            raise ProfilerError(f"torch {torch.__version__} finds no GPU: install a build of it with CUDA")
        self.name = CPU if self.gpu is None else self.gpu.facts.name
        self.fingerprint = _core.host_facts().fingerprint if self.gpu is None else self.gpu.facts.fingerprint
        version = f" CUDA {torch.version.cuda}" if self.gpu else ""
        self.runtime_version = f"torch {torch.__version__}{version}"
        self.protocol = make_protocol("default", **(_SMOKE if is_smoke else _WARM_UP))
        with contextlib.suppress(LatpredError):  # a GPU that the table has not: its own name
            self.name = _core.device(self.name).name

    def synchronize(self) -> None:
        if self.gpu is not None:
            torch.cuda.synchronize()

    def is_alive(self) -> bool:
        """False where a kernel broke the context: nothing runs in this process any more."""
        try:
            self.synchronize()
        except RuntimeError:
            return False
        return True

    def measure(self, part: Part, setting: Setting) -> Result:
        """Never raises for what a setting does: a failure is a result too."""
        try:
            with torch.inference_mode(), precision(setting.precision, self.device), self._part_of_gpu(setting) as where:
                return self._measured(part, setting, where)
        except (LatpredError, RuntimeError) as error:  # torch's out of memory among them
            return Result(setting.key, error=one_line(error))
        finally:
            gc.collect()
            if self.gpu is not None and self.is_alive():
                torch.cuda.empty_cache()

    @contextlib.contextmanager
    def _part_of_gpu(self, setting: Setting) -> Iterator[tuple[int, int | None]]:
        """Handle of the stream that the work runs on, and the multiprocessors that it has."""
        if setting.share is None:
            yield 0, None
            return
        if self.gpu is None:
            raise LatpredError("only a GPU has parts")
        wanted = setting.share * self.gpu.facts.sms
        sms = min(self.gpu.partition_sizes(), key=lambda size: abs(size - wanted))
        [part] = self.gpu.partitions(sms)
        try:
            with torch.cuda.stream(torch.cuda.ExternalStream(part.stream)):
                yield part.stream, sms
        finally:
            torch.cuda.synchronize()

    def _measured(self, part: Part, setting: Setting, where: tuple[int, int | None]) -> Result:
        stream, sms = where
        if self.gpu is not None:
            torch.cuda.reset_peak_memory_stats()
        call = self.call_of(setting)
        partition = "" if sms is None else f"{sms}sm"

        def run() -> None:
            call()
            self.synchronize()

        measured = _core.measure(run, self.protocol, _core.HostClock())
        rows = [self._row(setting, "latency_s", measured, partition)]
        if self.gpu is not None:
            clock = _core.CudaClock(self.gpu, stream, block_stream=True)
            rows.append(self._row(setting, "device_latency_s", _core.measure(call, self.protocol, clock), partition))
            rows += self._memory(setting, partition)
            if part.has_energy:
                rows.append(self._energy(setting, call, stream))
        kernels = self._kernels(run) if part.has_kernels else ()
        return Result(setting.key, tuple(rows), kernels=kernels, state=self._state())

    def call_of(self, setting: Setting) -> Callable[[], Any]:
        """The network on the device with its input, ready to be called."""
        torch.manual_seed(_SEED)
        network = network_of(setting.recipe)
        with torch.device(self.device):  # weights are drawn there: a large net takes seconds on the host
            if network is None:
                module, sizes = sources.module_of(WorkloadSetting(setting.recipe))
                inputs = torch.randn(setting.batch, *sizes)
            else:
                module = network.build()
                inputs = network.make_input(setting.batch, self.device)
        module.eval()
        if setting.runtime == "compiled":
            module = torch.compile(module)
        return lambda: module(inputs)

    def _row(self, setting: Setting, quantity: str, measured: Measurement, partition: str = "") -> Row:
        noise = measured.statistics.coefficient_of_variation
        protocol = f"{measured.protocol}; {measured.clock}"
        return self.row(setting, quantity, measured.latency_s, protocol, partition, noise, len(measured.samples))

    def row(
        self,
        setting: Setting,
        quantity: str,
        value: float,
        protocol: str,
        partition: str = "",
        noise: float | None = None,
        samples: int | None = None,
    ) -> Row:
        """A row of the data set."""
        network = network_of(setting.recipe)
        return Row(
            recipe=setting.recipe,
            family=network.family if network else setting.recipe.partition(":")[0],
            batch=setting.batch,
            input=network.input_text if network else "",
            device=self.name,
            runtime=setting.runtime,
            runtime_version=self.runtime_version,
            precision=setting.precision,
            value=value,
            source=SOURCE,
            licence=LICENCE,
            protocol=protocol,
            quantity=quantity,
            device_fingerprint=self.fingerprint,
            partition=partition,
            noise=noise,
            samples=samples,
        )

    def _memory(self, setting: Setting, partition: str) -> list[Row]:
        """Parts and, where the driver told what the context takes, the whole process."""
        assert self.gpu is not None
        allocated, reserved = torch.cuda.max_memory_allocated(), torch.cuda.max_memory_reserved()
        found = {"memory_allocated_bytes": allocated, "memory_reserved_bytes": reserved}
        context = self.gpu.memory().context_bytes
        if context is not None:
            found |= {"memory_context_bytes": context, "memory_bytes": context + reserved}
        protocol = "peak of PyTorch's allocator while it was measured; context when it was opened"
        return [self.row(setting, name, float(value), protocol, partition) for name, value in found.items()]

    def _energy(self, setting: Setting, call: Callable[[], Any], stream: int) -> Row:
        assert self.gpu is not None
        window = self.gpu.measure_energy(call, stream)
        words = [f"{window.source}, {window.window_s:.2f} s, {window.runs} runs, {window.mean_power_w:.0f} W"]
        words += [f"{window.start_celsius:.0f} C" if window.start_celsius else "", window.note]
        words += [f"throttled: {reason}" for reason in window.throttle_reasons]
        protocol = ", ".join(word for word in words if word)
        return self.row(setting, "energy_j", window.energy_per_run_j, protocol, samples=window.runs)

    def _kernels(self, run: Callable[[], None]) -> tuple[dict[str, Any], ...]:
        """Every kernel of one call in order; on a processor every operator."""
        from torch.profiler import ProfilerActivity, profile

        activity = ProfilerActivity.CPU if self.gpu is None else ProfilerActivity.CUDA
        with profile(activities=[activity], acc_events=True) as profiler:
            run()
        kinds = torch.autograd.DeviceType
        wanted = kinds.CPU if self.gpu is None else kinds.CUDA  # without the host's launches
        events = [event for event in profiler.events() if event.device_type == wanted]
        events.sort(key=lambda event: event.time_range.start)
        return tuple({"name": event.name, "latency_s": event.time_range.elapsed_us() * 1e-6} for event in events)

    def _state(self) -> dict[str, Any]:
        if self.gpu is None:
            return {}
        state = self.gpu.state()
        names = ("sm_clock_hz", "temperature_celsius", "power_w", "clock_reasons", "is_throttled")
        return {name: getattr(state, name) for name in names}


@contextlib.contextmanager
def precision(name: str, device: str) -> Iterator[None]:
    """fp32 without TF32, tf32 with it in products and convolutions, amp: autocast over PyTorch's defaults."""
    flags = torch.backends
    before = flags.cuda.matmul.allow_tf32, flags.cudnn.allow_tf32
    if name != "amp":
        flags.cuda.matmul.allow_tf32 = flags.cudnn.allow_tf32 = name == "tf32"
    try:
        with torch.autocast(device, _AUTOCAST[device], enabled=name == "amp"):
            yield
    finally:
        flags.cuda.matmul.allow_tf32, flags.cudnn.allow_tf32 = before

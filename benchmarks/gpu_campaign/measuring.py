"""Measures one setting: latency by the host's clock and by the GPU's, memory, energy, kernels."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeAlias

import torch
from latpred import _core
from latpred.datasets import huggingface, timm
from latpred.datasets.recipe import parse
from latpred.datasets.rows import Row
from latpred.errors import LatpredError, ProfilerError
from latpred.profiling import make_protocol
from latpred.workloads import sources
from latpred.workloads.workload import Setting as WorkloadSetting

from gpu_campaign.journal import Result
from gpu_campaign.settings import Part, Setting, network_of

if TYPE_CHECKING:
    from latpred._core import Gpu, Measurement

# A module, and what makes its input at a batch.
Built: TypeAlias = tuple[Any, Callable[[int], torch.Tensor]]

SOURCE = "gpu_campaign"
LICENCE = "Apache-2.0"
CPU = "cpu"
_SEED = 0
# Clocks of an idle GPU are low: a part keeps it busy between settings, so that these bring them up.
_WARM_UP = {
    "warm_up": 3, "warm_up_s": 0.1, "min_samples": 10, "max_samples": 50, "timeout_s": 1.2, "max_repetitions": 1,
    "label": "wall",
}  # fmt: skip
# Of what the device's own clock shows, right after.
_AGAIN = {"warm_up": 1, "warm_up_s": 0.0, "max_samples": 20, "timeout_s": 0.75}
_SMOKE = {"warm_up": 1, "min_samples": 2, "max_samples": 3, "timeout_s": 1.0, "label": "wall", "max_repetitions": 1}
_AUTOCAST = {"cuda": torch.float16, CPU: torch.bfloat16}
_HALVES = {"fp16": torch.float16, "bf16": torch.bfloat16}
# Of (products, convolutions) whether TF32 is used; others are as PyTorch's defaults.
_TF32 = {"fp32": (False, False), "tf32": (True, True)}
_TF32_BY_DEFAULT = (False, True)
_WORDS = 1000  # below every vocabulary


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
        version, _, _ = torch.__version__.partition("+")  # as other tables say it
        self.runtime_version = f"torch {version} cuda {torch.version.cuda}" if self.gpu else f"torch {version}"
        self.protocol = make_protocol("default", **(_SMOKE if is_smoke else _WARM_UP))
        self.second_protocol = self.protocol if is_smoke else make_protocol(self.protocol, **_AGAIN)
        self._built: tuple[tuple[str, str, str], Built] | None = None
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
        call = self.call_of(setting)
        if self.gpu is not None:  # what the network before held does not count
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        partition = "" if sms is None else f"{sms}sm"

        def run() -> None:
            call()
            self.synchronize()

        measured = _core.measure(run, self.protocol, _core.HostClock())
        rows = [self._row(setting, "latency_s", measured, partition)]
        if self.gpu is not None:
            clock = _core.CudaClock(self.gpu, stream, block_stream=True)
            rows.append(
                self._row(setting, "device_latency_s", _core.measure(call, self.second_protocol, clock), partition)
            )
            rows += self._memory(setting, partition)
            if part.has_energy:
                rows.append(self._energy(setting, call, stream))
        kernels = self._kernels(run) if part.has_kernels else ()
        return Result(setting.key, tuple(rows), kernels=kernels, state=self._state())

    def call_of(self, setting: Setting) -> Callable[[], Any]:
        """The network on the device with its input, ready to be called."""
        module, make_inputs = self._module_of(setting)
        inputs = make_inputs(setting.batch)
        if setting.precision in _HALVES and inputs.is_floating_point():
            inputs = inputs.to(_HALVES[setting.precision])
        return lambda: module(inputs)

    def _module_of(self, setting: Setting) -> Built:
        """The last one again where it is the same: batches of a network follow each other."""
        key = setting.recipe, setting.runtime, setting.precision if setting.precision in _HALVES else ""
        if self._built is None or self._built[0] != key:
            self._built = None  # its memory
            self._built = key, self._build(setting)
        return self._built[1]

    def _build(self, setting: Setting) -> Built:
        torch.manual_seed(_SEED)
        network = network_of(setting.recipe)
        with torch.device(self.device):  # weights are drawn there: a large net takes seconds on the host
            if network is not None:
                module = network.build()
            elif setting.recipe.startswith("hf:"):
                module, sizes = huggingface.build(parse(setting.recipe), self.device)
            else:
                module, sizes = sources.module_of(WorkloadSetting(setting.recipe))
        module.eval()
        if setting.precision in _HALVES:
            module.to(_HALVES[setting.precision])
        if setting.runtime == "compiled":
            module = torch.compile(module)
        if network is not None:
            return module, lambda batch: network.make_input(batch, self.device)
        if isinstance(sizes, str):
            sizes = tuple(int(size) for size in sizes.split(","))
        if len(sizes) == 1 and setting.recipe.startswith("hf:"):
            return module, lambda batch: torch.randint(0, _WORDS, (batch, *sizes), device=self.device)
        return module, lambda batch: torch.randn(batch, *sizes, device=self.device)

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
        family, sizes = said_of(setting.recipe)
        return Row(
            recipe=setting.recipe,
            family=family,
            batch=setting.batch,
            input=sizes,
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


def said_of(recipe: str) -> tuple[str, str]:
    """The family of a recipe and the sizes of one item, as rows have them."""
    network = network_of(recipe)
    if network is not None:
        return network.family, network.input_text
    parsed = parse(recipe)
    if parsed.kind == "timm":
        name, _, size = parsed.name.partition("@")
        return f"timm-{timm.families()[name]}", f"3,{size},{size}"
    return parsed.name if parsed.kind == "hf" else parsed.kind, ""


@contextlib.contextmanager
def precision(name: str, device: str) -> Iterator[None]:
    """fp32 without TF32, tf32 with it in products and convolutions; amp: autocast over PyTorch's defaults."""
    flags = torch.backends
    before = flags.cuda.matmul.allow_tf32, flags.cudnn.allow_tf32
    flags.cuda.matmul.allow_tf32, flags.cudnn.allow_tf32 = _TF32.get(name, _TF32_BY_DEFAULT)
    try:
        with torch.autocast(device, _AUTOCAST[device], enabled=name == "amp"):
            yield
    finally:
        flags.cuda.matmul.allow_tf32, flags.cudnn.allow_tf32 = before

"""PyTorch modules, as they are and compiled."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import importlib
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.datasets.recipe_builders import build
from latpred.errors import InvalidArgumentError, LatpredError, ProfilerError
from latpred.optional import need
from latpred.workloads import memory, sources
from latpred.workloads.workload import CPU, DEFAULT_PRECISION, MemoryUse, Setting, Workload

if TYPE_CHECKING:
    from latpred._core import Graph

_SEED = 0


@dataclasses.dataclass(frozen=True)
class _Precision:
    """What a name means to PyTorch; None: as it is by itself."""

    dtype: str | None = None  # of weights and inputs
    autocast: dict[str, str] = dataclasses.field(default_factory=dict)  # device type -> type
    tf32: bool | None = None  # in products and convolutions


_PRECISIONS = {
    DEFAULT_PRECISION: _Precision(),
    "fp32": _Precision(tf32=False),
    "tf32": _Precision(tf32=True),
    "amp": _Precision(autocast={"cuda": "float16", CPU: "bfloat16"}),
    "fp16": _Precision(dtype="float16"),
    "bf16": _Precision(dtype="bfloat16"),
}


class ModuleWorkload(Workload):
    """Calls of a module under inference mode, its inputs on the device."""

    runtime = "eager"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._torch = self.imports()
        self._precision = _PRECISIONS[setting.precision]
        self._check_device()
        self._module, given = sources.module_of(setting)
        self._input = _in_place(self._module, given, setting.batch)
        self._was_training = [(part, part.training) for part in self._module.modules()]
        self._module.eval()
        self._running = self._prepared()
        positional, keyword = _arguments(self._torch, self._module, self._input, setting, self._precision.dtype)
        self._call = partial(self._running, *positional, **keyword)
        self._synchronize = self._torch.cuda.synchronize if self._is_cuda else None

    @staticmethod
    def imports() -> Any:
        """PyTorch, after what finds the arguments of a call, which imports more of it."""
        torch = need("torch", "torch", "running PyTorch modules")
        importlib.import_module("latpred.frontends.torch_export")
        return torch

    @property
    def _is_cuda(self) -> bool:
        return self.setting.device != CPU

    @property
    def versions(self) -> list[tuple[str, str]]:
        found = [("torch", str(self._torch.__version__))]
        return [*found, ("CUDA", str(self._torch.version.cuda))] if self._is_cuda else found

    def run_once(self) -> None:
        self._call()
        if self._synchronize is not None:
            self._synchronize()

    def graph(self) -> Graph:
        from latpred.api import load

        return load(model=self._module, batch=self.setting.batch, input=self._input)

    def source_graph(self) -> Graph:
        """Of a recipe that latpred builds itself, what it builds: a traced module has other nodes, and another hash."""
        source = self.setting.source
        if not sources.is_module(source):
            with contextlib.suppress(InvalidArgumentError):  # a kind that MODULES alone builds
                net = _core.GraphBuilder()
                build(net, sources.recipe_of(source))
                return net.build(self.setting.batch)
        return self.graph()

    def memory(self) -> MemoryUse | None:
        if self._is_cuda:
            return None
        if sources.is_module(self.setting.source):
            raise ProfilerError(
                "memory is measured in a fresh process, which cannot be handed a live module; open the workload from a "
                "recipe or a file"
            )
        opens = f"{type(self).__module__}:{type(self).__name__}"
        return memory.of_fresh_process(opens, self.setting)

    def close(self) -> None:
        for part, was_training in self._was_training:
            part.training = was_training
        self._was_training = []
        self._call = self._running = self._module = None  # type: ignore[assignment]

    def _check_device(self) -> None:
        if self._is_cuda and not self._torch.cuda.is_available():
            raise ProfilerError(f"device '{self.setting.device}': torch finds no GPU that it can use here")

    def _prepared(self) -> Any:
        """The module on the device and in the precision: the caller's own where nothing has to change."""
        if not self._is_cuda and self._precision.dtype is None:
            return self._module
        dtype = None if self._precision.dtype is None else getattr(self._torch, self._precision.dtype)
        return copy.deepcopy(self._module).to(self.setting.device, dtype)

    @contextlib.contextmanager
    def _ready(self) -> Iterator[None]:
        torch, flags = self._torch, self._torch.backends
        threads = torch.get_num_threads()
        before = flags.cuda.matmul.allow_tf32, flags.cudnn.allow_tf32
        device_type = self.setting.device.partition(":")[0]
        autocast = self._precision.autocast.get(device_type)
        torch.set_num_threads(self.setting.threads)
        if self._precision.tf32 is not None:
            flags.cuda.matmul.allow_tf32 = flags.cudnn.allow_tf32 = self._precision.tf32
        try:
            with (
                torch.inference_mode(),
                torch.autocast(device_type, getattr(torch, autocast)) if autocast else contextlib.nullcontext(),
            ):
                yield
        finally:
            torch.set_num_threads(threads)
            flags.cuda.matmul.allow_tf32, flags.cudnn.allow_tf32 = before


class CompiledWorkload(ModuleWorkload):
    """The same through torch.compile, which happens when it is opened: no run contains it."""

    runtime = "compiled"

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        with self._ready():
            self.run_once()

    def _prepared(self) -> Any:
        return self._torch.compile(super()._prepared())


def _in_place(module: Any, sizes: Any, batch: int) -> Any:
    """As latpred.load() reads them. What it cannot read runs with its batch first."""
    from latpred.frontends.models import input_in_place

    with contextlib.suppress(LatpredError):
        return input_in_place(module, sizes, batch)
    return sizes


def _arguments(
    torch: Any, module: Any, sizes: Any, setting: Setting, dtype: str | None
) -> tuple[list[Any], dict[str, Any]]:
    """Random numbers, and ones where an input is of integers: a token and a mask that every network takes."""
    from latpred.frontends.arguments import TensorInput
    from latpred.frontends.torch_export import call_arguments

    generator = torch.Generator().manual_seed(_SEED)

    def tensor(value: Any) -> Any:
        if not isinstance(value, TensorInput):
            return value
        wanted = getattr(torch, value.dtype or "float32")
        if not wanted.is_floating_point:
            return torch.ones(value.shape, dtype=wanted, device=setting.device)
        drawn = torch.randn(value.shape, generator=generator)
        return drawn.to(setting.device, getattr(torch, dtype) if dtype and value.dtype is None else wanted)

    arguments = call_arguments(module, sizes, setting.batch)
    return [tensor(value) for value in arguments.positional], {
        name: tensor(value) for name, value in arguments.keyword.items()
    }

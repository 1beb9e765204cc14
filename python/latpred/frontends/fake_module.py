"""A live module as torch's tracers should see it: weights without content, eval mode; afterwards as it was before."""

from __future__ import annotations

import contextlib
import gc
import io
import logging
import warnings
from collections.abc import Iterator
from typing import Any

import torch
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode

from latpred.errors import InvalidArgumentError

# Wrappers that change where a module runs, not what it computes: class name -> attribute of the module inside.
_WRAPPERS = {"OptimizedModule": "_orig_mod", "DataParallel": "module", "DistributedDataParallel": "module"}

# Loggers through which torch prints graphs and stacks when a capture fails.
_TORCH_LOGGERS = ("torch", "torch.export", "torch._export", "torch._dynamo", "torch.fx")


def unwrapped(module: Any) -> Any:
    """The module inside torch.compile's, DataParallel's and DistributedDataParallel's wrappers."""
    while type(module).__name__ in _WRAPPERS:
        module = getattr(module, _WRAPPERS[type(module).__name__])
    return module


def fast_norms(module: Any) -> list[Any]:
    """timm's norms that were made under timm.layers.set_fast_norm: autocast leaves them in half precision."""
    return [submodule for submodule in module.modules() if getattr(submodule, "_fast_norm", False)]


def weight_keys(module: Any) -> dict[str, str]:
    """State-dict name -> what tells tensors apart: names with equal keys share their memory."""
    named = [*module.named_parameters(remove_duplicate=False), *module.named_buffers(remove_duplicate=False)]
    for name, tensor in named:
        if isinstance(tensor, torch.nn.parameter.UninitializedTensorMixin):
            raise InvalidArgumentError(
                f"{type(module).__name__} has lazy parameters without a size ({name}); "
                "call it once on an example, then hand it over"
            )
    return {name: identity_key(tensor) for name, tensor in named}


def identity_key(tensor: Any) -> str:
    try:
        storage = tensor.untyped_storage()._cdata
    except (NotImplementedError, RuntimeError):  # sparse and opaque layouts have no storage
        return f"object {id(tensor)}"
    return f"{storage}+{tensor.storage_offset()} {tuple(tensor.shape)} {tensor.stride()}"


@contextlib.contextmanager
def faked(module: Any, mode: Any) -> Iterator[dict[int, Any]]:
    """Inside, the parameters and buffers of `module` are fakes of `mode` without content and every flag says eval.

    Yields id of a real tensor -> its fake. Afterwards every attribute of every submodule is what it was, whatever
    forward has stored there.
    """
    fakes: dict[int, Any] = {}
    modules = list(module.modules())
    saved = [(part, dict(vars(part)), _containers(part)) for part in modules]
    try:
        for part in modules:
            for group in ("_parameters", "_buffers"):
                tensors = part.__dict__[group]
                for name, tensor in tensors.items():
                    if tensor is not None:
                        tensors[name] = fake(tensor, mode, fakes)
        for part in modules:
            part.__dict__["training"] = False
            for name, value in list(vars(part).items()):
                if name not in _GROUPS:
                    part.__dict__[name] = _fake_attribute(value, mode, fakes)
        yield fakes
    finally:
        for part, attributes, containers in saved:
            part.__dict__.clear()
            part.__dict__.update(attributes)
            for container, content in containers:
                container.clear()
                container.extend(content) if isinstance(container, list) else container.update(content)


_GROUPS = ("_parameters", "_buffers", "_modules")


def _containers(part: Any) -> list[tuple[Any, Any]]:
    """Lists and dictionaries among the attributes, with their content: some modules keep tensors there for later."""
    containers = [value for value in vars(part).values() if isinstance(value, (dict, list, set))]
    return [(container, container.copy()) for container in containers]


def fake(tensor: Any, mode: Any, fakes: dict[int, Any]) -> Any:
    """One fake for each tensor, so that what was tied stays tied."""
    if isinstance(tensor, FakeTensor) and tensor.fake_mode is mode:
        return tensor
    if id(tensor) not in fakes:
        if type(tensor) in (torch.Tensor, torch.nn.Parameter, torch.nn.Buffer) and tensor.layout is torch.strided:
            # What from_tensor does, without the care for views and gradients: nothing here asks for either.
            content = torch.empty_strided(tensor.size(), tensor.stride(), dtype=tensor.dtype, device="meta")
            device = "cpu" if tensor.is_meta else tensor.device
            made = FakeTensor(mode, content, torch.device(device))
            if isinstance(tensor, torch.nn.Parameter):
                made._is_param = True  # what isinstance(made, torch.nn.Parameter) asks for
        else:
            made = mode.from_tensor(tensor, static_shapes=True)
        fakes[id(tensor)] = made
    return fakes[id(tensor)]


def _fake_attribute(value: Any, mode: Any, fakes: dict[int, Any]) -> Any:
    """Weights under a second name (the lists of recurrent layers), and tensors of modules built on meta."""
    if isinstance(value, torch.Tensor):
        return fake(value, mode, fakes) if id(value) in fakes or value.device.type == "meta" else value
    if type(value) in (list, tuple) and any(isinstance(item, torch.Tensor) for item in value):
        return type(value)(_fake_attribute(item, mode, fakes) for item in value)
    return value


@contextlib.contextmanager
def without_cache(module: Any) -> Iterator[None]:
    """Decoders return their key-value cache, which no tracer takes, unless their config says not to."""
    configs = {id(part.config): part.config for part in module.modules() if hasattr(part, "config")}
    switched = [config for config in configs.values() if getattr(config, "use_cache", False) is True]
    for config in switched:
        config.use_cache = False
    try:
        yield
    finally:
        for config in switched:
            config.use_cache = True


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """torch prints whole graphs when it refuses one; its first line is in our message."""
    loggers = [logging.getLogger(name) for name in _TORCH_LOGGERS]
    levels = [logger.level for logger in loggers]
    with (
        contextlib.redirect_stderr(io.StringIO()),
        contextlib.redirect_stdout(io.StringIO()),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        for logger in loggers:
            logger.setLevel(logging.CRITICAL + 1)
        try:
            yield
        finally:
            for logger, level in zip(loggers, levels, strict=True):
                logger.setLevel(level)


@contextlib.contextmanager
def inference(module: Any, mode: Any) -> Iterator[dict[int, Any]]:
    """All of the above, and no gradients: what both ways of capture run forward in."""
    fastpath = torch.backends.mha.get_fastpath_enabled()
    with quiet(), torch.no_grad(), without_cache(module), faked(module, mode) as fakes:
        # The fast path of nn.TransformerEncoder is one opaque call, which export does not take either.
        torch.backends.mha.set_fastpath_enabled(False)
        # A large module makes each collection slow, and a capture allocates enough for dozens: a third of its time.
        collects = gc.isenabled()
        gc.disable()
        try:
            yield fakes
        finally:
            torch.backends.mha.set_fastpath_enabled(fastpath)
            if collects:
                gc.enable()


def fake_mode() -> Any:
    """Real tensors that forward keeps outside of parameters and buffers are taken without copying them."""
    return FakeTensorMode(allow_non_fake_inputs=True)

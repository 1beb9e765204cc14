"""What a source yields: its kind, and a PyTorch module where the kind has one."""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

from latpred.datasets import cnn, fnn, recorded
from latpred.datasets.recipe import Recipe, parse
from latpred.datasets.recipe_builders import BUILDERS
from latpred.errors import InvalidArgumentError
from latpred.optional import need
from latpred.workloads.workload import Setting

ONNX_SUFFIX = ".onnx"


def is_module(source: Any) -> bool:
    """Whether it is a live torch.nn.Module; torch is not imported to find out."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(source, torch.nn.Module)


def onnx_path(source: Any) -> Path | None:
    """The file, where the source is the path of one."""
    if not isinstance(source, (str, os.PathLike)) or not os.fspath(source).endswith(ONNX_SUFFIX):
        return None
    path = Path(source)
    if not path.is_file():
        raise InvalidArgumentError(f"there is no file '{path}'", path=str(path))
    return path


def recipe_of(source: Any, input: Any = None) -> Recipe:
    """The recipe that the source is. Runtimes that run files have looked for an ONNX file before.

    input: what the caller said of sizes, all of which stand in a recipe.
    """
    if isinstance(source, (str, os.PathLike)):
        _refuse_file(os.fspath(source))
    if not isinstance(source, (str, Recipe)):
        raise InvalidArgumentError(
            f"a workload is opened from a recipe ('fnn:16-128-1'), the path of an ONNX file or a torch.nn.Module; got "
            f"{type(source).__name__}"
        )
    if input is not None:
        refuse_sizes(source, "input=")
    return parse(source) if isinstance(source, str) else source


def refuse_sizes(recipe: str | Recipe, said_by: str) -> NoReturn:
    """A recipe is one network: at other sizes it would be stored, and found again, as what it is not."""
    raise InvalidArgumentError(f"recipe '{recipe}' says all sizes; leave {said_by} out")


def kinds() -> list[str]:
    """Of recipes that some runtime of latpred's own runs."""
    return list(dict.fromkeys([*BUILDERS, *recorded.BUILDERS, *MODULES]))


def _refuse_file(source: str) -> None:
    """What is a file, or looks like the name of one, is not told that it is a bad recipe."""
    path = Path(source)
    if path.exists() and path.suffix == ONNX_SUFFIX:
        raise InvalidArgumentError(
            f"'{path}' is an ONNX file: runtimes 'eager', 'compiled' and 'libtorch' run recipes and modules; name "
            "runtime 'openvino' or 'onnxruntime'",
            path=source,
        )
    if path.exists():
        raise InvalidArgumentError(
            f"'{path}': only {ONNX_SUFFIX} files are run; export the network to ONNX, or give a recipe or, from "
            "Python, the torch.nn.Module itself",
            path=source,
        )
    if ":" not in source and (path.suffix or os.sep in source):
        raise InvalidArgumentError(f"there is no file '{path}', and it is no recipe, as fnn:16-128-1", path=source)


def module_of(setting: Setting) -> tuple[Any, Any]:
    """A torch.nn.Module and its input=."""
    if is_module(setting.source):
        return setting.source, setting.input
    recipe = recipe_of(setting.source, setting.input)
    make = MODULES.get(recipe.kind)
    if make is None:
        raise InvalidArgumentError(
            f"recipe '{recipe}': no PyTorch module is built from kind '{recipe.kind}'; valid: {', '.join(MODULES)}, or "
            "a module itself",
            valid=list(MODULES),
        )
    return make(recipe)


def _dense(recipe: Recipe) -> tuple[Any, Any]:
    nn = need("torch.nn", "torch", "running PyTorch modules")
    widths = fnn.widths_of(recipe)
    return _with_relu_between([nn.Linear(*pair) for pair in itertools.pairwise(widths)]), widths[:1]


def _convolutional(recipe: Recipe) -> tuple[Any, Any]:
    nn = need("torch.nn", "torch", "running PyTorch modules")
    channels, size = cnn.sizes_of(recipe)
    layers = [
        nn.Conv2d(*pair, cnn.WINDOW, stride=cnn.STRIDE, padding=cnn.PADDING) for pair in itertools.pairwise(channels)
    ]
    return _with_relu_between(layers), (channels[0], size, size)


def _with_relu_between(layers: list[Any]) -> Any:
    nn = need("torch.nn", "torch", "running PyTorch modules")
    parts = [part for layer in layers for part in (nn.ReLU(inplace=True), layer)]
    return nn.Sequential(*parts[1:])


def _timm(recipe: Recipe) -> tuple[Any, Any]:
    """ "timm:resnet50@224": random weights."""
    timm = need("timm", "architectures", "running networks of timm")
    name, _, size = recipe.name.partition("@")
    module = timm.create_model(name, pretrained=False)
    if not size:
        return module, module.default_cfg["input_size"]
    return module, (module.default_cfg["input_size"][0], int(size), int(size))


# Recipes of modules, by kind.
MODULES: dict[str, Callable[[Recipe], tuple[Any, Any]]] = {
    fnn.KIND: _dense,
    cnn.KIND: _convolutional,
    "timm": _timm,
}

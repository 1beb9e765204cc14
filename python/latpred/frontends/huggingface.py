"""Configs of transformers: the module is built on the meta device, so that no weight is made, downloaded or read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from latpred.errors import ModelFileError
from latpred.frontends.child import Reply, first_line


def capture(request: dict[str, Any]) -> Reply:
    """What the child process runs: request has path (a folder with config.json), batch and input."""
    import transformers

    from latpred.frontends import torch_export

    path = request["path"]
    try:
        config = transformers.AutoConfig.from_pretrained(path, local_files_only=True, trust_remote_code=False)
    except (ValueError, OSError, KeyError) as error:
        raise ModelFileError(
            f"'{path}' holds a config.json that transformers cannot read: {first_line(error)}"
        ) from error
    module = build(config)
    return torch_export.export(module, torch_export.call_arguments(module, request["input"], request["batch"])).reply()


def build(config: Any) -> Any:
    """The module of a config, on meta: the class that the config names, else AutoModel's choice."""
    import torch
    import transformers

    names = [name for name in getattr(config, "architectures", None) or [] if hasattr(transformers, name)]
    make: Callable[[Any], Any]
    if names:
        make = getattr(transformers, names[0])._from_config
    else:
        make = transformers.AutoModel.from_config
    with torch.device("meta"):
        return make(config)

"""Files of torch.save(module), loaded only with allow_pickle=True: loading executes what their author wrote."""

from __future__ import annotations

from typing import Any

import torch

from latpred.errors import ModelFileError
from latpred.frontends import torch_export
from latpred.frontends.child import Reply
from latpred.frontends.fake_module import quiet


def capture(request: dict[str, Any]) -> Reply:
    """What the child process runs: request has path, batch and input."""
    path = request["path"]
    with quiet():
        content = torch.load(path, map_location="meta", weights_only=False)
    module = _module_in(content, path)
    arguments = torch_export.call_arguments(module, request["input"], request["batch"])
    return torch_export.export(module, arguments).reply()


def _module_in(content: Any, path: str) -> Any:
    """The module itself, or the only one in a checkpoint's dictionary."""
    if isinstance(content, torch.nn.Module):
        return content
    values = content if isinstance(content, dict) else {}
    found = [name for name, value in values.items() if isinstance(value, torch.nn.Module)]
    if len(found) == 1:
        return values[found[0]]
    holds = (
        f"{len(found)} modules ({', '.join(map(repr, found))})" if found else f"no module, a {type(content).__name__}"
    )
    raise ModelFileError(f"'{path}' holds {holds}; load it yourself and pass the torch.nn.Module as model=", path=path)

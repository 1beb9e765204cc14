"""What went wrong in a forward that was run on tensors without content: one sentence with cause, place and advice."""

from __future__ import annotations

import os
import re
import sysconfig
import traceback
from typing import Any

import torch
from torch._subclasses.fake_tensor import DataDependentOutputException, DynamicOutputShapeException

from latpred.errors import LatpredError, ModelFileError, ShapeError
from latpred.frontends.arguments import CallArguments
from latpred.frontends.child import clipped, first_line

# Words in torch's messages for control flow or sizes that depend on what is in a tensor.
_DATA_DEPENDENT_WORDS = ("data-dependent", "data dependent", "unbacked", "_local_scalar_dense")

# Words of torch, and of modules that check their inputs, about sizes and types of tensors.
_SIZE_WORDS = re.compile(
    r"\b(sizes?|shapes?|dims?|dimension(s|al|ality)?|\dD|\d-D|channels?|broadcast\w*|dtypes?|scalar types?|"
    r"(input|weight|bias|same) (d?type|type)|values to unpack|out of (range|bounds)|divisible|lengths?)\b",
    re.IGNORECASE,
)
_SIZE_ERRORS = (RuntimeError, ValueError, IndexError, TypeError, AssertionError, NotImplementedError)

_QUANTIZED_WORD = "PackedParams"  # of the class that holds the weights of PyTorch's quantised modules

# Where the code of others than the user lies.
_TORCH = os.path.dirname(torch.__file__) + os.sep
_OWN = os.path.dirname(os.path.dirname(__file__)) + os.sep
_STDLIB = sysconfig.get_path("stdlib") + os.sep
_INSTALLED = ("site-packages" + os.sep, "dist-packages" + os.sep)  # inside of _STDLIB: code of packages

# TorchScript's tracebacks. Of scripts: the innermost line is the last; of traces: the first.
_SCRIPT_WORD = "TorchScript interpreter"
_SCRIPT_LINE = re.compile(r'^ *File "(?P<file>[^"]+)", line (?P<line>\d+)', re.MULTILINE)
_TRACE_LINE = re.compile(r"^(?P<file>[^\s(][^(\n]*)\((?P<line>\d+)\): ", re.MULTILINE)
_SERIALIZED = "code/"  # of the archive itself, in words that TorchScript has made


def capture_error(
    error: Exception, module: Any, arguments: CallArguments, raised: BaseException | None = None
) -> LatpredError:
    """What `error`, from a run of module's forward, says. raised: the exception inside, where TorchScript's interpreter
    has kept its place and lost its words.
    """
    cause = _cause(error if raised is None else raised)
    kinds = (DataDependentOutputException, DynamicOutputShapeException)
    words = f"{error} {raised or ''}".lower()
    if isinstance(raised or error, kinds) or any(word in words for word in _DATA_DEPENDENT_WORDS):
        return content_error(module, cause)
    place, code = _place(error)
    what = f"forward of {name_of(module)} fails on {arguments.describe()}: {cause}{place}"
    if isinstance(raised or error, _SIZE_ERRORS) and (_SIZE_WORDS.search(cause) or _is_check_of_sizes(error, code)):
        return ShapeError(
            f'{what}; check the sizes and types in input=; the batch stands first unless it is named: "20,batch,64", '
            'or there is none: "unbatched,20,20"'
        )
    if _QUANTIZED_WORD in str(raised or error):
        return ModelFileError(f"{what}; quantised modules are not read: hand over the module as it was before")
    return ModelFileError(
        f"{what}; forward runs once in eval mode, on tensors without content: replace what fails there, or hand over "
        "the part of the network without it"
    )


def content_error(module: Any, where: str) -> ModelFileError:
    return ModelFileError(
        f"{name_of(module)} cannot be captured: what it runs depends on the content of its tensors ({where}); "
        "replace that branch, loop or index by one on sizes, or hand over the part of the network without it"
    )


def name_of(module: Any) -> str:
    """Its class; of a TorchScript module the one that it was made from."""
    return str(getattr(module, "original_name", None) or type(module).__name__)


def _cause(error: BaseException) -> str:
    """Kind and first line; of TorchScript's interpreter, whose first line says nothing, the last one."""
    if _SCRIPT_WORD not in str(error):
        return f"{type(error).__name__}: {first_line(error)}"
    return clipped([line for line in str(error).splitlines() if line.strip()][-1].strip().removeprefix("builtins."))


def _place(error: BaseException) -> tuple[str, str]:
    """' (net.py, line 7)' of the innermost line that is neither torch's nor ours, and its code; empty without one."""
    text = str(error)
    if _SCRIPT_WORD in text:
        places = [*reversed([*_SCRIPT_LINE.finditer(text)]), *_TRACE_LINE.finditer(text)]
        found = [f" ({place['file']}, line {place['line']})" for place in places if _is_users(place["file"])]
        return (found or [""])[0], ""
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)]
    return (f" ({frames[-1].filename}, line {frames[-1].lineno})", frames[-1].line or "") if frames else ("", "")


def _is_users(file: str) -> bool:
    if file.startswith((_TORCH, _OWN, _SERIALIZED, "<")) or f"{os.sep}torch{os.sep}" in file:
        return False
    return not file.startswith(_STDLIB) or any(name in file for name in _INSTALLED)


def _is_check_of_sizes(error: BaseException, code: str) -> bool:
    """Whether it is an assert on sizes, whose message need not name them."""
    return isinstance(error, AssertionError) and _SIZE_WORDS.search(code) is not None

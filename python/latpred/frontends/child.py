"""Runs a frontend in a process of its own with exactly one framework, so that the caller's process imports none.

The parent calls run("torchscript", {...}); the child looks the name up in FRONTENDS, calls that function with the
request and writes its reply to a pipe. What the framework prints goes nowhere near the reply. An error of latpred's own
crosses as it is, any other becomes a ModelFileError with its first line.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import operator
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import IO, Any

from latpred import child_process, errors
from latpred.errors import LatpredError, MissingDependencyError, ModelFileError

# Long enough for the largest network that was tried (70 billion parameters on meta: half a minute), short enough that a
# file that never ends does not hold a job for good.
DEFAULT_TIMEOUT_S = 600.0

_START = child_process.start_of("latpred.frontends.child")


@dataclass(frozen=True)
class Frontend:
    """One row of FRONTENDS."""

    function: str  # "module:function", called with the request in the child, returning a Reply
    package: str  # the one framework that it imports
    extra: str  # latpred[extra] installs it
    what: str  # completes "reading ... needs the package torch"
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What a frontend hands back: bytes for a reader of the compiled part, and facts that JSON can hold."""

    document: bytes = b""
    facts: Mapping[str, Any] = field(default_factory=dict)


# To add a frontend: its module with one function (request: dict) -> Reply, and a row here.
FRONTENDS: Mapping[str, Frontend] = {
    "torchscript": Frontend("latpred.frontends.torchscript:capture", "torch", "torch", "a TorchScript archive"),
    "pickled": Frontend("latpred.frontends.pickled:capture", "torch", "torch", "a pickled module"),
    # Offline: reading a folder neither asks a server nor runs what the folder brings.
    "keras": Frontend(
        "latpred.frontends.keras:capture",
        "keras",
        "keras",
        "a Keras file with classes of its own",
        {"KERAS_BACKEND": "torch"},
    ),
    "huggingface": Frontend(
        "latpred.frontends.huggingface:capture",
        "transformers",
        "hf",
        "a folder of a Hugging Face model",
        {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1"},
    ),
}


def run(frontend: str, request: Mapping[str, Any], *, timeout_s: float = DEFAULT_TIMEOUT_S) -> Reply:
    """The reply of FRONTENDS[frontend] to `request` (what JSON can hold), computed in a child process.

    request["path"], where there is one, is named in messages.
    """
    row = FRONTENDS[frontend]
    path = request.get("path")
    about = f"'{path}'" if path else row.what
    if importlib.util.find_spec(row.package) is None:
        raise MissingDependencyError(
            f"reading {row.what} needs the package {row.package}, which is not installed; "
            f'install it with: pip install "latpred[{row.extra}]"'
        )
    try:
        ended = child_process.run(
            _START,
            frontend,
            json.dumps(dict(request), default=operator.index).encode(),
            environment=row.environment,
            timeout_s=timeout_s,
        )
    except child_process.TookTooLong:
        raise ModelFileError(
            f"reading {about} with {row.package} took more than {timeout_s:g} s and was stopped", path=path
        ) from None
    if not ended.answer:
        raise ModelFileError(
            f"reading {about} with {row.package} ended its process with status {ended.status}{ended.last_line}; "
            "nothing was read",
            path=path,
        )
    return _decode(ended.answer)


def first_line(error: BaseException) -> str:
    """What an error of a framework says, as one line that fits into a message of ours."""
    lines = [line.strip() for line in str(error).splitlines()]
    return clipped(next((line for line in lines if line), type(error).__name__))


def clipped(line: str) -> str:
    """As much of a line of others as fits into a message of ours."""
    return line if len(line) <= child_process.MAX_QUOTED else line[: child_process.MAX_QUOTED - 3] + "..."


# The reply: one line of JSON, then the document.


def _encode(reply: Reply) -> bytes:
    return json.dumps({"facts": dict(reply.facts)}).encode() + b"\n" + reply.document


def _encode_error(error: LatpredError) -> bytes:
    known = {name: getattr(error, name) for name in ("path", "offset", "node", "operator", "valid")}
    return json.dumps({"error": type(error).__name__, "message": str(error), "known": known}).encode() + b"\n"


def _decode(answer: bytes) -> Reply:
    header, _, document = answer.partition(b"\n")
    fields = json.loads(header)
    if "error" in fields:
        raise getattr(errors, fields["error"])(fields["message"], **fields["known"])
    return Reply(document, fields["facts"])


def _write(pipe: IO[bytes], frontend: str, request: dict[str, Any]) -> None:
    module, _, function = FRONTENDS[frontend].function.partition(":")
    path = request.get("path")
    try:
        reply = getattr(importlib.import_module(module), function)(request)
        pipe.write(_encode(reply))
    except LatpredError as error:
        pipe.write(_encode_error(error))
    except Exception as error:  # noqa: BLE001
        # Whatever a framework raises about a file becomes one sentence.
        package = FRONTENDS[frontend].package
        about = f"'{path}'" if path else FRONTENDS[frontend].what
        what = f"{package} cannot read {about}: {type(error).__name__}: {first_line(error)}"
        pipe.write(_encode_error(ModelFileError(what, path=path)))


def main(frontend: str, descriptor: str) -> None:
    """What the child process runs."""
    request = json.loads(sys.stdin.buffer.read())
    with os.fdopen(int(descriptor), "wb") as pipe:
        _write(pipe, frontend, request)

"""What has to be measured in a process of its own: TASKS, asked with a request and answered with what JSON can hold."""

from __future__ import annotations

import importlib
import json
import os
import sys
from collections.abc import Mapping
from typing import Any

from latpred import child_process, errors
from latpred.errors import LatpredError, ProfilerError

# Loading, compiling and some hundred calls of the largest network that fits.
TIMEOUT_S = 1800.0

# "module:function" in the child, from the request to the answer.
TASKS = {
    "memory": "latpred.workloads.memory:measure_here",
    "openvino_kernels": "latpred.workloads.openvino_kernels:time_here",
}

# Modules that every child imports before its task: those that a campaign's imports= names are set here by its workers.
first_imports: list[str] = []

_START = child_process.start_of("latpred.workloads.child")


def ask(
    task: str, request: Mapping[str, Any], environment: Mapping[str, str] | None = None, *, timeout_s: float = TIMEOUT_S
) -> Any:
    """The answer of TASKS[task], computed in a fresh process; its errors are raised here."""
    try:
        ended = child_process.run(
            _START,
            task,
            json.dumps({"imports": first_imports, "request": dict(request)}).encode(),
            environment=environment or {},
            timeout_s=timeout_s,
        )
    except child_process.TookTooLong:
        raise ProfilerError(f"the process for {task} took more than {timeout_s:g} s and was stopped") from None
    if not ended.answer:
        raise ProfilerError(f"the process for {task} ended with status {ended.status}{ended.last_line}")
    answer = json.loads(ended.answer)
    if "error" in answer:
        raise getattr(errors, answer["error"])(answer["message"])
    return answer["answer"]


def main(task: str, descriptor: str) -> None:
    """What the child process runs."""
    asked = json.loads(sys.stdin.buffer.read())
    module, _, function = TASKS[task].partition(":")
    try:
        for name in asked["imports"]:
            importlib.import_module(name)
        answer = {"answer": getattr(importlib.import_module(module), function)(asked["request"])}
    except LatpredError as error:
        answer = {"error": type(error).__name__, "message": str(error)}
    except Exception as error:  # noqa: BLE001
        # Whatever a runtime raises becomes one sentence.
        answer = {"error": "ProfilerError", "message": f"{task}: {type(error).__name__}: {error}"}
    with os.fdopen(int(descriptor), "wb") as pipe:
        pipe.write(json.dumps(answer).encode())

"""Work in a process of its own, with its own environment; request and answer are bytes.

What the child prints goes nowhere near the answer, and a child that ends early or hangs is noticed.
"""

from __future__ import annotations

import ctypes
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from threading import Thread


def start_of(module: str) -> str:
    """What the child runs: main(name, descriptor) of `module`, with the request as standard input.

    It searches where the parent does and nowhere else: `python -m` would also search the working directory, which may
    be a downloaded folder with a torch.py in it.
    """
    return f"import sys; sys.path[:] = sys.argv[3:]; from {module} import main; main(sys.argv[1], sys.argv[2])"


_PR_SET_PDEATHSIG = 1  # of prctl(2)
MAX_QUOTED = 400  # of what it printed


def end_with_parent() -> None:
    """A child whose parent was killed leaves too, and loads the machine no more."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before the call
        os._exit(1)


def start_speaking(module: str, *arguments: str) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """Runs main of `module` with the descriptor of a socket before its arguments; and this end of that socket."""
    connection, theirs = socket.socketpair()
    # Modules are found where this process finds them, wherever it was started.
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    with theirs:
        process = subprocess.Popen(  # noqa: S603 - this interpreter, and no words of anybody else's
            [sys.executable, "-m", module, str(theirs.fileno()), *arguments],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,  # libraries talk; errors are still seen
            env=environment,
        )
    return process, connection


@dataclass(frozen=True)
class Ended:
    """What is left of a child."""

    answer: bytes  # empty: it ended without one
    status: int
    last_line: str  # of what it printed, " (in brackets)"; empty: nothing


class TookTooLong(Exception):
    """The child was stopped."""


def run(start: str, name: str, request: bytes, *, environment: Mapping[str, str], timeout_s: float) -> Ended:
    """Runs `start` (of start_of) in a new process; main writes the answer to its descriptor."""
    read_end, write_end = os.pipe()
    try:
        # No shell, and no word of the caller's in the command: the request goes through standard input.
        child = subprocess.Popen(  # noqa: S603
            [sys.executable, "-c", start, name, str(write_end), *sys.path],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            pass_fds=(write_end,),
            env={**os.environ, **environment},
        )
    except OSError:
        os.close(read_end)
        raise
    finally:
        os.close(write_end)
    answer: list[bytes] = []
    with os.fdopen(read_end, "rb") as pipe, child:
        # Both pipes are drained while the child runs: a full one would stop it.
        reader = Thread(target=lambda: answer.append(pipe.read()), daemon=True)
        reader.start()
        deadline = time.monotonic() + timeout_s
        try:
            _, printed = child.communicate(request, timeout=timeout_s)
            reader.join(max(0.0, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            child.kill()
            raise TookTooLong from None
        except BaseException:
            child.kill()
            raise
    return Ended(answer[0] if answer else b"", child.returncode, _last_line(printed))


def _last_line(printed: bytes) -> str:
    lines = [line.strip() for line in printed.decode(errors="replace").splitlines() if line.strip()]
    return f" ({lines[-1][:MAX_QUOTED]})" if lines else ""

"""A worker as a process: python -m latpred.campaign.worker_process FD speaks JSON lines over that socket."""

from __future__ import annotations

import ctypes
import json
import os
import signal
import socket
import sys
from typing import Any

from latpred.campaign.worker import Measurer, refusal

_PR_SET_PDEATHSIG = 1  # of prctl(2)


def _end_with_parent() -> None:
    """A campaign that was killed leaves no process behind that loads the machine."""
    parent = os.getppid()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:  # it went before the call
        os._exit(1)


def main() -> None:
    _end_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the campaign decides when to stop
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        requests, answers = connection.makefile("r", encoding="utf-8"), connection.makefile("w", encoding="utf-8")

        def send(replies: list[dict[str, Any]]) -> None:
            answers.write("".join(json.dumps(reply) + "\n" for reply in replies))
            answers.flush()

        first = json.loads(requests.readline())
        try:
            measurer = Measurer(first["settings"], first["cores"])
        except Exception as error:  # noqa: BLE001 - a module of the user's may raise anything
            send(refusal(error))
            return
        send(measurer.start())
        for line in requests:
            send(measurer.answer(json.loads(line)))


if __name__ == "__main__":
    try:
        main()
    except (BrokenPipeError, ConnectionResetError):
        os._exit(1)  # the campaign has gone: nobody is there to hear a complaint

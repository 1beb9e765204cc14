"""A worker as a process: python -m latpred.campaign.worker_process FD speaks JSON lines over that socket."""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from typing import Any

from latpred import child_process
from latpred.campaign.worker import Measurer, refusal


def main() -> None:
    child_process.end_with_parent()
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

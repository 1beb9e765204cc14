"""For tests of campaigns on a cluster: every process says that it is another machine."""

import os

from latpred.campaign import worker

_machine = worker.machine


def _of_this_process(device):
    fingerprint, facts = _machine(device)
    return f"{fingerprint}, process {os.getpid()}", facts


worker.machine = _of_this_process

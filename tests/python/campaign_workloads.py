"""Workloads for tests of campaigns: a campaign's imports= names this module, which adds a runtime to the table.

work:1000 adds up a thousand numbers, sleep:20 sleeps 20 ms, raise:... raises, crash:... takes its process along,
hang:... never ends.
"""

import os
import signal
import time

from latpred.datasets.recipe import parse
from latpred.workloads import RUNTIMES, KernelTime, KernelTimes, MemoryUse, NodeOfKernel, RuntimeRow, Workload


class TinyWorkload(Workload):
    def __init__(self, setting):
        super().__init__(setting)
        recipe = parse(setting.source)
        self._name = recipe.name
        self._run = {"work": self._work, "sleep": self._sleep, "raise": self._raise}.get(recipe.kind)
        if recipe.kind == "crash":
            os.kill(os.getpid(), signal.SIGSEGV)
        if recipe.kind == "hang":
            time.sleep(3600)

    versions = (("tiny", "1.0"),)

    def _work(self):
        sum(range(int(self._name)))

    def _sleep(self):
        time.sleep(int(self._name) / 1000)

    def _raise(self):
        raise ValueError(f"no such network as {self._name}")

    def run_once(self):
        self._run()

    def kernels(self, runs=30):
        if self._name == "7":
            return None
        nodes = (NodeOfKernel(0, "first", "Add", True), NodeOfKernel(1, "second", "Relu", False))
        rows = (
            KernelTime("a", "Add", "loop", "fp32", 0, nodes, 2e-3, 0.01, (2e-3,) * runs),
            KernelTime("b", "Reorder", "", "fp32", 1, (), 1e-3, 0.02, (1e-3,) * runs),
        )
        return KernelTimes(rows, (), (), "a clock", 4e-3)

    def memory(self):
        return MemoryUse(5, 6, 7, 8)

    def graph(self):
        raise NotImplementedError


RUNTIMES["tiny"] = RuntimeRow("campaign_workloads:TinyWorkload", "for tests", ("cpu",), ("fp32",))

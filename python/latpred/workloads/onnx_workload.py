"""What the runtimes of ONNX files share."""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from latpred import child_process
from latpred.workloads import memory, onnx_files
from latpred.workloads.workload import MemoryUse, Setting, Workload

if TYPE_CHECKING:
    from latpred._core import Graph


def quoted(error: BaseException) -> str:
    """What a runtime says, on one line: the first of its own is often only a place in its sources."""
    return " ".join(str(error).split())[: child_process.MAX_QUOTED]


class OnnxWorkload(Workload):
    """A file, or the file of a recipe's Graph, prepared in a folder of its own."""

    opens: ClassVar[type[Any]]  # from a setting whose source is a prepared file
    package: ClassVar[str]  # that opens.imports() returns

    def __init__(self, setting: Setting) -> None:
        super().__init__(setting)
        self._versions = [(self.package, str(self.opens.imports().__version__).partition("-")[0])]  # no build
        self._folder = tempfile.TemporaryDirectory(prefix="latpred-")
        try:
            self.file = onnx_files.prepare(setting, Path(self._folder.name))
            self.prepared = dataclasses.replace(setting, source=str(self.file.path), input=None)
            self._network = self.opens(self.prepared)
        except BaseException:
            self._folder.cleanup()
            raise

    @property
    def versions(self) -> list[tuple[str, str]]:
        return self._versions

    def run_once(self) -> None:
        self._network.run_once()

    def graph(self) -> Graph:
        """Of the file that runs: its nodes have the names that kernels refer to by index."""
        from latpred.api import load

        return load(str(self.file.path), batch=self.setting.batch)

    def source_graph(self) -> Graph:
        from latpred.api import load

        if self.file.source is not None:
            return self.file.source
        return load(self.setting.source, batch=self.setting.batch, input=self.setting.input)

    def memory(self) -> MemoryUse:
        opens = f"{self.opens.__module__}:{self.opens.__name__}"
        return memory.of_fresh_process(opens, self.prepared)

    def close(self) -> None:
        self._network.close()
        self._folder.cleanup()

"""Networks that only their framework can build, recorded once: a file of the documents that recipes stand for.

Building a network of timm takes a second, reading its document five milliseconds, and the document needs no framework.
A cache holds them in SQLite: an interrupted build goes on where it stopped. An archive is a smaller file to pass on; it
is unpacked when it is first used.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import multiprocessing
import os
import sqlite3
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import closing
from functools import lru_cache
from itertools import islice
from pathlib import Path

from latpred import _core
from latpred._core import Graph, Program
from latpred.datasets.recipe import Recipe, parse
from latpred.datasets.recipe_builders import build
from latpred.datasets.recorded import Recorded, is_recorded, record
from latpred.errors import InvalidArgumentError, LatpredError, MissingDependencyError
from latpred.folders import cache_folder
from latpred.writing import replacing

_SCHEMA = """
CREATE TABLE IF NOT EXISTS networks (
    recipe TEXT PRIMARY KEY,
    document BLOB,  -- xz of the document; NULL where it failed
    facts TEXT,     -- JSON: tied weights, name, versions of what built it
    error TEXT,     -- why there is none
    seconds REAL
)
"""
_INSERT = "INSERT OR REPLACE INTO networks VALUES (?, ?, ?, ?, ?)"
_PRESET = 0  # of xz for one document: as small as the higher ones, ten times as quick
_KEPT_PROGRAMS = 64  # rows of one network stand together in a sorted table
_KEPT_GRAPHS = 4  # so do those of one batch
_NETWORKS_OF_A_POOL = 400  # then new processes: what frameworks keep of each network adds up
_AHEAD = 2  # networks handed to each worker at a time

ARCHIVE_SUFFIX = ".xz"
# Neighbours in a sorted archive repeat each other: a window that holds many of them finds that.
_ARCHIVE_FILTERS = [{"id": lzma.FILTER_LZMA2, "preset": 6, "dict_size": 1 << 26}]


class GraphCache:
    """Reads a file that build_cache wrote, or an archive of one."""

    def __init__(self, path: str | Path) -> None:
        path = Path(path)
        if not path.is_file():
            raise InvalidArgumentError(
                f"graph cache '{path}': no such file; 'latpred dataset build --out FOLDER' writes FOLDER/graphs.sqlite"
            )
        self._path = path
        cache = unpacked(path) if path.suffix == ARCHIVE_SUFFIX else path
        _roll_back(cache)
        self._connection = sqlite3.connect(f"{cache.absolute().as_uri()}?mode=ro", uri=True)
        self._program = lru_cache(_KEPT_PROGRAMS)(self._read)
        self._graph = lru_cache(_KEPT_GRAPHS)(self._resolve)

    def __reduce__(self) -> tuple[type[GraphCache], tuple[Path]]:
        """Pickled as its path: another process opens the file itself."""
        return GraphCache, (self._path,)

    def recipes(self) -> list[str]:
        """Every network that the cache holds."""
        query = "SELECT recipe FROM networks WHERE document IS NOT NULL ORDER BY recipe"
        return [recipe for (recipe,) in self._connection.execute(query)]

    def failures(self) -> dict[str, str]:
        """Networks that could not be built, and why."""
        return dict(self._connection.execute("SELECT recipe, error FROM networks WHERE error IS NOT NULL"))

    def __contains__(self, recipe: str) -> bool:
        query = "SELECT 1 FROM networks WHERE recipe = ? AND document IS NOT NULL"
        return self._connection.execute(query, (recipe,)).fetchone() is not None

    def recorded(self, recipe: str) -> Recorded:
        """The document of a network that a framework built."""
        query = "SELECT document, facts, error FROM networks WHERE recipe = ?"
        document, facts, error = self._connection.execute(query, (recipe,)).fetchone() or (
            None,
            "",
            "it was never built",
        )
        if document is None:
            raise InvalidArgumentError(f"graph cache '{self._path}' has no network '{recipe}': {error}")
        return Recorded(lzma.decompress(document), **json.loads(facts))

    def graph(self, recipe: str, batch: int) -> Graph:
        """The network of `recipe` at `batch`: from this cache, or built where the recipe needs no framework."""
        return self._graph(recipe, batch)

    def _resolve(self, recipe: str, batch: int) -> Graph:
        if is_recorded(parse(recipe)):
            return _core.resolve(self._program(recipe), batch)
        return graph_of(recipe, batch)

    def _read(self, recipe: str) -> Program:
        return self.recorded(recipe).program()


def graph_of(recipe: str | Recipe, batch: int, cache: GraphCache | None = None) -> Graph:
    """The network of a recipe; one that a framework builds is read from `cache` where that has it, or built now."""
    parsed = parse(recipe) if isinstance(recipe, str) else recipe
    if cache is not None and str(parsed) in cache:
        return cache.graph(str(parsed), batch)
    if is_recorded(parsed):
        return _core.resolve(record(parsed).program(), batch)
    net = _core.GraphBuilder()
    build(net, parsed)
    return net.build(batch)


def _attempt(recipe: str) -> tuple[str, Recorded | None, str | None, float]:
    start = time.perf_counter()
    try:
        return recipe, record(parse(recipe)), None, time.perf_counter() - start
    except MissingDependencyError:
        raise  # this place's lack, not the network's
    except LatpredError as error:
        return recipe, None, str(error), time.perf_counter() - start
    except Exception as error:  # noqa: BLE001 - whatever a framework's own code raises is a reason, not a crash
        text = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        return recipe, None, text, time.perf_counter() - start


def _end_with_parent() -> None:
    """A worker whose parent was killed would wait for work for ever."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def watch() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _attempts(recipes: list[str], workers: int) -> Iterator[tuple[str, Recorded | None, str | None, float]]:
    if workers == 1:
        yield from map(_attempt, recipes)
        return
    # Spawned, not forked: torch's threads do not survive a fork.
    context = multiprocessing.get_context("spawn")
    for start in range(0, len(recipes), _NETWORKS_OF_A_POOL):
        waiting = iter(recipes[start : start + _NETWORKS_OF_A_POOL])
        with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
            running = {pool.submit(_attempt, recipe) for recipe in islice(waiting, workers * _AHEAD)}
            while running:
                done, running = wait(running, return_when=FIRST_COMPLETED)
                for future in done:
                    yield future.result()
                    running |= {pool.submit(_attempt, recipe) for recipe in islice(waiting, 1)}


def _roll_back(path: Path) -> None:
    """A build that was killed while it wrote leaves a journal, which a connection that only reads cannot undo."""
    if path.with_name(f"{path.name}-journal").is_file():
        with closing(sqlite3.connect(path)) as connection:
            connection.execute("SELECT COUNT(*) FROM networks")


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path)
    connection.execute(_SCHEMA)
    return connection


def missing(path: Path, recipes: Iterable[str]) -> list[str]:
    """Those of `recipes` that a framework builds and that the cache at `path`, if there is one, has no document of."""
    known = set(GraphCache(path).recipes()) if path.is_file() else set()
    return sorted({recipe for recipe in recipes if is_recorded(parse(recipe))} - known)


def build_cache(path: Path, recipes: Iterable[str], workers: int | None = None) -> Iterator[tuple[int, int, str]]:
    """Records the networks of `recipes` that the file at `path` does not have yet; those that failed before are tried
    again. Yields (done, all, recipe) as it goes; a network is on disk when its line comes."""
    connection = _opened(path)
    try:
        wanted = missing(path, recipes)
        # No more processes than there is work for them.
        workers = min(workers or os.cpu_count() or 1, len(wanted)) or 1
        for done, (recipe, recorded, error, seconds) in enumerate(_attempts(wanted, workers), 1):
            packed = None if recorded is None else lzma.compress(recorded.document, preset=_PRESET)
            facts = None if recorded is None else json.dumps(recorded.facts())
            connection.execute(_INSERT, (recipe, packed, facts, error, seconds))
            connection.commit()
            yield done, len(wanted), recipe
    except BrokenProcessPool as error:
        raise LatpredError(
            f"graph cache '{path}': a process that records networks was killed, most often for want of memory; the "
            f"same command goes on where it stopped, with fewer processes if need be"
        ) from error
    finally:
        connection.close()


def write_archive(path: Path, cache: GraphCache, recipes: Iterable[str]) -> Iterator[str]:
    """Packs the networks of `recipes` into one file, in their order: like ones should stand together. Yields each
    when it is in. Two lines for a network: what is known of it, and its document."""
    with replacing(path) as unfinished, lzma.open(unfinished, "wb", filters=_ARCHIVE_FILTERS) as archive:
        for recipe in recipes:
            recorded = cache.recorded(recipe)
            archive.write(
                json.dumps({"recipe": recipe} | recorded.facts()).encode() + b"\n" + recorded.document + b"\n"
            )
            yield recipe


def unpacked(archive: Path) -> Path:
    """The cache that `archive` holds, in this user's folder of caches: made at the first call."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    folder = cache_folder()
    path = folder / f"graphs-{digest[:16]}.sqlite"
    if path.is_file():
        return path
    folder.mkdir(parents=True, exist_ok=True)
    with replacing(path) as unfinished, closing(_opened(unfinished)) as connection:
        connection.executemany(_INSERT, _networks_of(archive))
        connection.commit()
    return path


def _networks_of(archive: Path) -> Iterator[tuple[str, bytes, str, None, None]]:
    try:
        with lzma.open(archive) as lines:
            for line in lines:
                facts = json.loads(line)
                document = lzma.compress(next(lines).rstrip(b"\n"), preset=_PRESET)
                yield facts.pop("recipe"), document, json.dumps(facts), None, None
    except (lzma.LZMAError, EOFError, StopIteration, ValueError, KeyError) as error:
        raise InvalidArgumentError(f"archive of networks '{archive}' is damaged ({error}); fetch it again") from error

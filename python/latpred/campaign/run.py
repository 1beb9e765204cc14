"""Running a campaign: where its rows go, who works for it, and what is written when it stops."""

from __future__ import annotations

import dataclasses
import hashlib
import os
from collections.abc import Callable
from pathlib import Path

from latpred import _core
from latpred.campaign import health, noise, runnable, spec, table, worker
from latpred.campaign.journal import Journal, lock
from latpred.campaign.noise import NoiseFloor
from latpred.campaign.pool import LocalPool, Pool
from latpred.campaign.schedule import Schedule
from latpred.campaign.spec import Campaign
from latpred.campaign.to_record import add_to_record
from latpred.checks import check_count, check_flag, check_path, check_positive, check_text
from latpred.errors import InvalidArgumentError, LatpredError
from latpred.step import Step
from latpred.writing import writing, writing_journal

JOURNAL_SUFFIX = ".journal"
TABLE_SUFFIX = ".parquet"
KERNELS_SUFFIX = ".kernels.parquet"


@dataclasses.dataclass(frozen=True)
class Summary:
    """What a campaign has when it stops."""

    path: Path  # the table
    kernels_path: Path | None  # one of kernels, where they were asked for
    items: int
    wanted: int
    rows: int
    failures: dict[str, int]  # error -> items
    unsteady: int  # items whose machine was disturbed each time
    noise: NoiseFloor | None  # of all rows
    steady_noise: NoiseFloor | None  # of those with is_steady
    notes: tuple[str, ...]

    @property
    def is_complete(self) -> bool:
        return self.items == self.wanted


def journal_of(out: Path) -> Path:
    """Beside the table."""
    if out.suffix != TABLE_SUFFIX:
        raise InvalidArgumentError(f"'{out}': the table of a campaign ends in {TABLE_SUFFIX}")
    return out.with_suffix(JOURNAL_SUFFIX)


def run(
    campaign: Campaign | None,
    out: str | os.PathLike[str],
    *,
    minutes: float | None = None,
    workers: int = 1,
    ray: str | None = None,
    retry_failed: bool = False,
    measure_machine: bool = True,
    on_step: Callable[[Step], None] = lambda step: None,
) -> Summary:
    """Measures what the file `out` does not have yet, and writes it.

    campaign: None: the one that was started there.
    minutes: stop then; what was measured is the beginning of the whole.
    workers: processes, each on cores of its own. ray: the address of a cluster; "auto": $RAY_ADDRESS or the one
        that runs here; "local": one that is started for this.
    retry_failed: measure items that failed once more.
    measure_machine: time this machine's arithmetic and memory for the file too, once.
    """
    out = check_path("out", out, "the name of a .parquet file")
    minutes = None if minutes is None else check_positive("minutes", minutes)
    names = [f"worker {index}" for index in range(check_count("workers", workers))]
    ray = None if ray is None else check_text("ray", ray, "the address of a cluster")
    check_flag("retry_failed", retry_failed)
    check_flag("measure_machine", measure_machine)
    notes: list[str] = []
    path = journal_of(out)
    if campaign is None:
        if not path.is_file():
            raise InvalidArgumentError(f"no campaign was started at '{out}': there is no journal '{path}'")
    elif not isinstance(campaign, Campaign):
        raise InvalidArgumentError(f"campaign must be a Campaign, or None to go on, got {type(campaign).__name__}")
    else:
        runnable.check(campaign)
        with writing("the campaign", out):
            out.parent.mkdir(parents=True, exist_ok=True)
        if ray is None:
            path = _of_this_machine(path, campaign, notes)
    held = lock(path)
    try:
        with writing_journal(path), _opened(path, campaign) as journal:
            if campaign is None:
                campaign = journal.campaign()
                runnable.check(campaign)
            if ray is None:
                _refuse_other_machine(journal, campaign)
            schedule = Schedule(journal, campaign, minutes, on_step, retry_failed, measure_machine)
            settings, threads = campaign.worker_settings(), max(campaign.threads)
            pool: Pool
            if ray is None:
                pool = LocalPool(settings, names, threads)
            else:
                from latpred.campaign.ray_pool import RayPool

                pool = RayPool(settings, threads, ray)
            schedule.work(pool, names)
            if schedule.num_left_out:
                notes.append(
                    f"{schedule.num_left_out} items were not timed twice: the machines of their first time have gone"
                )
            return _finish(journal, campaign, path.with_suffix(TABLE_SUFFIX), notes)
    finally:
        held.release()


def _of_this_machine(path: Path, campaign: Campaign, notes: list[str]) -> Path:
    """The journal that this machine's rows go to: never one with another's."""
    here, _ = worker.machine(campaign.device)
    if not path.is_file():
        return path
    with Journal(path, is_read_only=True) as journal:
        machines = list(journal.machines())
    if not machines or machines == [here]:
        return path
    own = path.with_name(f"{path.stem}-{hashlib.sha256(here.encode()).hexdigest()[:8]}{path.suffix}")
    notes.append(
        f"'{path.with_suffix(TABLE_SUFFIX)}' is of another machine ({'; '.join(machines)}), this is {here}: rows of "
        f"this one go to '{own.with_suffix(TABLE_SUFFIX)}'"
    )
    return own


def _refuse_other_machine(journal: Journal, campaign: Campaign) -> None:
    here, _ = worker.machine(campaign.device)
    others = [name for name in journal.machines() if name != here]
    if others:
        raise LatpredError(
            f"journal '{journal.path}' is of another machine ({'; '.join(others)}), this is {here}: go on there, or "
            "start the campaign here with latpred campaign run, which opens a file of its own"
        )


def _opened(path: Path, campaign: Campaign | None) -> Journal:
    if campaign is not None and not path.is_file():
        if path.with_suffix(TABLE_SUFFIX).exists():
            raise InvalidArgumentError(
                f"'{path.with_suffix(TABLE_SUFFIX)}' is there and its journal '{path}' is not: nothing can be added to "
                "it; give another --out"
            )
        Journal.create(path, campaign)
    journal = Journal(path)
    try:
        if campaign is not None:
            _take(journal, campaign)
    except BaseException:
        journal.close()
        raise
    return journal


def _take(journal: Journal, campaign: Campaign) -> None:
    """The journal holds this campaign from here on; one that it cannot become is refused."""
    known = journal.campaign()
    if not journal.counts()["items"]:
        journal.set_campaign(campaign)  # nothing was measured yet: a typing error may be corrected
    elif differences := campaign.differences(known):
        raise InvalidArgumentError(
            f"'{journal.path}' holds another campaign: {'; '.join(differences)}; give another --out, or go on with "
            "latpred campaign resume"
        )
    elif campaign.num_recipes < known.num_recipes:
        raise InvalidArgumentError(
            f"'{journal.path}' holds a campaign of {known.num_recipes} networks, and this one is of "
            f"{campaign.num_recipes}: it may grow, not shrink; say count {known.num_recipes} or more, go on with "
            "latpred campaign resume, or give another --out"
        )
    else:
        journal.set_campaign(campaign)  # what is there is its beginning


def _finish(journal: Journal, campaign: Campaign, path: Path, notes: list[str]) -> Summary:
    found, steady = noise_of(journal), noise_of(journal, is_steady=True)
    counts = journal.counts()
    if counts["unsteady"]:
        notes.append(
            f"{counts['unsteady']} of {counts['items']} items were measured while the machine was not steady, "
            f"{health.MAX_ATTEMPTS} times each at most (is_steady is false there)"
        )
    if counts["retimed_unsteady"]:
        notes.append(
            f"{counts['retimed_unsteady']} of {counts['retimed']} second times were taken while the machine was not "
            f"steady, {health.MAX_ATTEMPTS} times each at most: the noise floor is that of such a machine, and that of "
            "steady rows stands beside it"
        )
    recipes = campaign.recipes if isinstance(campaign.recipes, str) else "listed"
    facts = {
        "campaign": campaign.to_dict() | {"recipes": recipes},
        "machines": journal.machines(),
        "noise": None if found is None else dataclasses.asdict(found),
        "steady_noise": None if steady is None else dataclasses.asdict(steady),
        "counts": counts,
        "latpred": _core.__version__,
    }
    kernels_path = path.with_suffix(KERNELS_SUFFIX) if spec.KERNELS in campaign.quantities else None
    with writing("the table of the campaign", path):
        table.write(path, table.to_frame(journal, campaign), facts)
        if kernels_path is not None:
            table.write(kernels_path, table.kernel_frame(journal), facts)
    add_to_record(journal)
    return Summary(
        path=path,
        kernels_path=kernels_path,
        items=counts["items"],
        wanted=campaign.num_items,
        rows=counts["rows"],
        failures=journal.failures(),
        unsteady=counts["unsteady"],
        noise=found,
        steady_noise=steady,
        notes=tuple(notes),
    )


def noise_of(journal: Journal, *, is_steady: bool = False) -> NoiseFloor | None:
    """Of the items that were timed twice; is_steady: of those alone whose machine was steady both times."""
    first, items = journal.timed(spec.LATENCY), journal.attempts()
    pairs = [
        (first[position][2], value)
        for position, (value, is_second_steady) in journal.retimed().items()
        if position in first and (not is_steady or (is_second_steady and items[position][1]))
    ]
    return noise.noise_floor([a for a, _ in pairs], [b for _, b in pairs])

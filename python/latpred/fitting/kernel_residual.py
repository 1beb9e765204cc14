"""Fits the default predictor: physics of each kernel, and of it what a small MLP has learnt (ic, a, ib, c, gap).

    compute = FLOPs / peak, or cycles of PyTorch's own kernels, x exp(ic) x wave factor ^ a x feeding factor
    memory  = traffic past L2 / bandwidth x exp(ib) / (cycles of all SMs for a byte of bandwidth) ^ c
    seconds = pnorm3(compute, memory) + gap / clock
    call    = pnorm3(sum of seconds, host) x what networks much like it are off (alike_networks.py)
    host    = runtime's time for a launch x factor of hosts of such cards x sum of what launched kinds and views take

and the time that is no operator's: in which the input travels to the device, where a row says that it does
(predict/input_copy.cpp), and what each call of a table took (kernel_terms.BESIDE_OPERATORS_S).
LibTorch fits it end to end on whole calls (predictors/kernel_residual.cpp), C++ without torch answers with it
(predict/kernel_residual.cpp). Effects of kinds of memory, chips, devices and versions of runtimes are drawn towards
none; what was not measured has none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from latpred import _core, _torch
from latpred.fitting import alike_networks, checkpoint, fit_inputs, host_calls, versions
from latpred.fitting.alike_networks import AlikeNetworks
from latpred.fitting.evidence import Evidence
from latpred.fitting.fit_inputs import Effects
from latpred.fitting.kernel_terms import COLUMNS, KernelTable
from latpred.fitting.split import CHIPS, OTHER_BOARDS

if TYPE_CHECKING:
    import pandas as pd

NAME = "kernel_residual"

Done = Callable[[int, int, float], None]  # seed, epoch, loss


@dataclasses.dataclass(frozen=True)
class KernelResidual:
    """Fitted members of an ensemble."""

    members: tuple[dict[str, np.ndarray], ...]
    effects: Effects
    alike: AlikeNetworks | None = None

    @property
    def devices(self) -> tuple[str, ...]:
        """Those with an effect: measured ones, and boards of a measured chip."""
        measured = dict.fromkeys(self.effects.devices)
        for chip, boards in CHIPS.items():
            if chip in self.effects.chips:
                measured |= dict.fromkeys((*boards, *OTHER_BOARDS.get(chip, ())))
        return tuple(measured)

    def predict(self, table: KernelTable, with_floors: bool = True) -> np.ndarray:
        """[N] seconds, as answer()."""
        return self.answer(table, with_floors)[0]

    def answer(self, table: KernelTable, with_floors: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """[N] seconds as the predictor answers, and [N] those that the host takes: by the version that answers for the
        row's own, on such a host as others of the chip stand in. With the host's floor where the table of a row shows
        it, unless `with_floors` is off."""
        floor = table.floor_s if with_floors else np.zeros(table.size)
        version = versions.answered_by(versions.of_rows(table.rows), self.effects.versions)
        arrays = fit_inputs.arrays(table, self.effects, version, np.zeros(table.size, dtype=np.int64), floor)
        latency_s, host_s = _torch.predictors_module().predict_kernel_residual(list(self.members), arrays)
        if self.alike is None:
            return np.asarray(latency_s), np.asarray(host_s)
        asked, where = alike_networks.signatures(table), alike_networks.places(table.rows)
        factor = np.exp(self.alike.log_factor(asked, where))
        return (latency_s - table.beside_s) * factor + table.beside_s, host_s * factor

    def with_alike_networks(self, table: KernelTable) -> KernelResidual:
        """The same, and what it leaves over on the networks in `table`, which it was fitted on."""
        alone = dataclasses.replace(self, alike=None)
        return dataclasses.replace(alone, alike=alike_networks.fit(table, alone.predict(table)))

    def log_host_factors(self, table: KernelTable) -> np.ndarray:
        """[N] of the machine that each call was timed on, over what is known of machines with such a card."""
        effects = {name: np.mean([member[name] for member in self.members], axis=0) for name in self.members[0]}
        of_chip = np.concatenate([[0], effects["launch_effects"]])[fit_inputs.launches(self.effects, table.rows)]
        of_host = np.concatenate([[0], effects["host_effects"]])[
            fit_inputs.index(self.effects.hosts, fit_inputs.hosts(table.rows))
        ]
        return np.asarray(of_chip + of_host)

    def _device_effects(self, member: dict[str, np.ndarray]) -> np.ndarray:
        found = np.zeros((len(self.devices), member["device_effects"].shape[1]))
        for place, device in enumerate(self.devices):
            chip = _chip_of().get(device, device)
            if chip in self.effects.chips:
                found[place] += member["chip_effects"][self.effects.chips.index(chip)]
            if device in self.effects.devices:
                found[place] += member["device_effects"][self.effects.devices.index(device)]
        return found

    def _launch_names(self) -> list[str]:
        """ "device|runtime" of all that have a host."""
        gpus = [device.name for device in _core.devices() if device.is_gpu]
        return [f"{device}|{runtime}" for device in gpus for runtime in host_calls.PACED_BY_THE_HOST]

    def _launch_effects(self, member: dict[str, np.ndarray]) -> np.ndarray:
        """[launches] of all boards of a chip, by the age of the card, and what a runtime takes for every launch."""
        places = {name: place for place, name in enumerate(self.effects.launches)}
        found = []
        for name in self._launch_names():
            device, _, runtime = name.partition("|")
            place = places.get(name, places.get(f"{_chip_of().get(device, device)}|{runtime}"))
            of_chip = 0.0 if place is None else member["launch_effects"][place]
            by_age = member["host_column_effects"][0] * host_calls.age(device)
            is_by_kind = runtime in host_calls.BY_KIND  # then what all take is in _host_kinds()
            of_all = 0.0 if is_by_kind else host_calls.of_runtime(member["host_column_effects"], runtime)
            found.append(of_chip + by_age + of_all)
        return np.array(found)

    def _runtimes(self) -> dict[str, str]:
        """For each "runtime|version" that is stored whose effects it has: without a version the newest's, of those that
        several chips ran where there are any."""
        newest = self.usual_versions()
        runtimes = sorted({name.partition("|")[0] for name in self.effects.versions})
        return {f"{runtime}|": newest[runtime] for runtime in runtimes} | {name: name for name in self.effects.versions}

    def usual_versions(self) -> dict[str, str]:
        """ "runtime|version" that answers where a request says none, by "runtime"."""
        return versions.newest(self.effects.versions) | versions.newest(self.effects.shared_versions)

    def default_versions(self, rows: pd.DataFrame) -> dict[str, dict[str, str]]:
        """Versions that answer instead of these about boards of a chip that ran a newer one, by device and runtime."""
        of_chips = versions.newer_on_chips(rows, self.usual_versions())
        return {board: of_chips[chip] for board, chip in _chip_of().items() if chip in of_chips}

    def _runtime_effects(self, member: dict[str, np.ndarray]) -> np.ndarray:
        places = [self.effects.versions.index(version) for version in self._runtimes().values()]
        return np.asarray(member["version_effects"][places])

    def arrays(self) -> dict[str, np.ndarray]:
        """What the checkpoint stores of it: [E, ...] each, effects of devices and runtimes in the manifest's order."""
        names = [name for name in self.members[0] if not name.endswith("_effects")]
        stored = {name: np.stack([member[name] for member in self.members]) for name in names}
        for name, other in fit_inputs.ALIKE.items():
            stored["weight_0"][:, :, COLUMNS.index(name)] = stored["weight_0"][:, :, COLUMNS.index(other)]
        stored["memory_effects"] = np.stack([member["memory_effects"] for member in self.members])
        stored["device_effects"] = np.stack([self._device_effects(member) for member in self.members])
        stored["runtime_effects"] = np.stack([self._runtime_effects(member) for member in self.members])
        stored["launch_effects"] = np.stack([self._launch_effects(member) for member in self.members])
        stored["host_kind_effects"] = np.stack([_host_kinds(member) for member in self.members])
        return stored | (self.alike.arrays() if self.alike else {})

    def manifest(self) -> dict[str, Any]:
        """What the arrays' axes mean."""
        widths = [self.members[0][f"bias_{layer}"].shape[0] for layer in range(_num_layers(self.members[0]))]
        return {
            "members": len(self.members),
            "hidden": widths[:-1],
            "columns": list(COLUMNS),
            "memory_kinds": _core.memory_kinds(),
            "device_effects": list(self.devices),
            "runtime_effects": list(self._runtimes()),
            "launch_effects": self._launch_names(),
            "host_kind_runtimes": list(host_calls.BY_KIND),
            **(self.alike.manifest() if self.alike else {}),
        }


def _host_kinds(member: dict[str, np.ndarray]) -> np.ndarray:
    """[kinds of kernels] what an operator takes the host, over the runtime's time for a launch."""
    (runtime,) = host_calls.BY_KIND
    known = host_calls.of_runtime(member["host_column_effects"], runtime) + np.log(host_calls.weights())
    return np.asarray((member["host_kind_effects"] + known)[host_calls.places()])


@cache
def _chip_of() -> dict[str, str]:
    return {board: chip for chips in (CHIPS, OTHER_BOARDS) for chip, boards in chips.items() for board in boards}


def _num_layers(member: dict[str, np.ndarray]) -> int:
    return sum(name.startswith("weight_") for name in member)


def options(seed: int = 0, **changes: object) -> Any:
    """How to fit, with `changes` to what C++ has as default."""
    made = _torch.predictors_module().KernelResidualOptions()
    made.seed = seed
    for name, value in changes.items():
        setattr(made, name, value)
    return made


def fit_member(
    table: KernelTable, effects: Effects, seed: int, done: Done | None = None, **changes: object
) -> dict[str, np.ndarray]:
    """One member of an ensemble; the same table, seed and changes to the options give the same numbers."""
    of_hosts = fit_inputs.index(effects.hosts, fit_inputs.hosts(table.rows))
    shows_host = fit_inputs.waits_for_host(table) | ~table.rows.runtime.isin(host_calls.PACED_BY_THE_HOST)
    arrays = fit_inputs.arrays(table, effects, versions.of_rows(table.rows), of_hosts, table.floor_s) | {
        "latency_s": table.latency_s,
        "weight": fit_inputs.row_weights(table.rows),
        "shows_host": np.asarray(shows_host, dtype=np.int64),
    }
    report = None if done is None else lambda epoch, loss: done(seed, epoch, loss)
    fitted, _ = _torch.predictors_module().fit_kernel_residual(arrays, options(seed, **changes), report)
    return dict(fitted)


def fit(table: KernelTable, seeds: Sequence[int] = (0,), done: Done | None = None, **changes: object) -> KernelResidual:
    """An ensemble with one member for each seed."""
    effects = Effects.of(table.rows)
    members = tuple(fit_member(table, effects, seed, done, **changes) for seed in seeds)
    return KernelResidual(members, effects).with_alike_networks(table)


def make_manifest(fitted: KernelResidual, table: KernelTable, intervals: dict[str, Any]) -> dict[str, Any]:
    """Everything that the predictor's answers can be judged by; `table` is what it was fitted on, `intervals` the
    entries about these."""
    rows = table.rows
    return {
        **_core.checkpoint_format(),
        "predictor": NAME,
        **fitted.manifest(),
        "default_versions": fitted.default_versions(rows),
        "evidence": Evidence.of(table).manifest(),
        **intervals,
        "sources": sorted(
            f"{source} ({licence})" for source, licence in set(zip(rows.source, rows.licence, strict=True))
        ),
        "samples": table.size,
    }


def load(path: Path) -> KernelResidual:
    """What a checkpoint holds, with the effects of chips and versions folded into those of devices and runtimes."""
    manifest, arrays = checkpoint.read(path)
    renamed = {"runtime_effects": "version_effects"}
    members = []
    for member in range(manifest["members"]):
        of_members = {name: array for name, array in arrays.items() if name != alike_networks.ARRAY}
        values = {renamed.get(name, name): array[member] for name, array in of_members.items()}
        of_kinds = np.zeros(len(host_calls.kinds()))
        of_kinds[host_calls.places()] = values["host_kind_effects"]
        folded = {
            "chip_effects": np.zeros((0, values["device_effects"].shape[1])),
            "host_effects": np.zeros(0),
            "host_column_effects": np.zeros(len(host_calls.COLUMN_SD)),
            "host_kind_effects": of_kinds - np.log(host_calls.weights()),
        }
        members.append(values | folded)
    runtimes, launches = tuple(manifest["runtime_effects"]), tuple(manifest["launch_effects"])
    effects = Effects(tuple(manifest["device_effects"]), (), runtimes, launches, ())
    alike = alike_networks.read(manifest, arrays[alike_networks.ARRAY]) if alike_networks.ARRAY in arrays else None
    return KernelResidual(tuple(members), effects, alike)

"""What an argument may name: frameworks, devices, operators, predictors, runtimes, precisions, each list as a table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.tables import Column, Table, number_column, scaled, text_column

if TYPE_CHECKING:
    from latpred.fusion.lilou import LearntFusionRow
    from latpred.fusion.pmgns import GraphNetworkRow
    from latpred.training.trainable import TrainableRow


def frameworks() -> list[str]:
    """Frameworks whose files can be read."""
    return _core.frameworks()


def devices() -> Table[_core.Device]:
    """The devices that can be predicted for; devices()["A100"] finds one by name or alias."""
    return _DeviceTable(_core.devices(), _DEVICE_COLUMNS, what="device")


class _DeviceTable(Table[_core.Device]):
    def _find(self, name: str) -> _core.Device:
        return _core.device(name)


def operators() -> Table[_core.Operator]:
    """The operators that are known."""
    return Table(_core.operators(), _OPERATOR_COLUMNS, what="operator")


def predictors() -> Table[_core.Predictor | LearntFusionRow | GraphNetworkRow | TrainableRow]:
    """What can answer: predictor=. First those for every network, then the learnt pair for openvino on a processor,
    then a student for one device, then those that train() makes for feed-forward nets on a processor."""
    from latpred.fusion import lilou, pmgns
    from latpred.training.trainable import TRAINABLE

    return Table([*_core.predictors(), lilou.ROW, pmgns.ROW, *TRAINABLE], _NAME_COLUMNS, what="predictor")


def runtimes() -> Table[_core.Runtime]:
    """What executes the network on the device: runtime=."""
    return Table(_core.runtimes(), _RUNTIME_COLUMNS, what="runtime")


def precisions() -> Table[_core.Precision]:
    """The arithmetic that can be asked for: precision=."""
    return Table(_core.precisions(), _NAME_COLUMNS, what="precision")


_NAME_COLUMNS: Sequence[Column[Any]] = (text_column("name"), text_column("description"))

_OPERATOR_COLUMNS: Sequence[Column[Any]] = (
    number_column("id", text=str),
    text_column("name"),
    text_column("family"),
    text_column("cost_kind"),
    number_column("flops_per_element", text=scaled),
)

_RUNTIME_COLUMNS: Sequence[Column[Any]] = (
    text_column("name"),
    text_column("description"),
    Column("fuses", lambda row: row.fuses, text=lambda fuses: "yes" if fuses else "no", is_left=True),
    Column(
        "devices",
        lambda row: " and ".join(word for word, runs in (("GPU", row.on_gpu), ("CPU", row.on_cpu)) if runs),
        is_left=True,
    ),
    Column("precisions", lambda row: ["default", *row.precisions], text=", ".join, is_left=True),
)

_DEVICE_COLUMNS: Sequence[Column[Any]] = (
    text_column("name"),
    text_column("architecture"),
    Column("kind", lambda row: "GPU" if row.is_gpu else "CPU", is_left=True),
    number_column("sms", "SMs"),
    number_column("memory_bytes", "memory", lambda value: scaled(value, "B")),
    number_column("bandwidth_bytes_per_s", "bandwidth", lambda value: scaled(value, "B/s")),
    number_column("l2_bytes", "L2", lambda value: scaled(value, "B"), is_shown=False),
    number_column("fp32_flops_per_s", "fp32 FLOP/s", scaled),
    number_column("tf32_flops_per_s", "tf32 FLOP/s", scaled, is_shown=False),
    number_column("fp16_flops_per_s", "fp16 FLOP/s", scaled),
    number_column("bf16_flops_per_s", "bf16 FLOP/s", scaled, is_shown=False),
    number_column("int8_ops_per_s", "int8 op/s", scaled),
    number_column("fp8_flops_per_s", "fp8 FLOP/s", scaled, is_shown=False),
    number_column("power_limit_w", "power limit W"),
    Column("has_mig", lambda row: row.has_mig, "MIG", lambda mig: "yes" if mig else "no", is_left=True),
    text_column("source", is_shown=False),
    text_column("note", is_shown=False),
)

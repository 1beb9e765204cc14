"""How a device shows itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from latpred import _core
from latpred.tables import UNKNOWN, Table, number, number_column, scaled, text_column

if TYPE_CHECKING:
    from latpred._core import Device, Partition

_ARITHMETIC_FIELDS = (
    ("fp32", "fp32_flops_per_s", "FLOP/s"),
    ("tf32", "tf32_flops_per_s", "FLOP/s"),
    ("fp16", "fp16_flops_per_s", "FLOP/s"),
    ("bf16", "bf16_flops_per_s", "FLOP/s"),
    ("int8", "int8_ops_per_s", "op/s"),
    ("fp8", "fp8_flops_per_s", "FLOP/s"),
)


def aliases_text() -> str:
    return "Aliases: " + ", ".join(f"{alias} = {name}" for alias, name in _core.device_aliases())


def _fact(fact: Any, unit: str) -> str:
    return scaled(fact.value, unit) + (" (estimated)" if fact.estimated else "")


def facts(device: Device) -> list[tuple[str, str]]:
    """Every known number as pairs of words; what is unknown shows as "-"."""
    capability = device.compute_capability
    aliases = [alias for alias, name in _core.device_aliases() if name == device.name]
    pairs = [
        ("name", device.name),
        ("aliases", ", ".join(aliases) or UNKNOWN),
        ("reported as", device.vendor_name or UNKNOWN),
        ("architecture", device.architecture),
        ("compute capability", UNKNOWN if capability is None else f"{capability // 10}.{capability % 10}"),
        ("SMs" if device.is_gpu else "cores", number(device.sms)),
        ("CUDA cores", number(device.cuda_cores)),
        ("tensor cores", number(device.tensor_cores)),
        ("clock", scaled(device.clock_hz, "Hz")),
        ("memory", f"{scaled(device.memory_bytes, 'B')} {device.memory_type}"),
        ("bandwidth", scaled(device.bandwidth_bytes_per_s, "B/s")),
        ("L2", scaled(device.l2_bytes, "B")),
        *((f"{name} peak", scaled(getattr(device, field), unit)) for name, field, unit in _ARITHMETIC_FIELDS),
        ("power limit", scaled(device.power_limit_w, "W")),
        ("sustained share of the peak", _fact(device.sustained_share, "")),
        ("bandwidth of one SM", _fact(device.bandwidth_bytes_per_s_per_sm, "B/s")),
        ("idle power", _fact(device.idle_power_w, "W")),
        ("context", _fact(device.context_bytes, "B")),
        ("source", device.source),
        ("note", device.note),
    ]
    return [(heading, text) for heading, text in pairs if text]


def partitions_table(device: Device) -> Table[Partition]:
    columns = [
        text_column("name", "MIG profile"),
        number_column("sms", "SMs"),
        number_column("memory_bytes", "usable", lambda value: scaled(value, "B")),
        number_column("bandwidth_share", "bandwidth", lambda share: f"{share:.1%}"),
        number_column("l2_share", "L2", lambda share: f"{share:.1%}"),
        number_column("max_instances", "instances", str),
    ]
    return Table(_core.mig_profiles(device.name), columns, what="MIG profile")

"""What happens when networks share a device: colocate() predicts it, campaign.py measures it on this machine.

from latpred.colocation import campaign, combination

campaign.run(combination.applications_sample(), Path("together.journal"), Path("networks"), minutes=15)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from latpred.colocation.answer import CoLocatedMember, CoLocation
from latpred.inputs import Inputs


def colocate(
    networks: Sequence[Any],
    *,
    device: str = "A100",
    partition: str | Sequence[str | None] | None = None,
    sharing: str | None = None,
    slo_ms: float | Sequence[float | None] | None = None,
    alone_ms: Sequence[float | None] | None = None,
    batch: int | Sequence[int] | None = None,
    input: Inputs = None,
    runtime: str | None = None,
    precision: str = "default",
    allow_pickle: bool = False,
) -> CoLocation:
    """Predicts the latency of networks that run on one device at the same time, each called again and again.

    networks: two or more Graphs, paths of model files, live models, or recipes ("cnn:3-64-64?size=32").
    device: a name or alias in devices(); "cpu": this machine, one thread for each network.
    partition: the part of the device that each has, one for all or a list: "1g.10gb" (MIG), "50%" or "32sm" (MPS).
    sharing: "time_slicing", "mps" or "mig" on a GPU, "cores" or "time_slicing" (all on one core) on a processor; None:
        what the partition says, else "time_slicing" on a GPU and "cores" on a processor.
    slo_ms: the latency that each should keep to, one for all or a list with None for those without.
    alone_ms: latencies that you measured without neighbours, in the place of predicted ones; None where there is none.
    batch: one for all or a list; None: its own for a Graph, else 1.
    runtime: as in predict(); on a processor "openvino" alone (None: it): the latency on one core is of its kernels.
    precision: as in predict(); on a processor "default" or "fp32", which it was fitted in.
    input, allow_pickle: as in predict().

    A network of views alone, which takes no time, is refused.
    """
    from latpred.colocation.predict import answer

    return answer(
        networks,
        device=device,
        partition=partition,
        sharing=sharing,
        slo_ms=slo_ms,
        alone_ms=alone_ms,
        batch=batch,
        input=input,
        runtime=runtime,
        precision=precision,
        allow_pickle=allow_pickle,
    )


__all__ = ["CoLocatedMember", "CoLocation", "colocate"]

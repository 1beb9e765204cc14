"""Whether a campaign can run: asked before anything is made for it, so that a typing error is simply corrected."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from latpred import _core
from latpred.campaign.spec import Campaign
from latpred.datasets.recipe import parse
from latpred.errors import InvalidArgumentError
from latpred.workloads import check_runtime, sources


def check(campaign: Campaign) -> None:
    """Refuses what would fail with every item. Runtimes and kinds of recipes that latpred does not know may be those of
    the campaign's imports, which only its workers import: they ask again."""
    if not campaign.imports:
        check_runtimes(campaign.runtimes, campaign.precisions, campaign.device)
    is_listed = not isinstance(campaign.recipes, str)
    known = sources.kinds()
    for recipe in campaign.recipes if is_listed else [next(campaign.items()).recipe]:
        kind = parse(recipe).kind
        if kind in known and campaign.inputs != ("",):
            sources.refuse_sizes(recipe, "inputs=")
        if kind not in known and not campaign.imports:
            raise InvalidArgumentError(
                f"recipe '{recipe}': {_core.unknown_name_message('kind', kind, known)}; imports= names modules that "
                "add runtimes for kinds of their own",
                valid=known,
            )


def check_runtimes(runtimes: Sequence[str], precisions: Sequence[str], device: str) -> None:
    """Every runtime runs on the device, in every precision."""
    for runtime, precision in itertools.product(runtimes, precisions):
        check_runtime(runtime, device, precision)

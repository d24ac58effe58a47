"""What variants did more from than their storage sustains: burst credits, or the room in a write-back cache.

A result above that holds no longer than the reserve does, so that no choice between volumes should rest on it alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from fathom.analysis.credits import credits_of
from fathom.analysis.filling import filling_of
from fathom.analysis.model import SPENT_S, Reserve, Source, soonest
from fathom.analysis.sequence import by_level
from fathom.analysis.variants import Variant, of_variant, variants_of
from fathom.results import Campaign, Run

Reserves = Mapping[str, tuple[Reserve, ...]]
"""By run id."""


def reserves_in(campaign: Campaign) -> tuple[Reserve, ...]:
    """Those of a campaign by themselves, where nothing else of its analysis is wanted."""
    campaign = by_level(campaign)
    return all_reserves(campaign.runs, reserves_of(campaign.runs, campaign.study))


def reserves_of(runs: Sequence[Run], study: Mapping[str, Any]) -> Reserves:
    """What each finished run lived on. It reads the samples of those whose volumes have reserves: once is enough."""
    return {run.id: (*credits_of(run, study), *filling_of(run, study)) for run in runs if run.ok}


def all_reserves(runs: Sequence[Run], reserves: Reserves) -> tuple[Reserve, ...]:
    """Of every variant that has some, in the order in which they first ran."""
    return tuple(found for variant in variants_of(runs) if (found := reserve_of(runs, [variant], reserves)) is not None)


def reserve_of(runs: Sequence[Run], variants: Iterable[Variant], reserves: Reserves) -> Reserve | None:
    """Of the variants and their volumes, what ends first; None where there is none."""
    mine = (run.id for variant in variants for run in of_variant(runs, variant))
    return soonest(one for run in mine for one in reserves.get(run, ()))


def ran_out(reserves: Reserves) -> frozenset[str]:
    """Runs, by id, whose credits ran out while they were measured: their level changes, and no ramp was too short."""
    return frozenset(
        run
        for run, found in reserves.items()
        if any(one.source is Source.CREDITS and one.lasts_s < SPENT_S for one in found)
    )

"""Results of a write-back cache that was still filling: what a load that lasts would get."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.model import Source
from fathom.analysis.words import capital
from fathom.finding import Evidence, Finding, Remedy, Severity

_MOST = 3
_RAMP = "workload.ramp"
_SPARE = 1.05
"""The ramp fills the cache with this much to spare."""


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all variants whose cache filled, the one that is full first on top."""
    mine = [one for one in given.analysis.reserves if one.source is Source.CACHE]
    found = sorted(mine, key=lambda one: one.lasts_s)
    if not found:
        return
    said = [f"{capital(given.label(one.variant)) if one.variant else 'The volume'} {one.words}." for one in found]
    ramp = math.ceil(max(one.whole_s for one in found) * _SPARE)
    yield Finding(
        "cache-filling",
        given.label(found[0].variant) or "the volume",
        said[0],
        Severity.WARNING,
        0.9,
        tuple(Evidence(text) for text in said[1:_MOST]),
        harm="Once it is full, writers get what the volume behind the cache takes.",
        remedies=(
            Remedy(
                "Fill the cache before you measure, if your load lasts longer than that.",
                (commands.setting(_RAMP, f"{ramp}s"),),
                verify="The report then says nothing of a cache that fills.",
            ),
        ),
    )


RULE = Rule("cache-filling", 32, find)

"""Results that burst credits made: what a load that lasts would get."""

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
"""The ramp spends the credits left with this much to spare."""


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all variants on credits, the one whose credits end first on top."""
    mine = [one for one in given.analysis.reserves if one.source is Source.CREDITS]
    found = sorted(mine, key=lambda one: one.lasts_s)
    if not found:
        return
    said = [f"{capital(given.label(one.variant)) if one.variant else 'The volume'} {one.words}." for one in found]
    remedy = Remedy(
        "Spend the credits before you measure, if your load lasts longer than they do.",
        (commands.setting(_RAMP, f"{math.ceil(max(one.whole_s for one in found) * _SPARE / 60)}min"),),
        verify="The report then says nothing of burst credits.",
    )
    if any(one.phase for one in found):
        remedy = Remedy("Make such a phase last longer than the credits, if it does so in your load.")
    yield Finding(
        "burst-credits",
        given.label(found[0].variant) or "the volume",
        said[0],
        Severity.WARNING,
        0.95,
        tuple(Evidence(text) for text in said[1:_MOST]),
        harm="A load that lasts longer gets the sustained rate.",
        remedies=(remedy,),
    )


RULE = Rule("burst-credits", 30, find)

"""Results that burst credits made: what a load that lasts would get."""

from __future__ import annotations

import math
from collections.abc import Iterator

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.words import capital
from fathom.finding import Evidence, Finding, Remedy, Severity

_MOST = 3
_RAMP = "workload.ramp"
_SPARE = 1.05
"""The ramp spends the credits left with this much to spare."""


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all variants on credits, the one whose credits end first on top."""
    found = sorted(given.analysis.on_credits, key=lambda one: one.lasts_s)
    if not found:
        return
    said = [f"{capital(given.label(one.variant)) or 'The volume'} {one.words}." for one in found]
    # A run spends credits in its own measured phase before they can last on.
    whole = max(one.lasts_s for one in found) + max(run.measured_s or 0.0 for run in given.campaign.runs)
    ramp = commands.setting(_RAMP, f"{math.ceil(whole * _SPARE / 60)}min")
    yield Finding(
        "burst-credits",
        given.label(found[0].variant) or "the volume",
        said[0],
        Severity.WARNING,
        0.95,
        tuple(Evidence(text) for text in said[1:_MOST]),
        harm="A load that lasts longer gets the sustained rate.",
        remedies=(
            Remedy(
                "Spend the credits before you measure, if your load lasts longer than they do.",
                (ramp,),
                verify="The report then says nothing of burst credits.",
            ),
        ),
    )


RULE = Rule("burst-credits", 30, find)

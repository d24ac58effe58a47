"""Results that burst credits made: what a load that lasts would get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.analysis.advice import reserve
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.model import Reserve, Source
from fathom.finding import Finding, Remedy

_HARM = "A load that lasts longer gets the sustained rate."


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all variants on credits, the one whose credits end first on top."""
    return reserve.told(given, Source.CREDITS, RULE.name, 0.95, _HARM, _remedy)


def _remedy(found: Sequence[Reserve]) -> Remedy:
    if any(one.phase for one in found):
        return Remedy("Make such a phase last longer than the credits, if it does so in your load.")
    return Remedy(
        "Spend the credits before you measure, if your load lasts longer than they do.",
        (reserve.ramp(found, "min", 60),),
        verify="The report then says nothing of burst credits.",
    )


RULE = Rule("burst-credits", 30, find)

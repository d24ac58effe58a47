"""Results of a write-back cache that was still filling: what a load that lasts would get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from fathom.analysis.advice import reserve
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.model import Reserve, Source
from fathom.finding import Finding, Remedy

_HARM = "Once it is full, writers get what the volume behind the cache takes."


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all variants whose cache filled, the one that is full first on top."""
    return reserve.told(given, Source.CACHE, RULE.name, 0.9, _HARM, _remedy)


def _remedy(found: Sequence[Reserve]) -> Remedy:
    return Remedy(
        "Fill the cache before you measure, if your load lasts longer than that.",
        (reserve.ramp(found, "s", 1),),
        verify="The report then says nothing of a cache that fills.",
    )


RULE = Rule("cache-filling", 32, find)

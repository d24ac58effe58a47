"""What findings about burst credits and about caches that fill have in common: both end, and a longer ramp shows it."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import RuleInput
from fathom.analysis.model import Reserve, Source
from fathom.finding import Evidence, Finding, Remedy, Severity

_MOST = 3
_RAMP = "workload.ramp"
_SPARE = 1.05
"""A ramp outlasts the reserve by this much."""


def told(
    given: RuleInput,
    source: Source,
    rule: str,
    confidence: float,
    harm: str,
    remedy: Callable[[Sequence[Reserve]], Remedy],
) -> Iterator[Finding]:
    """One finding for all variants that live on a reserve of this kind, the one that ends first on top."""
    mine = [one for one in given.analysis.reserves if one.source is source]
    found = sorted(mine, key=lambda one: one.lasts_s)
    if not found:
        return
    said = [f"{given.capital(given.label(one.variant)) if one.variant else 'The volume'} {one.words}." for one in found]
    yield Finding(
        rule,
        given.label(found[0].variant) or "the volume",
        said[0],
        Severity.WARNING,
        confidence,
        tuple(Evidence(text) for text in said[1:_MOST]),
        harm=harm,
        remedies=(remedy(found),),
    )


def ramp(found: Sequence[Reserve], unit: str, unit_s: float) -> str:
    """The setting of a ramp that outlasts all of them, in whole units of so many seconds."""
    length = math.ceil(max(one.whole_s for one in found) * _SPARE / unit_s)
    return commands.setting(_RAMP, f"{length}{unit}")

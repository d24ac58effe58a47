"""A comparison of a rate that the arrivals fix: it tells no variants apart; a latency does."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.beside import differing, differing_first, seen_beside
from fathom.analysis.model import Verdict
from fathom.analysis.words import short
from fathom.finding import Evidence, Finding, Remedy, Severity

_MOST = 3
_TAIL = "latency_p99_ms"


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding where nothing else came of any comparison."""
    fixed = [c for c in given.analysis.comparisons if c.verdict is Verdict.FIXED]
    if not fixed or len(fixed) < len(given.analysis.comparisons):
        return
    tails = [guard.metric for c in fixed for guard in c.judged if guard.metric.endswith(_TAIL)]
    if not tails:
        return
    metric = _TAIL if _TAIL in tails else tails[0]
    differ = differing_first([c for c in fixed if differing(c)])
    lost = dict.fromkeys(text for c in fixed for text in c.losses)
    yield Finding(
        "fixed-rate",
        short(fixed[0].metric),
        f"The arrivals fix the {short(fixed[0].metric)}: every variant keeps up, and none can do more than arrives.",
        Severity.WARNING,
        0.95,
        tuple(Evidence(f"{given.capital(given.label(c.variant))}: {seen_beside(c)}.") for c in differ[:_MOST]),
        harm=f"What may be lost: {'; '.join(lost)}." if lost else None,
        remedies=(
            Remedy(
                "Compare a latency.",
                (commands.setting("compare.metric", metric),),
                verify="The report then says which variant is faster.",
            ),
        ),
    )


RULE = Rule("fixed-rate", 19, find)

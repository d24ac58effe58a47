"""A comparison of durabilities under a load that never flushes: it cannot tell them apart."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.unflushed import unflushed
from fathom.analysis.variants import resolved
from fathom.analysis.words import listed
from fathom.finding import Finding, Remedy, Severity


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding for all volumes of which it is true."""
    runs = given.campaign.runs
    names = unflushed(runs, given.study)
    if not names:
        return
    settings = resolved(given.study, runs[0].variant).get("settings", {})
    flushes = (commands.setting("workload.flush_every", 1),) if settings.get("workload", {}).get("kind") == "io" else ()
    yield Finding(
        "durability",
        listed(list(names)),
        f"{given.capital(listed(list(names)))}: durability is compared, but no run flushed. It says what a flush "
        "means, so it makes no difference to this load.",
        Severity.WARNING,
        0.95,
        harm="Whatever the durability, writes that nobody flushes may be lost with the cache device.",
        remedies=(Remedy("Compare durabilities under a load that flushes.", flushes),),
    )


RULE = Rule("durability", 17, find)

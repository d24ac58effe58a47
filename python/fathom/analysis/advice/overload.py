"""Variants that could not do the load they were offered."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.words import capital, number
from fathom.finding import Evidence, Finding, Remedy, Severity


def find(given: RuleInput) -> Iterator[Finding]:
    """One finding per overloaded variant."""
    for found in given.analysis.overloads:
        evidence = []
        if found.growth is not None and found.growth > 1:
            evidence.append(Evidence(f"Latency grew {found.growth:.1f} × from the first to the last third of a run."))
        if found.waiting:
            evidence.append(Evidence(f"{found.waiting:,.0f} arrivals still waited at the end of a run."))
        who = found.sentence.split(" cannot sustain")[0]
        yield Finding(
            "overload",
            given.label(found.variant),
            f"{capital(found.sentence)}.",
            Severity.WARNING,
            0.95,
            tuple(evidence),
            harm="The queue grows as long as the run lasts, so no ratio of its latency is computed.",
            remedies=(
                Remedy(
                    f"Offer less than {number(found.done)}/s to {who}, or give it more IOPS.",
                    verify="No arrival is refused, and the latency is level over the run.",
                ),
            ),
        )


RULE = Rule("overload", 20, find)

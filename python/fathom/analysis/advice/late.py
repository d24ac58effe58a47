"""Load generators that began with requests later than these were due: the machine was busy, not the storage."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.words import lateness, milliseconds, percent
from fathom.finding import Evidence, Finding, Remedy, Severity
from fathom.lateness import late


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one, of the run whose load generator was late by the most, with the range of all that were late."""
    runs = [(run, found) for run in given.campaign.runs if (found := late(run)) is not None]
    if not runs:
        return
    worst, most = max(runs, key=lambda one: one[1].late_ms)
    least = min((found for _, found in runs), key=lambda one: one.late_ms)
    up_to = "up to " if least.late_ms < most.late_ms else ""
    said = (
        f"Of {milliseconds(most.latency_ms)} mean latency {milliseconds(most.late_ms)} passed between when a request "
        f"was due and when the load generator began with it ({given.label(worst.variant) or 'as written'}, round "
        f"{worst.round})."
    )
    evidence = [Evidence(said, where=worst.id)]
    if up_to:
        shares = sorted(found.share for _, found in runs)
        ends = list(dict.fromkeys((percent(shares[0]), percent(shares[-1]))))
        count = sum(run.ok for run in given.campaign.runs)
        evidence.append(
            Evidence(
                f"In {len(runs)} of {count} runs it was late, by {milliseconds(least.late_ms)} to "
                f"{milliseconds(most.late_ms)}: {' to '.join(ends)} of their latency."
            )
        )
    if worst.metrics.get("backlog_max"):
        evidence.append(Evidence("Requests also waited for a free user, as all were busy: that is not in it."))
    yield Finding(
        "late",
        "this machine",
        given.capital(f"{lateness(most, up_to)}: this machine is too busy for the load."),
        Severity.WARNING,
        0.9,
        tuple(evidence),
        harm="That much of the latency is this machine's, not the storage's.",
        remedies=(
            Remedy(
                "End what else runs on this machine, give it more processors, or offer less; then measure again.",
                verify="`late_ms` is small beside `latency_ms`.",
            ),
        ),
    )


RULE = Rule("late", 12, find)

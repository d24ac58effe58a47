"""Load generators that began with requests later than these were due: the machine was busy, not the storage."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.words import milliseconds, percent
from fathom.finding import Evidence, Finding, Remedy, Severity

_SHARE = 0.10
"""Of the latency: below this what is compared hardly changes."""

_IDLE_MS = 0.1
"""Up to here timers are late on an idle machine as well."""


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one, of the run that it falsifies most."""
    worst = max((run for run in given.campaign.runs if run.ok), key=lambda run: _share(run.metrics), default=None)
    if worst is None or _share(worst.metrics) < _SHARE:
        return
    late_ms, latency_ms = worst.metrics["late_ms"] or 0.0, worst.metrics["latency_ms"] or 0.0
    if late_ms <= _IDLE_MS:
        return
    late, share = milliseconds(late_ms), percent(late_ms / latency_ms)
    said = (
        f"Of {milliseconds(latency_ms)} mean latency {late} passed between when a request was due and when the load "
        f"generator began with it ({given.label(worst.variant) or 'as written'}, round {worst.round})."
    )
    evidence = [Evidence(said, where=worst.id)]
    if worst.metrics.get("backlog_max"):
        evidence.append(Evidence("Requests also waited for a free user, as all were busy: that is not in it."))
    yield Finding(
        "late",
        "this machine",
        f"The load generator was late by {late} in the mean, {share} of the latency: this machine is too busy for the "
        "load.",
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


def _share(metrics: Mapping[str, float | None]) -> float:
    """How much of the latency the load generator's own lateness is."""
    latency = metrics.get("latency_ms")
    return (metrics.get("late_ms") or 0.0) / latency if latency else 0.0


RULE = Rule("late", 67, find)

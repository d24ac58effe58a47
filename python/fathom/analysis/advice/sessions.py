"""Two places that were measured one after the other: no interval holds what changes between two sessions."""

from __future__ import annotations

from collections.abc import Iterator

from fathom.analysis.advice import commands
from fathom.analysis.advice.rule import Rule, RuleInput
from fathom.analysis.model import DECIDED, Verdict
from fathom.compare import PLACE
from fathom.finding import Evidence, Finding, Remedy, Severity

_MOST = 3


def find(given: RuleInput) -> Iterator[Finding]:
    """At most one, where there is a verdict that somebody could choose by."""
    places = given.campaign.places
    verdicts = {comparison.verdict for comparison in given.analysis.comparisons}
    if places is None or places.in_turn or not verdicts & {*DECIDED, Verdict.EQUIVALENT}:
        return
    names = [str(name) for name in given.study["factors"][PLACE]]
    again = [f"{name}-again" for name in names]
    yield Finding(
        "sessions",
        " and ".join(names),
        f"{' and '.join(names)} were measured one after the other: whatever changed between the two sessions is part "
        "of the difference, and the interval does not hold it.",
        Severity.WARNING,
        0.9,
        tuple(Evidence(f"{key} differs: {one} and {other}.") for key, one, other in places.differences[:_MOST]),
        remedies=(
            Remedy(
                "Do not choose by this alone: repeat both campaigns, a round of each in turn on one machine, else on "
                "several days.",
                commands.measured_again(given.campaign, places, again, max(given.rounds, 5)),
                verify="The difference comes back with the same sign and about the same size.",
            ),
        ),
    )


RULE = Rule("sessions", 16, find)
